# SPDX-License-Identifier: MIT
"""Imported by slow_module.py."""


def build_table(size):
    table = []
    for number in range(size):
        table.append(sum(divisor for divisor in range(1, 120) if number % divisor == 0))  # CAUSE
    return table


TABLE = build_table(600000)
