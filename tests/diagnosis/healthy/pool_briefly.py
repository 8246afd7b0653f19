# SPDX-License-Identifier: MIT
"""Four workers get three short tasks; for the rest of the time the pool does not exist."""
# also: serial, the main process has nearly all of the work
import multiprocessing
import time


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


if __name__ == "__main__":
    with multiprocessing.Pool(4) as pool:
        pool.map(work, [0.005] * 3, chunksize=1)
    work(1.5)
