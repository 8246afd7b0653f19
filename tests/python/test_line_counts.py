# SPDX-License-Identifier: MIT
"""Compares line counts with the interpreter's own counts of the same program, on three CPythons of
this machine; and the times of lines with sleeps."""

import collections
import concurrent.futures
import inspect
import itertools
import json
import os
import pickle
import subprocess
import sys
import types
import unittest
from unittest import mock

import elsewhere
import harness
import lines_program
from harness import ANNOT, HERE, RecordingTest

CHOSEN = HERE / "lines_chosen.py"
PROGRAM = HERE / "lines_program.py"
WAYS = ("generators", "exceptions", "objects", "threads", "coroutines", "fork")
COUNTED = "lines_program.py,-finish,-note,-local,-forked,-main,-leave," \
    "-count,-monitored"
LEFT_OUT = {"<module>", "main", "finish", "note", "local", "forked", "leave", "Shape",
            "count", "monitored"}
# Least milliseconds, by function and line.
SLEPT = {("outer", "time.sleep(0.03)"): 30, ("outer", "again(2)"): 20,
         ("inner", "time.sleep(0.02)"): 40, ("again", "time.sleep(0.01)"): 20}


class LineCounts(RecordingTest):
    def environment_of(self, path):
        environment = dict(self.environment, PYTHONPATH=f"{path}:{HERE}")
        for name in ("ANNOT_PYTHON", "LINE_PROFILE"):
            environment.pop(name, None)
        return environment

    def record(self, interpreter, path, ways, *options, program=PROGRAM, **environment):
        output = self.folder / f"{'.'.join(map(str, interpreter.version))}.annot"
        command = [ANNOT, "record", "--sampling=none", "--force", "--python", "names", *options,
                   "-o", str(output), "--", interpreter.command, str(program), *ways]
        harness.run(command, env={**self.environment_of(path), **environment})
        return json.loads(harness.run(
            [ANNOT, "report", "--json", "--table", "line_counts", str(output)]).stdout)

    def lines(self, interpreter, path, ways, *options, **environment):
        rows = self.record(interpreter, path, ways, *options, **environment)["line_counts"]
        return {(row["name"].split(".")[-1], row["line"]): row for row in rows
                if row["file"] == str(PROGRAM)}

    def hits(self, *arguments):
        return {key: row["hits"] for key, row in self.lines(*arguments).items()
                if row["hits"] and key[0] not in LEFT_OUT}

    def reference(self, interpreter, path, ways):
        told = self.folder / f"{'.'.join(map(str, interpreter.version))}.txt"
        told.write_text("")
        environment = dict(self.environment_of(path), LINE_REFERENCE=str(told))
        subprocess.run([interpreter.command, str(PROGRAM), *ways], env=environment, check=True)
        counts = collections.Counter()
        for line in told.read_text().splitlines():
            name, number, count = line.rsplit(" ", 2)
            if name not in LEFT_OUT:
                counts[name, int(number)] += int(count)
        return dict(counts)

    def each(self, check):
        with concurrent.futures.ThreadPoolExecutor(2) as workers:
            for done in [workers.submit(check, *one) for one in elsewhere.this_oldest_newest()]:
                done.result()

    def test_hits_are_those_of_a_reference(self):
        def check(interpreter, path):
            expected = self.reference(interpreter, path, WAYS)
            told = self.hits(interpreter, path, WAYS, "--trace-lines", COUNTED)
            different = [f"{key}: expected {expected.get(key)}, recorded {told.get(key)}"
                         for key in sorted({*expected, *told})
                         if expected.get(key) != told.get(key)]
            self.assertEqual(different, [], f"{interpreter}\n" + "\n".join(different))

        self.each(check)

    def test_workers_of_a_pool(self):
        def check(interpreter, path):
            told = self.hits(interpreter, path, ("pool",), "--trace-lines", "task")
            counts = [count for _, count in sorted(told.items())]
            self.assertEqual(counts, [20, 20 * 11, 200, 20], interpreter)

        self.each(check)

    def test_times_are_those_of_sleeps(self):
        def check(interpreter, path):
            told = self.folder / f"{'.'.join(map(str, interpreter.version))}.sleeps"
            rows = self.lines(interpreter, path, ("sleeps",), "--trace-lines", "outer,inner,again",
                              LINE_SLEEPS=str(told))
            texts = PROGRAM.read_text().splitlines()
            by_text = {(name, texts[line - 1].strip()): row["total_ns"] / 1e6
                       for (name, line), row in rows.items()}
            expected = collections.Counter()
            for function, text, milliseconds in (
                    line.split("\t") for line in told.read_text().splitlines()):
                expected[function, text] += float(milliseconds)
            self.assertEqual(len(expected), 4)
            for key, slept in expected.items():
                self.assertGreaterEqual(by_text[key], SLEPT[key] - 0.5, (interpreter, key))
                self.assertAlmostEqual(by_text[key], slept, delta=5, msg=(interpreter, key))
            # a line gets no time while its function runs recursively inside it
            self.assertLess(by_text["again", "again(n - 1)"], 5, interpreter)

        self.each(check)

    def own_times(self, interpreter, path, *options):
        """Milliseconds of lines without traced callees, by function and text."""
        rows = self.lines(interpreter, path, ("sleeps",), *options)
        texts = PROGRAM.read_text().splitlines()
        return {(name, texts[line - 1].strip()): row["self_ns"] / 1e6
                for (name, line), row in rows.items()}

    def test_own_times_are_without_what_is_traced(self):
        nap, call, again = (("outer", text) for text in ("time.sleep(0.03)", "inner()", "again(2)"))

        def check(interpreter, path):
            for mode in ("exact", "aggregate"):
                own = self.own_times(interpreter, path, "--trace-lines", "outer",
                                     f"--trace-functions={mode}")
                self.assertGreaterEqual(own[nap], 29.5, (interpreter, mode))
                self.assertLess(max(own[call], own[again]), 5, (interpreter, mode))
            # the lines of inner() are counted, those of again() belong to no counted function
            own = self.own_times(interpreter, path, "--trace-lines", "outer,inner")
            self.assertLess(own[call], 5, interpreter)
            self.assertGreaterEqual(own["inner", "time.sleep(0.02)"], 39.5, interpreter)
            self.assertGreaterEqual(own[again], 19.5, interpreter)
            if interpreter.version >= (3, 12):
                own = self.own_times(interpreter, path, "--trace-lines", "outer",
                                     "--trace-functions=c-calls", "--trace-functions=exact")
                self.assertLess(own[nap], 5, interpreter)

        self.each(check)

    def test_functions_that_the_program_chooses(self):
        names = {"decorated", "ours", "late", "area", "make", "twice"}

        def check(interpreter, path):
            for options, environment in ((("--trace-lines", "@profile"), {}),
                                         ((), {"LINE_PROFILE": "1"})):
                table = self.record(interpreter, path, (), *options, program=CHOSEN,
                                    **environment)["line_counts"]
                calls = {row["name"].split(".")[-1]: row["hits"] for row in table}
                self.assertEqual(set(calls), names, interpreter)
                self.assertEqual(calls["late"], 3, interpreter)  # without calls from before
                self.assertEqual(calls["area"], 2, interpreter)

        self.each(check)

    def test_a_file_for_line_profiler(self):
        output = self.folder / "lines.lprof"
        told = harness.run([ANNOT, "kernprof", "-lv", "-p", "outer,inner", "-o", str(output),
                            sys.executable, str(PROGRAM), "sleeps"],
                           env=self.environment_of(os.environ["PYTHONPATH"])).stdout
        self.assertIn("Function: inner at line", told)
        self.assertIn("Function: outer at line", told)
        rows = json.loads(harness.run([ANNOT, "report", "--json", "--table", "line_counts",
                                       str(output.with_suffix(".annot"))]).stdout)
        made = types.ModuleType("line_profiler.line_profiler")
        made.LineStats = type("LineStats", (), {})
        with mock.patch.dict(sys.modules, {"line_profiler": types.ModuleType("line_profiler"),
                                           made.__name__: made}):
            stats = pickle.loads(output.read_bytes())
        self.assertEqual(stats.unit, 1e-9)
        told = {(file, first, name, line): (hits, time)
                for (file, first, name), lines in stats.timings.items()
                for line, hits, time in lines}
        self.assertEqual(told, self.counts(rows))
        self.assertEqual(told, self.counts(self.read_lprof(output)))
        self.assertEqual(told, self.on_page(output.with_suffix(".annot")))

    def on_page(self, path):
        counted = json.loads(harness.run([ANNOT, "html", "--data", str(path)]).stdout)["counted"]
        texts = {one["name"]: one["text"] for one in counted["functions"]
                 if one["path"] == str(PROGRAM)}
        self.assertEqual(texts["inner"], inspect.getsource(lines_program.inner).splitlines())
        return {(one["path"], one["at"], one["name"], line): (hits, time)
                for one in counted["functions"]
                for line, hits, time in zip(one["line"], one["hits"], one["ns"])}

    def counts(self, report):
        return {(row["file"], row["function_line"], row["name"], row["line"]):
                (row["hits"], row["total_ns"]) for row in report["line_counts"]}

    def read_lprof(self, path):
        return json.loads(harness.run([ANNOT, "report", "--json", "--table", "line_counts",
                                       str(path)]).stdout)

    def test_results_of_all_versions_of_line_profiler(self):
        timings = {("/home/me/a.py", 4, "Shape.area"): [(5, 3, 7000), (6, 3, 1 << 33)],
                   ("/home/me/b.py", 1, "<lambda>"): [(1, 1 << 40, 0)]}
        expected = {(*function, line): (hits, time * 100)
                    for function, lines in timings.items() for line, hits, time in lines}
        for module, protocol in itertools.product(
                ("_line_profiler", "line_profiler._line_profiler", "line_profiler.line_profiler"),
                range(2, pickle.HIGHEST_PROTOCOL + 1)):
            made = types.ModuleType(module)
            made.LineStats = type("LineStats", (), {"__module__": module})
            stats = made.LineStats()
            stats.__dict__.update(timings=timings, unit=1e-7)
            path = self.folder / f"{module}-{protocol}.lprof"
            with mock.patch.dict(sys.modules, {"line_profiler": types.ModuleType("line_profiler"),
                                               module: made}):
                path.write_bytes(pickle.dumps(stats, protocol))
            self.assertEqual(self.counts(self.read_lprof(path)), expected, path)

    def test_nothing_of_a_pickle_is_executed(self):
        witness, path = self.folder / "executed", self.folder / "hostile.lprof"
        name = str(witness).encode()
        path.write_bytes(b"\x80\x02cargparse\nNamespace\n)\x81cos\nmkdir\nX" +
                         len(name).to_bytes(4, "little") + name + b"\x85Rb.")
        with self.assertRaises((TypeError, AttributeError)):  # a state that is None
            pickle.loads(path.read_bytes())
            raise TypeError
        witness.rmdir()  # Python has made it
        path.write_bytes(path.read_bytes().replace(b"argparse\nNamespace",
                                                   b"line_profiler\nLineStats"))
        told = subprocess.run([ANNOT, "report", str(path)], check=False, text=True,
                              capture_output=True)
        self.assertEqual((told.returncode, told.stdout), (1, ""))
        self.assertIn("it holds more than plain data, at byte", told.stderr)
        self.assertFalse(witness.exists())


if __name__ == "__main__":
    harness.main()
