# SPDX-License-Identifier: MIT
# function: decode
# kind: cpu
# words: decode
"""Many tasks at once: their waits are short, their computations are not."""
import asyncio


def decode(number):
    value = 0
    for digit in str(3 ** (number % 50 + 2500)):
        value = value * 7 + ord(digit)  # CAUSE
    return value


async def receive(number):
    await asyncio.sleep(0.001)
    return number


async def handle(number):
    return decode(await receive(number)) % 1000


async def main():
    for _ in range(12):
        print(sum(await asyncio.gather(*(handle(number) for number in range(800)))))


if __name__ == "__main__":
    asyncio.run(main())
