# SPDX-License-Identifier: MIT
"""Threads that call known functions in parallel, for test_parallel_calls.py.

    parallel_calls_program.py THREADS ROUNDS [WAY]

Ways: "fork", "set" (a list and a dictionary that all of them change are arguments), "switch"
(tracing begins and ends while they run), "taken" (another tool takes the events away)."""

import asyncio
import os
import sys
import threading

BRIEF_EVERY = 20  # rounds
FORKED_ROUNDS = 3
SHARED_LIST, SHARED_DICT = [[0], {}], {}


def leaf(x):
    return x


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def sink(depth):
    if depth == 0:
        raise ValueError(depth)
    sink(depth - 1)


def catch():
    try:
        sink(3)
    except ValueError:
        leaf(0)


def numbers(n):
    yield from range(n)


def early():
    generator = numbers(3)
    next(generator)
    generator.close()


async def nap():
    await asyncio.sleep(0)
    return leaf(1)


async def walk():
    await asyncio.gather(nap(), nap())


def make():
    """Makes, calls and frees code: its address is soon reused by other code."""
    scope = {"leaf": leaf}
    exec(compile("def inside(): return leaf(1)\ninside()\n", __file__, "exec"), scope)


def brief():
    leaf(2)


def start_brief():
    thread = threading.Thread(target=brief)
    thread.start()
    thread.join()


def one_round():
    leaf(0)
    fib(4)
    catch()
    list(numbers(3))
    early()
    make()


def work(start, rounds):
    start.wait()
    for i in range(rounds):
        one_round()
        if i % BRIEF_EVERY == 0:
            start_brief()
            asyncio.run(walk())


def given(shared_list, shared_dict):
    return shared_list


def change(start, rounds):
    start.wait()
    for i in range(rounds):
        given(SHARED_LIST, SHARED_DICT)
        SHARED_LIST[:] = [[i], {"i": [i]}, str(i), (i,)][: i % 5]
        SHARED_DICT[i % 7] = {"list": [i]}
        SHARED_DICT.pop((i + 3) % 7, None)


def child():
    for _ in range(FORKED_ROUNDS):
        one_round()


def fork():
    pid = os.fork()
    if pid == 0:
        child()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def switch(rounds):
    import pyannot
    for _ in range(rounds):
        with pyannot.tracing("aggregate", select=f"{os.path.basename(__file__)},-switch"):
            leaf(3)


def take():
    """Disables the events of annot's tool, like a profiler that assumes it owns all tools."""
    for tool in range(6):
        if sys.monitoring.get_tool(tool) == "annot":
            sys.monitoring.set_events(tool, 0)


def model(threads, rounds, way=""):
    """How often each path of calls begins."""
    counts = {}

    def add(path, count):
        counts[path] = counts.get(path, 0) + count

    def add_fib(path, n, count):
        path += "/fib"
        add(path, count)
        for smaller in (n - 1, n - 2) if n >= 2 else ():
            add_fib(path, smaller, count)

    def add_round(around, count):
        path = f"{around}/one_round"
        for inside in ("", "/leaf", "/catch", "/catch/sink", "/catch/sink/sink",
                       "/catch/sink/sink/sink", "/catch/sink/sink/sink/sink", "/catch/leaf",
                       "/numbers", "/early", "/early/numbers", "/make", "/make/<module>",
                       "/make/<module>/inside", "/make/<module>/inside/leaf"):
            add(path + inside, count)
        add_fib(path, 4, count)

    briefs = threads * (1 + (rounds - 1) // BRIEF_EVERY)
    add("work", threads)
    add_round("work", threads * rounds)
    for path, count in (("work/start_brief", 1), ("brief", 1), ("brief/leaf", 1),
                        ("work/walk", 1), ("work/nap", 2), ("work/nap/leaf", 2)):
        add(path, briefs * count)
    add("<module>/main", 1)
    if way == "fork":
        add("<module>/main/fork", 1)
        child = "<module> (inherited)/main (inherited)/fork (inherited)/child"
        add(child, 1)
        add_round(child, FORKED_ROUNDS)
    return counts


def main(threads, rounds, way):
    start = threading.Barrier(threads + 1)
    target = change if way == "set" else work
    if way == "taken":
        take()
    started = []
    for _ in range(threads):  # no comprehension, which is a call before 3.12
        started.append(threading.Thread(target=target, args=(start, rounds)))
        started[-1].start()
    start.wait()
    if way == "fork":
        fork()
    if way == "switch":
        switch(10)
    for thread in started:
        thread.join()


if __name__ == "__main__":
    sys.setswitchinterval(1e-5)
    main(int(sys.argv[1]), int(sys.argv[2]), "".join(sys.argv[3:]))
