# SPDX-License-Identifier: MIT
"""Threads that do their work in code that releases the GIL."""
import hashlib
import threading

DATA = bytes(64 << 20)


def digest():
    for _ in range(12):
        hashlib.sha256(DATA).digest()


threads = [threading.Thread(target=digest) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
