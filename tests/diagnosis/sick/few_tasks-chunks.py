# SPDX-License-Identifier: MIT
"""Forty short tasks for six workers, put into two chunks."""
# says: chunksize
import multiprocessing
import time


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


if __name__ == "__main__":
    with multiprocessing.Pool(6) as pool:
        pool.map(work, [0.025] * 40, chunksize=20)
