# SPDX-License-Identifier: MIT
"""Builds a large index of lists in dicts, which the garbage collector traverses again and again."""


def index(count):
    return {i: [{"id": i}, [i, i + 1], {"text": [str(i)]}] for i in range(count)}


kept = [index(150_000) for _ in range(2)]
