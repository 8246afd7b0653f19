# SPDX-License-Identifier: MIT
"""Two tasks for six workers."""
import multiprocessing
import time


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


if __name__ == "__main__":
    with multiprocessing.Pool(6) as pool:
        pool.map(work, [0.5, 0.5], chunksize=1)
