# SPDX-License-Identifier: MIT
"""What slow_module.py imports."""


def build_table(size):
    table = []
    for number in range(size):
        table.append(sum(divisor for divisor in range(1, 120) if number % divisor == 0))  # CAUSE
    return table


TABLE = build_table(600000)
