#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the completion of a shell.

    generate.py TABLE bash|zsh|fish TEMPLATE OUT

TABLE is the output of `annot help --json`. The template contains the fixed part; its line
`@tables@` is replaced.
"""

import pathlib
import sys

import in_bash
import in_fish
import in_zsh
import table

SHELLS = {"bash": in_bash, "fish": in_fish, "zsh": in_zsh}


def main():
    source, shell, template, out = sys.argv[1:]
    text = pathlib.Path(template).read_text()
    filled = SHELLS[shell].write(table.load(source))
    pathlib.Path(out).write_text(text.replace("@tables@", filled))


if __name__ == "__main__":
    main()
