# SPDX-License-Identifier: MIT
"""Multiplies matrices without a library."""


def multiply(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


matrix = [[(i * j) % 7 for j in range(90)] for i in range(90)]
for _ in range(14):
    multiply(matrix, matrix)
