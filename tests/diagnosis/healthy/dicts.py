# SPDX-License-Identifier: MIT
"""Counts in a dictionary."""
counts = {}
for i in range(4_000_000):
    key = i * 2654435761 % 1000
    counts[key] = counts.get(key, 0) + 1
print(len(counts))
