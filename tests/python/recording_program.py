# SPDX-License-Identifier: MIT
"""Programs that record themselves, for tests."""

import collections
import os
import subprocess
import sys
import time

import harness
import pyannot
from harness import RecordingTest


class Inside(RecordingTest):
    """Programs that record themselves into out.annot, started without annot."""

    def start(self, source, *args, **options):
        """Starts a program in the test's folder."""
        return subprocess.Popen(
            [sys.executable, str(self.script(source)), *map(str, args)],
            env={**self.environment, **options.pop("environment", {})}, cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def run_program(self, source, *args, status=0, **options):
        program = self.start(source, *args, **options)
        self.addCleanup(program.kill)
        self.output, self.errors = program.communicate(timeout=harness.TIMEOUT_SECONDS)
        self.assertEqual(program.returncode, status, self.errors)
        return self.output

    def wait_for_collectors(self):
        """Waits for collectors that outlive programs that were killed."""
        until = time.monotonic() + harness.TIMEOUT_SECONDS
        while self.collectors():
            self.assertLess(time.monotonic(), until, "annot does not end")
            time.sleep(0.01)

    def collectors(self):
        """Processes of annot that write into the test's folder."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if b"--asked" in words and any(os.fsencode(self.folder) in word for word in words):
                found.append(int(pid))
        return found

    def recording(self, name="out.annot"):
        recording = pyannot.read(self.folder / name)
        self.assertTrue(recording.complete)
        self.assertEqual(recording.lost, {})
        return recording

    def names(self, name="out.annot"):
        return collections.Counter(
            range.name for range in self.recording(name).ranges if range.domain != "python")
