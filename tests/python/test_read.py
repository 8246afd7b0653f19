# SPDX-License-Identifier: MIT
"""pyannot.read: returns the same numbers as `annot cat` and `annot report`.

$MAKE_TRACE, where meson sets it, writes recordings with every element of the format.
"""

import array
import collections
import gc
import json
import math
import os
import pathlib
import pickle
import re
import resource
import subprocess
import sys
import threading
import unittest

import harness
import pyannot
from harness import ANNOT, HERE, RecordingTest

PIPELINE = HERE.parent.parent / "examples" / "pipeline" / "pipeline.py"
MAKE_TRACE = os.environ.get("MAKE_TRACE")


def cat(path, *options):
    """The lines of `annot cat`, as objects."""
    text = subprocess.run([ANNOT, "cat", "--json", "--complete", *options, str(path)],
                          capture_output=True, check=False).stdout.decode()
    return [json.loads(line) for line in text.splitlines()]


def number(value):
    """A number in JSON's form: integers that a double cannot represent are texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[str(value)]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    exact = isinstance(value, bool) or not isinstance(value, int) or abs(value) < 2**53
    return value if exact else str(value)


def told(**facts):
    """A line as a text that can be compared; omits absent fields."""
    return json.dumps({key: value for key, value in facts.items()
                       if value is not None and value != {} and value is not False},
                      sort_keys=True)


def line_of(line):
    """The compared fields of a line of `annot cat`."""
    return told(**{key: value for key, value in line.items()
                   if key not in ("process", "thread", "track", "severity", "event")},
                event="mark" if line["event"] == "log" else line["event"])


def samples_of(path):
    lines = cat(path, "--samples")
    return collections.Counter(
        line_of(line) for line in lines if line["event"] in ("sample", "off_cpu"))


def owner(row):
    return {"pid": row.process.pid, "process_index": row.process.index, "tid": row.thread.tid,
            "thread_index": row.thread.index}


def attributes(row):
    return {
        "domain": row.domain, "category": row.category, "level": row.level or None,
        "color": None if row.color is None else f"#{row.color:08x}",
        "payload": None if row.payload is None else number(row.payload),
        "args": {key: number(value) for key, value in row.args.items()},
        "track_id": f"{row.track.id:#x}" if row.track else None,
    }


def line_of_range(row):
    pushed, overlapping = row.kind == "pushed", row.kind == "overlapping"
    return told(
        event="range", time_ns=row.begin_ns, kind=row.kind, name=row.name,
        number=f"{row.id:016x}" if pushed and row.id else None,
        id=f"{row.id:#x}" if overlapping else None, depth=None if overlapping else row.depth,
        path="/".join(row.path), duration_ns=row.duration_ns,
        self_ns=row.self_ns if pushed else None,
        end_tid=row.end_thread.tid if row.end_thread is not row.thread else None,
        unfinished=row.unfinished, end_lost=row.end_lost, **owner(row), **attributes(row))


def line_of_mark(row):
    return told(event="mark", time_ns=row.time_ns, name=row.name,
                kind="track" if row.track else None,
                depth=None, **owner(row), **attributes(row))


def line_of_counter(row):
    return told(event="counter", time_ns=row.time_ns, name=row.name, value=number(row.value),
                domain=row.domain, unit=row.unit, **owner(row))


def line_of_flow(row):
    return told(event=f"flow_{row.kind}", time_ns=row.time_ns, name=row.name,
                flow=f"{row.id:#x}", domain=row.domain, **owner(row))


def line_of_loss(row):
    return told(event="lost", time_ns=row.begin_ns, duration_ns=row.end_ns - row.begin_ns,
                lost_count=row.lost_count, cause=row.cause, **owner(row))


def line_of_sample(row):
    off, short = row.kind == "off_cpu", row.kind == "short-waits"
    return told(
        event="off_cpu" if off else "sample", time_ns=row.time_ns, cpu=row.cpu,
        sample_set=row.kind if short else None, sample_values=row.sample_values if short else None,
        cpu_ns=None if off or short else row.cpu_ns,
        duration_ns=row.end_ns - row.time_ns if off or short else None,
        reason=row.reason, runnable_ns=row.runnable_ns if off else None, in_kernel=row.in_kernel,
        collecting=row.collecting, holds_gil=row.holds_gil, unfinished=row.unfinished,
        inherited=row.inherited, ranges=list(row.ranges), stack=list(row.stack), **owner(row))


def plain(value):
    """A document or report with NaN, which JSON lacks, as text, and other integers as numbers,
    also where JSON has texts (beyond 2^53)."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[str(value)]
    return int(value) if isinstance(value, str) and re.fullmatch("[0-9]{16,}", value) else value


