# SPDX-License-Identifier: MIT
"""For tests of pyannot.observe: records a program and reads its events one by one."""

import json
import textwrap

import harness
from harness import ANNOT, RecordingTest

HEAD = """
import sys
import pyannot
from pyannot import annotate, mark, observe
"""


class ObservedTest(RecordingTest):
    """Records a program that begins with observe.start(PARTS)."""

    def observe(self, parts, source, options=(), before=""):
        texts = [HEAD, f"observe.start({parts!r})\n", before, source]
        text = "".join(map(textwrap.dedent, texts))
        recording = self.record(text, options=["--no-preload", *options])
        self.assertEqual(recording.lost(), 0)
        self.read_lines()

    def read_lines(self):
        """Reads the recording with `annot cat --json` into self.lines."""
        text = harness.run([ANNOT, "cat", "-j", str(self.folder / "out.annot")]).stdout
        self.lines = list(map(json.loads, text.splitlines()))

    def of_category(self, category, event):
        """The events of this kind and category of domain "python", in order of time."""
        return [line for line in self.lines if line["event"] == event
                and line.get("domain") == "python" and line.get("category") == category]

    def ended(self, names):
        """The ends of the ranges with these names."""
        return [line for line in self.lines if line["event"] == "end" and line["name"] in names]

    def marks(self, name):
        return [line for line in self.lines if line["event"] == "mark" and line["name"] == name]
