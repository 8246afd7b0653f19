# SPDX-License-Identifier: MIT
"""Forks in the middle of calls. Each process appends to the file of its first argument how often it
called a function, and how long that was open in it: `inline` in the process that called it,
`inline (inherited)` from the fork on. A fork lies between two readings of a clock, so each time has
a lower and an upper limit."""

import json
import multiprocessing
import os
import sys
import threading
import time

WORK_S = 0.02
told = {}  # name: [calls, at least so many nanoseconds, at most]
inherited = {}  # open call: clock before and after the last fork, or None if it began later


def now():
    return time.perf_counter_ns()


def begin(name):
    told.setdefault(name, [0, 0, 0])[0] += 1
    inherited[name] = None
    return now()


def end(name, since):
    """Adds the time, and returns the name that it was added to."""
    at = inherited.pop(name)
    name = name if at is None else f"{name} (inherited)"
    before, after = at or (since, since)
    row = told.setdefault(name, [0, 0, 0])
    row[1] += now() - after
    row[2] += now() - before


def forked(before):
    told.clear()
    for name in inherited:
        inherited[name] = before, now()


def tell():
    for name in [name for name, at in inherited.items() if at is not None]:
        end(name, 0)
    with open(sys.argv[1], "a") as file:
        file.write(json.dumps(told) + "\n")


def work():
    since = begin("work")
    while now() - since < WORK_S * 1e9:
        pass
    end("work", since)


def fork():
    """True in the child."""
    before = now()
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
    else:
        forked(before)
    return pid == 0


def inline():
    """A fork, and a nested one; the child makes new calls and continues by itself."""
    since = begin("inline")
    if fork():
        work()
        if fork():
            work()
        inner = now()
        while now() - inner < WORK_S * 1e9:
            pass
        tell()
        os._exit(0)
    end("inline", since)


def forks_inside():
    since = begin("forks_inside")
    child = fork()
    if child:
        work()
    end("forks_inside", since)
    yield child
    begin("forks_inside")  # and is never left


def in_generator():
    since = begin("in_generator")
    if next(forks_inside()):
        tell()
        os._exit(0)
    end("in_generator", since)


def on_thread():
    since = begin("on_thread")
    if fork():
        work()
        tell()
        os._exit(0)
    end("on_thread", since)


def in_thread():
    since = begin("in_thread")
    thread = threading.Thread(target=on_thread)
    thread.start()
    thread.join()
    end("in_thread", since)


def in_pool(_):
    inherited.clear()
    told.clear()
    work()
    tell()


def pools():
    since = begin("pools")
    for method in ("fork", "forkserver", "spawn"):
        process = multiprocessing.get_context(method).Process(target=in_pool, args=(0,))
        process.start()
        process.join()
    end("pools", since)


def main():
    inline()
    in_generator()
    in_thread()
    pools()
    tell()


if __name__ == "__main__":
    main()
