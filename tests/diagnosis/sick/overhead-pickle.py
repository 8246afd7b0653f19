# SPDX-License-Identifier: MIT
"""Sends a megabyte of texts to each task, which reads one of them."""
import multiprocessing

ROWS = [str(i) * 3 for i in range(60_000)]


def first(rows):
    return rows[0]


if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        pool.map(first, [ROWS] * 60, chunksize=1)
