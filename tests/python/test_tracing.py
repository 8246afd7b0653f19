# SPDX-License-Identifier: MIT
"""Every call of Python, traced exactly, counted, or until it is known to be tiny: compared with the
events of sys.setprofile in the same program, on three CPythons of this machine.
"""

import collections
import functools
import json
import os
import subprocess
import sys
import time
import unittest

import elsewhere
import harness
from harness import ANNOT, HERE, RecordingTest

PROGRAM = HERE / "tracing_program.py"
KILLED = HERE / "killed_program.py"
STEPS = 5000  # of that
TASKS = HERE / "traced_tasks_program.py"
VALUES = HERE / "values_program.py"
SHORT = HERE / "short_program.py"
SELECT = "tracing_program.py,tracing_virtual.py"
ONE_PROCESS = ("generators", "exceptions", "managers", "objects", "callbacks", "imports",
               "coroutines", "threads")
MORE_PROCESSES = ("children", "fork", "spawn", "forkserver")


@functools.cache
def traced_interpreters():
    return list(elsewhere.this_oldest_newest())


def only_begun(counts):
    return collections.Counter({key: n for key, n in counts.items() if key[1] == "+"})


def without_ends(counts):
    return collections.Counter({key: n for key, n in counts.items()
                                if "__del__" not in key[0] and "guarded" not in key[0]})


class Paths:
    """How often each path of calls began, and was resumed."""

    def __init__(self):
        self.counts = collections.Counter()
        self.open = {}

    def add(self, thread, sign, name):
        path = self.open.get(thread, ())
        if sign == "-":
            self.open[thread] = path[:-1]
            return
        path = (*path, name)
        self.open[thread] = path
        if name != "<module>":  # the reference starts inside it
            self.counts["/".join(path), sign] += 1


