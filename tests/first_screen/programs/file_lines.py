# SPDX-License-Identifier: MIT
# function: count_words
# kind: cpu
# words: count_words
"""Counts the words of a file, line by line."""
import os
import tempfile


def write_file(path, lines):
    with open(path, "w") as file:
        for number in range(lines):
            file.write(f"line {number} of {lines} with word{number % 101} and more\n")


def count_words(path):
    counts = {}
    with open(path) as file:
        for line in file:  # CAUSE
            for word in line.split():  # CAUSE
                counts[word] = counts.get(word, 0) + 1  # CAUSE
    return counts


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "words.txt")
        write_file(path, 150000)
        for _ in range(8):
            counts = count_words(path)
    print(len(counts))


if __name__ == "__main__":
    main()
