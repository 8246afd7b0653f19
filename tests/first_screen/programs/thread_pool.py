# SPDX-License-Identifier: MIT
# function: fetch_price
# kind: sleep
# words: fetch_price, sleep
"""A pool of two threads that wait for a slow service."""
import time
from concurrent.futures import ThreadPoolExecutor


def fetch_price(item):
    time.sleep(0.05)  # CAUSE
    return item * 1.2


def main():
    with ThreadPoolExecutor(2) as pool:
        print(sum(pool.map(fetch_price, range(50))))


if __name__ == "__main__":
    main()
