# SPDX-License-Identifier: MIT
"""pyannot.trace() with callees: calls inside of a chosen function, on each interpreter. Where
cProfile counts the same calls, the numbers are equal."""

import collections
import functools
import json
import re
import subprocess
import textwrap

import elsewhere
import harness
from harness import ANNOT, RecordingTest

FUNCTIONS = """
import pyannot, sys, threading, time

def leaf(n):
    return n

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def numbers(count):
    for n in range(count):
        yield leaf(n)

def fails(n):
    leaf(n)
    raise ValueError(n)

class Box:
    def __init__(self, n):
        self.n = leaf(n)

    @property
    def content(self):
        return leaf(self.n)

    def __add__(self, other):
        return Box(self.n + other.n)

def by_key(n):
    return -n

def slow():
    time.sleep(0.05)

def inner():
    fib(10)
    sorted(range(20), key=by_key)
    try:
        fails(1)
    except ValueError:
        pass
    (Box(1) + Box(2)).content

def work(n):
    inner()
    for number in numbers(5):
        leaf(number)
    slow()

def elsewhere(count):
    for n in range(count):
        leaf(n)
        fib(3)
"""

# Chosen functions beside others with the same callees.
ALIKE = """
import asyncio

begun, goes_on = threading.Event(), threading.Event()

def other():
    leaf(1)

def waits():
    begun.set()
    goes_on.wait()
    fib(1)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()

def source():
    leaf(1)
    yield 1
    leaf(2)

async def step(n):
    leaf(n)
    await asyncio.sleep(0)
    fib(n)

async def chosen():
    await step(1)
    await step(1)

async def others():
    for n in range(100):
        by_key(n)
        await step(0)

async def main():
    await asyncio.gather(chosen(), others(), chosen())

def deep(n):
    if n == 0:
        raise KeyError(n)
    deep(n - 1)

def recovers():
    try:
        deep(50)
    except KeyError:
        Box(1)

for function in (waits, source, chosen, recovers):
    pyannot.trace(function, print=True)
thread = threading.Thread(target=waits)
thread.start()
begun.wait()
elsewhere(30000)
goes_on.set()
thread.join()
elsewhere(3000)
for n in source():
    by_key(n)
elsewhere(3000)
asyncio.run(main())
recovers()
elsewhere(3000)
recovers()
"""

INSIDE = {"fib": 177, "by_key": 20, "fails": 1, "leaf": 1 + 3 + 1 + 10, "__init__": 3,
          "content": 1, "__add__": 1, "inner": 1, "numbers": 1, "slow": 1, "work": 1}


@functools.cache
def interpreters():
    return list(elsewhere.this_oldest_newest())