TABLES = [("ranges", line_of_range, {"range"}), ("marks", line_of_mark, {"mark", "log"}),
          ("counters", line_of_counter, {"counter"}),
          ("flows", line_of_flow, {"flow_begin", "flow_step", "flow_end"}),
          ("losses", line_of_loss, {"lost"})]


class Agreement(RecordingTest):
    """Compares every number of pyannot.read with every number of the other outputs."""

    def check(self, path):
        recording = pyannot.read(path)
        lines = cat(path)
        for name, line_of_row, events in TABLES:
            with self.subTest(table=name):
                wanted = collections.Counter(
                    line_of(line) for line in lines if line["event"] in events)
                got = collections.Counter(map(line_of_row, getattr(recording, name)))
                self.assertEqual(got - wanted, {})
                self.assertEqual(wanted - got, {})
        self.check_facts(recording, lines)
        self.check_report(recording, path)
        self.check_columns(recording)
        return recording

    def check_samples(self, path, least):
        wanted = samples_of(path)
        got = collections.Counter(map(line_of_sample, pyannot.read(path).samples))
        self.assertEqual(got - wanted, {})
        self.assertEqual(wanted - got, {})
        self.assertGreaterEqual(sum(got.values()), least)

    def check_facts(self, recording, lines):
        starts = {line["process_index"]: line for line in lines
                  if line["event"] == "process_start"}
        for index, line in starts.items():
            process = recording.processes[index]
            self.assertEqual((process.index, process.pid, process.name, process.command,
                              process.forked),
                             (index, line["pid"], line["process"], line["command"],
                              line["forked"]))
            self.assertEqual(process.parent_pid, line.get("parent_pid", 0))
        for line in lines:
            if line["event"] == "process_end":
                self.assertEqual(recording.processes[line["process_index"]].end, line["ended"])
            if line["event"] == "thread_start":
                thread = recording.threads[line["thread_index"]]
                self.assertEqual((thread.tid, thread.name), (line["tid"], line["thread"]))
                self.assertIn(thread, thread.process.threads)

    def check_report(self, recording, path):
        """Compares sums of the report with sums of the rows."""
        report = json.loads(subprocess.run([ANNOT, "report", "--json", str(path)],
                                           capture_output=True, check=False).stdout)
        groups = collections.defaultdict(list)
        for row in recording.ranges:
            groups[row.kind, "/".join(row.path)].append(row)
        ranges = [("pushed", row) for row in report["ranges"] if "rest" not in row]
        ranges += [("overlapping", row) for row in report["overlapping_ranges"]]
        for kind, row in ranges:
            rows = groups[kind, row["path"]]
            durations = [row.duration_ns for row in rows]
            if not rows and row["count"] == 0:
                continue
            self.assertEqual((row["count"], row["total_ns"], row["min_ns"], row["max_ns"]),
                             (len(rows), sum(durations), min(durations), max(durations)), row)
            if kind == "pushed":
                self.assertEqual(row["self_ns"], sum(row.self_ns for row in rows), row)
            self.assertEqual((row["unfinished_count"], row["end_lost"]),
                             (sum(row.unfinished for row in rows),
                              sum(row.end_lost for row in rows)), row)
        self.assertEqual(report["recording"]["process_count"], len(recording.processes))
        missing = collections.defaultdict(dict)
        for row in report["missing"]:
            missing[row["kind"]][row["what"]] = row["count"]
        self.assertEqual(missing["lost record"], recording.lost)
        report["recording"]["path"] = recording.path
        self.assertEqual(plain(recording.report()), plain(report))
        self.assertEqual(list(missing["remarkable call"].values()),
                         list(recording.remarkable_calls.values()))

    def check_columns(self, recording):
        """Checks the same data as columns."""
        columns, strings = recording.ranges.columns(), recording.ranges.columns().strings
        text = dict(enumerate(strings))
        self.assertEqual(len(set(strings)), len(strings))
        kinds = ("pushed", "overlapping", "track")
        got = collections.Counter(zip(
            columns.begin_ns, columns.end_ns, columns.self_ns, columns.depth, columns.id,
            columns.thread, columns.end_thread, map(kinds.__getitem__, columns.kind),
            columns.unfinished, columns.end_lost, map(text.get, columns.domain),
            map(text.get, columns.category), columns.level, columns.process, columns.track))
        rows = list(recording.ranges)
        wanted = collections.Counter(
            (row.begin_ns, row.end_ns, row.self_ns, row.depth, row.id, row.thread.index,
             row.end_thread.index, row.kind, row.unfinished, row.end_lost, row.domain,
             row.category, row.level, row.process.index, row.track.index if row.track else -1)
            for row in rows)
        self.assertEqual(got - wanted, {})
        self.assertEqual(wanted - got, {})
        self.assertEqual(list(columns.begin_ns), sorted(columns.begin_ns))
        self.check_paths(columns, rows)
        for name, table in (("marks", recording.marks), ("counters", recording.counters),
                            ("flows", recording.flows)):
            columns = table.columns()
            rows = list(table)
            self.assertEqual(list(columns.time_ns), [row.time_ns for row in rows], name)
            self.assertEqual(list(columns.thread), [row.thread.index for row in rows], name)
            self.assertEqual([columns.strings[i] if i >= 0 else None for i in columns.name],
                             [row.name or None for row in rows], name)
        columns = recording.losses.columns()
        self.assertEqual(list(zip(columns.begin_ns, columns.end_ns, columns.lost_count,
                                  [columns.strings[i] for i in columns.cause])),
                         [row[:4] for row in recording.losses])

    def check_paths(self, columns, rows):
        """Checks that the parents of rows lead to the same paths."""
        paths = []
        for row in range(len(columns.begin_ns)):
            name = columns.strings[columns.name[row]] if columns.name[row] >= 0 else ""
            domain = columns.domain[row]
            label = (f"{columns.strings[domain]}:" if domain >= 0 else "") + (name or "(no name)")
            parent = columns.parent[row]
            self.assertLess(parent, row)
            paths.append((paths[parent] if parent >= 0 else ()) + (label,))
        self.assertEqual(collections.Counter(paths), collections.Counter(row.path for row in rows))

    def test_the_pipeline(self):
        self.record(PIPELINE, "--output", self.folder, "--workers", 2, "--limit", 60)
        recording = self.check(self.folder / "out.annot")
        self.check_samples(self.folder / "out.annot", 0)
        counts = json.loads((self.folder / "counts.json").read_text())
        own = [row for row in recording.ranges if row.domain != "python"]
        self.assertEqual(collections.Counter(row.name for row in own), counts["ranges"])
        self.assertTrue(recording.complete)

    def test_everything_that_pyannot_emits(self):
        self.record("""
            import os, threading, pyannot
            with pyannot.annotate("a", domain="d", category="c", level=3, color="red", payload=-1):
                pyannot.mark("m", payload="text", x=1, y=2.5, z=True)
                pyannot.counter("n", 2**60 + 1)
                pyannot.counter("many", {"one": 1, "two": 2.5})
                token = pyannot.start("overlapping", payload=2**63 + 1)
                thread = threading.Thread(target=pyannot.end, args=(token,))
                thread.start(); thread.join()
            flow = pyannot.flow("arrow")
            flow.begin(); flow.step(); flow.end()
            track = pyannot.track("track")
            track.begin("on it", payload=1.5)
            track.mark("mark on it")
            track.end()
            pyannot.push("left open")
            """)
        recording = self.check(self.folder / "out.annot")
        marks = {mark.name: mark for mark in recording.marks}
        self.assertEqual(marks["m"].payload, "text")
        self.assertEqual(marks["m"].args, {"x": 1, "y": 2.5, "z": True})
        ranges = {row.name: row for row in recording.ranges}
        self.assertEqual((ranges["a"].domain, ranges["a"].category, ranges["a"].level,
                          ranges["a"].payload), ("d", "c", 3, -1))
        self.assertEqual(ranges["overlapping"].payload, 2**63 + 1)
        self.assertTrue(ranges["left open"].unfinished)
        self.assertEqual(ranges["on it"].track.name, "track")
        self.assertIn(2**60 + 1, [counter.value for counter in recording.counters])
        self.assertEqual([flow.kind for flow in recording.flows], ["begin", "step", "end"])

    @unittest.skipUnless(MAKE_TRACE, "MAKE_TRACE is not set")
    def test_made_recordings(self):
        for kind, *args in (["sample"], ["sampled"], ["random", "20000"]):
            with self.subTest(kind=kind):
                path = self.folder / f"{kind}.annot"
                harness.run([MAKE_TRACE, kind, path, *args])
                self.check(path)
                self.check_samples(path, 5 if kind == "sampled" else 0)


