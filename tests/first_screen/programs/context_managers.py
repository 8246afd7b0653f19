# SPDX-License-Identifier: MIT
# function: charge
# kind: cpu
# words: charge, counted
"""Counts each small step with a context manager, which costs more than the step."""
from contextlib import contextmanager

counts = {}


@contextmanager
def counted(name):
    counts[name] = counts.get(name, 0) + 1
    try:
        yield
    finally:
        counts[name + " done"] = counts.get(name + " done", 0) + 1


def charge(account, amount):
    with counted("charge"):  # CAUSE
        account[0] += amount


def main():
    account = [0]
    for amount in range(900000):
        charge(account, amount)
    print(account, counts)


if __name__ == "__main__":
    main()
