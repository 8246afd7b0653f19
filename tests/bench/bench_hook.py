#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where the time of an exactly traced call goes before CPython 3.12: step by step, beside the
programs of bench_tracing.py without any step.

    bench_hook.py BUILD [--python COMMAND] [--json FILE]

The steps are functions in place of the evaluation of frames (PEP 523, empty_hook.c): one that only
passes on, one that is around each call, the same with two time stamps and two 16-byte stores, with
two calls of libannot; and pyannot's. All alternate in one process, which is recorded. A cost is the
least CPU time of a short run, and for each enter or exit: so the memory of the pool is in use
already, and the collector at rest.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import bench_tracing
from rows import finish, row

ROUNDS = 200
STEPS = ("nothing", "passes on", "is around", "stamps", "libannot", "exact")
GOAL_NS = 20
RUNS = {"fib": "fib(20)", "objects": "objects(7500)", "generator": "generator(25000)",
        "loop": "loop(50000)", "texts": "texts(100)", "parser": "parser(15)"}
EVENTS = {"fib": 2 * 21891, "objects": 6 * 7500, "generator": 2 * 25001}


def run_step(step, run):
    import empty_hook
    import pyannot

    if STEPS[step] == "exact":
        with pyannot.tracing("exact"):
            begin = time.thread_time_ns()
            run()
            return time.thread_time_ns() - begin
    empty_hook.set(step)
    begin = time.thread_time_ns()
    run()
    taken = time.thread_time_ns() - begin
    empty_hook.set(0)
    return taken


def measure():
    """{program: least ns by step}, in one process"""
    import empty_hook
    from pyannot import _native

    empty_hook.use(_native.__file__)
    names = {}
    exec(bench_tracing.FUNCTIONS, names)
    least = {program: [float("inf")] * len(STEPS) for program in RUNS}
    runs = {program: eval(f"lambda: {run}", names) for program, run in RUNS.items()}
    for turn in range(ROUNDS):
        for program, run in runs.items():
            for i in range(len(STEPS)):
                step = (turn + i) % len(STEPS)
                least[program][step] = min(least[program][step], run_step(step, run))
        time.sleep(0.005)  # for the collector to drain
    return least


def run(build, python, package, hook):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        command = [build / "tools/annot", "record", "--sampling=none", "--python=none", "-o",
                   f"{place}/x.annot", "--", python, __file__, "--measure"]
        environment = dict(os.environ, ANNOT_DIR=f"{place}/annot",
                           PYTHONPATH=f"{package}:{hook}")
        return json.loads(subprocess.run(list(map(str, command)), env=environment, check=True,
                                         stdout=subprocess.PIPE).stdout)


def rows_of(least):
    for program, taken in least.items():
        events = EVENTS.get(program)
        for step, ns in list(zip(STEPS, taken))[1:]:
            if events:
                yield row(f"{program}: {step}", (ns - taken[0]) / events, "ns an event",
                          most=GOAL_NS if step == "exact" else None,
                          against=f"beside {taken[0] / events:.1f} of the program")
            else:
                yield row(f"{program}: {step}", ns / taken[0], "x")


def rows(build, python):
    sys.path[:0] = [str(build / "pyannot"), str(pathlib.Path(__file__).parents[1] / "python")]
    os.environ["ANNOT"] = str(build / "tools/annot")
    import interpreters
    import module_build

    interpreter = interpreters.ask(python)
    hook = next((build / "tests/bench").glob("empty_hook.*.so"))
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        module_build.build(interpreter, folder / "package")
        made = module_build.Module(hook, interpreter, folder / "objects", []).build()
        (folder / "hook").mkdir()
        os.rename(made, folder / "hook" / f"empty_hook{interpreter.suffix}")
        return list(rows_of(run(build, python, folder / "package", folder / "hook")))


def main():
    if "--measure" in sys.argv:
        print(json.dumps(measure()))
    else:
        given = sys.argv[sys.argv.index("--python") + 1] if "--python" in sys.argv else None
        finish("hook", rows(pathlib.Path(sys.argv[1]).resolve(), given or sys.executable))


if __name__ == "__main__":
    main()
