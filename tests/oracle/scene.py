# SPDX-License-Identifier: MIT
"""A Python program that emits a little of everything that a recording can contain.

scene.py WORK...: works to do, in this order. Needs pyannot; each work is a function below.
"""

import asyncio
import concurrent.futures
import gc
import logging
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pyannot
from pyannot import annotate

IO = pyannot.domain("io")
LONG = "a name that goes on and on: " + "and on " * 60


def burn(milliseconds):
    end = time.thread_time_ns() + milliseconds * 1_000_000
    while time.thread_time_ns() < end:
        math.factorial(200)


@annotate("decorated", category="calls", color="green")
def decorated(milliseconds):
    burn(milliseconds)


def values():
    """Payloads of every type, colours, levels, domains, categories, long and foreign names."""
    for payload in (1, -1, 2**63, 2**64 - 1, 0.5, math.inf, math.nan, True, "text", "", "ß" * 300):
        with annotate("payload", payload=payload):
            pass
    for color in ("red", 0x123456, "#80ff00"):
        with annotate("colored", color=color, category="colors"):
            pyannot.mark("inside", color=color)
    for level in range(8):
        with IO.annotate("level", category=f"category {level % 3}", level=level):
            pyannot.counter("level", level)
    for name in (LONG, "", "tab\tnew\nline", "päth/ö/日本語/🐍", "a;b c,d\"e'f<g>&h|i"):
        with annotate(name), IO.annotate(name):
            pyannot.mark(name, payload=name)
    pyannot.counter("series", {"a": 1, "b [ms]": 2.5, "c": -3})
    for value in (0, -5, 2**62, 1e300, math.inf, -math.inf, math.nan, 0.1):
        IO.counter("odd", value)


def crossing():
    """Ranges that overlap, on several threads; some never end."""
    tokens = [pyannot.start(f"overlap {i % 3}", payload=i) for i in range(6)]
    thread = threading.Thread(target=lambda: [pyannot.end(token) for token in tokens[::2]])
    thread.start()
    thread.join()
    for token in tokens[1:5:2]:
        IO.end(token) if token % 2 else pyannot.end(token)
    pyannot.end(12345)
    pyannot.pop()
    pyannot.pop()
    pyannot.push("never popped")


def lines():
    """Tracks in trees, flows between threads, marks on tracks."""
    server = pyannot.track("server")
    requests = [pyannot.track(f"request {i}", parent=server) for i in range(4)]
    flows = [pyannot.flow("arrow", i) for i in range(3)]

    def serve(index):
        requests[index].begin("handle", payload=index)
        requests[index].mark("got it", number=index)
        with annotate("serve"):
            flows[index % 3].step()
        requests[index].end()

    for flow in flows:
        with annotate("send"):
            flow.begin()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(serve, range(4)))
    with annotate("receive"):
        flows[0].end()
        flows[1].end()
    server.begin("open at the end")
    with requests[0].annotate("again"), requests[0].annotate("nested"):
        burn(3)


def work_in_task(number):
    async def step(depth):
        with annotate(f"step {depth}"):
            burn(2)
            await asyncio.sleep(0.001)
            if depth:
                await step(depth - 1)

    return step(number)


def tasks():
    """Tasks of asyncio, one cancelled, one that fails."""
    async def fails():
        with annotate("fails"):
            raise ValueError("expected")

    async def run():
        made = [asyncio.create_task(work_in_task(i), name=f"task {i}") for i in range(3)]
        made.append(asyncio.create_task(fails()))
        made.append(asyncio.create_task(asyncio.sleep(5)))
        await asyncio.sleep(0.005)
        made[-1].cancel()
        await asyncio.gather(*made, return_exceptions=True)

    with annotate("loop"):
        asyncio.run(run())


def forks():
    """Children with ranges open at the fork; one is killed in the middle, one execs."""
    with annotate("around", payload="the fork"), IO.annotate("in a domain"):
        for how in ("ends", "killed", "execs"):
            child = os.fork()
            if not child:
                be_child(how)
            os.waitpid(child, 0)
        burn(12)


def be_child(how):
    with annotate(how):
        burn(12)
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "execs":
            os.execv("/bin/true", ["true"])
    os._exit(3)


def square(number):
    with annotate("square", payload=number):
        burn(4)
        return number * number


def pools():
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool, annotate(f"pool by {method}"):
            pool.map(square, range(4))
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        pool.submit(square, 3).result()


def threads():
    """Named threads that wait for each other."""
    lock, event = threading.Lock(), threading.Event()

    def hold():
        with lock, annotate("holds"):
            event.set()
            time.sleep(0.02)

    def wait():
        event.wait()
        with annotate("waits"), lock:
            burn(8)

    made = [threading.Thread(target=work, name=work.__name__) for work in (hold, wait, wait)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()


def children():
    with annotate("children"):
        subprocess.run([sys.executable, "-c", "import json, pyannot; pyannot.mark('child')"])
        subprocess.run(["sh", "-c", "sleep 0.01; exit 4"])


def garbage():
    with annotate("garbage"):
        for _ in range(3):
            ring = [[] for _ in range(20000)]
            for entry in ring:
                entry.append(ring)
            del ring
            gc.collect()


def logs():
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    for level in (logging.DEBUG, logging.WARNING, logging.ERROR):
        logging.log(level, "message of level %d", level)


def calls():
    for _ in range(3):
        decorated(5)
    with annotate("deep"):
        nested(30)


def nested(depth):
    with annotate(f"depth {depth % 4}"):
        if depth:
            return nested(depth - 1)
        return burn(15)


def end():
    with annotate("open when it is killed"), annotate("inner"):
        pyannot.set_process_name("about to die")
        burn(5)
        os.kill(os.getpid(), signal.SIGKILL)


for WORK in sys.argv[1:]:
    if __name__ == "__main__":
        globals()[WORK]()
