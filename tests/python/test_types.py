# SPDX-License-Identifier: MIT
"""The view of type checkers: mypy --strict reveals the types in typing_cases.py, reports exactly
the calls that it marks wrong, and finds that the stub matches the C module."""

import importlib.util
import os
import pathlib
import re
import sys
import unittest

import harness
import pyannot

CASES = harness.HERE / "typing_cases.py"
LINE = re.compile(r"^[^:]*:(\d+): (error|note): (.*)$", re.M)

# Items of a C module that mypy's stubtest cannot check.
ALLOWED = """
pyannot\\._native\\.annotate\\.__new__
pyannot\\._native\\.\\w+\\.__a?exit__
pyannot\\._native\\.\\w+\\.__a?enter__
pyannot\\._native\\.\\w+\\.__new__
pyannot\\._native\\.\\w+\\.__init__
pyannot\\._native\\.\\w+\\.__call__
pyannot\\._native\\.\\w+\\.__reduce__
pyannot\\._native\\.annotate\\._named
pyannot\\._native\\.domain\\.annotate
pyannot\\._native\\.annotation_holder
"""


def expected_of(text):
    """{line: [(kind, words)]} of the comments."""
    expected = {}
    for number, line in enumerate(text.splitlines(), 1):
        for comment in re.findall(r"  # (is|wrong:) (.*?)(?=  # |$)", line):
            expected.setdefault(number, []).append(comment)
    return expected


def plain(words):
    """Types without the spelling differences of mypy's versions."""
    for module in ("builtins.", "typing.", "collections.abc."):
        words = words.replace(module, "")
    words = words.replace("= ...", "=")
    words = re.sub(r"Union\[(\w+), None\]|Optional\[([\w.]+)\]", r"\1\2 | None", words)
    return words


@unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
class Types(unittest.TestCase):
    def setUp(self):
        package = pathlib.Path(pyannot.__file__).parent.parent
        self.environment = dict(os.environ, MYPYPATH=str(package), MYPY_CACHE_DIR=os.devnull)
        self.addCleanup(setattr, self, "maxDiff", self.maxDiff)
        self.maxDiff = None

    def mypy(self, *arguments):
        command = [sys.executable, "-m", *arguments]
        return harness.subprocess.run(command, env=self.environment, capture_output=True, text=True,
                                      check=False, timeout=harness.TIMEOUT_SECONDS)

    def test_reveals_and_complaints_are_those_of_the_comments(self):
        done = self.mypy("mypy", "--strict", "--follow-imports=silent", "--no-error-summary",
                         str(CASES))
        self.assertEqual(done.stderr, "")
        said = {}
        for number, _, words in LINE.findall(done.stdout):
            if not words.startswith(("Possible overload", "    def", "Error code", "See https")):
                said.setdefault(int(number), []).append(plain(words))
        expected = expected_of(CASES.read_text())
        self.assertGreater(len(expected), 40)
        for number, comments in expected.items():
            words = "\n".join(said.get(number, ["nothing"]))
            for kind, wanted in comments:
                with self.subTest(line=number, wanted=wanted):
                    pattern = f'Revealed type is "{wanted}"' if kind == "is" else wanted
                    self.assertIn(pattern, words)
        extra = {number: words for number, words in said.items() if number not in expected}
        self.assertEqual(extra, {})

    def test_the_stub_is_true_to_the_module(self):
        with harness.tempfile.NamedTemporaryFile("w", suffix=".allow") as allowed:
            allowed.write(ALLOWED)
            allowed.flush()
            done = self.mypy("mypy.stubtest", "pyannot._native", "--ignore-missing-stub",
                             "--ignore-unused-allowlist", "--allowlist", allowed.name)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-2000:])


if __name__ == "__main__":
    harness.run_where_there_are("mypy")
    harness.main()
