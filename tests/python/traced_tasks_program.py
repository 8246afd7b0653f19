# SPDX-License-Identifier: MIT
"""Tasks with traced calls: known counts, and times that are mostly spent in awaits."""

import asyncio
import contextlib

from pyannot import annotate

TASKS = 4


def parse(n):
    return sum(range(n))


async def nap(seconds):
    await asyncio.sleep(seconds)


async def fetch(n):
    with annotate("request"):
        await nap(0.02)
        parse(n)
    parse(n)
    await nap(0.01)


async def cancelled():
    try:
        await nap(100)
    finally:
        parse(1)


async def main():
    tasks = [asyncio.create_task(fetch(i), name=f"fetch {i}") for i in range(TASKS)]
    other = asyncio.create_task(cancelled())
    await asyncio.gather(*tasks)
    other.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await other


def plain():
    with annotate("outside"):
        parse(5)


plain()
asyncio.run(main())
