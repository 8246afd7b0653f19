# SPDX-License-Identifier: MIT
"""Calls and lines of parallel threads: each is recorded once, on its thread. On the newest CPython
of this machine, and on all free-threaded ones."""

import collections
import functools
import json
import unittest

import elsewhere
import harness
import parallel_calls_program
from harness import ANNOT, HERE, RecordingTest

PROGRAM = HERE / "parallel_calls_program.py"
FIRST = (3, 12)  # with sys.monitoring
THREADS, ROUNDS = 4, 60
SELECT = f"{PROGRAM.name},-change,-take,-switch,-Barrier"
OPEN = {"<module>", "main", "fork", "child"}
INHERITED = {f"{name} (inherited)" for name in OPEN}


@functools.cache
def traced_interpreters():
    found = [*elsewhere.this_oldest_newest(), *elsewhere.free_threaded()]
    if not any(one.free_threaded for one, _ in found):
        print("no free-threaded CPython here (CONTRIBUTING.md says how to have one)")
    newest = max(one.version for one, _ in found)
    chosen = {one.command: (one, path) for one, path in found
              if one.version >= FIRST and (one.version == newest or one.free_threaded)}
    if not chosen:
        raise unittest.SkipTest("no CPython 3.12 or later")
    return list(chosen.values())


def paths_of(lines):
    """How often each path of calls began; resumed calls only count as open."""
    counts, stacks = collections.Counter(), collections.defaultdict(list)
    for line in lines:
        stack = stacks[line.get("process_index"), line.get("thread_index")]
        if line.get("kind") == "track" or line.get("name", "").startswith("task "):
            continue
        if line["event"] == "begin" and line.get("level") == 4:
            stack.append(line["name"])
            counts["/".join(stack)] += not line.get("continues")
        elif line["event"] == "end" and stack[-1:] == [line["name"]]:
            stack.pop()
    return +counts


def counted_paths_of(lines):
    counts = collections.Counter()
    for line in lines:
        if line["event"] == "sample" and line.get("sample_set") == "calls":
            names = [frame.rsplit(" (", 1)[0] for frame in line["stack"]]
            path = "/".join(name for name in names if not name.startswith("task "))
            if not names[-1].startswith("task "):
                counts[path] += line["sample_values"].get("calls", 0)
    return +counts


