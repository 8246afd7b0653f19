# SPDX-License-Identifier: MIT
# function: pack
# kind: cpu
# words: pack
"""Compresses a log block by block, at the highest level."""
import random
import zlib


def make_log(lines):
    chance = random.Random(1)
    return "".join(f"{chance.random():.6f} host{chance.randrange(40)} GET /item/{number}\n"
                   for number in range(lines)).encode()


def pack(block):
    return zlib.compress(block, 9)  # CAUSE


def main():
    log = make_log(60000)
    blocks = [log[at:at + 65536] for at in range(0, len(log), 65536)]
    print(sum(len(pack(block)) for block in blocks * 9))


if __name__ == "__main__":
    main()
