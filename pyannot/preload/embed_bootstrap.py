# SPDX-License-Identifier: MIT
"""Writes bootstrap.py and the texts in it as a C array, without comments:
embed_bootstrap.py BOOTSTRAP SEARCH REPORT OUTPUT."""

import sys
import tokenize


def read(path):
    """Returns the code of a file without comments and blank lines."""
    with open(path, "rb") as file:
        comments = [token.start for token in tokenize.tokenize(file.readline)
                    if token.type == tokenize.COMMENT]
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for row, column in comments:
        lines[row - 1] = lines[row - 1][:column].rstrip()
    return "".join(f"{line}\n" for line in lines if line)


def main():
    bootstrap, search, report = map(read, sys.argv[1:4])
    text = bootstrap.replace("SEARCH", repr(search.replace("REPORT", repr(report))))
    data = text.encode() + b"\0"
    with open(sys.argv[4], "w", encoding="utf-8") as out:
        out.write("/* SPDX-License-Identifier: MIT */\n/* Made by embed_bootstrap.py. */\n"
                  "static const unsigned char bootstrap_text[] = {\n")
        for begin in range(0, len(data), 20):
            out.write(", ".join(str(byte) for byte in data[begin:begin + 20]) + ",\n")
        out.write("};\n")


if __name__ == "__main__":
    main()
