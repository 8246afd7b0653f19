# SPDX-License-Identifier: MIT
"""A program with a known schedule: wall_program.py SCHEDULE.

It prints its own clocks, in nanoseconds: {"begin", "end": when the schedule began and was over,
"cpu": CPU time of all meanwhile, "lives": [pid, tid, begin, end, cpu] of threads}. A thread reports
itself, because others cannot read its clock.
"""

import json
import multiprocessing
import os
import resource
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

LIVES = []


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def live(work):
    """Does the work and notes this thread's clocks."""
    begin, cpu = time.monotonic_ns(), time.thread_time_ns()
    work()
    LIVES.append([os.getpid(), threading.get_native_id(), begin, time.monotonic_ns(),
                  time.thread_time_ns() - cpu])


def live_from_birth(work):
    """Of a child that never waits: its life is the time that it ran and was ready, which the kernel
    counts from its fork on."""
    work()
    with open("/proc/self/schedstat", encoding="ascii") as file:
        ready = int(file.read().split()[1])
    end, cpu = time.monotonic_ns(), time.thread_time_ns()
    LIVES.append([os.getpid(), threading.get_native_id(), end - cpu - ready, end, cpu])


def start(work):
    thread = threading.Thread(target=live, args=(work,))
    thread.start()
    return thread


def fork(work, how=live):
    """The child's pid, and the pipe on which it reports its life."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        how(work)
        os.write(write, json.dumps(LIVES[-1]).encode())
        os._exit(0)
    os.close(write)
    return child, read


def join(child, read):
    os.waitpid(child, 0)
    LIVES.append(json.loads(os.read(read, 1000)))
    os.close(read)


def running():
    spin(1.5)


def sleeping():
    for _ in range(40):
        spin(0.02)
        time.sleep(0.04)


def napping():
    for _ in range(9000):
        time.sleep(0.0002)


def locking():
    held = threading.Lock()

    def hold():
        for _ in range(40):
            with held:
                time.sleep(0.05)
            time.sleep(0.01)
    thread = start(hold)
    time.sleep(0.005)
    for _ in range(30):
        with held:
            spin(0.01)
        time.sleep(0.02)
    thread.join()


def piping():
    read, write = os.pipe()

    def fill():
        for _ in range(60):
            time.sleep(0.03)
            os.write(write, b"x")
    child = fork(fill)
    for _ in range(60):
        os.read(read, 1)
        spin(0.01)
    join(*child)


def forking():
    for _ in range(10):
        join(*fork(lambda: spin(0.15), live_from_birth))
        time.sleep(0.01)


def crowding():
    """More than any machine here has processors for."""
    for child in [fork(lambda: spin(0.15), live_from_birth) for _ in range(3 * os.cpu_count())]:
        join(*child)


def task(milliseconds):
    spin(milliseconds / 1000)
    time.sleep(milliseconds / 500)


def worker(number):
    live(lambda: [task(milliseconds) for milliseconds in (30, 20, 10 * number)])
    return LIVES[-1]


def pooling():
    with multiprocessing.get_context("fork").Pool(2) as workers:
        for _ in range(4):
            LIVES.extend(workers.map(worker, [1, 2], chunksize=1))
            spin(0.02)
        workers.close()
        workers.join()


def pooling_threads():
    with ThreadPoolExecutor(3) as executor:
        for _ in range(4):
            list(executor.map(worker, [1, 2, 3]))


def cpu_ns():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time_ns() + int(1e9 * (children.ru_utime + children.ru_stime))


if __name__ == "__main__":
    BEFORE, BEGIN = cpu_ns(), time.monotonic_ns()
    live(globals()[sys.argv[1]])
    END = time.monotonic_ns()
    print(json.dumps({"begin": BEGIN, "end": END, "cpu": cpu_ns() - BEFORE, "lives": LIVES}))
