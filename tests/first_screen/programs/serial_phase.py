# SPDX-License-Identifier: MIT
# function: merge
# kind: serial
# words: merge
"""A pool computes parts, and its parent merges them alone, which takes most of the time."""
from multiprocessing import Pool


def part_of(first):
    return [number * 7919 % 100003 for number in range(first, first + 60000)]


def merge(parts):
    counts = {}
    for part in parts:
        for number in part:
            counts[number] = counts.get(number, 0) + 1  # CAUSE
    return counts


def main():
    with Pool(2) as pool:
        parts = pool.map(part_of, range(0, 480000, 60000))
    print(len(merge(parts * 70)))


if __name__ == "__main__":
    main()
