# SPDX-License-Identifier: MIT
"""Burns known amounts of CPU time in known functions, with all ways of deep stacks in Python.

Prints `ready` and waits for SIGUSR1; then runs its functions in three threads and prints, per
function, the CPU nanoseconds by its thread's own clock: `truth NAME NS`. Then prints `done` and
waits to be killed. Works on every CPython from 3.9 on.
"""
import ctypes
import functools
import signal
import sys
import threading
import time
import zlib

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
# Keeps the GIL: otherwise each callback switches threads, during which the kernel delays timers,
# and samples of the switches would be attributed to the next thread.
libc = ctypes.PyDLL(None)
compare_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int),
                                ctypes.POINTER(ctypes.c_int))


def inner_generator(n):
    for i in range(n):
        yield i * i


def outer_generator(n):
    yield from (i + 1 for i in inner_generator(n))


def work_generators():
    return sum(outer_generator(200))


def small_key(value):
    return -value


def add_up(left, right):
    return left + small_key(right)


def compare(left, right):
    return left[0] - right[0]


compare_callback = compare_type(compare)


def work_callbacks():
    sorted(range(100), key=small_key)
    functools.reduce(add_up, range(100))
    array = (ctypes.c_int * 30)(*range(30, 0, -1))
    libc.qsort(array, len(array), ctypes.sizeof(ctypes.c_int), compare_callback)
    max((value for value in range(50)), key=lambda value: -value)


def descend(depth):
    return descend(depth - 1) + 1 if depth else 0


def work_recursion():
    return descend(150)


DATA = bytes(range(256)) * 64


def work_released():
    return len(zlib.compress(DATA, 9))


WORKS = (work_generators, work_callbacks, work_recursion, work_released)


def burn(work, budget_ns):
    begin = time.thread_time_ns()
    while True:
        for _ in range(5):
            work()
        spent = time.thread_time_ns() - begin
        if spent > budget_ns:
            return spent


def run(shares, truth):
    for _ in range(10):
        for work, share in zip(WORKS, shares):
            truth[work.__name__] += burn(work, int(SECONDS * share * 1e7))


def main():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    for work in WORKS:
        work()
    print("ready", flush=True)
    signal.sigwait([signal.SIGUSR1])
    truths = [dict.fromkeys((work.__name__ for work in WORKS), 0) for _ in range(3)]
    shares = ((4, 3, 2, 1), (1, 4, 1, 4), (2, 2, 4, 2))
    threads = [threading.Thread(target=run, args=pair) for pair in zip(shares, truths)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for work in WORKS:
        print("truth", work.__name__, sum(truth[work.__name__] for truth in truths))
    print("done", flush=True)
    signal.pause()


main()
