# SPDX-License-Identifier: MIT
"""Functions that measure their own durations by the wall clock and the thread's CPU clock, for
test_truth.py: prints {name: [calls, total, own, own CPU]} in nanoseconds."""

import collections
import json
import threading
import time

local = threading.local()
lock = threading.Lock()
counts = collections.defaultdict(lambda: [0, 0, 0, 0])


def clocks():
    return time.perf_counter_ns(), time.thread_time_ns()


class Timed:
    """Measures a with statement. Every call of a traced function lies inside one."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        stack = local.__dict__.setdefault("stack", [])
        self.outer = stack[-1] if stack else None
        self.is_outermost = all(one.name != self.name for one in stack)
        self.inner = [0, 0]
        stack.append(self)
        self.begin = clocks()

    def __exit__(self, *ignored):
        spent = [end - begin for end, begin in zip(clocks(), self.begin)]
        local.stack.pop()
        if self.outer:
            self.outer.inner = [a + b for a, b in zip(self.outer.inner, spent)]
        with lock:
            count = counts[self.name]
            count[0] += 1
            count[1] += spent[0] * self.is_outermost
            count[2] += spent[0] - self.inner[0]
            count[3] += spent[1] - self.inner[1]


def burn(ms):
    end = time.thread_time_ns() + ms * 1000000
    while time.thread_time_ns() < end:
        pass


def light():
    with Timed("light"):
        burn(5)


def heavy():
    with Timed("heavy"):
        burn(40)
        light()
        light()


def waits():
    with Timed("waits"):
        time.sleep(0.03)
        burn(10)


def again(n):
    with Timed("again"):
        burn(5)
        if n:
            again(n - 1)


def pieces():
    for _ in range(3):
        with Timed("pieces"):
            burn(5)
        yield


def main():
    with Timed("main"):
        heavy()
        waits()
        again(3)
        for _ in pieces():
            burn(5)


if __name__ == "__main__":
    other = threading.Thread(target=heavy)
    other.start()
    main()
    other.join()
    print(json.dumps(counts))
