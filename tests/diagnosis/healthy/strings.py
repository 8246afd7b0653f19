# SPDX-License-Identifier: MIT
"""Builds texts."""
out = []
for i in range(900_000):
    out.append(f"<td>{i}</td><td>{i * i}</td>")
print(len("".join(out)))
