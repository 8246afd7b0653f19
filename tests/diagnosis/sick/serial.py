# SPDX-License-Identifier: MIT
"""Half of the work is done by workers, the other half by one process."""
import multiprocessing
import time


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        pool.map(work, [0.05] * 24, chunksize=1)
    work(0.8)
