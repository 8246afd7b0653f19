# SPDX-License-Identifier: MIT
"""An event loop with one task, which computes 200 ms at a stretch without a waiting task."""
import asyncio
import time


def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


async def main():
    for _ in range(8):
        compute(0.2)
        await asyncio.sleep(0)


asyncio.run(main())
