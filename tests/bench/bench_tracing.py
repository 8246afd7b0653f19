# SPDX-License-Identifier: MIT
"""The cost of tracing calls, beside cProfile, yappi, viztracer and the least possible cost.

    bench_tracing.py ANNOT PACKAGE INTERPRETER [ROUNDS] [--json FILE]

PACKAGE is the folder for PYTHONPATH with pyannot for that interpreter (module_build.py makes one).
Ratios are of processor time and those of a round (tool_rounds.py), with nanoseconds for each enter
or exit of a function where their number is known. "dormant" is recorded and not traced. "entered"
is an empty callback in C for enters only: the floor of sys.monitoring for each of those, CPython
3.12 and later; its ratio is half of that for both. "in all" is the program, the collector and the
export together. Other tools: those that INTERPRETER has.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile

import rows
import tool_rounds

FUNCTIONS = '''
import json, operator, re, sys, time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def add(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def norm(self):
        return self.x * self.x + self.y * self.y


def objects(n):
    vector, step, total = Vector(0, 0), Vector(1, 1), 0
    for _ in range(n):
        vector = vector.add(step)
        total += vector.norm()
    return total


def numbers(n):
    for i in range(n):
        yield i


def generator(n):
    total = 0
    for i in numbers(n):
        total += i
    return total


def loop(n):
    x = 0.1
    for _ in range(n):
        x = x * 1.0000001 + 0.5 / (x + 1)
    return x


def texts(n):
    data = {"a": [1, 2, 3, {"b": "c" * 20}] * 5}
    for _ in range(n):
        text = json.dumps(data)
        json.loads(text), re.sub("c+", "x", text)


def words(line):
    return [word.upper() if word.isalpha() else word for word in line.split()]


def parser(n):
    lines = [f"the quick brown fox 123 jumps over {i} lazy dogs" for i in range(50)]
    for _ in range(n):
        counts = {}
        for line in lines:
            for word in words(line):
                counts[word] = counts.get(word, 0) + 1
'''

PROGRAMS = FUNCTIONS + '''
tool, *parts = sys.argv[1:]
if tool == "entered":
    events = sys.monitoring.events
    sys.monitoring.use_tool_id(4, "entered")
    for event in (events.PY_START, events.PY_RESUME):
        sys.monitoring.register_callback(4, event, operator.is_)
    sys.monitoring.set_events(4, events.PY_START | events.PY_RESUME)
for name, run, events in (("fib", lambda: fib(25), 485570),
                          ("objects", lambda: objects(150000), 900000),
                          ("generator", lambda: generator(500000), 1000002),
                          ("loop", lambda: loop(3000000), 0), ("texts", lambda: texts(4000), 0),
                          ("parser", lambda: parser(600), 0)):
    if parts and name not in parts:
        continue
    begin = time.process_time()
    run()
    print("BENCH", name, time.process_time() - begin, events >> (tool == "entered"), flush=True)
'''


COUNTED = ["fib", "objects", "generator"]
EVENTS = 485570 + 900000 + 1000002


def others(interpreter, folder):
    yield "cProfile", ["cProfile", "-o", os.devnull]
    trace = ["-o", os.path.join(folder, "viztracer.json")]
    for module, name, options in (("viztracer", "viztracer", ["--ignore_c_function", *trace]),
                                  ("viztracer", "viztracer-c", trace),
                                  ("yappi", "yappi-wall", ["-c", "wall", "-o", os.devnull]),
                                  ("yappi", "yappi-cpu", ["-c", "cpu", "-o", os.devnull])):
        if tool_rounds.can(interpreter, f"import {module}"):
            yield name, [module, *options]


def recording(annot, folder, *options):
    return [annot, "record", "--sampling=none", "--force", "--pool-size", "256M", "-o",
            os.path.join(folder, "bench.annot"), *options, "--"]


def commands(annot, interpreter, folder, program):
    yield "dormant", [*recording(annot, folder), interpreter, program, "annot"]
    for mode in ("exact", "aggregate", "adaptive"):
        yield mode, [*recording(annot, folder, f"--trace-functions={mode}"), interpreter, program,
                     "annot"]
    if tool_rounds.can(interpreter, "import sys; sys.monitoring"):
        yield "entered", [interpreter, program, "entered"]
    for name, module in others(interpreter, folder):
        yield name, [interpreter, "-m", *module, program, name]


def cpu_seconds(command, package):
    """Of the command and all of its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=dict(os.environ, PYTHONPATH=package), stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_all(annot, program, package, rounds):
    """Rows: to the finished recording, and from there to a trace."""
    folder = os.path.dirname(program[1])
    recorded, traced = [], []
    export = [annot, "export", "--format", "perfetto", "--force", "-o",
              os.path.join(folder, "bench.pftrace"), os.path.join(folder, "bench.annot")]
    for _ in range(rounds):
        idle = cpu_seconds([*recording(annot, folder), *program, "annot", *COUNTED], package)
        busy = cpu_seconds([*recording(annot, folder, "--trace-functions=exact"), *program,
                            "annot", *COUNTED], package)
        recorded.append((busy - idle) / EVENTS * 1e6)
        traced.append(recorded[-1] + cpu_seconds(export, package) / EVENTS * 1e6)
    size = os.path.getsize(os.path.join(folder, "bench.annot")) / EVENTS
    for what, values, most in (("recording", recorded, 0.15), ("trace", traced, 0.25)):
        yield rows.row(f"in all, to the {what}", statistics.median(values), "us an event",
                       most=most, against=f"least {min(values):.3f}")
    yield rows.row("size of the recording", size, "B an event", most=2)


def main(annot, package, interpreter, rounds="5"):
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "programs.py")
        with open(program, "w") as out:
            out.write(PROGRAMS)
        tools = dict(commands(annot, interpreter, folder, program))
        plain = [interpreter, program, "plain"]
        measured = tool_rounds.measure(tools, plain, package, int(rounds))
        entries = [*tool_rounds.rows_of(*measured),
                   *in_all(annot, [interpreter, program], package, int(rounds))]
    rows.finish("calls of Python", entries)


if __name__ == "__main__":
    main(*(sys.argv[1:sys.argv.index("--json")] if "--json" in sys.argv else sys.argv[1:]))
