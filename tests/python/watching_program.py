# SPDX-License-Identifier: MIT
"""asyncio loops in several threads annotate while another thread switches the observation of tasks
on and off repeatedly, like recordings that begin and end. watching_program.py TIMES"""

import asyncio
import sys
import threading

import pyannot
from pyannot import annotate, observe

LOOPS, TASKS = 4, 10


async def work():
    for _ in range(20):
        with annotate("in a task"):
            await asyncio.sleep(0)
        pyannot.push("pushed")
        pyannot.pop()


async def main(over):
    while not over.is_set():
        await asyncio.gather(*(work() for _ in range(TASKS)))


def run():
    over = threading.Event()
    threads = [threading.Thread(target=lambda: asyncio.run(main(over))) for _ in range(LOOPS)]
    for thread in threads:
        thread.start()
    for time in range(int(sys.argv[1])):
        observe.start("asyncio-steps" if time % 2 else "asyncio")
        observe.stop()
    over.set()
    for thread in threads:
        thread.join()


assert pyannot.enabled()
run()