@unittest.skipUnless(MAKE_TRACE, "MAKE_TRACE is not set")
class SampleSets(RecordingTest):
    """The recording of tests/lib/sets_trace.h: its sums are known."""

    def setUp(self):
        super().setUp()
        path = self.folder / "sets.annot"
        harness.run([MAKE_TRACE, "sets", path])
        self.recording = pyannot.read(path)

    def test_sets_say_what_they_measure(self):
        sets = {described.name: described for described in self.recording.sample_sets}
        self.assertEqual(list(sets), ["cpu", "off-cpu", "short-waits", "alloc", "calls", "paging",
                                      "thermal"])
        self.assertEqual(sets["alloc"].values, (("alloc-bytes", "bytes", True),
                                                ("alloc-objects", "", True)))
        self.assertTrue(sets["alloc"].heap and sets["alloc"].exact)
        self.assertTrue(sets["calls"].interval and sets["off-cpu"].stretch)
        self.assertEqual(sets["thermal"].values, (("temperature", "mC", False),))

    def test_samples_have_the_values_and_ids_of_their_sets(self):
        sums = collections.Counter()
        for sample in self.recording.samples:
            sums.update({(sample.kind, name): value
                         for name, value in sample.sample_values.items()})
        self.assertEqual(sums["alloc", "alloc-bytes"], 3 * 4096 + 2 * 2**20 + 100)
        self.assertEqual(sums["calls", "calls"], 170)
        self.assertEqual(sums["off_cpu", "blocked"], 3_000_000)
        blocks = [sample for sample in self.recording.samples if sample.kind == "alloc"]
        self.assertEqual([block.id for block in blocks],
                         [0x7f0000001000 + 4096 * i for i in range(6)])

    def test_a_set_is_a_table_of_columns(self):
        alloc = self.recording.samples.columns("alloc")
        self.assertEqual(list(alloc.sample_values["alloc-bytes"]), [4096] * 3 + [2**20] * 2 + [100])
        self.assertEqual(alloc.id[5] - alloc.id[0], 5 * 4096)
        self.assertEqual([alloc.stacks[stack][-1].split(" ")[0] for stack in alloc.stack],
                         ["load"] * 3 + ["step"] * 3)
        calls = self.recording.samples.columns("calls")
        self.assertEqual([end - begin for begin, end in zip(calls.time_ns, calls.end_ns)],
                         [10_000_000] * 3 + [8_000_000])
        waits = self.recording.samples.columns("off-cpu")
        self.assertEqual([waits.strings[reason] for reason in waits.reason], ["disk"])
        self.assertEqual([waits.paths[path] for path in waits.ranges], [("load",)])
        self.assertEqual(sum(self.recording.samples.columns().sample_values["cpu"]), 33_000_000)
        with self.assertRaisesRegex(ValueError, "there are: cpu, off-cpu, short-waits, alloc"):
            self.recording.samples.columns("nothing")

    def test_reports_are_by_any_value(self):
        rows = self.recording.table("functions", value="alloc:bytes")
        self.assertEqual({row["function"].split(" ")[0]: row["value_self"] for row in rows},
                         {"<module>": 0, "train": 0, "load": 3 * 4096, "step": 2 * 2**20 + 100})
        ranges = self.recording.table("ranges", value="alloc:bytes")
        self.assertEqual({row.get("path"): row["value_self"] for row in ranges if row.get("path")},
                         {"load": 3 * 4096 + 2**20, "train": 2**20 + 100})
        with self.assertRaisesRegex(ValueError, "alloc:objects, .*heap:allocated"):
            self.recording.report(value="alloc:blocks")


