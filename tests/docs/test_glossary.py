# SPDX-License-Identifier: MIT
"""docs/glossary.md defines each word once, and the words that it excludes are in no file's name. It
has every quantity of the machine-readable outputs, and these have no other.

    test_glossary.py SOURCE
"""

import pathlib
import re
import sys

UNITS = "ns|us|ms|seconds|bytes|kb|mb|hz|per_s|count"
QUANTITY = re.compile(rf"""["']([a-z][a-z0-9_]*_(?:{UNITS}))["']""")
NAME = re.compile(r"`([a-z][a-z0-9_]*)`")
KEY = re.compile(r'''(?:\{|json_doc_\w+\(&?doc, |\.name = )"([a-z][a-z0-9_]*)"''')
KEY_WRITERS = ("collector/recording/rows/", "collector/analysis/", "tools/cat/", "pyannot/reader/")
WRITERS = (".c", ".h", ".py")  # what has names of columns and keys in quotation marks
OTHERS = {"thread_instruction_count"}  # a foreign format's


def rows(text):
    """The cells of every row of every table, without heads and rules."""
    lines = text.splitlines()
    for before, line in zip(lines, lines[1:], strict=False):
        if line.startswith("|") and before.startswith("|") and not line.startswith("|-"):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def defined(text):
    """The words that the page defines, repeated if defined twice."""
    return [word for cells in rows(text) if len(cells) == 2
            for word in re.findall(r"\*\*([^*]+)\*\*", cells[0])]


def ruled_out(text):
    """(word, folder) of the last table."""
    return [(word.strip(), folder.strip()) for cells in rows(text) if len(cells) == 3
            for word in cells[0].split(",") for folder in cells[1].split(",")]


def parts(path):
    """The words of a file's name, and each without its plural."""
    words = re.split(r"[^a-z]+", path.name.lower())
    return set(words) | {word.removesuffix("s") for word in words}


def section(text, title):
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def quantities(text):
    """The names that the page defines, and those that it replaces."""
    named, rest = section(text, "Quantities").split("| not |")
    replaced = rest.split("\nOther columns")[0]
    return ([name for cells in rows(named) for name in NAME.findall(cells[0])],
            [name for cells in rows("| not |" + replaced) for name in NAME.findall(cells[0])])


def other_keys(text):
    """The names of columns and keys that are not quantities, and those that they replace."""
    named, replaced = section(text, "Quantities").split("\nOther columns")[1].split("| never |")
    return ([name for cells in rows(named) for name in NAME.findall(cells[0])],
            [name for cells in rows("| never |" + replaced) for name in NAME.findall(cells[0])])


def used_keys(root, files):
    """The columns of the tables of SQL and reports and the keys of lines, each with a file."""
    found = {}
    for path in files:
        if path.as_posix().startswith(KEY_WRITERS):
            for name in KEY.findall((root / path).read_text(encoding="utf-8")):
                found.setdefault(name, path.as_posix())
    return found


def wrong_keys(text, used):
    named, replaced = other_keys(text)
    return ([f"{used[name]}: the glossary replaces `{name}`" for name in replaced if name in used] +
            [f"`{name}` is in no output" for name in named if name not in used])


def used_quantities(root, files):
    """Names of quantities in the code that writes outputs, each with a file."""
    found = {}
    for path in files:
        if path.suffix in WRITERS and path.parts[0] != "libannot":
            for name in QUANTITY.findall((root / path).read_text(encoding="utf-8")):
                found.setdefault(name, path.as_posix())
    return {name: path for name, path in found.items() if name not in OTHERS}


def wrong_quantities(text, used):
    named, replaced = quantities(text)
    twice = [name for name in sorted(set(named)) if named.count(name) > 1]
    return ([f"`{name}` is defined twice" for name in twice] +
            [f"`{name}` is defined and replaced" for name in sorted({*named} & {*replaced})] +
            [f"{used[name]}: the glossary lacks `{name}`" for name in sorted({*used} - {*named})] +
            [f"`{name}` is in no output" for name in sorted({*named} - {*used})])


def wrong_names(text, files):
    return {path.as_posix() for word, folder in ruled_out(text) for path in files
            if path.is_relative_to(folder) and word in parts(path)}


def main():
    root = pathlib.Path(sys.argv[1])
    text = (root / "docs" / "glossary.md").read_text(encoding="utf-8")
    files = [path.relative_to(root) for folder in ("collector", "libannot", "pyannot", "tools")
             for path in (root / folder).rglob("*")
             if path.is_file() and "__pycache__" not in path.parts]
    planted = pathlib.Path("collector/recording/read/slice_order.c")
    assert planted.as_posix() in wrong_names(text, [planted]), "a planted name goes unnoticed"
    words = defined(text)
    found = [f"{word!r} is defined twice" for word in sorted(set(words)) if words.count(word) > 1]
    used = used_quantities(root, files)
    assert len(used) > 100 and wrong_quantities(text, {**used, "dur_ns": "planted"}), "not found"
    keys = used_keys(root, files)
    assert len(keys) > 100 and wrong_keys(text, {**keys, "lane": "planted"}), "no keys were found"
    found += wrong_quantities(text, used) + wrong_keys(text, keys)
    names = wrong_names(text, files)
    found += [f"{name}: the glossary rules out its name" for name in sorted(names)]
    assert len(words) > 40 and len(ruled_out(text)) > 10, "the tables were not found"
    for line in found:
        print(line)
    print(f"{len(words)} words; {'0 passed, 1 failed' if found else '1 passed, 0 failed'}, "
          "0 skipped")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
