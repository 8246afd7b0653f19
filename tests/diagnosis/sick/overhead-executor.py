# SPDX-License-Identifier: MIT
"""Submits thousands of empty calls, one by one."""
import concurrent.futures


def add(i):
    return i + 1


if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        for future in [pool.submit(add, i) for i in range(10_000)]:
            future.result()
