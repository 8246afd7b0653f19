# SPDX-License-Identifier: MIT
"""Debuggers, profilers and coverage in a process with traced calls: their results are the same as
without annot, and the recording is the same as without them, or reports its gaps.

Tools outside the standard library are tested if installed: ANNOT_PYTHONS=COMMAND with coverage,
viztracer, yappi, line_profiler and debugpy runs them all."""

import collections
import concurrent.futures
import json
import subprocess

import elsewhere
import harness
from harness import ANNOT, HERE, RecordingTest

PROGRAM = HERE / "beside_program.py"
PROFILERS = ("cprofile", "profile", "setprofile", "viztracer", "yappi")
TRACERS = ("trace", "settrace", "pdb", "coverage", "coverage_sysmon", "line_profiler",
           "debugpy")
OF_WORK = {"fib": 25, "leaf": 8, "numbers": 2, "fail": 4, "work": 1}
NAMES = ",".join(OF_WORK)
LIMIT_S = 60


class Run:
    """The tools beside one way to trace."""

    def __init__(self, test, interpreter, package, tools, *options, **more):
        self.test, self.interpreter = test, interpreter
        self.about = f"{' '.join(options)} beside {' '.join(tools)} on {interpreter}"
        environment = dict(test.environment, PYTHONPATH=f"{package}:{HERE}",
                           PYTHONDONTWRITEBYTECODE="1", **more)
        environment.pop("ANNOT_PYTHON", None)
        output = test.folder / f"{'.'.join(map(str, interpreter.version))}.annot"
        program = [interpreter.command, str(PROGRAM), *tools]
        self.plain = self.seen(program, environment)
        self.told = self.seen([ANNOT, "record", "--sampling=none", "--force", "--python", "names",
                               "--trace-select", PROGRAM.name, *options, "-o", str(output), "--",
                               *program], environment)
        self.works = 2 + sum(seen != "no" for seen in self.plain.values())
        self.works += sum(tool in ("settrace", "setprofile") for tool in tools)
        self.report = json.loads(harness.run([ANNOT, "report", "--json", str(output)]).stdout)
        self.info = harness.run([ANNOT, "info", str(output)]).stdout

    def seen(self, command, environment):
        done = subprocess.run(command, text=True, env=environment, capture_output=True,
                              timeout=LIMIT_S, check=False)
        self.test.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def calls(self):
        return {row["name"]: row["call_count"] for row in self.report["calls"]
                if row["name"] in OF_WORK}

    def lines(self):
        hits = collections.Counter()
        for row in self.report["line_counts"]:
            hits[str(row["line"])] += row["hits"] if row["file"] == str(PROGRAM) else 0
        return +hits

    def check_tools(self):
        for tool, seen in self.plain.items():
            self.test.assertEqual(self.told[tool], seen, f"{tool} of {self.about}")

    def check_all_calls(self):
        self.test.assertEqual(self.calls(), {name: self.works * count
                                             for name, count in OF_WORK.items()}, self.about)


class BesideTools(RecordingTest):
    def each(self, check):
        with concurrent.futures.ThreadPoolExecutor(2) as workers:
            for done in [workers.submit(check, *one) for one in elsewhere.this_oldest_newest()]:
                done.result()

    def check_plain(self, interpreter, package, **more):
        for mode in ("exact", "aggregate"):
            run = Run(self, interpreter, package, PROFILERS + TRACERS,
                      f"--trace-functions={mode}", **more)
            run.check_tools()
            run.check_all_calls()

    def test_calls_are_traced_beside_all_tools(self):
        self.each(self.check_plain)

    def test_lines_are_counted_or_it_is_said_that_they_are_not(self):
        def check(interpreter, package):
            run = Run(self, interpreter, package, TRACERS, "--trace-functions=exact",
                      "--trace-lines", NAMES)
            run.check_tools()
            run.check_all_calls()
            if interpreter.version < (3, 12):
                self.assertIn("another tool set a trace function", run.info, run.about)
                return
            of_work = {line: count for line, count in run.plain["trace"].items()
                       if line in run.lines()}
            self.assertGreater(len(of_work), 15)
            self.assertEqual(run.lines(), {line: run.works * count
                                           for line, count in of_work.items()}, run.about)

        self.each(check)

    def test_calls_of_c_are_traced_or_it_is_said_that_they_are_not(self):
        def check(interpreter, package):
            # From 3.13 on `profile` receives the end of the call of sys.setprofile, and raises; it
            # does so beside every tool of sys.monitoring that enables call events.
            without = ("profile",) if interpreter.version >= (3, 13) else ()
            profilers = [one for one in PROFILERS if one not in without]
            run = Run(self, interpreter, package, [*TRACERS[:2], *profilers],
                      "--trace-functions=exact,c-calls")
            run.check_tools()
            if interpreter.version < (3, 12):
                self.assertIn("another profiler set a profile function", run.info, run.about)
            else:
                run.check_all_calls()

        self.each(check)


if __name__ == "__main__":
    harness.main()
