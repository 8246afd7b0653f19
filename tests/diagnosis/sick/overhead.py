# SPDX-License-Identifier: MIT
"""Submits thousands of empty tasks."""
# says: chunksize=
import multiprocessing


def add(i):
    return i + 1


if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        pool.map(add, range(40_000), chunksize=1)
