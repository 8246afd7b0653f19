#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares man pages with the program: the same commands, and per command the same options, which
are generated from its tables.

    check_man.py ANNOT FILLED_PAGES PAGES
"""

import re
import subprocess
import sys
from pathlib import Path

OPTION_IN_HELP = re.compile(r"^  (?:-(\w),|   ) --([\w-]+)", re.M)
OPTION_IN_PAGE = re.compile(r"^(?:\*-(\w)\*, )?\*--([\w-]+)\*", re.M)
NO_PAGE = {"help", "version"}


def help_of(annot, *words):
    return subprocess.run([annot, *words], capture_output=True, check=True, text=True).stdout


def main():
    annot, folder, source = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    overview = help_of(annot, "--help").split("commands:\n")[1].split("\n\n")[0]
    commands = [line.split()[0] for line in overview.splitlines()]
    main_page = (folder / "annot.1.scd").read_text()
    problems = [f"annot.1.scd does not name {name}" for name in commands
                if f"*{name}*" not in main_page]
    for name in [name for name in commands if name not in NO_PAGE]:
        path = folder / f"annot-{name}.1.scd"
        if not path.exists():
            problems.append(f"no page for {name}")
            continue
        if "\n@options@\n" not in (source / path.name).read_text():
            problems.append(f"{path.name}: below # OPTIONS the line @options@ is missing")
        text = help_of(annot, name, "--help-all")
        page = path.read_text()
        have, told = set(OPTION_IN_HELP.findall(text)), set(OPTION_IN_PAGE.findall(page))
        problems += [f"{path.name} lacks --{option[1]}" for option in sorted(have - told)]
        problems += [f"{path.name} has --{option[1]}, the program not as such"
                     for option in sorted(told - have)]
        summary = text.split("\n")[0].split(": ", 1)[1]
        if f"annot-{name} - {summary}" not in page:
            problems.append(f"{path.name}: the summary is: {summary}")
    print("\n".join(problems) if problems else f"{len(commands)} commands, all as told")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
