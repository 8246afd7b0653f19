# SPDX-License-Identifier: MIT
"""As many processes as processors, without a pool; each takes numbers from a queue."""
import multiprocessing
import os
import time


def work(numbers, results):
    while numbers.get() is not None:
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass
        results.put(1)


if __name__ == "__main__":
    count = len(os.sched_getaffinity(0))
    numbers, results = multiprocessing.Queue(), multiprocessing.Queue()
    for number in [*range(60 * count), *[None] * count]:
        numbers.put(number)
    workers = [multiprocessing.Process(target=work, args=(numbers, results)) for _ in range(count)]
    for worker in workers:
        worker.start()
    for _ in range(60 * count):
        results.get()
    for worker in workers:
        worker.join()
