# SPDX-License-Identifier: MIT
# function: double
# kind: overhead
# words: overhead, chunk
"""Sends numbers one by one: each task is far smaller than the cost of sending it."""
from multiprocessing import Pool


def double(number):
    return number * 2


def main():
    with Pool(2) as pool:
        print(sum(pool.imap(double, range(100000))))  # CAUSE


if __name__ == "__main__":
    main()
