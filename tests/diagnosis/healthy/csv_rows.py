# SPDX-License-Identifier: MIT
"""Writes and reads a table."""
import csv
import io

for _ in range(8):
    out = io.StringIO()
    csv.writer(out).writerows((i, i * i, str(i)) for i in range(60_000))
    out.seek(0)
    sum(int(row[1]) for row in csv.reader(out))
