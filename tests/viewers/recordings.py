# SPDX-License-Identifier: MIT
"""The recordings for exports, and the results of annot query for them.

Real programs: an asyncio program, a pool with killed workers, threads that set one counter in
turns, the example pipeline, a threaded C program. Made ones: recordings with foreign and hostile
names, tracks, and other sets of samples.
"""

import functools
import json
import os
import pathlib
import subprocess
import sys

ANNOT = os.environ["ANNOT"]
MAKE = os.environ["ANNOT_MAKE_RECORDING"]
HERE = pathlib.Path(__file__).resolve().parent
PIPELINE = HERE.parents[1] / "examples/pipeline/pipeline.py"
MADE = ("names", "hostile", "served", "sets", "sampled", "pipeline", "called", "losses",
        "nothing", "heap")


def annot(*words):
    """Runs annot; returns its standard output and standard error."""
    run = subprocess.run([ANNOT, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)
    assert run.returncode == 0, (words, run.stderr)
    return run.stdout, run.stderr


def export(recording, path, *options):
    """Exports a recording; returns the standard error."""
    return annot("export", "--force", *options, "-o", path, recording)[1]


@functools.cache
def query(recording, sql, *options):
    lines = annot("query", "--json", *options, recording, sql)[0].split("\n")[:-1]
    return [json.loads(line) for line in lines]


def ranges_of(recording, *options):
    """{name with domain: (number, nanoseconds)}"""
    rows = query(recording, """select coalesce(domain || ':', '') || coalesce(name, '(unnamed)')
        as name, count(*) as n, sum(duration_ns) as ns from ranges group by 1""", *options)
    return {row["name"]: (row["n"], row["ns"]) for row in rows}


def waits_of(recording, *options):
    """{reason of a wait: nanoseconds}"""
    rows = query(recording, """select reason, sum(blocked_ns) as waiting, sum(runnable_ns) as ready
        from samples where sample_set in ('off-cpu', 'short-waits') group by 1""", *options)
    found = {f"[{row['reason'] or 'unknown'}]": row["waiting"] for row in rows if row["waiting"]}
    ready = sum(row["ready"] or 0 for row in rows)
    return {**found, "[runnable]": ready} if ready else found


def cpu_of(recording, *options):
    """Samples of CPU time: (number, nanoseconds)."""
    row = query(recording, """select count(*) as n, sum(cpu_ns) as ns from samples
        where sample_set = 'cpu'""", *options)[0]
    return row["n"], row["ns"] or 0


def make(folder, real):
    """Makes recordings and returns their paths; `real`: those of real programs, too."""
    paths = []
    for shape in MADE:
        paths.append(folder / f"made-{shape}.annot")
        subprocess.run([MAKE, shape, paths[-1]], check=True)
    commands = {}
    if real and "ANNOT_PYANNOT" in os.environ:
        program = [sys.executable, HERE / "viewed_program.py"]
        commands = {"asyncio": [*program, "asyncio"], "pool": [*program, "pool"],
                    "turns": [*program, "turns"],
                    "demo": [sys.executable, PIPELINE, "--limit", "20", "--workers", "2",
                             "--output", folder / "out"]}
    if real:
        commands["threads"] = [pathlib.Path(os.environ["ANNOT_PROGRAMS"]) / "emit_threads", "4"]
    for name, command in commands.items():
        paths.append(folder / f"{name}.annot")
        environment = dict(os.environ, PYTHONPATH=os.environ.get("ANNOT_PYANNOT", ""),
                           ANNOT_DIR=f"/dev/shm/annot-viewers-{os.getpid()}")
        subprocess.run([ANNOT, "record", "--off-cpu", "-o", paths[-1], "--", *command],
                       env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                       check=True)
    return paths
