#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPython's own tests under tracing: each must end as it ends without. Not in CI: it takes minutes.

    tests/proof/cpython.py BUILD PYTHON PACKAGE [MODULE...]

PACKAGE: folder to put in PYTHONPATH, with pyannot built for PYTHON.
"""
import os
import re
import subprocess
import sys
import tempfile

MODULES = ("test_generators", "test_contextlib", "test_coroutines", "test_asyncgen")
MODES = ("exact", "adaptive", "aggregate")
OUTCOME = re.compile(r"^(\w+ \([\w.]+\)).*?\.\.\. .*?\b(ok|FAIL|ERROR|skipped|expected failure)\b",
                     re.M | re.S)
LIMIT_S = 300


def outcomes(command, environment):
    """What became of each test, by its name, and the program's exit status."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True,
                          errors="replace", timeout=LIMIT_S, check=False)
    return dict(OUTCOME.findall(done.stderr)), done.returncode


def differences(build, python, environment, module):
    """Prints one line a mode; how many modes changed anything."""
    test = [python, "-m", "unittest", "-v", "test." + module]
    plain, status = outcomes(test, environment)
    changed = 0
    for mode in MODES:
        with tempfile.TemporaryDirectory() as folder:
            record = [os.path.join(build, "tools/annot"), "record", "--trace-functions=" + mode,
                      "-o", os.path.join(folder, "r.annot"), "--"]
            traced, traced_status = outcomes(record + test, environment)
        other = sorted(name for name in plain.keys() | traced.keys()
                       if plain.get(name) != traced.get(name))
        is_changed = bool(other) or status != traced_status or not plain
        changed += is_changed
        print(f"{module} {mode}: {len(plain)} tests, {len(other)} differ, exit {status} and"
              f" {traced_status}", flush=True)
        for name in other:
            print(f"  {name}: {plain.get(name)}, traced {traced.get(name)}")
    return changed


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    build, python, package = sys.argv[1:4]
    environment = dict(os.environ, PYTHONPATH=package)
    modules = sys.argv[4:] or MODULES
    sys.exit(1 if sum(differences(build, python, environment, name) for name in modules) else 0)


if __name__ == "__main__":
    main()
