# SPDX-License-Identifier: MIT
# function: count_paths
# kind: cpu
# words: count_paths
"""Ways through a grid, counted again and again by recursion without a memory."""


def count_paths(right, down):
    if right == 0 or down == 0:  # CAUSE
        return 1
    return count_paths(right - 1, down) + count_paths(right, down - 1)  # CAUSE


def main():
    for size in range(4, 14):
        print(size, count_paths(size, size))


if __name__ == "__main__":
    main()
