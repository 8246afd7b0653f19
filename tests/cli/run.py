#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the numbered cases of annot's command line and compares their output.

    run.py [--update] BINARY_DIRECTORY... [-- CASE...]

A case is cases/NNN-name.sh, run by sh in an empty directory with the binaries on its PATH. Its
expected output is in NNN-name.stdout and NNN-name.stderr; without the file, the output must be
empty. The last line of the standard output is "exit N", added by the runner. --update writes the
actual output. Cases of commands that a build omitted, "query open" in ANNOT_CLI_WITHOUT, are
skipped.
"""

import difflib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = Path(__file__).resolve().parent / "cases"
SECONDS = 60


def environment(directories):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("ANNOT_") and name not in ("COLUMNS", "NO_COLOR")}
    path = os.pathsep.join([str(Path(name).resolve()) for name in directories] + [kept["PATH"]])
    return {**kept, "PATH": path, "LC_ALL": "C", "TZ": "UTC"}


def run_case(case, variables):
    with tempfile.TemporaryDirectory(prefix="annot-cli-") as work:
        done = subprocess.run(["sh", str(case)], cwd=work, env={**variables, "ANNOT_DIR": work},
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
    output = done.stdout.decode(errors="replace") + f"exit {done.returncode}\n"
    return {".stdout": output, ".stderr": done.stderr.decode(errors="replace")}


def expected(case, suffix):
    path = case.with_suffix(suffix)
    return path.read_text() if path.exists() else ""


def compare(case, printed):
    """A unified difference per stream that is not as expected."""
    differences = []
    for suffix, text in printed.items():
        wanted = expected(case, suffix)
        if text != wanted:
            differences += difflib.unified_diff(
                wanted.splitlines(), text.splitlines(), case.stem + suffix, "printed", lineterm="")
    return differences


def update(case, printed):
    for suffix, text in printed.items():
        path = case.with_suffix(suffix)
        if text:
            path.write_text(text)
        else:
            path.unlink(missing_ok=True)


def main():
    words = sys.argv[1:]
    updating = "--update" in words
    words = [word for word in words if word != "--update"]
    wanted = words[words.index("--") + 1:] if "--" in words else []
    directories = words[:words.index("--")] if "--" in words else words
    failed = 0
    without = os.environ.get("ANNOT_CLI_WITHOUT", "").split()
    cases = [case for case in sorted(CASES.glob("*.sh"))
             if (not wanted or any(case.name.startswith(prefix) for prefix in wanted))
             and case.stem.split("-")[1] not in without]
    variables = environment(directories)
    for case in cases:
        printed = run_case(case, variables)
        if updating:
            update(case, printed)
            continue
        differences = compare(case, printed)
        failed += bool(differences)
        print(("FAIL " if differences else "ok   ") + case.stem)
        print("\n".join(differences) + "\n" if differences else "", end="")
    print(f"{len(cases) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
