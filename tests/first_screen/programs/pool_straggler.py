# SPDX-License-Identifier: MIT
# function: render_tile
# kind: imbalance
# words: render_tile
"""One task of a pool takes longer than all others together."""
from multiprocessing import Pool


def render_tile(size):
    total = 0
    for number in range(size):
        total += number * number % 7  # CAUSE
    return total


def main():
    sizes = [200000] * 12 + [30000000]
    with Pool(2) as pool:
        print(sum(pool.map(render_tile, sizes, chunksize=1)))


if __name__ == "__main__":
    main()
