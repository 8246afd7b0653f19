# SPDX-License-Identifier: MIT
"""The last task takes as long as all others together."""
# says: (work)
# also: serial, while the last task goes on alone
import multiprocessing
import time


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        pool.map(work, [0.02] * 40 + [1.2], chunksize=1)
