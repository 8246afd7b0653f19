# SPDX-License-Identifier: MIT
"""The time that pyannot.record() takes to begin and to end: run by bench_startup.py.

    inside_startup.py BLOCKS    prints for blocks with samples, then without: milliseconds of begin
                                and end, medians and maxima
"""

import statistics
import sys
import time

import pyannot


def times(sample):
    """(begin, end) of one short block."""
    recording = pyannot.record(sample=sample)
    started = time.perf_counter()
    recording.start()
    began = time.perf_counter()
    time.sleep(0.01)
    ending = time.perf_counter()
    recording.stop()
    return (began - started) * 1e3, (time.perf_counter() - ending) * 1e3


for frequency in (99, 0):
    times(frequency)  # imports
    taken = list(zip(*(times(frequency) for _ in range(int(sys.argv[1])))))
    print(*(f(column) for f in (statistics.median, max) for column in taken))
