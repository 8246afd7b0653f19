# SPDX-License-Identifier: MIT
# function: tokenize
# kind: cpu
# words: tokenize, parse, load
# needs: pyannot
"""A pipeline that names its own steps, one of which takes most of the time."""
from pyannot import annotate


def load(number):
    with annotate("load"):
        return " ".join([f"word{number}", "Other", "words"] * 1300)


def tokenize(text):
    with annotate("parse"):
        return [word.strip("d").casefold().title() for word in text.split()]  # CAUSE


def count(words, counts):
    with annotate("count"):
        for word in words:
            counts[word] = counts.get(word, 0) + 1


def main():
    counts = {}
    for number in range(1800):
        with annotate("file"):
            count(tokenize(load(number)), counts)
    print(len(counts))


if __name__ == "__main__":
    main()
