# SPDX-License-Identifier: MIT
"""Searches a long text with patterns."""
import re

TEXT = "the quick brown fox jumps over the lazy dog " * 4000
for word in ("f.x", "l[a-z]+y", "(quick|slow) \\w+", "d.g$") * 40:
    re.findall(word, TEXT)
