# SPDX-License-Identifier: MIT
"""pyannot.read of files that are cut, damaged, hostile, or not recordings.

Each file is read to its end in every way, in separate processes, so that crashes are detected.
$MAKE_TRACE and $MAKE_HOSTILE, where meson sets them, write the files. $ANNOT_HOSTILE_SEEDS: number
of files (default 40).
"""

import collections
import json
import os
import random
import struct
import subprocess
import sys
import threading
import unittest

import harness
import pyannot
from harness import ANNOT, RecordingTest

MAKE_TRACE = os.environ.get("MAKE_TRACE")
MAKE_HOSTILE = os.environ.get("MAKE_HOSTILE")
SEEDS = int(os.environ.get("ANNOT_HOSTILE_SEEDS", "40"))

# Reads each file named on its input, prints the outcome of each as a line of JSON.
READER = """
import json, resource, sys
import pyannot

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.RLIM_INFINITY))

def use(recording):
    counts = {}
    for name in ("ranges", "marks", "counters", "flows", "losses"):
        table = getattr(recording, name)
        rows = [repr(row) for row in table]
        columns = table.columns()
        lengths = {len(column) for field, column in columns._asdict().items()
                   if field != "strings"}
        assert lengths == {len(rows)}, (name, lengths, len(rows))
        for field in ("name", "domain", "category", "cause"):
            if hasattr(columns, field):
                assert all(-1 <= code < len(columns.strings)
                           for code in getattr(columns, field)), field
        assert len(set(columns.strings)) == len(columns.strings)
        counts[name] = len(rows)
    parents = recording.ranges.columns().parent
    assert all(-1 <= parent < row for row, parent in enumerate(parents))
    for sample in recording.samples:
        repr(sample)
    for described in recording.sample_sets:
        columns = recording.samples.columns(described.name)
        assert set(columns.sample_values) == {value.name for value in described.values}
        for codes, names in ((columns.stack, columns.stacks), (columns.ranges, columns.paths),
                             (columns.reason, columns.strings)):
            assert all(-1 <= code < len(names) for code in codes)
    repr((recording.processes, recording.threads, recording.tracks, recording.lost))
    return counts

for line in sys.stdin:
    try:
        recording = pyannot.read(line.rstrip("\\n"))
        counts = use(recording)
    except (pyannot.RecordingError, OSError) as error:
        print(json.dumps({"error": str(error), "kind": type(error).__name__}), flush=True)
        continue
    print(json.dumps({"counts": counts, "complete": recording.complete,
                      "damage": [part.reason for part in recording.damage]}), flush=True)
"""