class Callees(RecordingTest):
    def run_on(self, interpreter, path, source, *options):
        """The program's output; records it if there are options."""
        script = self.script(FUNCTIONS + textwrap.dedent(source))
        environment = dict(self.environment, PYTHONPATH=path)
        environment.pop("ANNOT_PYTHON", None)
        record = [ANNOT, "record", "--sampling=none", "--python", "names", "--force", "-o",
                  str(self.folder / "out.annot"), *options, "--"] if options else []
        done = subprocess.run([*record, interpreter.command, str(script)], env=environment,
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def printed(self, text):
        """{function: (number of calls, total time in ms)}"""
        rows, units = {}, {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}
        columns = r"(\S+) +program.py:\d+ +([\d,]+) +[\d.]+ \w+ +\S+ %.* ([\d.]+) (\w+) +[\d.]+ \w+"
        for name, calls, total, unit in re.findall(columns, text):
            rows[name.split(".")[-1]] = int(calls.replace(",", "")), float(total) * units[unit]
        return rows

    def counts(self, text):
        return {name: calls for name, (calls, _) in self.printed(text).items()}

    def recorded(self):
        """The numbers of calls by caller and function."""
        text = harness.run([ANNOT, "cat", "--json", str(self.folder / "out.annot")]).stdout
        around, counts = collections.defaultdict(list), collections.Counter()
        for line in map(json.loads, text.splitlines()):
            if line["event"] == "begin" and line.get("kind") != "track":
                names = around[line["thread_index"]]
                counts[line["name"].split(".")[-1], names[-1] if names else None] += 1
                names.append(line["name"].split(".")[-1])
            elif line["event"] == "end" and line.get("kind") != "track":
                around[line["thread_index"]].pop()
        return counts

    def test_numbers_are_those_of_cprofile(self):
        source = """
            import cProfile, json, pstats
            profile = cProfile.Profile()
            profile.runcall(work, 1)
            rows = {name: (calls, total * 1000) for (_, _, name), (_, calls, _, total, _)
                    in pstats.Stats(profile).stats.items()}
            print(json.dumps(rows))
            pyannot.trace(work, print=True)
            elsewhere(100)
            work(1)
            elsewhere(3000)
            work(2)
        """
        for interpreter, path in interpreters():
            text = self.run_on(interpreter, path, source)
            expected, printed = json.loads(text.splitlines()[0]), self.printed(text)
            counts = {name: calls for name, (calls, _) in printed.items()}
            self.assertEqual(counts, {name: 2 * calls for name, calls in INSIDE.items()},
                             interpreter)
            for name in set(INSIDE) - {"numbers"}:  # each resumption is a call there
                self.assertEqual(expected[name][0], INSIDE[name], name)
            for name in ("slow", "work"):
                self.assertGreaterEqual(printed[name][1], 100)
                self.assertLess(printed[name][1], 2 * expected[name][1] + 100)

    def test_nothing_but_callees_of_the_same_thread(self):
        own = {"waits": 1, "source": 1, "chosen": 2, "step": 4, "deep": 2 * 51, "recovers": 2,
               "leaf": 2 + 4 + 2, "fib": 1 + 4, "__init__": 2}
        for interpreter, path in interpreters():
            counts = self.counts(self.run_on(interpreter, path, ALIKE))
            self.assertEqual({name: counts.get(name) for name in own}, own, interpreter)
            self.assertFalse({"elsewhere", "other", "others", "by_key", "main"} & counts.keys())

    def test_as_ranges_of_a_recording(self):
        source = """
            pyannot.trace(fails, callees=False)
            pyannot.trace(inner, callees=True)
            pyannot.trace(slow, min_duration=0.01, callees=True)
            elsewhere(2000)
            inner()
            elsewhere(2000)
            try:
                fails(1)
            except ValueError:
                inner()
        """
        inside = {("fib", "fib"): 176, ("fib", "inner"): 1, ("by_key", "inner"): 20,
                  ("fails", "inner"): 1, ("leaf", "fails"): 1, ("__init__", "inner"): 2,
                  ("__init__", "__add__"): 1, ("leaf", "__init__"): 3, ("content", "inner"): 1,
                  ("leaf", "content"): 1, ("__add__", "inner"): 1}
        expected = {call: 2 * count for call, count in inside.items()}
        expected.update({("inner", None): 2, ("fails", None): 1})
        for interpreter, path in interpreters():
            self.run_on(interpreter, path, source, "--force")
            self.assertEqual(self.recorded(), expected, interpreter)

    def test_a_recording_that_begins_inside(self):
        source = """
            def chosen():
                elsewhere(3000)
                with pyannot.record("inside.annot", sample=None, observe="names", force=True):
                    objects = [[n] for n in range(20000)]
                    elsewhere(10)
                print(len(objects))

            pyannot.trace(chosen, callees=True)
            elsewhere(3000)
            chosen()
        """
        for interpreter, path in interpreters():
            self.run_on(interpreter, path, source)
            report = json.loads(harness.run([ANNOT, "report", "--json",
                                             str(self.folder / "inside.annot")]).stdout)
            counts = {row["name"]: row["call_count"] for row in report["calls"]}
            self.assertEqual((counts["leaf"], counts["fib"]), (10, 50), interpreter)

    def test_without_callees_and_with_those_in_c(self):
        source = """
            pyannot.trace(inner, print=True, callees=False)
            inner()
        """
        with_c = """
            pyannot.trace(inner, print=True, c_calls=True)
            inner()
            sorted([1])
        """
        for interpreter, path in interpreters():
            self.assertEqual(self.counts(self.run_on(interpreter, path, source)), {"inner": 1})
            text = self.run_on(interpreter, path, with_c)
            self.assertRegex(text, r"sorted +\S* +1 ")
            self.assertEqual(self.counts(text)["fib"], 177)

    def test_code_elsewhere_is_not_instrumented(self):
        source = """
            def heard():
                return bool(sys.monitoring.get_events(3) & sys.monitoring.events.PY_START)

            def inside():
                print(heard())

            pyannot.trace(inside, callees=True)
            for n in range(2):
                elsewhere(1000)
                print(heard())
                inside()
        """
        for interpreter, path in interpreters():
            if interpreter.version < (3, 12) or interpreter.free_threaded:
                continue
            text = self.run_on(interpreter, path, source, "--force")
            self.assertEqual(text.split(), ["False", "True"] * 2, interpreter)


if __name__ == "__main__":
    harness.main()
