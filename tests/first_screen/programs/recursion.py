# SPDX-License-Identifier: MIT
# function: count_paths
# kind: cpu
# words: count_paths
"""Paths through a grid, counted repeatedly by recursion without a cache."""


def count_paths(right, down):
    if right == 0 or down == 0:  # CAUSE
        return 1
    return count_paths(right - 1, down) + count_paths(right, down - 1)  # CAUSE


def main():
    for size in range(4, 14):
        print(size, count_paths(size, size))


if __name__ == "__main__":
    main()
