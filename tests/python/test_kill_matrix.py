# SPDX-License-Identifier: MIT
"""All records of a Python process arrive, however it was started and however it ends, with a live
or a dead collector: the recording equals the children's own counts."""

import pathlib
import signal
import subprocess
import time

import harness
import kill_program
from harness import ANNOT, HERE, Recording, RecordingTest

PROGRAM = HERE / "kill_program.py"


class KillMatrix(RecordingTest):
    def setUp(self):
        super().setUp()
        self.counts = self.folder / "counts"
        self.counts.write_bytes(bytes(kill_program.SLOT.size * len(kill_program.WAYS)))

    def check(self, method, recording):
        ranges = recording.count("ranges")
        for way in kill_program.WAYS:
            with self.subTest(way=way):
                begun, done = kill_program.Slot(self.counts, way).numbers
                self.assertGreaterEqual(done, kill_program.CALLS)
                self.assertIn(ranges[f"{method} {way}"], {begun, done})
        self.assertEqual(ranges["open at the end"], len(kill_program.WAYS))
        self.assertEqual(recording.count("marks"), {"ready": len(kill_program.WAYS)})
        self.assertEqual(recording.lost(), 0)

    def check_children(self, method):
        self.check(method, self.record(PROGRAM, method, self.counts))

    def check_collector(self, method):
        """The collector is killed while all children are at work; then they end."""
        command = self.command(PROGRAM, method, self.counts, "--collector-dies")
        collector = subprocess.Popen(command, env=self.environment, stderr=subprocess.DEVNULL)
        self.wait_for(lambda: self.done_everywhere(100))
        collector.send_signal(signal.SIGKILL)
        collector.wait()
        self.wait_for(pathlib.Path(f"{self.counts}.finished").exists)
        harness.run([ANNOT, "recover"], env=self.environment, cwd=self.folder)
        self.assert_directory_clean()
        # If it was killed before its first chunk was written, recover makes a new recording.
        recovered = [*self.folder.glob("recovered-*.annot"), self.folder / "out.annot"]
        self.check(method, Recording(recovered[0]))

    def done_everywhere(self, calls):
        slots = [kill_program.Slot(self.counts, way) for way in kill_program.WAYS]
        return all(slot.numbers[1] >= calls for slot in slots)

    def wait_for(self, condition):
        until = time.monotonic() + harness.TIMEOUT_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), until, "the children did not get there")
            time.sleep(0.002)

    def test_fork(self):
        self.check_children("fork")

    def test_spawn(self):
        self.check_children("spawn")

    def test_forkserver(self):
        self.check_children("forkserver")

    def test_subprocess(self):
        self.check_children("subprocess")

    def test_collector_killed_fork(self):
        self.check_collector("fork")

    def test_collector_killed_spawn(self):
        self.check_collector("spawn")

    def test_collector_killed_forkserver(self):
        self.check_collector("forkserver")

    def test_collector_killed_subprocess(self):
        self.check_collector("subprocess")


if __name__ == "__main__":
    harness.main()
