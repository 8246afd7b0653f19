# SPDX-License-Identifier: MIT
"""Launches kernels from known lines, by the libcupti of this folder, and prints the launches of
each line as JSON: {"FUNCTION": {"LINE": {"KERNEL": [ns, launches]}}}.

    stacks_program.py SCENE [COUNT]

Scenes: lines, shares, threads, processes, wait (until a recording begins). A kernel "warm" comes
first.
"""

import collections
import ctypes
import json
import os
import subprocess
import sys
import threading
import time

ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
gpu = ctypes.CDLL(os.environ["FAKE_CUPTI"])
gpu.fake_launch.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
launched = collections.defaultdict(lambda: [0, 0])
lock = threading.Lock()


def note(name, ns):
    caller = sys._getframe(1)
    with lock:
        sums = launched[caller.f_code.co_name, caller.f_lineno, name]
        sums[0] += ns
        sums[1] += 1
    return name.encode(), ns


def first(count):
    for i in range(count):
        gpu.fake_launch(*note("shared", 1000 + i % 7))
        gpu.fake_launch(*note("shared", 31))
        gpu.fake_launch(*note("own of first", 500 + i))


def second(count):
    for i in range(count):
        gpu.fake_launch(*note("shared", 2000 + i % 11))


def nested(depth, count):
    if depth:
        return nested(depth - 1, count)
    return second(count)


def lines(count):
    first(count)
    second(count)
    nested(5, count)


def shares(count):
    """In turns, of unequal lengths."""
    for turn in range(count // 1000):
        for i in range(400):
            gpu.fake_launch(*note("spin", 300))
        for i in range(300):
            gpu.fake_launch(*note("spin", 300))
        for i in range(200):
            gpu.fake_launch(*note("spin", 300))
        for i in range(100):
            gpu.fake_launch(*note("spin", 300))


def threads(count):
    """The threads live until annot knows their launches."""
    over = threading.Event()
    all_threads = [threading.Thread(target=lambda launches=launches: (launches(count), over.wait()))
                   for launches in (first, second) * 2]
    for each in all_threads:
        each.start()
    time.sleep(1.5)
    over.set()
    for each in all_threads:
        each.join()


def processes(count):
    children = [subprocess.run([sys.executable, __file__, scene, str(count)], check=True,
                               stdout=subprocess.PIPE) for scene in ("lines", "threads")]
    for child in children:
        for function, line, name, ns, number in json.loads(child.stdout):
            launched[function, line, name][0] += ns
            launched[function, line, name][1] += number


def wait(count):
    deadline = time.monotonic() + 30
    while not gpu.fake_launch(b"warm", 1) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.2)
    lines(count)
    time.sleep(0.2)


if __name__ == "__main__":
    gpu.fake_launch(b"warm", 1)
    time.sleep(0.5)
    globals()[sys.argv[1]](int(sys.argv[2]))
    print(json.dumps([[*key, *sums] for key, sums in launched.items()]))
