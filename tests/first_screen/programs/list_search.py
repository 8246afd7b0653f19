# SPDX-License-Identifier: MIT
# function: keep_new
# kind: cpu
# words: keep_new
"""Removes duplicates by looking each value up in a list: quadratic."""
import random


def keep_new(values):
    seen = []
    for value in values:
        if value not in seen:  # CAUSE
            seen.append(value)
    return seen


def read_values(count):
    chance = random.Random(3)
    return [chance.randrange(count * 4) for _ in range(count)]


def main():
    values = read_values(22000)
    print(len(keep_new(values)), "different of", len(values))


if __name__ == "__main__":
    main()
