#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPython's own test suite, bare and below `annot record`: each test must end the same both ways.

    tests/proof/cpython.py [-k DIR] [-o OPTION]... ANNOT PYTHON PACKAGE [MODULE...]

    ANNOT     the program, PACKAGE the folder that holds pyannot built for PYTHON
              (tests/python/module_build.py makes one)
    -o        an option of annot record, as -o=--trace-functions=exact
    -k        keeps outcomes in DIR: modules with kept outcomes are not run again
    MODULE    test_os ...; without one the whole suite

Outcomes are those of the suite's own report (--junit-xml), by the full name of each test, with the
exit status. Tests that differ run alone twice more on both sides, and differ if no outcome is seen
on both. cpython_reasons.txt lists differences that have a reason, and tests that are left out
because they hang without annot, too. Not in CI: it takes hours.
"""
import argparse
import fnmatch
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

LIMIT_S = 1200
AGAIN = 2
REASONS = pathlib.Path(__file__).with_name("cpython_reasons.txt")
DIFFERS, TRACED, HANGS = " ", "+", "-"  # marks of its lines
WHOLE = "(whole module)"  # key of its exit status
NO_TESTS = "4"  # the suite's exit status where a module has no test for this machine


class Side:
    """One way to run tests: bare, or recorded."""

    def __init__(self, arguments, version, recorded):
        self.python, self.version = arguments.python, version
        self.name = "bare"
        self.prefix = []
        self.environment = dict(os.environ)
        if recorded:
            self.name = " ".join(["recorded", *arguments.option]).replace("/", "_")
            self.prefix = [arguments.annot, "record", *arguments.option]
            self.environment["ANNOT_PYTHON_PATH"] = arguments.package

    def outcomes(self, module, *options):
        """{test: outcome} of a module. Separate for each side: a folder for its files."""
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.xml")
            recording = ["-o", os.path.join(folder, "r.annot"), "--"] if self.prefix else []
            command = [*self.prefix, *recording, self.python, "-m", "test", "--junit-xml", report,
                       "--fail-env-changed", *left_out(self.version, module), *options, module]
            status = run(command, folder, self.environment)
            return {**read_report(report), WHOLE: status}


def run(command, folder, environment):
    """The exit status, or "timeout"."""
    with open(os.path.join(folder, "output"), "wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=output, start_new_session=True)
    try:
        return str(process.wait(LIMIT_S))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return "timeout"


def read_report(path):
    """{test: "ok", "failure", "error" or "skipped"}."""
    try:
        cases = xml.parse(path).iter("testcase")
    except (OSError, xml.ParseError):  # the module did not reach its end: the status shows it
        return {}
    kinds = {"failure", "error", "skipped"}
    return {case.get("name"): next((part.tag for part in case if part.tag in kinds), "ok")
            for case in cases}


def kept(folder, side, version, module):
    """Outcomes out of the folder, or run now and put there."""
    path = folder and folder / version / side.name / f"{module}.json"
    if path and path.exists():
        return json.loads(path.read_text("utf-8"))
    found = side.outcomes(module)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found), "utf-8")
    return found


def still_different(sides, module, names, both):
    """[(test, outcomes bare, recorded)] of the tests without a common outcome after more runs."""
    seen = {name: [{outcomes.get(name)} for outcomes in both] for name in names}
    patterns = [re.sub(r"[\[\]*?(].*", "*", name) for name in names if name != WHOLE]
    options = [word for pattern in patterns for word in ("-m", pattern)]
    for _ in range(AGAIN):
        other = [name for name in names if not seen[name][0] & seen[name][1]]
        for index, side in enumerate(sides) if other else ():
            outcomes = side.outcomes(module, *options)
            for name in names:
                seen[name][index].add(outcomes.get(name))
    return [(name, *seen[name]) for name in names if not seen[name][0] & seen[name][1]]


def compare(arguments, sides, version, module):
    """[(test, outcomes bare, recorded)] of those that differ."""
    both = [kept(arguments.keep, side, version, module) for side in sides]
    other = sorted(name for name in both[0].keys() | both[1].keys()
                   if both[0].get(name) != both[1].get(name))
    if other != [WHOLE] and WHOLE in other:
        other.remove(WHOLE)  # it follows from the tests
    found = still_different(sides, module, other, both)
    if both[0].keys() == {WHOLE} and both[0][WHOLE] not in ("0", NO_TESTS):
        found.append((WHOLE, both[0][WHOLE], "no test ran"))
    print(f"{version} {module}: {len(both[0]) - 1} tests, exit {both[0][WHOLE]} and"
          f" {both[1][WHOLE]}, {len(other)} differ at first, {len(found)} still", flush=True)
    return found


def entries(marks):
    """[(versions, module, test, reason)] of cpython_reasons.txt: lines that begin with a mark."""
    lines = REASONS.read_text("utf-8").splitlines()
    return [line[1:].split(None, 3) for line in lines if line[:1] and line[:1] in marks]


def left_out(version, module):
    """Options of the suite that leave out hanging tests."""
    return [word for versions, of_module, test, _ in entries(HANGS)
            if fnmatch.fnmatch(version, versions) and of_module == module for word in ("-i", test)]


def reason_of(side, module, name):
    marks = DIFFERS + TRACED * any("--trace-functions" in word for word in side.prefix)
    for versions, of_module, test, reason in entries(marks):
        if fnmatch.fnmatch(side.version, versions) and of_module == module \
                and fnmatch.fnmatch(name, test):
            return reason
    return None


def all_modules(python):
    text = subprocess.run([python, "-m", "test", "--list-tests"], capture_output=True, text=True,
                          check=True).stdout
    return text.split()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", "--keep", type=pathlib.Path)
    parser.add_argument("-o", "--option", action="append", default=[])
    for name in ("annot", "python", "package"):
        parser.add_argument(name)
    parser.add_argument("module", nargs="*")
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, it would be by all tests
    version = subprocess.run([arguments.python, "-c", "import platform as p;"
                              "print(p.python_version())"], capture_output=True, text=True,
                             check=True).stdout.strip()
    sides = Side(arguments, version, False), Side(arguments, version, True)
    unexplained = 0
    for module in arguments.module or all_modules(arguments.python):
        for name, bare, recorded in compare(arguments, sides, version, module):
            reason = reason_of(sides[1], module, name)
            unexplained += reason is None
            print(f"  {name}: {bare}, recorded {recorded}: {reason or 'NO REASON'}", flush=True)
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
