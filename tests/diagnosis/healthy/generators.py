# SPDX-License-Identifier: MIT
"""A chain of generators."""


def numbers(limit):
    yield from range(limit)


def squares(source):
    for number in source:
        yield number * number


print(sum(squares(numbers(8_000_000))))
