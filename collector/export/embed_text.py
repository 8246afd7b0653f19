# SPDX-License-Identifier: MIT
"""Writes text files as C arrays: embed_text.py OUTPUT NAME=FILE..."""

import sys


def main():
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write("/* SPDX-License-Identifier: MIT */\n/* Made by embed_text.py. */\n")
        for argument in sys.argv[2:]:
            name, _, path = argument.partition("=")
            with open(path, "rb") as file:
                text = file.read()
            if b"]]>" in text:
                sys.exit(f"{path}: contains the end of a CDATA section")
            out.write(f"static const unsigned char {name}[] = {{\n")
            for begin in range(0, len(text), 20):
                out.write(", ".join(str(byte) for byte in text[begin:begin + 20]) + ",\n")
            out.write("};\n")


if __name__ == "__main__":
    main()
