# SPDX-License-Identifier: MIT
"""Sixteen threads that all run Python, in an executor."""
# says: spin
import concurrent.futures


def spin(times):
    total = 0
    for i in range(times):
        total += i
    return total


with concurrent.futures.ThreadPoolExecutor(16) as pool:
    list(pool.map(spin, [500_000] * 64))
