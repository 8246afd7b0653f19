# SPDX-License-Identifier: MIT
"""A quarter of a million ranges, each with some work in it."""
from pyannot import annotate

for row in range(250_000):
    with annotate("row"):
        sum(range(300))
