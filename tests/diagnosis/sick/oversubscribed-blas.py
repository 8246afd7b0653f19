# SPDX-License-Identifier: MIT
"""As many workers as processors, in each of which a BLAS starts as many threads again."""
# says: are those of
# needs: numpy
import multiprocessing
import os
import time

import numpy


def multiply(seconds):
    matrix = numpy.full((700, 700), 0.5)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        matrix = matrix @ matrix / 350


if __name__ == "__main__":
    workers = len(os.sched_getaffinity(0)) + 1
    with multiprocessing.Pool(workers) as pool:
        pool.map(multiply, [1.5] * workers, chunksize=1)
