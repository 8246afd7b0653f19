# SPDX-License-Identifier: MIT
"""Sorts and searches."""
import bisect
import random

random.seed(1)
for _ in range(6):
    numbers = sorted(random.random() for _ in range(200_000))
    for _ in range(100_000):
        bisect.bisect(numbers, random.random())
