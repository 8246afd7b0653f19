# SPDX-License-Identifier: MIT
"""The cost of counted lines, beside line_profiler and the interpreter's minimum.

    bench_lines.py ANNOT PACKAGE INTERPRETER [ROUNDS] [--json FILE]

PACKAGE is the folder for PYTHONPATH with pyannot for that interpreter (module_build.py makes one).
Each round runs the programs without a tool and then with each tool; ratios of processor time and
nanoseconds for each line are those of a round, and medians of them are printed. "empty" is an empty
callback in C: the floor of sys.monitoring, CPython 3.12 and later. "other code" is recorded with
lines that it does not have. line_profiler: if INTERPRETER has it.
"""

import os
import sys
import tempfile

import rows
import tool_rounds

PROGRAMS = '''
import operator, sys, time


def loop(n):
    total = 0
    for i in range(n):
        total += i
        total ^= 3
    return total


def nbody(steps, pairs):
    for _ in range(steps):
        for a, b in pairs:
            dx = a[0] - b[0]
            dy = a[1] - b[1]
            dz = a[2] - b[2]
            mag = 0.01 * (dx * dx + dy * dy + dz * dz + 1e-9) ** -1.5
            am = a[6] * mag
            bm = b[6] * mag
            a[3] -= dx * bm
            a[4] -= dy * bm
            a[5] -= dz * bm
            b[3] += dx * am
            b[4] += dy * am
            b[5] += dz * am


tool = sys.argv[1]
if tool == "empty":
    events = sys.monitoring.events
    sys.monitoring.use_tool_id(4, "empty")
    sys.monitoring.register_callback(4, events.LINE, operator.is_)
    for function in (loop, nbody):
        sys.monitoring.set_local_events(4, function.__code__, events.LINE)
elif tool == "line_profiler":
    import line_profiler
    profiler = line_profiler.LineProfiler(loop, nbody)
    profiler.enable()
bodies = [[float(i + k) for k in range(7)] for i in range(5)]
pairs = [(a, b) for i, a in enumerate(bodies) for b in bodies[i + 1:]]
for name, run, lines in (("loop", lambda: loop(600000), 1800003),
                         ("nbody", lambda: nbody(8000, pairs), 8000 * (10 * 13 + 2))):
    begin = time.process_time()
    run()
    print("BENCH", name, time.process_time() - begin, lines, flush=True)
'''


def commands(annot, interpreter, folder):
    program = os.path.join(folder, "programs.py")
    with open(program, "w") as out:
        out.write(PROGRAMS)
    record = [annot, "record", "--sampling=none", "--force", "-o",
              os.path.join(folder, "bench.annot"), "--trace-lines"]
    yield "annot", [*record, "loop,nbody", "--", interpreter, program, "annot"]
    yield "other code", [*record, "nothing", "--", interpreter, program, "annot"]
    for tool, probe in (("empty", "sys.monitoring"), ("line_profiler", "line_profiler")):
        statement = f"import sys; {probe}" if probe != tool else f"import {tool}"
        if tool_rounds.can(interpreter, statement):
            yield tool, [interpreter, program, tool]


def main(annot, package, interpreter, rounds="7"):
    with tempfile.TemporaryDirectory() as folder:
        tools = dict(commands(annot, interpreter, folder))
        plain = [interpreter, os.path.join(folder, "programs.py"), "plain"]
        measured = tool_rounds.measure(tools, plain, package, int(rounds))
    rows.finish("lines", list(tool_rounds.rows_of(*measured)))


if __name__ == "__main__":
    main(*(sys.argv[1:sys.argv.index("--json")] if "--json" in sys.argv else sys.argv[1:]))
