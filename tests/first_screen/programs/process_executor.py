# SPDX-License-Identifier: MIT
# function: simulate
# kind: cpu
# words: simulate
"""An executor of processes in which each task computes."""
from concurrent.futures import ProcessPoolExecutor


def simulate(days):
    stock = 100.0
    for day in range(days):
        stock = stock * 1.0001 - (day % 7) * 0.01 + stock % 3  # CAUSE
    return stock


def main():
    with ProcessPoolExecutor(2) as pool:
        print(sum(pool.map(simulate, [500000 + number for number in range(30)])))


if __name__ == "__main__":
    main()
