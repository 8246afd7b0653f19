# SPDX-License-Identifier: MIT
"""Writes and reads JSON."""
import json as codec

rows = [{"id": i, "name": f"name {i}", "tags": ["a", "b"]} for i in range(2_000)]
for _ in range(80):
    codec.loads(codec.dumps(rows))
