# SPDX-License-Identifier: MIT
"""A pool of forked workers whose tasks use ranges of one name in several domains, and one that is
called like the task. Arguments: milliseconds, workers. Prints "PID TID PATH NANOSECONDS" lines."""

import multiprocessing
import os
import sys
import threading
import time

import pyannot

UNIT_NS = int(sys.argv[1]) * 1_000_000


def burn(ns):
    begin = time.thread_time_ns()
    while time.thread_time_ns() - begin < ns:
        sum(range(200))


def tell(path, ns):
    line = f"{os.getpid()} {threading.get_native_id()} {path} {ns}\n"
    os.write(1, line.encode())


def run_task(number):
    for at in range(6):
        domain = (None, "A", "B")[(at + number) % 3]
        name = ("same", "run_task")[at // 3]
        begin = time.thread_time_ns()
        with pyannot.annotate(name, domain=domain):
            burn(UNIT_NS * (1 + (at + number) % 3))
        tell(f"{domain}:{name}" if domain else name, time.thread_time_ns() - begin)
    return number


if __name__ == "__main__":
    with pyannot.annotate("parent"):
        pool = multiprocessing.get_context("fork").Pool(int(sys.argv[2]))
    with pool:
        pool.map(run_task, range(2 * int(sys.argv[2])), chunksize=1)
