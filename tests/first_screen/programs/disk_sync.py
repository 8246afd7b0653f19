# SPDX-License-Identifier: MIT
# function: save_entry
# kind: disk
# words: save_entry, disk
"""A journal that forces each entry to the disk before it takes the next."""
import os
import tempfile


def save_entry(journal, number):
    journal.write(b"%08d " % number * 800000)
    journal.flush()
    os.fsync(journal.fileno())  # CAUSE


def main():
    with tempfile.NamedTemporaryFile(dir=".") as journal:
        for number in range(60):
            save_entry(journal, number)
        print(journal.tell())


if __name__ == "__main__":
    main()
