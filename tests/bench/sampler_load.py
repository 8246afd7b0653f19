# SPDX-License-Identifier: MIT
"""A CPU-bound program that times itself: units of the same work, one line each.

    sampler_load.py SECONDS

Each unit: calls, attribute look-ups, a generator, a callback from C: some 12 Python frames deep.
Prints "end_ns cpu_ns wall_ns" per unit (CLOCK_MONOTONIC, CPU clock of the thread).
"""

import functools
import sys
import time


class Node:
    def __init__(self, depth):
        self.left = Node(depth - 1) if depth else None
        self.right = Node(depth - 1) if depth else None

    def total(self):
        if self.left is None:
            return 1
        return 1 + self.left.total() + self.right.total()


def numbers(count):
    for value in range(count):
        yield value * value % 7


def fold(count):
    return functools.reduce(lambda a, b: (a * 31 + b) & 0xffff, numbers(count), 1)


def descend(depth, tree):
    if depth:
        return descend(depth - 1, tree)
    return tree.total() + fold(4000) + sum(sorted(numbers(3000), key=lambda value: -value))


def main():
    end = time.monotonic() + float(sys.argv[1])
    tree = Node(10)
    lines = []
    while time.monotonic() < end:
        wall, cpu = time.monotonic_ns(), time.thread_time_ns()
        for _ in range(4):
            descend(8, tree)
        cpu_ns, now = time.thread_time_ns() - cpu, time.monotonic_ns()
        lines.append(f"{now} {cpu_ns} {now - wall}")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
