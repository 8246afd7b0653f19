# SPDX-License-Identifier: MIT
# function: chain_length
# kind: cpu
# words: chain_length
"""Longest Collatz chain below a limit: a loop in Python takes all the time."""


def chain_length(n):
    steps = 1
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1  # CAUSE
        steps += 1  # CAUSE
    return steps


def longest(limit):
    best = (0, 0)
    for start in range(1, limit):
        best = max(best, (chain_length(start), start))
    return best


if __name__ == "__main__":
    print(longest(250000))
