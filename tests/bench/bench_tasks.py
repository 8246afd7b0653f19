# SPDX-License-Identifier: MIT
"""The cost of an annotation inside of a task of asyncio, beside the plain one.

    PYTHONPATH=build/pyannot:build/tests/bench annot record -o x.annot -- python3 bench_tasks.py

The cases alternate within each round, in bursts small enough for the buffers; minima and medians
are over the rounds, and the loop's own cost is subtracted. "plain" is outside of any task while
tasks are not watched; "watched" is outside of any task while they are; "task" inside of one. A turn
is one `await asyncio.sleep(0)`. Prints one JSON object; times are nanoseconds.
"""

import argparse
import asyncio
import gc
import json
import statistics
import sys
import time

import pyannot
from pyannot.observe import options, tasks

STATEMENTS = {
    "loop": ("pass", "pass"),
    "with, kept object": ("a = annotate('load')", "with a: pass"),
    "with": ("a = annotate", "with a('load'): pass"),
    "push and pop": ("push, pop = pyannot.push, pyannot.pop", "push('load'); pop()"),
    "decorated call": ("f = annotate('load')(lambda: None)", "f()"),
}

BURST = """
def burst(loops):
    {setup}
    begin = clock()
    for _ in loops:
        {statement}
    return clock() - begin
"""

TURNS = """
async def turns(loops):
    begin = clock()
    for _ in loops:
        {statement}await sleep(0)
    return clock() - begin
"""


def compile_one(text, name):
    scope = {"annotate": pyannot.annotate, "clock": time.perf_counter_ns, "pyannot": pyannot,
             "sleep": asyncio.sleep, "kept": pyannot.annotate("load")}
    exec(text, scope)
    return scope[name]


async def run_inside(burst, loops):
    return burst(loops)


def in_new_loop(coroutine):
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()


def measure_round(bursts, turns, loops, pause_seconds):
    def take(name, nanoseconds, count):
        times.setdefault(name, []).append(nanoseconds / count)
        time.sleep(pause_seconds)  # for the collector to drain

    times = {}
    turn_loops = range(len(loops) // 4)
    for watched in (False, True):
        (tasks.install if watched else tasks.remove)()
        for name, burst in bursts.items():
            take(("watched: " if watched else "plain: ") + name, burst(loops), len(loops))
        for name, coroutine in turns.items():
            take(("watched: " if watched else "plain: ") + name,
                 in_new_loop(coroutine(turn_loops)), len(turn_loops))
    for name, burst in bursts.items():
        take("task: " + name, in_new_loop(run_inside(burst, loops)), len(loops))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--loops", type=int, default=2000)
    parser.add_argument("--pause", type=float, default=0.005, metavar="SECONDS")
    arguments = parser.parse_args()
    options.clear()
    bursts = {name: compile_one(BURST.format(setup=setup, statement=statement), "burst")
              for name, (setup, statement) in STATEMENTS.items()}
    turns = {"turn": compile_one(TURNS.format(statement=""), "turns"),
             "turn with a range": compile_one(TURNS.format(statement="with kept: "), "turns")}
    gc.disable()
    times = {}
    for _ in range(arguments.rounds):
        for name, taken in measure_round(bursts, turns, range(arguments.loops),
                                         arguments.pause).items():
            times.setdefault(name, []).extend(taken)
    rows = {name: {"min_ns": round(min(t), 1), "median_ns": round(statistics.median(t), 1)}
            for name, t in times.items()}
    result = {"bench": "tasks", "python": sys.version.split()[0], "recording": pyannot.enabled(),
              "status": pyannot.status(), "rows": rows, "ratios": ratios(rows)}
    json.dump(result, sys.stdout, indent=1)
    print()


def ratios(rows):
    """Inside of a task, and outside of one while tasks are watched, over plain."""
    found = {}
    for name in STATEMENTS:
        for place in ("watched", "task") if name != "loop" else ():
            found[f"{place}: {name}"] = {
                kind: round((rows[f"{place}: {name}"][kind] - rows[f"{place}: loop"][kind])
                            / (rows[f"plain: {name}"][kind] - rows["plain: loop"][kind]), 2)
                for kind in ("min_ns", "median_ns")}
    return found


if __name__ == "__main__":
    main()
