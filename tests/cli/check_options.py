#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that an option word means one thing in all commands.

    check_options.py ANNOT

Two options of the same name have the same kind of value and the same help, or their common meaning
is stated in MEANINGS. `annot record` has at most RECORD_MAX options; a command with more than
UNGROUPED_MAX has them in groups, with examples.
"""

import json
import re
import subprocess
import sys

RECORD_MAX, UNGROUPED_MAX = 36, 8

MEANINGS = {
    "all": "all rows of all tables",
    "by": "what rows or stacks are grouped by",
    "csv": "print tables as comma-separated values",
    "duration": "end after this time",
    "format": "the format to write",
    "gil": "only samples of threads that held the GIL",
    "gpu": "work of GPUs: record it, or draw it",
    "gpu-window": "when to record GPUs",
    "idle": "draw the time that threads waited, too",
    "json": "print JSON",
    "limit": "rows to print",
    "lines": "source lines instead of functions",
    "memory": "samples of memory: record them, or print them",
    "native": "native functions, too",
    "no-source": "no text of source files",
    "off-cpu": "waits: record each, or draw them",
    "output": "where to write",
    "pid": "running processes, by number",
    "python": "what to observe in Python",
    "python-only": "Python functions only",
    "range": "the part inside ranges of this name",
    "rate": "samples per second",
    "sampling": "the best way of sampling to try",
    "sort": "the column to sort by",
    "table": "which table",
    "title": "the title of a page or picture",
    "value": "what samples count for",
    "wide": "whole texts, whatever the width of the terminal",
}

# In the help of annot export, the formats that have an option.
FORMATS = re.compile(r"^[a-z-]+(?:, [a-z-]+)*: ")


def shape(command, option):
    text = FORMATS.sub("", option["help"], count=1) if command == "export" else option["help"]
    return option["kind"], option.get("value"), text


def by_name(commands):
    found = {}
    for command in commands:
        for option in command["options"]:
            found.setdefault(option["name"], []).append((command["name"], option))
    return found


def different(found):
    return {name for name, uses in found.items() if len({shape(*use) for use in uses}) > 1}


def check_groups(annot, command):
    count, name = len(command["options"]), command["name"]
    if name == "record" and count > RECORD_MAX:
        yield f"record has {count} options, more than {RECORD_MAX}"
    if count <= UNGROUPED_MAX:
        return
    if not all("group" in option for option in command["options"]):
        yield f"{name} has {count} options without groups"
    text = subprocess.run([annot, name, "--help"], capture_output=True, check=True, text=True)
    if "\nexamples:\n" not in text.stdout:
        yield f"{name} has {count} options and no examples"


def main():
    annot = sys.argv[1]
    table = subprocess.run([annot, "help", "--json"], capture_output=True, check=True, text=True)
    commands = json.loads(table.stdout)["commands"]
    found = by_name(commands)
    unstated, stale = different(found) - set(MEANINGS), set(MEANINGS) - different(found)
    problems = [f"--{name} differs: " + "; ".join(f"{of}: {' '.join(map(str, shape(of, option)))}"
                                                  for of, option in found[name])
                for name in sorted(unstated)]
    problems += [f"MEANINGS has --{name}, which does not differ" for name in sorted(stale)]
    problems += [problem for command in commands for problem in check_groups(annot, command)]
    print("\n".join(problems) or f"{len(found)} option words, one meaning each")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
