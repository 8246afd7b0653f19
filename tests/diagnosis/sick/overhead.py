# SPDX-License-Identifier: MIT
"""Hands over thousands of tasks that do nothing."""
# says: chunksize=
import multiprocessing


def add(i):
    return i + 1


if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        pool.map(add, range(40_000), chunksize=1)
