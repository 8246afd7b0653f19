# SPDX-License-Identifier: MIT
# function: read_settings
# kind: loop
# words: read_settings, event loop
"""A function that waits without await blocks the event loop, and everything that runs on it."""
import asyncio
import time


def read_settings():
    time.sleep(0.2)  # CAUSE
    return {"limit": 3}


async def tick(counts):
    while True:
        counts.append(1)
        await asyncio.sleep(0.01)


async def handle(number):
    await asyncio.sleep(0.02)
    return read_settings()["limit"] + number


async def main():
    counts = []
    ticker = asyncio.create_task(tick(counts))
    print([await handle(number) for number in range(7)], len(counts))
    ticker.cancel()


if __name__ == "__main__":
    asyncio.run(main())
