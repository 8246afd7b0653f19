# SPDX-License-Identifier: MIT
"""One of several tasks sleeps 150 ms at a time as if it were a thread, ten times."""
# says: poll_device
import asyncio
import time


def poll_device():
    time.sleep(0.15)


async def watch():
    for _ in range(10):
        poll_device()
        await asyncio.sleep(0.01)


async def beat():
    for _ in range(40):
        await asyncio.sleep(0.01)


async def main():
    await asyncio.gather(watch(), *(beat() for _ in range(5)))


asyncio.run(main())
