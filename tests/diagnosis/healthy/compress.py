# SPDX-License-Identifier: MIT
"""Compresses text that it makes."""
import zlib

text = "".join(f"{i} {i * i}\n" for i in range(300_000)).encode()
for level in (1, 6, 9, 6, 9):
    zlib.compress(text, level)
