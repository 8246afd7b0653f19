#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of an event in C to a program that is built and recorded as a user does it.

    bench_linked.py BUILD [--json FILE]

Installs the build into a stage, compiles bench_linked.c with -O2 and the flags of the installed
annot.pc (the shared library) and annot-static.pc (the archive), as a plain executable and with its
code in a shared library (-fPIC), and runs each in turn, below `annot record` and without. Medians
of the runs.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys

from rows import finish, row

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "system"))
from staged import Stage  # noqa: E402

SOURCE = HERE / "bench_linked.c"
ROUNDS = 5
MADE = {  # build variants: (package, true if the code is in a shared library)
    "shared, executable": ("annot", False),
    "shared, -fPIC library": ("annot", True),
    "static, executable": ("annot-static", False),
}


def make(stage, number, package, is_library):
    flags = stage.run("pkg-config", "--cflags", "--libs", package).split()
    program = stage.folder / f"linked-{number}"
    if not is_library:
        stage.run("cc", "-O2", SOURCE, "-o", program, *flags)
        return program
    library, empty = stage.folder / "libbench.so", stage.folder / "empty.c"
    stage.run("cc", "-O2", "-fPIC", "-shared", SOURCE, "-o", library, *flags)
    empty.write_text("")
    folders = f"-Wl,-rpath,{stage.folder},-rpath-link,{stage.environment['LD_LIBRARY_PATH']}"
    stage.run("cc", empty, "-o", program, library, folders)
    return program


def pinned(program):
    """On one processor, which annot itself does not choose."""
    return ["taskset", "-c", str(max(os.sched_getaffinity(0))), program]


def recorded(stage, build, program):
    output = stage.folder / "recording.annot"
    done = subprocess.run(
        [str(word) for word in [build / "tools/annot", "record", "--sampling=none", "-o", output,
                                "--", *pinned(program)]],
        env=stage.environment, capture_output=True, text=True, check=True)
    output.unlink()
    if "nothing lost" not in done.stderr:
        print(f"events were lost: {done.stderr.strip()}", file=sys.stderr)
    return json.loads(done.stdout)


def measure(stage, build):
    programs = {how: make(stage, number, *what) for number, (how, what) in enumerate(MADE.items())}
    runs = {how: [] for how in MADE}
    for _ in range(ROUNDS):
        for how, program in programs.items():
            run = recorded(stage, build, program)
            run.update(json.loads(stage.run(*pinned(program))))
            runs[how].append(run)
    entries = []
    for how, all_runs in runs.items():
        def middle(value, of=all_runs):
            return statistics.median(value(run) for run in of)
        floor = middle(lambda run: run["floor"])
        for what, case, most in (("macro", "macro", 1.3), ("const char *", "text", 2.2)):
            ratio = middle(lambda run, case=case: run[case] / run["floor"])
            slices = middle(lambda run, case=case: run[f"{case} median"] / run["floor median"])
            entries.append(row(f"{how}: pair by {what} / floor", ratio, "x", most=most,
                               against=f"{middle(lambda run, case=case: run[case]):.1f} and "
                                       f"{floor:.1f} ns; medians of slices {slices:.2f} x"))
        entries.append(row(f"{how}: one disabled event", min(run["off"] for run in all_runs), "ns",
                           most=0.5))
    return entries


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    stage = Stage(build)
    try:
        stage.find_here()
        entries = measure(stage, build)
    finally:
        stage.close()
    finish("linked", entries)


if __name__ == "__main__":
    main()
