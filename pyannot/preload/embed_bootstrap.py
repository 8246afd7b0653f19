# SPDX-License-Identifier: MIT
"""Writes bootstrap.py and the texts in it as a C array, without comments:
embed_bootstrap.py BOOTSTRAP SEARCH TELL OUTPUT."""

import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return "".join(line for line in file if line.strip() and line.strip()[0] != "#")


def main():
    bootstrap, search, tell = map(read, sys.argv[1:4])
    text = bootstrap.replace("SEARCH", repr(search.replace("TELL", repr(tell))))
    data = text.encode() + b"\0"
    with open(sys.argv[4], "w", encoding="utf-8") as out:
        out.write("/* SPDX-License-Identifier: MIT */\n/* Made by embed_bootstrap.py. */\n"
                  "static const unsigned char bootstrap_text[] = {\n")
        for begin in range(0, len(data), 20):
            out.write(", ".join(str(byte) for byte in data[begin:begin + 20]) + ",\n")
        out.write("};\n")


if __name__ == "__main__":
    main()
