# SPDX-License-Identifier: MIT
"""One task of an executor runs for a second after all others."""
# says: (work)
# also: serial, while the last task goes on alone
import concurrent.futures
import time


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        list(pool.map(work, [0.05] * 20 + [1.0]))
