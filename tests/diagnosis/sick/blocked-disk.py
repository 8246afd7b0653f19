# SPDX-License-Identifier: MIT
"""Waits after each of 150 journal entries until it is on the disk; an entry takes 4 ms or more."""
# says: waits for the disk in sync
import os
import sys
import tempfile
import time

SLOW_S = 0.004  # waits of less than 1 ms are not recorded with their place
LARGEST = 256 << 20


def sync(file):
    os.fdatasync(file)


def append(file, entry):
    os.pwrite(file, entry, 0)
    before = time.monotonic()
    sync(file)
    return time.monotonic() - before


with tempfile.TemporaryFile(dir="/var/tmp") as journal:
    entry = bytes(2 << 20)
    while min(append(journal.fileno(), entry) for _ in range(3)) < SLOW_S:
        entry *= 2
        if len(entry) > LARGEST:
            sys.exit(77)
    for _ in range(150):
        append(journal.fileno(), entry)
