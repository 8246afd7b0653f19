# SPDX-License-Identifier: MIT
"""Two phases of a pool, 0.5 s each, and between them 0.8 s of one process."""
import multiprocessing
import os
import time


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def merge(seconds):
    work(seconds)


if __name__ == "__main__":
    workers = len(os.sched_getaffinity(0))
    with multiprocessing.Pool(workers) as pool:
        pool.map(work, [0.05] * 10 * workers, chunksize=1)
        merge(0.8)
        pool.map(work, [0.05] * 10 * workers, chunksize=1)
