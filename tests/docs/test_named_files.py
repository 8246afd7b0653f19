# SPDX-License-Identifier: MIT
"""The files that pages for developers name in code or link to exist.

    test_named_files.py SOURCE
"""

import pathlib
import re
import sys

PAGES = ("CONTRIBUTING.md", "docs/architecture.md", "docs/architecture/*.md", "docs/decisions.md",
         "docs/extending.md", "docs/wire-format.md", "docs/recording-format.md",
         "tests/*/README.md", "tests/bench/results.md")
NAME = re.compile(r"`([\w./-]+\.(?:c|h|hpp|py|pyi|sh|md|scd))`")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
FOLDERS = ("collector", "docs", "examples", "libannot", "pyannot", "tests", "tools")
# Names in examples, and of generated files.
INVENTED = {"vmlinux.h"}
PLACEHOLDER = re.compile(r"NAME|NNN|EXTENSION")


def is_there(root, page, name, known):
    """Matches a path from the root or the page, or the end of any file's path."""
    return (root / name).exists() or (page.parent / name).exists() or \
        any(path == name or path.endswith("/" + name) for path in known)


def missing(root, page, text, known):
    names = [name for name in NAME.findall(text)
             if not PLACEHOLDER.search(name) and name not in INVENTED]
    found = {name for name in names if not is_there(root, page, name, known)}
    found |= {link for link in LINK.findall(text) if not (page.parent / link).exists()}
    return sorted(found), len(names)


def main():
    root = pathlib.Path(sys.argv[1])
    known = [path.relative_to(root).as_posix() for folder in FOLDERS
             for path in (root / folder).rglob("*.*") if path.is_file()]
    pages = sorted({page for pattern in PAGES for page in root.glob(pattern)})
    planted = "see `no_such_file.c` and [this](no/such/page.md)"
    assert len(missing(root, pages[0], planted, known)[0]) == 2, "planted names go unnoticed"
    count = failed = 0
    for page in pages:
        found, names = missing(root, page, page.read_text(encoding="utf-8"), known)
        count += names
        failed += len(found)
        for name in found:
            print(f"{page.relative_to(root)}: there is no {name}")
    print(f"{count} names in {len(pages)} pages; "
          f"{'0 passed, 1 failed' if failed else '1 passed, 0 failed'}, 0 skipped")
    return 1 if failed or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
