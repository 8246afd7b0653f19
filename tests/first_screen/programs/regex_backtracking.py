# SPDX-License-Identifier: MIT
# function: is_valid
# kind: cpu
# words: is_valid
"""Checks lines with an expression that backtracks: each further letter doubles its time."""
import re

WORDS = re.compile(r"^(\w+\s?)*$")


def is_valid(line):
    return WORDS.match(line) is not None  # CAUSE


def main():
    lines = ["alpha beta gamma delta"] * 2000 + ["abcdefghijklmnopqrstuv!"] * 8
    print(sum(is_valid(line) for line in lines), "of", len(lines))


if __name__ == "__main__":
    main()
