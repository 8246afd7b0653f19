# SPDX-License-Identifier: MIT
"""Four threads that all run Python."""
# says: spin
import threading


def spin():
    total = 0
    for i in range(8_000_000):
        total += i


threads = [threading.Thread(target=spin) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
