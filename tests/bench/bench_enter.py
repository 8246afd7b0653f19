#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The gain by pyannot/src/enter.c: a `with` with __enter__ as a part of the annotation, beside one
with an ordinary method, up to 3.13.

    bench_enter.py BUILD [--python COMMAND] [--json FILE]

pyannot is built both ways for the interpreter. The two alternate, with and without a recorder; a
cost is the least CPU time of a statement in any run, without the loop.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from rows import finish, row

RUNS, ROUNDS, LOOPS = 3, 300, 2000
STATEMENTS = {
    "loop": ("pass", "pass"),
    "with": ("a = annotate", "with a('load'): pass"),
    "with, kept object": ("a = annotate('load')", "with a: pass"),
}
SOURCE = """
def burst(loops):
    {}
    begin = clock()
    for _ in loops:
        {}
    return clock() - begin
"""


def measure():
    """{"enabled": true if recorded, name: least ns a statement without the loop}, in one process"""
    import pyannot

    bursts, least = {}, {}
    for what, statement in STATEMENTS.items():
        names = {"annotate": pyannot.annotate, "clock": time.thread_time_ns}
        exec(SOURCE.format(*statement), names)
        bursts[what] = names["burst"]
    for _ in range(ROUNDS):
        for what, burst in bursts.items():
            least[what] = min(burst(range(LOOPS)) / LOOPS, least.get(what, 1e9))
        time.sleep(0.002)  # for the collector to drain
    loop = least.pop("loop")
    return {"enabled": pyannot.enabled(), **{what: ns - loop for what, ns in least.items()}}


def run(annot, python, package, recorded):
    command = [python, __file__, "--measure"]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        if recorded:
            command = [annot, "record", "--sampling=none", "--python=none", "-o",
                       f"{place}/x.annot", "--", *command]
        environment = dict(os.environ, ANNOT_DIR=f"{place}/annot", PYTHONPATH=str(package))
        got = json.loads(subprocess.run(list(map(str, command)), env=environment, check=True,
                                        stdout=subprocess.PIPE).stdout)
    assert got.pop("enabled") == recorded
    return got


def rows(build, python):
    sys.path[:0] = [str(build / "pyannot"), str(pathlib.Path(__file__).parents[1] / "python")]
    os.environ["ANNOT"] = str(build / "tools/annot")
    import interpreters
    import module_build

    entries, costs = [], {}
    with tempfile.TemporaryDirectory() as place:
        folders = {way: pathlib.Path(place) / way for way in ("a part of it", "a method")}
        for flag, folder in zip("10", folders.values()):
            module_build.build(interpreters.ask(python), folder, [f"-DPYANNOT_BIND_ENTER={flag}"])
        for turn in range(2 * RUNS * len(folders)):
            way, recorded = list(folders)[turn % 2], bool(turn // 2 % 2)
            for what, ns in run(build / "tools/annot", python, folders[way], recorded).items():
                key = recorded, what, way
                costs[key] = min(ns, costs.get(key, ns))
    for (recorded, what, way), ns in sorted(costs.items()):
        if way == "a part of it":
            method = costs[recorded, what, "a method"]
            entries.append(row(f"{'on' if recorded else 'off'}: {what}: a method / a part of it",
                               method / ns, "x", least=1.05, against=f"{method:.1f} / {ns:.1f} ns"))
    return entries


def main():
    if "--measure" in sys.argv:
        print(json.dumps(measure()))
    else:
        given = sys.argv[sys.argv.index("--python") + 1] if "--python" in sys.argv else None
        finish("enter", rows(pathlib.Path(sys.argv[1]).resolve(), given or sys.executable))


if __name__ == "__main__":
    main()
