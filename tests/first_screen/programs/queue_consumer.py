# SPDX-License-Identifier: MIT
# function: store_row
# kind: sleep
# words: store_row, sleep
"""A producer fills a queue faster than its only consumer stores the items."""
import queue
import threading
import time

rows = queue.Queue(maxsize=10)


def store_row(row):
    time.sleep(0.005)  # CAUSE
    return row


def consume():
    while (row := rows.get()) is not None:
        store_row(row)


def main():
    thread = threading.Thread(target=consume)
    thread.start()
    for number in range(300):
        rows.put({"id": number, "name": f"row {number}"})
    rows.put(None)
    thread.join()


if __name__ == "__main__":
    main()
