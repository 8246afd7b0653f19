# SPDX-License-Identifier: MIT
"""Reads a file past the page cache, 8 MB at a time, without other work, for 1.2 s."""
# says: waits for the disk in read_block
import mmap
import os
import tempfile
import time

BLOCK = 8 << 20
BLOCKS = 8


def read_block(file, buffer, index):
    os.preadv(file, [buffer], index * BLOCK)


def make(file):
    for _ in range(BLOCKS):
        file.write(os.urandom(BLOCK))
    file.flush()


with tempfile.NamedTemporaryFile(dir="/var/tmp") as made:
    make(made)
    file = os.open(made.name, os.O_RDONLY | os.O_DIRECT)
    aligned = mmap.mmap(-1, BLOCK)
    end = time.monotonic() + 1.2
    index = 0
    while time.monotonic() < end:
        read_block(file, aligned, index)
        index = (index + 3) % BLOCKS
    os.close(file)
