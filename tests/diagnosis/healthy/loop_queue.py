# SPDX-License-Identifier: MIT
"""One coroutine computes items, the other takes them: it would wait for each in any case."""
import asyncio
import time


def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


async def produce(items):
    for number in range(15):
        compute(0.1)
        await items.put(number)
    await items.put(None)


async def consume(items):
    while await items.get() is not None:
        pass


async def main():
    items = asyncio.Queue(1)
    await asyncio.gather(produce(items), consume(items))


asyncio.run(main())
