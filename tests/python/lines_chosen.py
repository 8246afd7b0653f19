# SPDX-License-Identifier: MIT
"""Selects functions for line counts in every way, for test_line_counts.py."""

import builtins

import pyannot
from line_profiler import profile

if hasattr(builtins, "profile"):
    assert builtins.profile is profile


@profile
def decorated(n):
    return sum(i
               for i in range(n))


@pyannot.lines
def ours(n):
    for _ in range(n):
        other()


def other():
    return 1


@pyannot.lines
class Shape:
    @property
    def area(self):
        return 1

    @staticmethod
    def make():
        return Shape()

    @classmethod
    def twice(cls):
        return cls.make(), cls.make()


def late():
    return 2


late()
profile.add_function(late)
for _ in range(3):
    decorated(10)
    late()
ours(5)
for shape in Shape.twice():
    assert shape.area == 1
