# SPDX-License-Identifier: MIT
# function: read_rows
# kind: pipe
# words: read_rows, pipe
"""Reads the rows of another program as they come, which is slow."""
import subprocess
import sys

WRITER = """
import time
for number in range(60):
    print(number, flush=True)
    time.sleep(0.025)
"""


def read_rows(stream):
    total = 0
    for line in stream:  # CAUSE
        total += int(line)
    return total


def main():
    with subprocess.Popen([sys.executable, "-S", "-c", WRITER], stdout=subprocess.PIPE) as writer:
        print(read_rows(writer.stdout))


if __name__ == "__main__":
    main()
