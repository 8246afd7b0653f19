# SPDX-License-Identifier: MIT
"""The main task waits for another one, which computes 200 ms at a stretch; there are no others."""
import asyncio
import time


def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


async def work():
    for _ in range(6):
        compute(0.2)
        await asyncio.sleep(0)


async def main():
    await asyncio.gather(work())


asyncio.run(main())
