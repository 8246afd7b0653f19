# SPDX-License-Identifier: MIT
"""Writes text files as C arrays: embed_text.py OUTPUT [NAME[:scope]= FILE...]...

Several files of one name follow each other in that order; with `:scope`, inside of one strict
function, so that scripts share their names with each other and with nobody else. NAME_hash is what
a content-security policy calls the text. The texts go into elements of HTML and SVG, so they must
not contain what would end one.
"""

import base64
import hashlib
import sys

ENDS = (b"]]>", b"</script", b"</style", b"<!--")


def read(paths):
    parts = []
    for path in paths:
        with open(path, "rb") as file:
            text = file.read()
        for end in ENDS:
            if end in text:
                sys.exit(f"{path}: contains {end.decode()}, which would end its element")
        parts.append(text)
    return b"".join(parts)


def names_with_paths(words):
    found = []
    for word in words:
        if word.endswith("="):
            found.append((word[:-1], []))
        else:
            found[-1][1].append(word)
    return found


def main():
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write("/* SPDX-License-Identifier: MIT */\n/* Made by embed_text.py. */\n")
        for name, paths in names_with_paths(sys.argv[2:]):
            name, _, wrapped = name.partition(":")
            text = read(paths)
            if wrapped:
                text = b'(() => {\n"use strict";\n' + text + b"})();\n"
            out.write(f"static const unsigned char {name}[] = {{\n")
            for begin in range(0, len(text), 20):
                out.write(", ".join(str(byte) for byte in text[begin:begin + 20]) + ",\n")
            out.write("};\n")
            digest = base64.b64encode(hashlib.sha256(text).digest()).decode()
            out.write(f'#define {name}_hash "sha256-{digest}"\n')


if __name__ == "__main__":
    main()
