# SPDX-License-Identifier: MIT
"""Concurrent recordings of the same user do not change a recording: programs are recorded alone,
and again while other recordings begin and end at the same points of the program."""

import os
import pathlib
import subprocess
import sys

import harness
from harness import ANNOT, TIMEOUT_SECONDS
from observed_lines import ObservedTest

POINTS = 6
HEAD = """
import sys
import pyannot
from pyannot import annotate, mark, push, pop

def others():
    print("point", flush=True)
    sys.stdin.readline()
"""
TASKS = """
import asyncio

async def work(number):
    for _ in range(12):
        with annotate("part"):
            await asyncio.sleep(0)

async def main():
    tasks = [asyncio.create_task(work(number)) for number in range(5)]
    for _ in range(POINTS):
        await asyncio.sleep(0)
        others()
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)

asyncio.run(main())
"""
POOL = """
import multiprocessing

def double(number):
    return 2 * number

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(1) as pool:
        waiting = pool.map_async(double, range(1))
        for number in range(POINTS):
            waiting.wait()
            others()
            with annotate("map"):
                waiting = pool.map_async(double, range(3), 1)
        waiting.wait()
        pool.close()
        pool.join()
"""
THREADS = """
import gc
import threading

gc.disable()
meet, go_on = threading.Barrier(3), threading.Barrier(3)

def work():
    mark("began")  # what the thread is called is known from here on
    with annotate("thread"):
        push("inner")
        for _ in range(POINTS):
            meet.wait()
            go_on.wait()
            push("while others record")
        for _ in range(POINTS + 1):
            pop()

threads = [threading.Thread(target=work, name=f"worker {number}") for number in range(2)]
for thread in threads:
    thread.start()
free = pyannot.start("overlaps")
with annotate("outer"):
    for point in range(POINTS):
        meet.wait()
        others()
        with annotate("between"):
            gc.collect()
        go_on.wait()
    import colorsys
pyannot.end(free)
for thread in threads:
    thread.join()
"""
CALLS = """
def leaf():
    pass

def deep(level):
    leaf()
    if level == 0:
        others()
    else:
        [deep(below) for below in (level - 1,)]
    leaf()

def main():
    for point in range(POINTS):
        deep(3)

main()
"""


class Other:
    """Another recording, of another program."""

    def __init__(self, path, environment):
        command = ["sh", "-c", "echo up; exec cat"]
        self.process = subprocess.Popen(
            [ANNOT, "record", "--sampling=none", "--force", "-o", path, "--", *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout.readline() == "up\n"

    def end(self):
        self.process.communicate(timeout=TIMEOUT_SECONDS)


class Attached:
    """Another recording, attached to a running program."""

    def __init__(self, path, environment):
        self.target = subprocess.Popen(
            [sys.executable, "-c", "import pyannot, sys, time\nprint('up', flush=True)\n"
             "while not pyannot.enabled() or pyannot.status() != 'recording':\n"
             "    pyannot.mark('here')\n    time.sleep(0.001)\n"
             "print('joined', flush=True)\nsys.stdin.readline()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.target.stdout.readline() == "up\n"
        self.process = subprocess.Popen(
            [ANNOT, "attach", "--sampling=none", "--force", "-o", path, "-p",
             str(self.target.pid)], env=environment)
        assert self.target.stdout.readline() == "joined\n"

    def end(self):
        self.target.communicate(timeout=TIMEOUT_SECONDS)
        self.process.wait(timeout=TIMEOUT_SECONDS)


class OthersTest(ObservedTest):
    def record_among(self, source, other, options):
        """The recording's lines, without the parts that vary from run to run."""
        path = self.script(HEAD.replace("POINTS", str(POINTS)) + f"POINTS = {POINTS}\n" + source)
        target = subprocess.Popen(self.command(path, options=["--sampling=none", *options]),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  env=self.environment)
        strangers = {name: value for name, value in self.environment.items()
                     if not name.startswith("ANNOT_") or name == "ANNOT_DIR"}
        present = None
        for _ in range(POINTS):
            self.assertEqual(target.stdout.readline(), "point\n")
            if present:
                present.end()
                present = None
            elif other:
                present = other(str(self.folder / "other.annot"), strangers)
            target.stdin.write("\n")
            target.stdin.flush()
        target.communicate(timeout=TIMEOUT_SECONDS)
        self.assertEqual(target.returncode, 0)
        self.assertEqual(harness.Recording(self.folder / "out.annot").lost(), 0)
        self.read_lines()
        return sorted(filter(None, map(without_times, self.lines)))

    def check(self, source, *options):
        alone = self.record_among(source, None, options)
        self.assertGreater(len(alone), 40)
        for other in (Other, Attached):
            with self.subTest(other=other.__name__):
                self.assertEqual(self.record_among(source, other, options), alone)

    def test_tasks_of_asyncio(self):
        self.check(TASKS)

    def test_a_pool(self):
        self.check(POOL)

    def test_threads_with_open_ranges(self):
        self.check(THREADS)

    def test_calls_that_are_open(self):
        self.check(CALLS, "--trace-functions=exact", "--trace-select", "main,deep,leaf,others")


# As often as the machine likes.
SELDOM = {"awaited", "event loop blocked", "gc generation 0", "gc generation 1", "gc generation 2"}
KEPT = ("event", "kind", "name", "domain", "category", "depth", "unfinished", "track", "value",
        "thread")


def without_times(line):
    """A line as text; "" for events that vary."""
    if line.get("name") in SELDOM:
        return ""
    kept = {key: line[key] for key in KEPT if key in line}
    return repr(kept)


if __name__ == "__main__":
    os.environ["ANNOT_PYTHON"] = "default"
    harness.main()
