# SPDX-License-Identifier: MIT
"""Eight workers that never wait, on any number of processors."""
import multiprocessing
import os
import time


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


if __name__ == "__main__":
    workers = 4 * len(os.sched_getaffinity(0))
    with multiprocessing.Pool(workers) as pool:
        pool.map(work, [0.3] * workers, chunksize=1)
