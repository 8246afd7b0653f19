# SPDX-License-Identifier: MIT
"""Writes many small files, and leaves it to the system when they reach the disk."""
import os
import tempfile

with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
    for i in range(20_000):
        with open(os.path.join(folder, f"{i % 2_000}.txt"), "w") as file:
            file.write(f"file {i}\n" * 20)