class Tracing(RecordingTest):
    def environment_of(self, path):
        environment = dict(self.environment, PYTHONPATH=f"{path}:{HERE}")
        environment.pop("ANNOT_PYTHON", None)
        environment["TRACE_ROOTS"] = f"{PROGRAM}:{HERE}/tracing_virtual"
        return environment

    def trace(self, interpreter, path, mode, ways, *options):
        output = self.folder / "traced.annot"
        asked = [f"--trace-functions={mode}", "--trace-select", SELECT] if mode else []
        command = [ANNOT, "record", "--sampling=none", "--force", "--python", "names",
                   "--pool-size", "64M", *asked, *options, "-o", str(output), "--",
                   interpreter.command, str(PROGRAM), *ways]
        harness.run(command, env=self.environment_of(path))
        text = harness.run([ANNOT, "cat", "--json", "--samples", str(output)]).stdout
        return [json.loads(line) for line in text.splitlines()]

    references = {}

    def reference(self, interpreter, path, ways):
        key = interpreter, ways
        if key not in self.references:
            self.references[key] = self.run_reference(interpreter, path, ways)
        return self.references[key]

    def run_reference(self, interpreter, path, ways):
        told = self.folder / "reference.txt"
        told.write_text("")
        environment = dict(self.environment_of(path), TRACE_REFERENCE=str(told))
        subprocess.run([interpreter.command, str(PROGRAM), *ways], env=environment, check=True)
        paths = Paths()
        for line in told.read_text().splitlines():
            pid, thread, sign, name = line.split(" ", 3)
            paths.add((pid, thread), sign, name)
        return paths.counts

    def paths_of(self, lines):
        paths = Paths()
        for line in lines:
            if line.get("kind") == "track" or line.get("name", "").startswith("task "):
                continue  # a whole call of a coroutine; a step of a task, around calls
            if line.get("level") == 4 and line["event"] == "begin":
                sign = "~" if line.get("continues") else "+"
                paths.add((line["process_index"], line["thread_index"]), sign, line["name"])
            elif line["event"] == "end" and line["kind"] == "pushed":
                thread = line["process_index"], line["thread_index"]
                if paths.open.get(thread, ())[-1:] == (line["name"],):
                    paths.add(thread, "-", line["name"])
        return paths.counts

    def counted(self, lines):
        """Paths of counted calls, like those of an exact recording but without resumptions."""
        counts = collections.Counter()
        for line in lines:
            if line["event"] == "sample" and line.get("sample_set") == "calls":
                path = "/".join(frame.rsplit(" (", 1)[0] for frame in line["stack"]
                                if not frame.startswith("task "))
                if not path.endswith("<module>") and line["sample_values"].get("calls"):
                    counts[path, "+"] += line["sample_values"]["calls"]
        return counts

    def assert_same(self, interpreter, expected, told):
        if interpreter.version < (3, 11):  # setprofile does not receive the calls of `del` there
            expected, told = without_ends(expected), without_ends(told)
        different = [f"{key}: expected {expected[key]}, recorded {told[key]}"
                     for key in sorted({*expected, *told}) if expected[key] != told[key]]
        self.assertEqual(different, [], "\n".join(different))

    def assert_nothing_lost(self, lines):
        self.assertEqual([line for line in lines if line["event"] == "lost"], [])

    def each(self, first=(3, 9)):
        found = [one for one in traced_interpreters() if one[0].version >= first]
        if not found:
            self.skipTest(f"no CPython {'.'.join(map(str, first))} or later here")
        return found

    def test_exact_calls_are_those_of_the_reference(self):
        for interpreter, path in self.each():
            for ways in (ONE_PROCESS, MORE_PROCESSES):
                lines = self.trace(interpreter, path, "exact", ways)
                self.assert_nothing_lost(lines)
                expected, told = self.reference(interpreter, path, ways), self.paths_of(lines)
                if ways is MORE_PROCESSES:  # a worker without work emits no events
                    expected, told = only_begun(expected), only_begun(told)
                self.assert_same(interpreter, expected, told)

    def test_counted_calls_are_those_of_the_reference(self):
        for interpreter, path in self.each():
            for ways in (ONE_PROCESS, MORE_PROCESSES):
                lines = self.trace(interpreter, path, "aggregate", ways)
                expected = only_begun(self.reference(interpreter, path, ways))
                self.assert_same(interpreter, expected, self.counted(lines))

    def steps_counted(self, recording):
        """The numbers of calls of step(), of its only line, and of work()."""
        text = harness.run([ANNOT, "report", "--json", str(recording)]).stdout
        report = json.loads(text)
        calls = {row["name"]: row["call_count"] for row in report["calls"]}
        hits = {row["name"]: row["hits"] for row in report["line_counts"]}
        return calls.get("step"), hits.get("step"), calls.get("work")

    COUNTS = ("--sampling=none", "--force", "--trace-functions=aggregate", "--trace-select",
              "killed_program.py", "--trace-lines", "step")

    def test_what_is_counted_survives_every_death(self):
        output = self.folder / "killed.annot"
        for interpreter, path in self.each():
            harness.run([ANNOT, "record", *self.COUNTS, "-o", str(output), "--",
                         interpreter.command, str(KILLED)], env=self.environment_of(path))
            self.assertEqual(self.steps_counted(output), (12 * STEPS, 12 * STEPS, 12),
                             interpreter)

    def test_what_is_counted_survives_the_collector(self):
        interpreter, path = self.each()[0]
        output, go = self.folder / "cut.annot", self.folder / "go"
        with subprocess.Popen([ANNOT, "record", *self.COUNTS, "-o", str(output), "--",
                               interpreter.command, str(KILLED), str(go)],
                              env=self.environment_of(path), stdout=subprocess.PIPE) as collector:
            self.assertEqual(collector.stdout.readline(), b"ready\n")
            time.sleep(1.3)  # until the counts are in the recording
            collector.kill()
            go.touch()
            collector.stdout.read()  # until the program has ended
        time.sleep(0.1)
        harness.run([ANNOT, "recover"], env=self.environment, cwd=self.folder)
        self.assertEqual(self.steps_counted(output), (2 * STEPS, 2 * STEPS, 2))

    PATHS = """
import sys
def left(depth, way):
    if depth:
        (left if way & 1 else right)(depth - 1, way >> 1)
def right(depth, way):
    if depth:
        (left if way & 1 else right)(depth - 1, way >> 1)
depth = int(sys.argv[1])
for way in range(1 << depth):
    left(depth, way)
"""

    def test_a_program_of_many_call_paths(self):
        interpreter, path = self.each()[-1]
        script, output = self.script(self.PATHS), self.folder / "paths.annot"
        for depth, is_crowded in ((15, False), (17, True)):
            harness.run([ANNOT, "record", "--sampling=none", "--trace-functions=aggregate",
                         "--force",
                         "-o", str(output), "--", interpreter.command, str(script), str(depth)],
                        env=self.environment_of(path))
            report = harness.run([ANNOT, "report", "--json", str(output)]).stdout
            calls = {row["name"]: row["call_count"] for row in json.loads(report)["calls"]}
            self.assertEqual(calls["right"], depth * 2 ** (depth - 1))
            self.assertEqual(calls["left"], (depth + 2) * 2 ** (depth - 1))
            self.assertEqual("no room for all call paths" in harness.run(
                [ANNOT, "info", str(output)]).stdout, is_crowded)

    def test_a_recursion_that_is_too_deep(self):
        for interpreter, path in self.each():
            for mode in ("exact", "aggregate"):
                lines = self.trace(interpreter, path, mode, ("too_deep",))
                counts = self.paths_of(lines) if mode == "exact" else self.counted(lines)
                inside = "<module>/main/too_deep"
                self.assertEqual(counts[f"{inside}/leaf", "+"], 1)
                deepest = max(key[0].count("/endless") for key in counts)
                self.assertGreater(deepest, 900)
                self.assertEqual(sum(count for key, count in counts.items()
                                     if key[0].endswith("/endless")), deepest)

    def test_adaptive_calls_are_exact_until_a_function_is_known_to_be_tiny(self):
        for interpreter, path in self.each((3, 12)):
            lines = self.trace(interpreter, path, "adaptive", ("hot",))
            counts = collections.Counter()
            for key, count in self.paths_of(lines).items():
                if key[1] == "+":
                    counts[key[0].rpartition("/")[2]] += count
            estimated = {line["name"]: line["payload"] for line in lines
                         if line["event"] == "mark" and line.get("domain") == "python calls"}
            self.assertLessEqual({"leaf", "fib"}, set(estimated))
            self.assertLessEqual(set(estimated), {"leaf", "fib", "around"})
            for name, calls in estimated.items():
                self.assertEqual(counts[name], calls)
                self.assertGreaterEqual(calls, 1000)
                self.assertLess(calls, 20000)
            self.assertEqual((counts["hot"], counts["slow"]), (1, 20))
            self.assertEqual(self.unfinished(lines), [])

    def unfinished(self, lines):
        return [line["name"] for line in lines if line.get("unfinished")]

    def test_calls_of_what_is_not_written_in_python(self):
        for interpreter, path in self.each((3, 12)):
            for mode in ("exact", "aggregate"):
                lines = self.trace(interpreter, path, mode, ("calls_of_c",),
                                   "--trace-functions=c-calls")
                counts = self.paths_of(lines) if mode == "exact" else self.counted(lines)
                inside = "<module>/main/calls_of_c/"
                told = {key[0][len(inside):]: count for key, count in counts.items()
                        if key[0].startswith(inside)}
                self.assertEqual(told, {"sorted": 1, "map": 1, "list": 1, "list/leaf_of": 2,
                                        "list/leaf_of/len": 2, "len": 1, "int": 1,
                                        "suppress": 1, "str.upper": 1})

    def test_what_a_program_chooses_itself(self):
        for interpreter, path in self.each():
            lines = self.trace(interpreter, path, "", ("api",))
            told = {name: count for (name, sign), count in self.paths_of(lines).items()
                    if sign == "+"}
            inside = "Chosen." if interpreter.version >= (3, 11) else ""  # code's qualified name
            self.assertEqual(told, {"numbers": 1, inside + "method": 2, inside + "attribute": 1,
                                    inside + "static": 1, "fib": 1, "fib/fib": 2,
                                    "fib/fib/fib": 2})
            self.assertEqual(self.unfinished(lines), [])

    GIVEN = [
        {"a": 1, "b": 2.5, "key": "None", "rest": "()", "more": "{}"},
        {"a": r"text\x00\x0a", "b": True, "key": r"b'\xff\x00ab'", "rest": "(1, 2)",
         "more": "{'extra': {'k': <list>, 2: <tuple>}}"},
        {"a": "<Hostile>", "b": 2.5, "key": "None", "rest": "()", "more": "{}"},
        {"a": "<Text>", "b": "int above 2**63", "key": "int below -2**63", "rest": "()",
         "more": "{}"},
        {"a": "[[<list>]]", "b": "[0, 1, 2, 3, 4, ... 995 more]", "key": "None", "rest": "()",
         "more": "{}"},
        {"a": "é" * 46 + "...", "b": r"\ud800x", "key": "None", "rest": "()", "more": "{}"},
        {"a": "<set>", "b": "<range>", "key": "None", "rest": "()", "more": "{}"}]
    RETURNED = ["[1, 2.5]", r"['text\x00\x0a', True]", "[<Hostile>, 2.5]",
                "[<Text>, int above 2**63]", "[[<list>], [0, 1, 2, 3, 4, ... 995 more]]",
                "['" + "é" * 45 + "...", "[<set>, <range>]"]

    def test_arguments_results_and_exceptions(self):
        for interpreter, path in self.each():
            for mode, more in (("exact", ()), ("exact", ("--trace-functions=c-calls",)),
                               ("adaptive", ())):
                if (mode == "adaptive" or more) and interpreter.version < (3, 12):
                    continue  # has no estimates, and no exceptions beside calls of C functions
                output = self.folder / "values.annot"
                harness.run([ANNOT, "record", "--sampling=none", "--force",
                             f"--trace-functions={mode}",
                             "--trace-select", VALUES.name, "--trace-functions=args,return",
                             "--trace-functions=exceptions", *more, "-o", str(output), "--",
                             interpreter.command, str(VALUES)], env=self.environment_of(path))
                text = harness.run([ANNOT, "cat", "--json", str(output)]).stdout
                lines = [json.loads(line) for line in text.splitlines()]
                self.check_values(lines)
                self.check_exceptions(lines, interpreter.version)

    def check_values(self, lines):
        def of(event, name):
            return [line.get("args") for line in lines
                    if line["event"] == event and line.get("name") == name]

        self.assertEqual(of("begin", "given"), self.GIVEN)
        self.assertEqual([values["returned"] for values in of("end", "given")], self.RETURNED)
        self.assertEqual(of("begin", "cell"), [{"x": 5, "y": 6}])
        self.assertEqual(of("end", "cell"), [{"returned": 11}])
        self.assertEqual(of("begin", "numbers"), [{"n": 3}, None])
        self.assertEqual(of("end", "numbers"), [None, None])  # suspended, and at its end
        self.assertEqual(of("begin", "fail"), [{"n": n} for n in (2, 1, 0, 1, 0)])
        self.assertEqual(of("end", "fail"), 5 * [{"exception": "ValueError"}])
        self.assertEqual(of("end", "catch"), [{"returned": name} for name in (
            "ValueError", "KeyError", "ValueError", "ValueError")])

    def check_exceptions(self, lines, version):
        marks = [(line["name"], line["args"]) for line in lines
                 if line.get("category") == "exceptions"]
        kept = [("KeyError", {"message": "kept"})] if version >= (3, 12) else []
        self.assertEqual(marks, [("ValueError", {"message": "no more"}),
                                 ("KeyError", {"message": "missing"}),
                                 ("ValueError", {"message": "no more"}),
                                 ("ValueError", {"message": "another"}),
                                 *kept])

    # Of short_program.py: a thread's own calls, those of a round, and how many rounds.
    ROUND = {"small": 100 + 2 + 1 + 1 + 3, "slow": 1, "marked": 1, "__enter__": 1, "__exit__": 1,
             "numbers": 1}
    ROUND["tiny"] = 2 * ROUND["small"]
    ROUNDS = 4 * 15
    COUNTED = {*ROUND, "Opened"}  # with the body of the class

    def short(self, interpreter, path, way, *options):
        """The begins and ends of each call by name, and the number of omitted calls."""
        output = self.folder / "short.annot"
        harness.run([ANNOT, "record", "--sampling=none", "--force", "--python", "names", *options,
                     "-o", str(output), "--", interpreter.command, str(SHORT), way],
                    env=self.environment_of(path))
        text = harness.run([ANNOT, "cat", "--json", str(output)]).stdout
        lines = [json.loads(line) for line in text.splitlines()]
        self.assert_nothing_lost(lines)
        told = json.loads(harness.run([ANNOT, "info", "--json", str(output)]).stdout)
        left_out = [count for note, count in told["sampling"].get("notes", {}).items()
                    if "of Python were too short" in note]
        return lines, (left_out or [0])[0]

    def check_short(self, lines, left_out, least_ns):
        """Checks that each kept call is long or has children, and that no call is missing."""
        stacks, counts = {}, collections.Counter()
        for line in lines:
            stack = stacks.setdefault(line.get("thread_index"), [])
            if line["event"] not in ("begin", "end", "mark") or line.get("kind") == "process":
                continue
            if line["event"] == "end":
                name, inside = stack.pop()
                self.assertEqual(name, line["name"])
                if line.get("level") == 4 and not inside:
                    self.assertGreaterEqual(line["duration_ns"], least_ns, line)
                continue
            if stack:
                stack[-1][1] = True
            if line["event"] == "begin":
                stack.append([line["name"], False])
                last = line["name"].split(".")[-1]
                counts[last] += last in self.COUNTED and not line.get("continues")
        self.assertEqual({len(stack) for stack in stacks.values()}, {0})
        for name in ("slow", "marked", "__enter__"):
            self.assertEqual(counts[name], self.ROUNDS, name)
        self.assertEqual(sum(counts.values()) + left_out,
                         self.ROUNDS * sum(self.ROUND.values()) + 1)
        self.assertLess(sum(counts.values()), self.ROUNDS * 30)

    def test_short_calls_are_left_out(self):
        for interpreter, path in self.each():
            self.check_short(*self.short(
                interpreter, path, "all", "--trace-functions=exact", "--trace-select",
                "short_program.py,-work,-everything,-main,-<module>",
                "--trace-functions=min=1ms,args"), 1000000)

    def test_short_calls_that_a_program_leaves_out(self):
        for interpreter, path in self.each()[-1:]:
            lines, left_out = self.short(interpreter, path, "chosen")
            counts = collections.Counter(line["name"] for line in lines if line["event"] == "begin")
            self.assertEqual(counts["slow"], self.ROUNDS)
            self.assertEqual(counts["tiny"], 0)
            self.assertEqual(left_out, self.ROUNDS * self.ROUND["tiny"])
            lines, left_out = self.short(interpreter, path, "block")
            counts = collections.Counter(line["name"] for line in lines if line["event"] == "begin")
            self.assertEqual(counts["slow"], self.ROUNDS)
            self.assertGreater(left_out, self.ROUNDS * 200)

    def trace_tasks(self, interpreter, path, mode, *options):
        output = self.folder / "tasks.annot"
        harness.run([ANNOT, "record", "--sampling=none", "--force", f"--trace-functions={mode}",
                     "--trace-select", TASKS.name, *options, "-o", str(output), "--",
                     interpreter.command, str(TASKS)], env=self.environment_of(path))
        return output, json.loads(harness.run([ANNOT, "report", "--json", str(output)]).stdout)

    def made(self, report, name):
        return {(row["task"], row["range"]): row["call_count"] for row in report["calls_by_context"]
                if row["name"] == name and not row.get("rest")}

    def test_calls_are_told_by_the_task_and_the_range_they_are_made_in(self):
        for interpreter, path in self.each():
            output, report = self.trace_tasks(interpreter, path, "exact")
            self.assertEqual(self.made(report, "parse"), {
                ("", "outside"): 1, ("cancelled", ""): 1, ("fetch", ""): 8})
            self.assertEqual(sum(row["call_count"] for row in report["calls"]
                                 if row["name"] == "parse"), 10)
            text = harness.run([ANNOT, "query", "--json", str(output),
                                "select sum(call_count) calls from calls_by_context "
                                "where task = 'fetch' and name = 'parse'"]).stdout
            self.assertIn('"calls":8', text.replace(" ", ""))
            self.assertEqual(self.inside("outside", output), {"parse": 1})
            output, report = self.trace_tasks(interpreter, path, "aggregate",
                                              "--trace-functions=ranges")
            self.assertEqual(self.made(report, "parse"), {
                ("", "outside"): 1, ("cancelled", ""): 1, ("fetch", ""): 4,
                ("fetch", "request"): 4})
            self.assertEqual({row["name"]: row["call_count"] for row in report["calls"]
                              if "<listcomp>" not in row["name"]},  # none from 3.12 on
                             {"parse": 10, "nap": 9, "fetch": 4, "cancelled": 1, "main": 1,
                              "plain": 1, "<module>": 1})

            self.assertEqual(self.inside("request", output)["parse"], 4)

    def inside(self, name, path):
        """Calls inside a range, from the report; checks that annot query agrees."""
        report = json.loads(harness.run([ANNOT, "report", "--json", "--range", name,
                                         str(path)]).stdout)
        lines = harness.run([ANNOT, "query", "--json", "--range", name, str(path),
                             "select name, call_count from calls"]).stdout.splitlines()
        found = {row["name"]: row["call_count"] for row in report["calls"]}
        self.assertEqual({row["name"]: row["call_count"] for row in map(json.loads, lines)}, found)
        return found

    def test_coroutines_are_on_their_tasks_from_begin_to_end(self):
        for interpreter, path in self.each():
            output, report = self.trace_tasks(interpreter, path, "exact")
            whole = {row["name"]: row for row in report["coroutines"]}
            self.assertEqual({name: row["call_count"] for name, row in whole.items()},
                             {"main": 1, "fetch": 4, "nap": 9, "cancelled": 1})
            ran = {row["name"]: row["total_ns"] for row in report["calls"]}
            for name, least_ms in (("fetch", 4 * 30), ("nap", 8 * 10), ("main", 30)):
                row = whole[name]
                self.assertGreaterEqual(row["whole_ns"], least_ms * 1e6)
                self.assertGreaterEqual(row["awaiting_ns"], 0.7 * row["whole_ns"], name)
                self.assertLess(ran[name], row["whole_ns"])
            lines = [json.loads(line) for line in
                     harness.run([ANNOT, "cat", "--json", str(output)]).stdout.splitlines()]
            self.check_lanes([line for line in lines if line.get("kind") == "track"])
            self.assertEqual(self.unfinished(lines), [])

    def check_lanes(self, lines):
        """Each call of a coroutine lies in the one that awaits it, on its own task's lane."""
        opened, nested = {}, collections.Counter()
        for line in lines:
            names = opened.setdefault(line["track_id"], [])
            if line["event"] == "begin" and line.get("domain") == "python calls":
                nested["/".join([*names, line["name"]])] += 1
                names.append(line["name"])
            elif line["event"] == "end" and names[-1:] == [line["name"]]:
                names.pop()
        waits = {path: count for path, count in nested.items() if path.endswith("/awaiting")}
        self.assertEqual(nested - collections.Counter(waits),
                         {"main": 1, "fetch": 4, "fetch/nap": 8, "cancelled": 1,
                          "cancelled/nap": 1})
        self.assertEqual(waits.pop("fetch/nap/awaiting"), 8)
        self.assertEqual(set(waits) - {"main/awaiting", "cancelled/nap/awaiting"}, set())

    def test_daemons_that_run_when_the_interpreter_ends(self):
        for interpreter, path in self.each():
            for mode in ("exact", "aggregate"):
                lines = self.trace(interpreter, path, mode, ("daemons",))
                counts = self.paths_of(lines) if mode == "exact" else self.counted(lines)
                self.assertEqual(counts["<module>/main/daemons", "+"], 1)
                self.assertGreater(counts["for_ever/sink/sink/sink", "+"], 10)

    def test_names_of_more_functions_than_there_is_room_for(self):
        for interpreter, path in self.each():
            for mode in ("exact", "aggregate"):
                lines = self.trace(interpreter, path, mode, ("many_functions",))
                begun = collections.Counter(line["name"] for line in lines
                                            if line["event"] == "begin")
                self.assertEqual(begun["own range"], 1)
                counts = self.counted(lines) if mode == "aggregate" else self.paths_of(lines)
                others = sum(count for (name, sign), count in counts.items()
                             if name.split("/")[-1] == "(other)" and sign == "+")
                self.assertGreater(others, 1000)

    def test_other_tools_of_the_same_process_go_on(self):
        for interpreter, path in self.each((3, 12)):
            lines = self.trace(interpreter, path, "exact", ("others",))
            counts = self.paths_of(lines)
            self.assertEqual(counts["<module>/main/others/leaf", "+"], 5)


if __name__ == "__main__":
    harness.main()
