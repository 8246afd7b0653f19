# SPDX-License-Identifier: MIT
# function: version_key
# kind: cpu
# words: version_key
"""Sorts versions by a key that parses each version, again for every sort."""
import random


def version_key(text):
    numbers, _, rest = text.partition("-")  # CAUSE
    return tuple(int(part) for part in numbers.split(".")), rest  # CAUSE


def newest(versions):
    return sorted(versions, key=version_key)[-1]


def main():
    chance = random.Random(2)
    versions = [f"{chance.randrange(30)}.{chance.randrange(99)}.{number}-rc1"
                for number in range(12000)]
    for _ in range(60):
        chance.shuffle(versions)
        last = newest(versions)
    print(last)


if __name__ == "__main__":
    main()
