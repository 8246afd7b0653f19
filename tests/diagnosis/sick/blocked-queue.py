# SPDX-License-Identifier: MIT
"""The main thread waits for items of a queue; their producer needs 40 ms for each."""
# says: sleeps in produce
import queue
import threading
import time

items = queue.Queue()


def produce():
    for i in range(30):
        time.sleep(0.04)
        items.put(i)
    items.put(None)


def consume():
    while items.get() is not None:
        pass


threading.Thread(target=produce).start()
consume()
