# SPDX-License-Identifier: MIT
"""A program with data for every view of a page: a pool, tasks and requests, counters, waits.

Recorded by test_page_views.py; run alone it does the same without a recorder.
"""

import asyncio
import multiprocessing
import threading
import time

from pyannot import annotate, counter, track

TASKS, PAUSES, REQUESTS = 24, 6, 30


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(500))


def crunch(number):
    with annotate("work"):
        with annotate("parse"):
            spin(0.004)
        with annotate("weigh"):
            spin(0.002 * (1 + number % 4))
    return number


def pause(number):
    time.sleep(0.001 * (1 + number % 2))


def in_pool():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for done, _ in enumerate(pool.imap_unordered(crunch, range(TASKS)), 1):
            counter("done", done)
        pool.map(pause, range(PAUSES), chunksize=1)


def in_thread():
    with annotate("wait"):
        time.sleep(0.15)
    spin(0.1)


def read_settings():
    time.sleep(0.08)  # blocks the event loop


def name_and_status(number):
    return ("GET /slow", "timed out") if number % 10 == 9 else (
        "GET /quick", 404 if number % 10 == 3 else 200)


async def handle(number):
    name, status = name_and_status(number)
    with track("request").annotate(name, status=status):
        await asyncio.sleep(0.002)
        if number % 15 == 14:
            read_settings()
        spin(0.02 if number % 10 == 9 else 0.001)
    counter("answered", number)


async def serve():
    await asyncio.gather(*(handle(number) for number in range(REQUESTS)))


def main():
    thread = threading.Thread(target=in_thread, name="helper")
    thread.start()
    with annotate("pool"):
        in_pool()
    with annotate("server"):
        asyncio.run(serve())
    thread.join()


if __name__ == "__main__":
    main()
