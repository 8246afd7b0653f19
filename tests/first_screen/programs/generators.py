# SPDX-License-Identifier: MIT
# function: tokens
# kind: cpu
# words: tokens
"""A pipeline of generators, one of which does the work."""


def lines(count):
    for number in range(count):
        yield f"{number};{number * 3};name {number % 17};{number / 3:.3f}"


def tokens(source):
    for line in source:
        yield [word.strip().casefold() for part in line.split(";")  # CAUSE
               for word in part.split()]  # CAUSE


def wanted(source):
    for words in source:
        if words[-1] != "0":
            yield words


def main():
    print(sum(len(words) for words in wanted(tokens(lines(1100000)))))


if __name__ == "__main__":
    main()
