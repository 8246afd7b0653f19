# SPDX-License-Identifier: MIT
"""Long computations are left to a thread, and the event loop runs on meanwhile."""
import asyncio
import hashlib

DATA = bytes(100 << 20)


def digest():
    return hashlib.sha256(DATA).digest()


async def beat(until):
    while not until.done():
        await asyncio.sleep(0.005)


async def work():
    loop = asyncio.get_running_loop()
    for _ in range(12):
        await loop.run_in_executor(None, digest)


async def main():
    working = asyncio.ensure_future(work())
    await asyncio.gather(*(beat(working) for _ in range(3)))
    await working


asyncio.run(main())
