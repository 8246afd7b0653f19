# SPDX-License-Identifier: MIT
"""Notes the ranges of a random program: a recording must contain the same."""

import contextlib
import random

DEPTH_MAX = 4


class Noted:
    """One thread of control, driven by its own random numbers.

    `ranges`: [depth, name] of each range that it opened, in order of opening.
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
