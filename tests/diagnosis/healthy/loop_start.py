# SPDX-License-Identifier: MIT
"""Prepares for 300 ms before there are tasks; these then take 1 ms at a time."""
import asyncio
import time


def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


async def handle():
    for _ in range(120):
        compute(0.001)
        await asyncio.sleep(0)


async def main():
    compute(0.3)
    await asyncio.gather(*(handle() for _ in range(10)))


asyncio.run(main())
