# SPDX-License-Identifier: MIT
"""A worker for each processor, and eight times as many tasks; one worker takes so long to start
that no task is left for it."""
import multiprocessing
import os
import time


def load_model(late):
    with late.get_lock():
        is_late, late.value = late.value, 0
    if is_late:
        time.sleep(4)


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


if __name__ == "__main__":
    workers = max(2, len(os.sched_getaffinity(0)))
    late = multiprocessing.Value("i", 1)
    with multiprocessing.Pool(workers, load_model, (late,)) as pool:
        pool.map(work, [0.06] * 8 * workers, chunksize=1)
