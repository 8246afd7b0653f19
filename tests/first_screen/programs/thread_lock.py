# SPDX-License-Identifier: MIT
# function: add_visit
# kind: lock
# words: add_visit, lock
"""Four threads share a lock, which its holder keeps while waiting for a server."""
import threading
import time

guard = threading.Lock()
visits = []


def add_visit(number):
    with guard:  # CAUSE
        time.sleep(0.02)
        visits.append(number)


def serve(first):
    for number in range(first, first + 20):
        add_visit(number)


def main():
    threads = [threading.Thread(target=serve, args=(start * 100,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(visits))


if __name__ == "__main__":
    main()