class Reports(RecordingTest):
    def test_a_report_is_rows_of_tables(self):
        path = self.folder / "made.annot"
        harness.run([MAKE_TRACE, "sampled", path])
        recording = pyannot.read(path)
        report = recording.report()
        self.assertEqual(recording.table("functions"), report["functions"])
        self.assertEqual(recording.table("recording"), [report["recording"]])
        self.assertEqual(sum(row["cpu_self_ns"] for row in report["functions"]),
                         sum(sample.cpu_ns for sample in recording.samples))
        for by, option in (("process", "pid"), ("thread", "tid")):
            told = json.loads(subprocess.run([ANNOT, "report", "--json", "--by", by, str(path)],
                                             capture_output=True, check=True).stdout)
            self.assertEqual(recording.table("ranges", by=by), told["ranges"])
            self.assertTrue(all(option in row for row in told["ranges"]))
        name = next(row["path"] for row in report["ranges"] if row["path"]).split("/")[-1]
        told = json.loads(subprocess.run([ANNOT, "report", "--json", "--range", name, str(path)],
                                         capture_output=True, check=True).stdout)
        self.assertEqual(recording.report(inside=name)["functions"], told["functions"])
        with self.assertRaisesRegex(ValueError, "one of path, name, process, thread"):
            recording.report(by="size")
        with self.assertRaisesRegex(KeyError, "no table 'sizes', but recording, ranges"):
            recording.table("sizes")


