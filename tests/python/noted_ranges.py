# SPDX-License-Identifier: MIT
"""What a random program does with ranges, noted beside them: a recording must hold the same."""

import contextlib
import random

DEPTH_MAX = 4


class Noted:
    """One thread of control, whose own random numbers decide what it does.

    `ranges`: [depth, name] of each range that it opened, in order of their begin.
    """

    def __init__(self, name, seed):
        self.name = name
        self.random = random.Random(seed)
        self.ranges = []
        self.depth = 0

    @contextlib.contextmanager
    def noted(self, name):
        self.ranges.append([self.depth, name])
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
