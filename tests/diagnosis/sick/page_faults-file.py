# SPDX-License-Identifier: MIT
"""Goes four times through a mapped file of 256 MB that is not in memory. A disk that brings a page
in less than 1 ms does not count: such waits are not recorded one by one."""
import mmap
import os
import sys
import tempfile
import time

SIZE = 256 << 20
STEP = 2 << 20
SLOW_S = 0.001
WAITS_PART = 0.2  # share of waits from which this machine can run it


def make(file):
    for _ in range(SIZE // STEP):
        file.write(os.urandom(4096) * (STEP // 4096))
    file.flush()
    os.fdatasync(file.fileno())


def look_up(index):
    """Seconds that were waited."""
    waited = 0
    for at in range(0, SIZE, STEP):
        before = time.monotonic()
        _ = index[at]
        took = time.monotonic() - before
        waited += took if took >= SLOW_S else 0
    return waited


begun = time.monotonic()
waits = 0
with tempfile.TemporaryFile(dir="/var/tmp") as file:
    make(file)
    for _ in range(4):
        with mmap.mmap(file.fileno(), SIZE, prot=mmap.PROT_READ) as index:
            os.posix_fadvise(file.fileno(), 0, SIZE, os.POSIX_FADV_DONTNEED)
            waits += look_up(index)
sys.exit(0 if waits >= WAITS_PART * (time.monotonic() - begun) else 77)
