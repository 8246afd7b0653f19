# SPDX-License-Identifier: MIT
"""What tracing of calls costs, beside cProfile and viztracer.

    bench_tracing.py ANNOT PACKAGE INTERPRETER [ROUNDS]

PACKAGE is the folder for PYTHONPATH with pyannot for that interpreter (module_build.py makes one).
Each round runs the programs without anything, then with each tool; ratios of processor time are
those of a round, and medians of them are printed, with nanoseconds for each enter or exit of a
function where their number is known. "dormant" is recorded and not traced.
"""

import collections
import os
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = '''
import json, re, sys, time


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


for name, run, events in (("fib", lambda: fib(25), 485570),
                          ("objects", lambda: objects(150000), 900000),
                          ("generator", lambda: generator(500000), 1000002),
                          ("loop", lambda: loop(3000000), 0), ("texts", lambda: texts(4000), 0),
                          ("parser", lambda: parser(600), 0)):
    begin = time.process_time()
    run()
    print("BENCH", name, time.process_time() - begin, events, flush=True)
'''


def commands(annot, interpreter, folder):
    program = os.path.join(folder, "programs.py")
    with open(program, "w") as out:
        out.write(PROGRAMS)
    record = [annot, "record", "--no-sample", "--force", "--pool-size", "256M", "-o",
              os.path.join(folder, "bench.annot")]
    yield "dormant", [*record, "--", interpreter, program]
    for mode in ("exact", "aggregate", "adaptive"):
        yield mode, [*record, f"--trace-functions={mode}", "--", interpreter, program]
    yield "cProfile", [interpreter, "-m", "cProfile", "-o", os.devnull, program]
    probe = subprocess.run([interpreter, "-c", "import viztracer"], capture_output=True,
                           check=False)
    if probe.returncode == 0:
        yield "viztracer", [interpreter, "-m", "viztracer", "--ignore_c_function", "-o",
                            os.path.join(folder, "viztracer.json"), program]


def run(command, package):
    done = subprocess.run(command, env=dict(os.environ, PYTHONPATH=package), capture_output=True,
                          text=True, check=True)
    rows = (line.split() for line in done.stdout.splitlines() if line.startswith("BENCH "))
    return {name: (float(seconds), int(events)) for _, name, seconds, events in rows}


def measure(tools, plain, package, ratios, costs):
    for tool, command in tools.items():
        for name, (seconds, events) in run(command, package).items():
            before = plain[name][0]
            ratios[tool, name].append(seconds / before)
            if events:
                costs[tool, name].append((seconds - before) / events * 1e9)


def main(annot, package, interpreter, rounds="5"):
    ratios, costs = collections.defaultdict(list), collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        tools = dict(commands(annot, interpreter, folder))
        for _ in range(int(rounds)):
            plain = run([interpreter, os.path.join(folder, "programs.py")], package)
            measure(tools, plain, package, ratios, costs)
    for (tool, name), values in ratios.items():
        cost = costs.get((tool, name))
        each = f"  {statistics.median(cost):4.0f} ns an event" if cost else ""
        print(f"{tool:10} {name:10} {statistics.median(values):6.3f}{each}")


if __name__ == "__main__":
    main(*sys.argv[1:])
