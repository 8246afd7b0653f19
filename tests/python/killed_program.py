# SPDX-License-Identifier: MIT
"""Processes that end in every way, each after STEPS calls of step().

    killed_program.py [GO]      with GO it waits in the middle until a file of that name exists
"""

import multiprocessing
import os
import pathlib
import signal
import sys
import time

STEPS = 5000


def step(n):
    return n + 1


def work(_number=0):
    for i in range(STEPS):
        step(i)


def work_and_die(way):
    work()
    if way == "exit":
        os._exit(3)
    os.kill(os.getpid(), way)
    signal.pause()


def child(way):
    pid = os.fork()
    if pid == 0:
        work_and_die(way)
    os.waitpid(pid, 0)


def main():
    if len(sys.argv) > 1:
        work()
        print("ready", flush=True)
        while not pathlib.Path(sys.argv[1]).exists():
            time.sleep(0.01)
        work()
        return
    for way in (signal.SIGKILL, signal.SIGTERM, "exit"):
        child(way)
        process = multiprocessing.Process(target=work_and_die, args=(way,))
        process.start()
        process.join()
    with multiprocessing.Pool(2) as pool:  # which it terminates as soon as it has the results
        pool.map(work, range(6), chunksize=1)


if __name__ == "__main__":
    main()
