# SPDX-License-Identifier: MIT
"""Runs Python programs under the real `annot record` and reads their recordings.

Environment, set by meson: ANNOT (the program), PYTHONPATH (the uninstalled package). Every
recording uses a separate ANNOT_DIR, which must be removed or empty at the end.
"""

import atexit
import collections
import contextlib
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
import unittest

import elsewhere

ANNOT = os.environ.get("ANNOT", "annot")
HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_SECONDS = 120  # for machines that are busy


def private_directory():
    """A new ANNOT_DIR on shared memory, removed at exit; never the user's own."""
    directory = tempfile.mkdtemp(prefix="annot-test-", dir="/dev/shm")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


os.environ["ANNOT_DIR"] = private_directory()  # of this process, before it imports pyannot
os.environ.setdefault("ANNOT_PYTHON", "none")  # only the programs' own events


def without_annot(text):
    """The lines that annot did not write: annot's begin with its name or continue such a line."""
    kept, inside = [], False
    for line in text.splitlines():
        inside = line.startswith("annot: ") or (inside and line.startswith(" " * len("annot: ")))
        kept += [] if inside else [line]
    return kept


class Recording:
    """The events of a recording, from its Chrome export."""

    def __init__(self, path):
        text = run([ANNOT, "export", "-f", "chrome", "--no-flame-chart", str(path), "-o",
                    "-"]).stdout
        trace = json.loads(text)
        self.events, self.facts = trace["traceEvents"], trace["otherData"]
        states = {row for row, name in self._thread_names() if name.endswith(": run state")}
        self.events = [e for e in self.events if "tid" not in e or thread_of(e) not in states]
        gaps = {thread for thread, name in self._thread_names() if name.endswith(": lost")}
        self.ranges = [e for e in self.events if e["ph"] == "X" and thread_of(e) not in gaps]
        self.free_ranges = [event for event in self.events if event["ph"] == "b"]
        self.marks = [event for event in self.events if event["ph"] in ("i", "I")]
        self.counters = [event for event in self.events if event["ph"] == "C"]
        self.thread_names = [name for _, name in self._thread_names()]
        self.process_names = [e["args"]["name"] for e in self.events if e["name"] == "process_name"]

    def _thread_names(self):
        for event in self.events:
            if event["ph"] == "M" and event["name"] == "thread_name":
                yield thread_of(event), event["args"]["name"]

    def count(self, kind):
        """{name: how many} of "ranges", "free_ranges", "marks" or "counters"."""
        return collections.Counter(event["name"] for event in getattr(self, kind))

    def parents(self):
        """(name, name of the enclosing range or None) of each nested range."""
        threads = collections.defaultdict(list)
        for event in self.ranges:
            threads[thread_of(event)].append(event)
        for events in threads.values():
            yield from pairs_of_thread(sorted(events, key=lambda e: (e["ts"], -e["dur"])))

    def lost(self):
        """The number of dropped records, for all causes."""
        return sum(count for name, count in self.facts.items() if name.startswith("lost: "))


def thread_of(event):
    return event["pid"], event["tid"]


def pairs_of_thread(events):
    """Nesting by time: an event lies in the innermost earlier one that has not ended."""
    around = []
    for event in events:
        while around and event["ts"] >= around[-1]["ts"] + around[-1]["dur"] - 1e-9:
            around.pop()
        yield event["name"], around[-1]["name"] if around else None
        around.append(event)


def run(command, **options):
    """Runs a command that must succeed."""
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False, **options
    )
    if result.returncode != 0:
        raise AssertionError(f"{command} exited {result.returncode}: {result.stderr}")
    return result


class RecordingTest(unittest.TestCase):
    """A test with a folder, an annot directory on shared memory, and a way to record."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="annot-test-"))
        self.directory = pathlib.Path(private_directory())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = dict(os.environ, ANNOT_DIR=str(self.directory))

    def script(self, source, name="program.py"):
        """Writes a program; indentation is removed."""
        path = self.folder / name
        path.write_text(textwrap.dedent(source))
        return path

    def command(self, path, *args, options=()):
        """The command line that records a program."""
        record = [ANNOT, "record", "-o", str(self.folder / "out.annot"), "--force", *options]
        return [*record, "--", sys.executable, str(path), *map(str, args)]

    def record(self, source, *args, options=(), status=0):
        """Records a program, or the program at a path; checks its exit status."""
        path = source if isinstance(source, pathlib.Path) else self.script(source)
        result = subprocess.run(
            self.command(path, *args, options=options),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
            env=self.environment,
        )
        self.assertEqual(result.returncode, status, result.stderr)
        self.output = result.stdout
        self.assert_directory_clean()
        return Recording(self.folder / "out.annot")

    def assert_directory_clean(self):
        with contextlib.suppress(FileNotFoundError):
            left = [path.name for path in self.directory.iterdir() if path.name != "wake"]
            self.assertEqual(left, [], "files left in the shared directory")


def run_where_there_are(*packages):
    """Starts this test again with the Python that has the tests' packages, if this interpreter
    lacks some and both have the same version and kind, so that both load the same modules."""
    elsewhere.run_where_told()
    python = os.environ.get("ANNOT_TEST_PYTHON", "")
    if all(map(importlib.util.find_spec, packages)) or python in ("", sys.executable):
        return
    names = ",".join(packages)
    kind = sysconfig.get_config_var("SOABI")
    check = f"import sysconfig, {names}; assert sysconfig.get_config_var('SOABI') == {kind!r}"
    if subprocess.run([python, "-c", check], capture_output=True, check=False).returncode == 0:
        os.execv(python, [python, *sys.argv])


def main():
    """unittest's main with the closing line and exit status of this project's tests."""
    elsewhere.run_where_told()
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    for test, reason in result.skipped:
        print(f"skipped {test.id()}: {reason}")
    passed = max(0, result.testsRun - failed - skipped)  # one may have failed in several parts
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 77 if skipped == result.testsRun else 0)
