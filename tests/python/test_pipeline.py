# SPDX-License-Identifier: MIT
"""The example pipeline: its recording holds exactly the work that the program reports."""

import collections
import json
import pathlib
import sys

import harness
from harness import HERE, RecordingTest

PIPELINE = HERE.parent.parent / "examples" / "pipeline" / "pipeline.py"


class Pipeline(RecordingTest):
    def check(self, method, limit=40):
        options = ["--output", self.folder, "--workers", 2, "--limit", limit]
        recording = self.record(PIPELINE, *options, "--start-method", method)
        counts = json.loads((self.folder / "counts.json").read_text())
        self.assertEqual(recording.count("ranges"), counts["ranges"])
        self.assertEqual(recording.count("marks"), counts["marks"])
        self.assertEqual(recording.count("counters"), counts["counters"])
        self.assertEqual(recording.lost(), 0)
        names = " ".join(recording.process_names + recording.thread_names)
        for name in ["pipeline", "worker 1", "worker 2", "main", "row writer"]:
            self.assertIn(name, names)
        self.check_nesting(recording, counts)

    def check_nesting(self, recording, counts):
        around = {
            "discover": "pipeline",
            "wait": "pipeline",
            "merge": "pipeline",
            "rank": "write",
            "read": "file",
            "parse": "file",
            "analyse": "file",
            "complexity": "analyse",
            "imports": "analyse",
            "identifiers": "analyse",
        }
        got = collections.Counter(recording.parents())
        for name, parent in around.items():
            self.assertEqual(got[name, parent], counts["ranges"][name], (name, parent))

    def test_fork(self):
        self.check("fork")

    def test_spawn(self):
        self.check("spawn")

    def test_forkserver(self):
        self.check("forkserver")

    def test_without_a_recorder(self):
        command = [sys.executable, PIPELINE, "--output", self.folder, "--limit", "50"]
        result = harness.run(command, env=self.environment)
        self.assertIn("50 files", result.stdout)
        counts = json.loads((self.folder / "counts.json").read_text())
        self.assertEqual(counts["files"], 50)
        self.assertIn("most imported", (self.folder / "report.txt").read_text())
        self.assertEqual(len((self.folder / "files.csv").read_text().splitlines()), 51)

    def test_without_output_nothing_is_left_where_it_runs(self):
        here, there = self.folder / "here", self.folder / "there"
        here.mkdir()
        there.mkdir()
        environment = dict(self.environment, TMPDIR=str(there))
        result = harness.run([sys.executable, PIPELINE, "--limit", "5"], env=environment, cwd=here)
        report = pathlib.Path(result.stdout.rpartition("Report: ")[2].strip())
        self.assertEqual(list(here.iterdir()), [])
        self.assertEqual(report.parent.parent, there)
        self.assertIn("most imported", report.read_text())


if __name__ == "__main__":
    harness.main()