class ParallelCalls(RecordingTest):
    def record(self, interpreter, path, way, *options, threads=THREADS, rounds=ROUNDS):
        self.output = self.folder / "parallel.annot"
        environment = dict(self.environment, PYTHONPATH=f"{path}:{HERE}",
                           PYTHONWARNINGS="ignore::DeprecationWarning")
        environment.pop("ANNOT_PYTHON", None)
        harness.run([ANNOT, "record", "--sampling=none", "--force", "--python", "names,asyncio",
                     "--pool-size", "256M", *options, "-o", str(self.output), "--",
                     interpreter.command, str(PROGRAM), str(threads), str(rounds), way],
                    env=environment)

    def lines(self):
        text = harness.run([ANNOT, "cat", "--json", "--samples", str(self.output)]).stdout
        lines = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([line for line in lines if line["event"] == "lost"], [])
        return lines

    def info(self):
        return json.loads(harness.run([ANNOT, "info", "--json", str(self.output)]).stdout)

    def notes(self):
        return [note for note in self.info()["sampling"].get("notes", {}) if "known calls" in note]

    def assert_model(self, told, interpreter, way):
        told = {path: count for path, count in told.items() if path != "<module>"}
        expected = parallel_calls_program.model(THREADS, ROUNDS, way)
        different = [f"{path}: expected {expected.get(path, 0)}, recorded {told.get(path, 0)}"
                     for path in sorted({*expected, *told})
                     if expected.get(path, 0) != told.get(path, 0)]
        self.assertEqual(different, [], f"{interpreter}\n" + "\n".join(different))

    def test_each_call_of_each_thread_is_told_once(self):
        for interpreter, path in traced_interpreters():
            for way in ("", "fork"):
                self.record(interpreter, path, way, "--trace-functions=exact", "--trace-select",
                            SELECT)
                lines = self.lines()
                self.assert_model(paths_of(lines), interpreter, way)
                open_ones = {line["name"] for line in lines if line.get("unfinished")}
                self.assertLessEqual(open_ones, OPEN | INHERITED)

    def test_each_call_of_each_thread_is_counted_once(self):
        for interpreter, path in traced_interpreters():
            self.record(interpreter, path, "fork", "--trace-functions=aggregate",
                        "--trace-select", SELECT)
            self.assert_model(counted_paths_of(self.lines()), interpreter, "fork")

    def test_tiny_functions_are_told_until_one_thread_gives_them_up(self):
        for interpreter, path in traced_interpreters():
            self.record(interpreter, path, "", "--trace-functions=adaptive", "--trace-select",
                        SELECT, rounds=5 * ROUNDS)
            lines = self.lines()
            told = sum_by_end(paths_of(lines))
            given_up = {line["name"]: line["payload"] for line in lines if line["event"] == "mark"
                        and line.get("domain") == "python calls"}
            self.assertLessEqual({"leaf", "fib"}, set(given_up))
            expected = sum_by_end(parallel_calls_program.model(THREADS, 5 * ROUNDS))
            for name, count in expected.items():
                if name != "<module>":
                    self.assertEqual(told[name], given_up.get(name, count), name)

    def test_each_line_of_each_thread_is_counted_once(self):
        for interpreter, path in traced_interpreters():
            self.record(interpreter, path, "", "--trace-lines", "fib,sink,early")
            rows = json.loads(harness.run([ANNOT, "report", "--json", "--table", "line_counts",
                                           str(self.output)]).stdout)["line_counts"]
            hits = collections.Counter()
            for row in rows:
                hits[row["name"]] += row["hits"]
            calls = THREADS * ROUNDS
            self.assertEqual(hits, {"fib": 9 * calls, "sink": (4 * 2) * calls, "early": 3 * calls})

    def test_values_that_other_threads_change(self):
        for interpreter, path in traced_interpreters():
            self.record(interpreter, path, "set", "--trace-functions=exact", "--trace-select",
                        "given", "--trace-functions=args,return,exceptions",
                        rounds=20 * ROUNDS)
            begun = [line for line in self.lines()
                     if line["event"] == "begin" and line["name"] == "given"]
            self.assertEqual(len(begun), 20 * THREADS * ROUNDS)
            for line in begun:
                self.assertEqual(line["args"]["shared_list"][0], "[")
                self.assertEqual(line["args"]["shared_dict"][0], "{")

    def test_tracing_begins_and_ends_while_threads_run(self):
        for interpreter, path in traced_interpreters():
            self.record(interpreter, path, "switch")
            counted = sum_by_end(counted_paths_of(self.lines()))
            expected = sum_by_end(parallel_calls_program.model(THREADS, ROUNDS))
            for name, count in counted.items():
                self.assertLessEqual(count, expected.get(name, 0) + 10 * (name == "leaf"), name)
            self.assertGreaterEqual(counted["leaf"], 10)

    def test_known_calls_are_made_on_threads_of_the_program(self):
        for interpreter, path in traced_interpreters():
            if not interpreter.free_threaded:
                continue
            self.record(interpreter, path, "fork", "--trace-functions=exact", "--trace-select",
                        "leaf")
            for where in ("the thread that began it", "a second thread", "a forked child"):
                self.assertTrue(any(where in note and "all events" in note
                                    for note in self.notes()), (where, self.notes()))

    def test_known_calls_that_are_not_told_stand_in_the_recording(self):
        for interpreter, path in traced_interpreters():
            self.record(interpreter, path, "taken", "--trace-functions=exact")
            said = [note for note in self.notes() if "reported 0 of 8 events" in note]
            self.assertEqual(len(said), 1, self.notes())
            self.assertIn("in a second thread", said[0])
            self.assertIn("reported 0 of 8 events", harness.run([ANNOT, "report", str(self.output)])
                          .stdout)


def sum_by_end(counts):
    """Sums counts by function, for all callers."""
    sums = collections.Counter()
    for path, count in counts.items():
        sums[path.split("/")[-1]] += count
    return sums


if __name__ == "__main__":
    harness.main()
