# SPDX-License-Identifier: MIT
"""Millions of empty ranges, and a buffer that holds few of them."""
# says: --pool-size
# record: --pool-size 64K
from pyannot import annotate


def count(times):
    for _ in range(times):
        with annotate("step"):
            pass


count(4_000_000)
