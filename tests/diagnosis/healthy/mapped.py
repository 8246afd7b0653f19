# SPDX-License-Identifier: MIT
"""Maps a file again and again that is in memory, so that no page has to be read."""
import mmap
import tempfile

SIZE = 64 << 20

with tempfile.TemporaryFile() as file:
    file.write(bytes(SIZE))
    file.flush()
    for _ in range(40):
        with mmap.mmap(file.fileno(), SIZE, prot=mmap.PROT_READ) as memory:
            sum(memory[at] for at in range(0, SIZE, mmap.PAGESIZE))
