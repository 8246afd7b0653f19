# SPDX-License-Identifier: MIT
"""Lines that run a known number of times, for test_line_counts.py. Argument: the ways.

With LINE_REFERENCE, counts how often each line of this file begins, by sys.settrace; from CPython
3.12 on by sys.monitoring, where a loop on a single line begins it once. With LINE_SLEEPS, writes
the duration of each sleep.
"""

import asyncio
import contextlib
import multiprocessing
import os
import sys
import threading
import time

REFERENCE = os.environ.get("LINE_REFERENCE")
SLEEPS = os.environ.get("LINE_SLEEPS")


def loop(n):
    total = 0
    for i in range(n):
        if i % 3:
            total += i
        else:
            total -= 1
    while total > 0:
        total -= 1000
    return [x for x in range(10) if x]


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + \
        fib(n - 2)


def numbers(n):
    for i in range(n):
        yield i
    yield from (x * x
                for x in range(n))


def guarded():
    try:
        while True:
            try:
                yield 1
            except KeyError:
                yield 2
    finally:
        fib(1)


def generators():
    list(numbers(20))
    early = numbers(10)
    next(early)
    early.close()
    thrown = guarded()
    next(thrown)
    thrown.throw(KeyError)
    next(thrown)
    thrown.close()
    failing = guarded()
    next(failing)
    with contextlib.suppress(ValueError):
        failing.throw(ValueError)


def sink(depth):
    if depth == 0:
        raise ValueError
    sink(depth - 1)


def exceptions():
    for depth in range(8):
        try:
            sink(depth)
        except ValueError:
            fib(2)
        finally:
            fib(1)


class Shape:
    @property
    def area(self):
        return sum(map(lambda x: x +
                       1, [1, 2, 3]))

    def __del__(self):
        fib(1)


def objects():
    shapes = [Shape() for _ in range(4)]
    while shapes:
        shapes.pop().area


def threads():
    workers = [threading.Thread(target=loop, args=(300,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


async def pause(n):
    for _ in range(n):
        await asyncio.sleep(0)
    return n


async def gather():
    return sum(await asyncio.gather(*(pause(i) for i in range(5))))


def coroutines():
    asyncio.run(gather())


def fork():
    loop(50)
    child = os.fork()
    if child == 0:
        loop(70)
        leave()
    os.waitpid(child, 0)
    loop(30)


def task(n):
    total = 0
    for i in range(n):
        total += i
    return total


def pool():
    with multiprocessing.get_context("fork").Pool(2) as workers:
        workers.map(task, [10] * 20, chunksize=1)
        workers.close()
        workers.join()


def outer():
    began = time.perf_counter()
    time.sleep(0.03)
    took("outer", "time.sleep(0.03)", began)
    inner()
    inner()
    began = time.perf_counter()
    again(2)
    took("outer", "again(2)", began)


def inner():
    began = time.perf_counter()
    time.sleep(0.02)
    took("inner", "time.sleep(0.02)", began)


def again(n):
    if n:
        began = time.perf_counter()
        time.sleep(0.01)
        took("again", "time.sleep(0.01)", began)
        again(n - 1)


def took(function, line, began):
    """Adds a sleep's duration by the program's own clock: busy machines wake it late."""
    milliseconds = (time.perf_counter() - began) * 1e3
    if SLEEPS:
        with open(SLEEPS, "a", encoding="utf-8") as told:
            print(function, line, milliseconds, sep="\t", file=told)


def sleeps():
    outer()


# ---- The interpreter's counts --------------------------------------------------------------------

counts = {}
guard = threading.Lock()


def count(code, line):
    with guard:
        key = code.co_name, line
        counts[key] = counts.get(key, 0) + 1


def local(frame, event, _):
    if event == "line":
        count(frame.f_code, frame.f_lineno)
    return local


def monitored(code, _):
    if code.co_filename == __file__:
        sys.monitoring.set_local_events(1, code, sys.monitoring.events.LINE)


def note(frame, event, _):
    return local if frame.f_code.co_filename == __file__ and frame.f_code not in \
        (finish.__code__, leave.__code__) else None


def finish():
    """Writes this process's counts to the file."""
    if not REFERENCE:
        return
    sys.settrace(None)
    if sys.version_info >= (3, 12):
        # CPython 3.13 runs code after it emptied the modules: the callback would not find a name.
        sys.monitoring.register_callback(1, sys.monitoring.events.PY_START, None)
        sys.monitoring.register_callback(1, sys.monitoring.events.LINE, None)
    with open(REFERENCE, "a") as output:
        for (name, line), count in counts.items():
            output.write(f"{name} {line} {count}\n")
    counts.clear()


def leave():
    finish()
    os._exit(0)


def forked():
    counts.clear()


def main():
    for way in sys.argv[1:]:
        globals()[way]()


if __name__ == "__main__":
    if REFERENCE:
        os.register_at_fork(after_in_child=forked)
        if sys.version_info >= (3, 12):
            sys.monitoring.use_tool_id(1, "reference")
            events = sys.monitoring.events
            sys.monitoring.register_callback(1, events.LINE, count)
            sys.monitoring.register_callback(1, events.PY_START, monitored)
            sys.monitoring.set_events(1, events.PY_START)
        else:
            threading.settrace(note)
            sys.settrace(note)
    main()
    finish()
