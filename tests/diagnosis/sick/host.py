# SPDX-License-Identifier: MIT
"""One thread that never waits, on a machine with all processors busy for others."""
# beside: 2 busy processes for each processor
import time


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


work(0.8)
