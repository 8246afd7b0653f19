# SPDX-License-Identifier: MIT
"""Even tasks, long enough to be worth handing over."""
import multiprocessing
import os
import time


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


if __name__ == "__main__":
    workers = len(os.sched_getaffinity(0))
    with multiprocessing.Pool(workers) as pool:
        pool.map(work, [0.02] * 60 * workers, chunksize=1)
