# SPDX-License-Identifier: MIT
# function: build_table
# kind: imports
# words: build_table, import
"""A module of the program that computes a table when it is imported."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "modules"))


def answer(number):
    import slow_module_table

    return slow_module_table.TABLE[number]


if __name__ == "__main__":
    print(answer(77))
