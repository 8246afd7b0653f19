# SPDX-License-Identifier: MIT
"""Random programs: compares the order in which calls begin, resume and end on each thread, the
counts of calls, and the counts of lines with the interpreter's own events.

ANNOT_EXAMPLES=N: hypothesis makes N programs, on all CPythons of this machine, and minimizes
failing ones; else a few are made from fixed seeds."""

import collections
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import unittest

import elsewhere
import harness
import made_programs
from harness import ANNOT, HERE, RecordingTest

EXAMPLES = int(os.environ.get("ANNOT_EXAMPLES", "0"))
SELECT = "made_program.py,made_code.py"
VALUES = ("--trace-functions=args,return,exceptions",)
LIMIT_S = 60


def first_difference(expected, told):
    for i, (one, other) in enumerate(zip(expected, told)):
        if one != other:
            return f"at {i}: {expected[max(0, i - 12):i]} then {one}, recorded {other}"
    rest = expected[len(told):], told[len(expected):]
    return f"at the end: {rest[0][:9]}, recorded {rest[1][:9]}" if any(rest) else ""


def inside_module(events):
    """The part of the main thread that the reference covers: from the module's start to its end."""
    ends = [i for i, event in enumerate(events) if event == "-<module>"]
    return events[1:ends[-1]] if events[:1] == ["+<module>"] and ends else events


def paths(threads):
    """How often each path of calls began."""
    counts = collections.Counter()
    for i, events in enumerate(threads):
        path = ["<module>"] if i == 0 else []
        for event in events:
            if event[0] == "-":
                path.pop()
                continue
            path.append(event[1:])
            counts["/".join(path)] += event[0] == "+"
    return +counts


class Program:
    """One program on one interpreter."""

    def __init__(self, test, interpreter, package, source):
        self.test, self.interpreter = test, interpreter
        self.folder = test.folder / interpreter.suffix.strip(".")
        self.folder.mkdir(exist_ok=True)
        self.file = self.folder / "made_program.py"
        self.file.write_text(source)
        # The start and end of other recordings split calls.
        self.environment = dict(os.environ, PYTHONPATH=f"{package}:{HERE}",
                                ANNOT_DIR=harness.private_directory())
        self.environment.pop("ANNOT_PYTHON", None)
        self.command = [interpreter.command, "-W", "ignore", str(self.file)]
        told = self.folder / "reference.json"
        subprocess.run(self.command, check=True, timeout=LIMIT_S,
                       env=dict(self.environment, CALLS_REFERENCE=str(told)))
        self.expected = json.loads(told.read_text())

    def record(self, mode, *options):
        output = self.folder / "made.annot"
        harness.run([ANNOT, "record", "--sampling=none", "--force", "--python", "names",
                     "--pool-size", "64M", f"--trace-functions={mode}", "--trace-select", SELECT,
                     *options, "-o", str(output), "--", *self.command], env=self.environment)
        text = harness.run([ANNOT, "cat", "--json", "--samples", str(output)]).stdout
        return output, [json.loads(line) for line in text.splitlines()]

    def threads(self, lines):
        threads, names = collections.defaultdict(list), {}
        for line in lines:
            if line["event"] == "begin" and line.get("level") == 4:
                names[line["thread_index"]] = names.get(line["thread_index"], 0) + 1
                sign = "~" if line.get("continues") else "+"
                threads[line["thread_index"]].append(sign + line["name"])
            elif line["event"] == "end" and line["kind"] == "pushed":
                threads[line["thread_index"]].append("-" + line["name"])
        return [inside_module(events) for events in threads.values()]

    def check_exact(self, *options):
        output, lines = self.record("exact", *options)
        self.test.assertEqual([line for line in lines if line["event"] == "lost"], [])
        pairs = zip(sorted(self.expected["threads"]), sorted(self.threads(lines)), strict=True)
        for expected, told in pairs:
            self.test.assertEqual(first_difference(expected, told), "", self.interpreter)
        return output

    def check_lines(self, output):
        text = harness.run([ANNOT, "report", "--json", "--table", "line_counts",
                            str(output)]).stdout
        told = collections.Counter()  # lambdas of one line are several rows
        for row in json.loads(text)["line_counts"]:
            name = row["name"].split(".")[-1]
            told[f"{pathlib.Path(row['file']).name} {row['line']} {name}"] += row["hits"]
        expected = self.expected["lines"]
        different = [f"{key}: expected {expected.get(key)}, recorded {told[key]}"
                     for key in sorted({*expected, *told})
                     if expected.get(key, 0) != told[key] and
                     not (key.startswith(self.file.name) and key.endswith(" <module>"))]
        self.test.assertEqual(different, [], self.interpreter)

    def check_counted(self):
        counts = collections.Counter()
        for line in self.record("aggregate")[1]:
            if line["event"] == "sample" and line.get("sample_set") == "calls":
                path = "/".join(frame.split(" (")[0] for frame in line["stack"])
                counts[path] += line["sample_values"].get("calls", 0)
        del counts["<module>"]
        expected = paths(self.expected["threads"])
        different = [f"{key}: expected {expected[key]}, recorded {counts[key]}"
                     for key in sorted({*expected, *counts}) if expected[key] != counts[key]]
        self.test.assertEqual(different, [], self.interpreter)


class MadePrograms(RecordingTest):
    def check(self, interpreter, package, source):
        program = Program(self, interpreter, package, source)
        program.check_lines(program.check_exact("--trace-lines", SELECT))
        program.check_counted()
        if EXAMPLES:
            program.check_exact(*VALUES)

    def check_on(self, found, source):
        with concurrent.futures.ThreadPoolExecutor(2) as workers:
            for done in [workers.submit(self.check, *one, source) for one in found]:
                done.result()

    @unittest.skipIf(EXAMPLES, "hypothesis makes them")
    def test_programs_of_fixed_seeds(self):
        found = list(elsewhere.this_oldest_newest())
        for seed in (1,):
            with self.subTest(seed=seed):
                self.check_on(found, made_programs.make(random.Random(seed)))

    @unittest.skipUnless(EXAMPLES, "only by hand: ANNOT_EXAMPLES=N")
    def test_programs_that_hypothesis_makes(self):
        from hypothesis import HealthCheck, given, settings
        from hypothesis import strategies as st

        import interpreters
        found = [(one, str(elsewhere.package_for(one))) for one in interpreters.find()
                 if one.can_build() and not one.watches_threads and not one.debug]

        @settings(max_examples=EXAMPLES, deadline=None, database=None, print_blob=False,
                  suppress_health_check=list(HealthCheck))
        @given(st.randoms(use_true_random=False), st.integers(1, 9))
        def check(source_of_choices, ways):
            source = made_programs.make(source_of_choices, ways)
            try:
                self.check_on(found, source)
            except Exception:
                (pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / "made_program.py").write_text(
                    source)
                raise

        check()


if __name__ == "__main__":
    if EXAMPLES:
        harness.run_where_there_are("hypothesis")
    harness.main()
