# SPDX-License-Identifier: MIT
# function: convert
# kind: child
# words: convert, child process
"""Runs a command for each file and waits for its end."""
import subprocess


def convert(number):
    done = subprocess.run(["sleep", "0.25"], check=True)  # CAUSE
    return done.returncode + number


def main():
    print(sum(convert(number) for number in range(6)))


if __name__ == "__main__":
    main()
