# SPDX-License-Identifier: MIT
"""Threads and children that make a known number of calls whenever a file appears, while the main
thread waits: switched_program.py FOLDER ROUNDS. Fails if it is traced at its end, or if foreign
names remain in it. See test_switching.py."""

import gc
import os
import sys
import threading
import time
import warnings

THREADS, CALLS, CHILD_CALLS = 3, 400, 50
folder, rounds = sys.argv[1], int(sys.argv[2])
barrier = threading.Barrier(THREADS)


def work(number):
    return number + 1


def calls(count):
    for number in range(count):
        work(number)


def child():
    pid = os.fork()
    if pid == 0:
        calls(CHILD_CALLS)
        os._exit(0)
    os.waitpid(pid, 0)


def wait_for(name):
    while not os.path.exists(f"{folder}/{name}"):
        time.sleep(0.002)


def run(is_first):
    for index in range(rounds):
        wait_for(f"go-{index}")
        calls(CALLS)
        if is_first:
            child()
        barrier.wait()
        if is_first:
            open(f"{folder}/done-{index}", "w").close()


warnings.simplefilter("ignore", DeprecationWarning)  # 3.12: our own threads are there at the fork
threads = [threading.Thread(target=run, args=(index == 0,)) for index in range(THREADS)]
for thread in threads:
    thread.start()
before = set(vars(sys.modules["__main__"]))
for thread in threads:
    thread.join()
gc.collect()  # checks for a recorder, as no traced call does so here
calls(100)
left = set(vars(sys.modules["__main__"])) - before - {"before", "__warningregistry__"}
if "pyannot._trace" in sys.modules:
    left |= set(sys.modules["pyannot._trace"]._settings)
sys.exit(", ".join(left) or 0)