class Reading(RecordingTest):
    """Use of the module."""

    def make(self, count=2000):
        path = self.folder / "made.annot"
        self.record(f"""
            import pyannot
            for i in range({count}):
                with pyannot.annotate("outer"):
                    with pyannot.annotate(f"inner {{i % 10}}"):
                        pyannot.counter("c", i)
            """)
        (self.folder / "out.annot").rename(path)
        return path

    def test_columns_are_buffers_of_the_same_memory(self):
        columns = pyannot.read(self.make()).ranges.columns()
        self.assertEqual(len(columns.begin_ns), 4000)
        for name, format in (("begin_ns", "q"), ("end_ns", "q"), ("name", "i"), ("parent", "i"),
                             ("thread", "i"), ("depth", "i"), ("kind", "B"), ("unfinished", "?"),
                             ("id", "Q"), ("payload", "d")):
            column = getattr(columns, name)
            view = memoryview(column)
            self.assertEqual((view.format, column.format, view.ndim, len(view), view.readonly),
                             (format, format, 1, 4000, True), name)
            if format not in "?d":
                self.assertEqual(array.array(format, view.tobytes()).tolist(), view.tolist())
            if format != "d":
                self.assertEqual(view.tolist(), list(column), name)
            with self.assertRaises(TypeError):
                view[0] = 0
        self.assertIsInstance(columns.begin_ns[0], int)
        self.assertIs(columns.unfinished[0], False)
        with self.assertRaises(IndexError):
            columns.begin_ns[4000]
        with self.assertRaises(TypeError):
            type(columns.begin_ns)()

    def test_a_view_outlives_everything_else(self):
        view = memoryview(pyannot.read(self.make()).ranges.columns().end_ns)
        gc.collect()
        self.assertEqual(len(view), 4000)
        self.assertGreater(view[3999], 0)

    def test_numpy_takes_columns_without_a_copy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no NumPy")
        columns = pyannot.read(self.make()).ranges.columns()
        for name, column in columns._asdict().items():
            if name == "strings":
                continue
            one, other = numpy.asarray(column), numpy.asarray(column)
            self.assertTrue(numpy.shares_memory(one, other), name)
            self.assertEqual(len(one), 4000)
        duration = numpy.asarray(columns.end_ns) - columns.begin_ns
        self.assertEqual(duration.sum(),
                         sum(row.duration_ns for row in pyannot.read(
                             self.folder / "made.annot").ranges))
        self.assertEqual(numpy.asarray(columns.begin_ns, dtype="f8").dtype, "f8")

    def test_pandas_takes_columns_without_a_copy(self):
        try:
            import numpy
            import pandas
        except ImportError:
            self.skipTest("no pandas")
        columns = pyannot.read(self.make()).ranges.columns()
        series = pandas.Series(numpy.asarray(columns.end_ns), copy=False)
        self.assertTrue(numpy.shares_memory(series.to_numpy(), numpy.asarray(columns.end_ns)))
        names = pandas.Categorical.from_codes(numpy.asarray(columns.name), columns.strings)
        self.assertEqual(set(names), set(columns.strings))
        frame = pandas.DataFrame({key: value for key, value in columns._asdict().items()
                                  if key != "strings"})
        self.assertEqual(frame.shape, (4000, 20))
        self.assertEqual(str(frame.begin_ns.dtype), "int64")

    def test_polars_takes_columns_without_a_copy(self):
        try:
            import numpy
            import polars
        except ImportError:
            self.skipTest("no Polars or NumPy")
        columns = pyannot.read(self.make()).ranges.columns()
        series = polars.Series("end_ns", numpy.asarray(columns.end_ns))
        self.assertTrue(numpy.shares_memory(series.to_numpy(allow_copy=False),
                                            numpy.asarray(columns.end_ns)))
        frame = polars.DataFrame({key: numpy.asarray(value)
                                  for key, value in columns._asdict().items()
                                  if key != "strings"})
        self.assertEqual(frame.shape, (4000, 20))
        self.assertEqual(frame["depth"].sum(), 2000)

    def test_passes_may_be_nested_and_left_early(self):
        recording = pyannot.read(self.make(50))
        pairs = sum(1 for _ in recording.ranges for _ in recording.counters)
        self.assertEqual(pairs, 100 * 50)
        for _ in range(200):
            next(iter(recording.ranges))
        self.assertLess(len(os.listdir("/proc/self/fd")), 40)
        self.assertEqual(len(list(recording.ranges)), 100)

    def test_threads_each_have_their_own_pass(self):
        recording = pyannot.read(self.make())
        sums = []

        def work():
            sums.append(sum(row.duration_ns for row in recording.ranges))
            sums.append(sum(recording.ranges.columns().end_ns) -
                        sum(recording.ranges.columns().begin_ns))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(sums), 16)
        self.assertEqual(len(set(sums)), 1)

    def test_one_pass_shared_by_threads_loses_nothing_and_refuses_what_it_must(self):
        rows = iter(pyannot.read(self.make()).ranges)
        counts = collections.Counter()

        def work():
            while True:
                try:
                    next(rows)
                except StopIteration:
                    return
                except (RuntimeError, ValueError):  # another thread uses the reader
                    counts["refused"] += 1
                else:
                    counts["rows"] += 1

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertLessEqual(counts["rows"], 4000)
        self.assertGreater(counts["rows"], 0)

    def test_objects_can_be_compared_and_be_keys(self):
        recording = pyannot.read(self.make(10))
        self.assertEqual(list(recording.ranges), list(recording.ranges))
        by_thread = collections.Counter(row.thread for row in recording.ranges)
        self.assertEqual(list(by_thread.values()), [20])
        self.assertEqual(pickle.loads(pickle.dumps([row.path for row in recording.ranges]))[0],
                         ("outer", "inner 0"))
        self.assertIn("outer", repr(next(row for row in recording.ranges if not row.depth)))

    def test_memory_stays_while_rows_stream(self):
        path = self.make(100000)
        rows = iter(pyannot.read(path).ranges)
        for _ in range(20000):
            next(rows)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        count = sum(1 for _ in rows)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertEqual(count, 180000)
        self.assertLess(grown, 64 * 1024, "KiB")  # only the events that wait to be sorted

    def test_a_path_of_any_kind(self):
        path = self.make(1)
        for name in (path, str(path), os.path.relpath(path)):
            self.assertEqual(pyannot.read(name).path, str(path))
        with self.assertRaises(TypeError):
            pyannot.read(3)
        with self.assertRaises(ValueError):
            pyannot.read("a\0b")

    def test_another_file_in_its_place_is_refused(self):
        path = self.make(1)
        recording = pyannot.read(path)
        copy = pathlib.Path(str(path) + ".2")
        copy.write_bytes(path.read_bytes())
        copy.rename(path)
        with self.assertRaisesRegex(pyannot.RecordingError, "another file"):
            list(recording.ranges)

    def test_no_object_is_left_behind(self):
        path = self.make(100)

        def use():
            recording = pyannot.read(path)
            list(recording.ranges)
            next(iter(recording.marks), None)
            recording.ranges.columns()

        for _ in range(5):
            use()
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(50):
            use()
        gc.collect()
        self.assertLess(sys.getallocatedblocks() - before, 500)


if __name__ == "__main__":
    harness.run_where_there_are("numpy", "pandas", "polars")
    harness.main()