class Hostile(RecordingTest):
    made = "sample"  # the kind that make_trace writes

    def setUp(self):
        super().setUp()
        self.reader = subprocess.Popen([sys.executable, "-c", READER], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.reader.wait)
        self.addCleanup(self.reader.stdout.close)
        self.addCleanup(self.reader.stdin.close)

    def read(self, path):
        self.reader.stdin.write(f"{path}\n")
        self.reader.stdin.flush()
        timer = threading.Timer(harness.TIMEOUT_SECONDS, self.reader.kill)
        timer.start()
        line = self.reader.stdout.readline()
        timer.cancel()
        if not line:
            self.fail(f"{path}: the reader ended with status {self.reader.wait()}")
        return json.loads(line)

    def whole(self):
        """The bytes of a good recording of several chunks."""
        path = self.folder / "whole.annot"
        if not path.exists():
            if MAKE_TRACE:
                harness.run([MAKE_TRACE, self.made, path])
            else:
                self.record("""
                    import pyannot
                    for i in range(500):
                        with pyannot.annotate(f"r{i % 7}", payload=i):
                            pyannot.counter("c", i)
                    """)
                (self.folder / "out.annot").rename(path)
        return path.read_bytes()

    def read_bytes(self, content):
        path = self.folder / "changed.annot"
        path.write_bytes(content)
        return self.read(path)

    def check(self, result, good):
        """Accepts an error with a message, or a part of the content that is marked as a part."""
        if "error" in result:
            self.assertEqual(result["kind"], "RecordingError", result)
            self.assertIn("cannot read", result["error"])
            return
        if result["complete"]:
            self.assertEqual(result["counts"], good["counts"])
            self.assertEqual(result["damage"], [])
        else:
            self.assertTrue(result["damage"])

    def test_cut_anywhere(self):
        content = self.whole()
        good = self.read(self.folder / "whole.annot")
        self.assertTrue(good["complete"])
        step = max(1, len(content) // 150)
        seen = collections.Counter()
        for size in [*range(0, 70), *range(70, len(content), step)]:
            result = self.read_bytes(content[:size])
            self.check(result, good)
            self.assertFalse(result.get("complete", False), size)
            seen["error" if "error" in result else "part"] += 1
        self.assertGreater(seen["error"], 0)
        self.assertGreater(seen["part"], 50)

    def test_changed_bytes(self):
        content = self.whole()
        good = self.read(self.folder / "whole.annot")
        chance = random.Random(6)
        for _ in range(150):
            changed = bytearray(content)
            for _ in range(chance.choice((1, 1, 2, 8, 64))):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            self.check(self.read_bytes(changed), good)

    def test_parts_cut_out_doubled_and_put_elsewhere(self):
        content = self.whole()
        chance = random.Random(7)
        for _ in range(80):
            first, second = sorted(chance.randrange(len(content)) for _ in range(2))
            for changed in (content[:first] + content[second:],
                            content[:second] + content[first:],
                            content[second:] + content[:first],
                            content[:first] + bytes(second - first) + content[second:]):
                result = self.read_bytes(changed)
                self.assertTrue("error" in result or "counts" in result)

    @unittest.skipUnless(MAKE_HOSTILE, "MAKE_HOSTILE is not set")
    def test_whole_recordings_that_make_no_sense(self):
        for seed in range(SEEDS):
            path = self.folder / "hostile.annot"
            harness.run([MAKE_HOSTILE, path, str(seed)])
            result = self.read(path)
            self.assertIn("counts", result, seed)
            self.assertGreater(sum(result["counts"].values()), 100, seed)

    @unittest.skipUnless(MAKE_HOSTILE, "MAKE_HOSTILE is not set")
    def test_nonsense_is_told_as_annot_tells_it(self):
        for seed in range(SEEDS, SEEDS + 10):
            path = self.folder / "hostile.annot"
            harness.run([MAKE_HOSTILE, path, str(seed)])
            lines = subprocess.run([ANNOT, "cat", "--json", "--complete", str(path)], check=False,
                                   capture_output=True).stdout.splitlines()
            events = collections.Counter(json.loads(line)["event"] for line in lines)
            counts = self.read(path)["counts"]
            self.assertEqual(counts, {
                "ranges": events["range"], "marks": events["mark"] + events["log"],
                "counters": events["counter"], "losses": events["lost"],
                "flows": sum(events[f"flow_{kind}"] for kind in ("begin", "step", "end"))}, seed)


@unittest.skipUnless(MAKE_TRACE, "MAKE_TRACE is not set")
class HostileSamples(Hostile):
    made = "sampled"
    test_whole_recordings_that_make_no_sense = None
    test_nonsense_is_told_as_annot_tells_it = None


@unittest.skipUnless(MAKE_TRACE, "MAKE_TRACE is not set")
class HostileSets(HostileSamples):
    made = "sets"


class OtherFiles(RecordingTest):
    def refused(self, path, words):
        with self.assertRaisesRegex(pyannot.RecordingError, words) as caught:
            pyannot.read(path)
        self.assertTrue(caught.exception.hint)
        self.assertIn(str(path), str(caught.exception))

    def test_files_that_are_no_recordings(self):
        path = self.folder / "other"
        for content in (b"text\n", b"{}", b"\x7fELF" + bytes(1000), bytes(5000),
                        random.Random(1).randbytes(5000)):
            path.write_bytes(content)
            self.refused(path, "not a recording")
        path.write_bytes(b"")
        self.refused(path, "ends within its header")

    def test_one_of_a_newer_annot(self):
        self.record("import pyannot")
        content = bytearray((self.folder / "out.annot").read_bytes())
        struct.pack_into("<H", content, 8, 2)
        (self.folder / "newer").write_bytes(content)
        try:
            recording = pyannot.read(self.folder / "newer")  # its checksum is wrong: damage
            self.assertFalse(recording.complete)
        except pyannot.RecordingError:
            pass

    def test_errors_of_the_system_are_those_of_open(self):
        with self.assertRaises(FileNotFoundError) as caught:
            pyannot.read(self.folder / "nothing")
        self.assertEqual(caught.exception.filename, str(self.folder / "nothing"))
        with self.assertRaises(IsADirectoryError):
            pyannot.read(self.folder)

    def test_devices_and_pipes_are_not_waited_for(self):
        os.mkfifo(self.folder / "pipe")
        self.refused(self.folder / "pipe", "a device or a pipe")
        self.refused("/dev/zero", "a device or a pipe")

    def test_one_that_is_being_written(self):
        program = subprocess.Popen(
            self.command(self.script("""
                import sys, pyannot
                for line in sys.stdin:
                    for i in range(1000):
                        with pyannot.annotate(f"r{i % 50}"):
                            pass
                    print("done", flush=True)
                """)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=self.environment)
        self.addCleanup(program.kill)
        recording, last = None, 0
        for _ in range(20):
            program.stdin.write("go\n")
            program.stdin.flush()
            program.stdout.readline()
            recording = recording or pyannot.read(self.folder / "out.annot")
            self.assertFalse(recording.complete)
            count = sum(1 for row in recording.ranges if row.domain is None)
            self.assertGreaterEqual(count, last)
            last = count
        program.communicate(timeout=harness.TIMEOUT_SECONDS)
        count = sum(1 for row in recording.ranges if row.domain is None)
        self.assertEqual(count, 20000)
        self.assertTrue(pyannot.read(self.folder / "out.annot").complete)

    def test_too_little_memory_is_an_exception(self):
        self.record("""
            import pyannot
            for i in range(200000):
                with pyannot.annotate("r"):
                    pass
            """, options=["--policy", "wait"])
        result = harness.run([sys.executable, "-c", f"""if True:
            import resource, pyannot
            recording = pyannot.read({str(self.folder / 'out.annot')!r})
            used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            limit = used + (12 << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
            try:
                recording.ranges.columns()
            except MemoryError:
                print("told")
            """])
        self.assertEqual(result.stdout, "told\n")


if __name__ == "__main__":
    harness.main()
