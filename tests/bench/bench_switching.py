# SPDX-License-Identifier: MIT
"""The cost of switching tracing in a running program, and the cost that remains afterwards.

    bench_switching.py ANNOT PACKAGE INTERPRETER [ROUNDS]

PACKAGE as for bench_tracing.py. Times are those of the switch itself in a program with few
functions, its extra time per function where CODES have run, and the extra time of the first call of
each over the second. The ratio "off again" is of processor time of the same program in two
processes that run in turn: both are recorded, one was traced before. Medians of ROUNDS (20);
"never" is the ratio before it was.
"""

import os
import statistics
import subprocess
import sys
import tempfile

CODES = 20000

PROGRAM = '''
import sys, time
from pyannot import _trace

codes = [eval(f"lambda x: x + {number}") for number in range(int(sys.argv[1]))]


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def call_all():
    begin = time.perf_counter_ns()
    for code in codes:
        code(1)
    return time.perf_counter_ns() - begin


def first_calls():
    return call_all() - call_all()


def switch(text):
    begin = time.perf_counter_ns()
    _trace.request(text)
    return time.perf_counter_ns() - begin


def run(word):
    if word == "switches":
        _trace.request("functions=aggregate")  # what is imported and made once
        call_all()
        _trace.request("")
        return switch("functions=aggregate"), first_calls(), switch(""), first_calls()
    if word == "trace":
        _trace.request("functions=aggregate")
        call_all(), fib(15)
        return switch(""),
    begin = time.process_time_ns()
    fib(21)
    return time.process_time_ns() - begin,


for line in sys.stdin:
    print(*run(line.strip()), flush=True)
'''


class Program:
    def __init__(self, annot, package, interpreter, folder, codes):
        environment = dict(os.environ, PYTHONPATH=package, ANNOT_DIR=f"{folder}/annot")
        self.process = subprocess.Popen(
            [annot, "record", "-q", "--sampling=none", "--force", "-o",
             f"{folder}/{id(self)}.annot",
             "--", interpreter, "-c", PROGRAM, str(codes)], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return [int(field) for field in self.process.stdout.readline().split() if field != "None"]

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()


def switches(program, rounds):
    """Nanoseconds to switch on, and off."""
    program.ask("switches")
    return [statistics.median(column)
            for column in zip(*(program.ask("switches") for _ in range(rounds)))]


def ratio(one, other, rounds):
    """Of the second to the first, in turn."""
    one.ask("work"), other.ask("work")
    ratios = []
    for index in range(rounds):
        pair = (one, other) if index % 2 else (other, one)
        times = {program: min(program.ask("work")[0] for _ in range(5)) for program in pair}
        ratios.append(times[other] / times[one])
    return statistics.median(ratios)


def main():
    annot, package, interpreter = sys.argv[1:4]
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    with tempfile.TemporaryDirectory() as folder:
        few, many, never, again = (Program(annot, package, interpreter, folder, codes)
                                   for codes in (10, CODES, 10, 10))
        small, large = switches(few, rounds), switches(many, rounds)
        for at, name in ((0, "on"), (2, "off")):
            print(f"{name:10} {small[at] / 1000:8.1f} us, "
                  f"{(large[at] - small[at]) / CODES:6.1f} ns a code object, "
                  f"{large[at + 1] / CODES:6.1f} ns in its first call")
        print(f"never      {ratio(never, again, rounds):8.3f}")
        for _ in range(3):
            again.ask("trace")
        print(f"off again  {ratio(never, again, rounds):8.3f}")
        for program in (few, many, never, again):
            program.end()


if __name__ == "__main__":
    main()
