# SPDX-License-Identifier: MIT
# function: poll_device
# kind: sleep
# words: poll_device, sleep
"""Queries devices one by one, each with a pause, though asyncio could wait for all at once."""
import asyncio


async def poll_device(number):
    await asyncio.sleep(0.1)  # CAUSE
    return number


async def main():
    total = 0
    for number in range(15):
        total += await poll_device(number)
    print(total)


if __name__ == "__main__":
    asyncio.run(main())
