# SPDX-License-Identifier: MIT
"""A thread sleeps with the lock that the main thread needs."""
# says: sleeps in hold
import threading
import time

lock = threading.Lock()


def hold():
    for _ in range(20):
        with lock:
            time.sleep(0.05)
        time.sleep(0.001)


def work():
    for _ in range(15):
        with lock:
            sum(range(1000))
        time.sleep(0.0001)


threading.Thread(target=hold).start()
time.sleep(0.01)
work()
