# SPDX-License-Identifier: MIT
"""Even tasks in a ProcessPoolExecutor."""
import concurrent.futures
import os
import time


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


if __name__ == "__main__":
    workers = len(os.sched_getaffinity(0))
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        list(pool.map(work, [0.04] * 30 * workers))
