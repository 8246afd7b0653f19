# SPDX-License-Identifier: MIT
"""Writes a file as a C array: embed.py FILE NAME OUTPUT."""

import sys
from pathlib import Path

COLUMNS = 20


def main():
    source, name, output = sys.argv[1:]
    data = Path(source).read_bytes()
    lines = [",".join(map(str, data[i:i + COLUMNS])) + "," for i in range(0, len(data), COLUMNS)]
    Path(output).write_text(
        "#include <stddef.h>\n"
        f"extern const unsigned char {name}[];\nextern const size_t {name}_size;\n"
        f"_Alignas(8) const unsigned char {name}[] = {{\n" + "\n".join(lines) + "\n};\n"
        f"const size_t {name}_size = sizeof({name});\n")


main()
