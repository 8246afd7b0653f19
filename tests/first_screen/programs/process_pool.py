# SPDX-License-Identifier: MIT
# function: score
# kind: cpu
# words: score
"""A pool of processes in which each task computes."""
from multiprocessing import Pool


def score(seed):
    value = seed
    for _ in range(400000):
        value = (value * 1103515245 + 12345) % 2147483648  # CAUSE
    return value


def main():
    with Pool(2) as pool:
        print(sum(pool.map(score, range(80), chunksize=2)))


if __name__ == "__main__":
    main()
