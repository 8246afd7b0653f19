# SPDX-License-Identifier: MIT
"""Threads that annotate in every way at once; prints the expected recording as JSON:
{"ranges" or "free_ranges" or "marks" or "counters": {name: how many}}.

    threads_program.py THREADS ROUNDS"""

import collections
import json
import queue
import sys
import threading

import pyannot
from pyannot import annotate

SHARED = annotate("shared")
THREADS, ROUNDS = int(sys.argv[1]), int(sys.argv[2])
MADE_UP = 40  # number of names that are created each time
TOKENS = [queue.SimpleQueue() for _ in range(THREADS)]
START = threading.Barrier(THREADS)
IO = pyannot.domain("io")
TRACKS = [pyannot.track(f"track {i}") for i in range(THREADS)]


@annotate("decorated")
def decorated():
    pass


@annotate("generator")
def generator():
    yield 1


def one_round(index, i):
    with SHARED, annotate("literal"):
        decorated()
        with SHARED:
            pass
    with annotate(f"made up {i % MADE_UP}"):
        pyannot.mark("mark", payload=i)
    with annotate(f"of thread {index}", domain=f"domain {i % 7}", payload=f"text {i}"):
        pyannot.counter("counter", i)
    pyannot.push("pushed")
    pyannot.pop()
    next(iter(generator()))
    TOKENS[(index + 1) % THREADS].put(pyannot.start("handed on"))
    pyannot.end(TOKENS[index].get())
    with IO.annotate("in a domain"), TRACKS[index].annotate("on a track", key=i):
        pyannot.counter("series", {"a": i, "b": 1.5})
    pyannot.flow("arrow", index).begin()
    try:
        with SHARED:
            raise KeyError
    except KeyError:
        pass


def work(index):
    START.wait()
    for i in range(ROUNDS):
        one_round(index, i)


def expected():
    all_rounds = THREADS * ROUNDS
    ranges = collections.Counter({"shared": 3 * all_rounds})
    names = ["literal", "decorated", "pushed", "in a domain"]
    ranges.update(dict.fromkeys(names, all_rounds))
    for i in range(ROUNDS):
        ranges[f"made up {i % MADE_UP}"] += THREADS
    for index in range(THREADS):
        ranges[f"of thread {index}"] += ROUNDS
    return {
        "ranges": ranges,
        "free_ranges": dict.fromkeys(["generator", "handed on", "on a track"], all_rounds),
        "marks": {"mark": all_rounds, "arrow": all_rounds},
        "counters": {"counter": all_rounds, "series": all_rounds},
    }


def main():
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=work, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(json.dumps({"expected": expected(), "lock": lock}))


main()
