# SPDX-License-Identifier: MIT
"""The program of test_kill_matrix.py: children that end in every way, counting their own calls.

    kill_program.py METHOD COUNTS_FILE [--collector-dies]

METHOD is fork, spawn, forkserver or subprocess. Each way to end has a slot in COUNTS_FILE, a
shared mapping that outlives its writer: calls begun, calls done (8 bytes each). A range named
"METHOD WAY" is one call, so a recording must hold begun or done of them, which differ by one at
most when the child was killed inside a call.
"""

import mmap
import multiprocessing
import os
import signal
import struct
import subprocess
import sys
import time

from pyannot import annotate, mark

WAYS = ["return", "sys.exit", "os._exit", "SIGTERM", "SIGKILL", "SIGSEGV", "terminate"]
ENDS_BY_ITSELF = {"return", "sys.exit", "os._exit"}
CALLS = 1000
SLOT = struct.Struct("<QQ")


class Slot:
    """The counts of one child."""

    def __init__(self, path, way):
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), SLOT.size * len(WAYS))
        self.numbers = memoryview(self.memory).cast("Q")[2 * WAYS.index(way) :][:2]

    def begin(self):
        self.numbers[0] += 1

    def done(self):
        self.numbers[1] += 1


def child(method, way, path):
    slot, name = Slot(path, way), f"{method} {way}"
    with annotate("open at the end"):
        for _ in range(CALLS):
            call(slot, name)
        mark("ready")
        while way not in ENDS_BY_ITSELF:  # until the signal arrives
            call(slot, name)
            time.sleep(0.0002)
        if way == "os._exit":
            os._exit(0)
        if way == "sys.exit":
            sys.exit(0)


def call(slot, name):
    slot.begin()
    with annotate(name):
        slot.done()


def start(method, way, path):
    if method == "subprocess":
        return subprocess.Popen([sys.executable, __file__, "child", path, way])
    context = multiprocessing.get_context(method)
    process = context.Process(target=child, args=(method, way, path))
    process.start()
    return process


def finish(process, way, path):
    slot = Slot(path, way)
    while slot.numbers[1] < CALLS + 50 * (way not in ENDS_BY_ITSELF):
        time.sleep(0.001)
    if way == "terminate":
        process.terminate()
    elif way.startswith("SIG"):
        os.kill(process.pid, getattr(signal, way))
    process.wait() if isinstance(process, subprocess.Popen) else process.join()


def main():
    method, path = sys.argv[1:3]
    if method == "child":
        return child("subprocess", sys.argv[3], path)
    children = {way: start(method, way, path) for way in WAYS}
    if "--collector-dies" in sys.argv:
        collector = os.getppid()
        while os.getppid() == collector:  # the test kills it
            time.sleep(0.001)
    for way, process in children.items():
        finish(process, way, path)
    with open(path + ".finished", "w"):
        pass


if __name__ == "__main__":
    main()
