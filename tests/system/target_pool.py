# SPDX-License-Identifier: MIT
"""A pool of forked workers: tasks use ranges of one name in several domains, and one that is called
like the task. Arguments: milliseconds, workers. Prints "PID TID PATH NANOSECONDS STRETCHES"
lines, as target_ranges."""

import multiprocessing
import os
import resource
import sys
import threading
import time

import pyannot

UNIT_NS = int(sys.argv[1]) * 1_000_000


def burn(ns):
    begin = time.thread_time_ns()
    while time.thread_time_ns() - begin < ns:
        sum(range(200))


def switch_count():
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_nvcsw + usage.ru_nivcsw


def tell(path, ns, stretches):
    line = f"{os.getpid()} {threading.get_native_id()} {path} {ns} {stretches}\n"
    os.write(1, line.encode())


def run_task(number):
    for at in range(6):
        domain = (None, "A", "B")[(at + number) % 3]
        name = ("same", "run_task")[at // 3]
        switches, begin = switch_count(), time.thread_time_ns()
        with pyannot.annotate(name, domain=domain):
            burn(UNIT_NS * (1 + (at + number) % 3))
        ns = time.thread_time_ns() - begin
        tell(f"{domain}:{name}" if domain else name, ns, switch_count() - switches + 1)
    return number


if __name__ == "__main__":
    with pyannot.annotate("parent"):
        pool = multiprocessing.get_context("fork").Pool(int(sys.argv[2]))
    with pool:
        pool.map(run_task, range(2 * int(sys.argv[2])), chunksize=1)
