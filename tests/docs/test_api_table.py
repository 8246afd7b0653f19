# SPDX-License-Identifier: MIT
"""docs/api.md names only existing functions, and every public function of C.

    test_api_table.py SOURCE
"""

import pathlib
import re
import sys

INCLUDE = pathlib.Path("libannot", "include", "annot")
C_HEADERS = ("annot.h", "values.h", "tracks.h", "logs.h", "observers.h")
# Column -> files that must contain the names in its cells.
SOURCES = {
    "C": [INCLUDE / name for name in C_HEADERS],
    "C++": [INCLUDE / name for name in ("annot.hpp", "text.hpp", "annot.h")],
    "Python": [pathlib.Path("pyannot", "pyannot", name) for name in ("_native.pyi", "__init__.py")],
    "NVTX": [pathlib.Path("tests", "nvtx", "nvtx_part.c")],  # calls all recorded functions
    "Tracy": [INCLUDE / "tracy_shim.h"],
}
FUNCTION = re.compile(r"^(?:ANNOT_UNTRACED )?(?:ANNOT_API|static inline) [^(;{]*?\b(annot_\w+)\(|"
                      r"^#define ((?:ANNOT|annot)_\w+)\(", re.MULTILINE)
# Functions used by macros and other functions, or only for the compiler.
INSIDE = re.compile(r"annot_(emit_|site_|scope_|value_make)|ANNOT_(UNLIKELY|UNTRACED|PRINTF|JOIN)")


def rows(page):
    """(first cell, {column: cell}) of every row of every table."""
    head = None
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] \
            if line.startswith("|") else None
        if cells is None:
            head = None
        elif head is None:
            head = cells
        elif not set(cells[0]) <= set("-"):
            yield cells[0], dict(zip(head[1:], cells[1:], strict=True))


def names(cell):
    """The last part of each name in code: `annot::range` -> range."""
    return [re.split(r"::|\.", name)[-1] for name in re.findall(r"`([^`]+)`", cell)]


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def missing(page, words):
    """(row, column, name) of names missing from the column's files."""
    return [(what, column, name) for what, cells in rows(page)
            for column, cell in cells.items() for name in names(cell)
            if name not in words[column]]


def unnamed(page, headers):
    """Public functions and macros of C that are in no cell."""
    said = {name for _, cells in rows(page) for name in names(cells["C"])}
    public = {first or second for text in headers for first, second in FUNCTION.findall(text)}
    return sorted(name for name in public - said if not INSIDE.match(name))


def main():
    root = pathlib.Path(sys.argv[1])
    page = (root / "docs" / "api.md").read_text(encoding="utf-8")
    words = {column: set(re.findall(r"\w+", without_comments(
        "\n".join((root / path).read_text(encoding="utf-8") for path in paths))))
             for column, paths in SOURCES.items()}
    headers = [(root / path).read_text(encoding="utf-8") for path in SOURCES["C"]]
    planted = page.replace("`annot_mark`", "`annot_mork`").replace("`nvtxMarkA`", "`nvtxMorkA`")
    assert [name for _, _, name in missing(planted, words)] == ["annot_mork", "nvtxMorkA"], \
        "wrong names that were planted go unnoticed"
    assert unnamed(planted, headers) == ["annot_mark"], "a function without a row goes unnoticed"
    for what, column, name in missing(page, words):
        print(f"docs/api.md, {what!r}: {column} has no {name}")
    for name in unnamed(page, headers):
        print(f"docs/api.md does not name {name}")
    good = not missing(page, words) and not unnamed(page, headers)
    count = sum(len(names(cell)) for _, cells in rows(page) for cell in cells.values())
    print(f"{count} names; {'1 passed, 0 failed' if good else '0 passed, 1 failed'}, 0 skipped")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
