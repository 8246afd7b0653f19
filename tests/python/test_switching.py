# SPDX-License-Identifier: MIT
"""Tracing switched on and off in a running program, by `annot set` and `annot attach`: exactly the
calls between the switches are counted."""

import functools
import itertools
import json
import subprocess
import time

import elsewhere
import harness
from harness import ANNOT, HERE, RecordingTest

PROGRAM = HERE / "switched_program.py"
CALLS = 3 * 400 + 50  # of work() in a round: three threads and a child
SECONDS = 60


@functools.cache
def interpreters():
    return list(elsewhere.this_oldest_newest())


class Switching(RecordingTest):
    def environment_of(self, path):
        environment = dict(self.environment, PYTHONPATH=f"{path}:{HERE}")
        environment.pop("ANNOT_PYTHON", None)
        return environment

    def start(self, command, environment, **more):
        program = subprocess.Popen(command, env=environment, **more)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        return program

    def wait_for(self, condition):
        end = time.monotonic() + SECONDS
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)

    def clear(self):
        for file in self.folder.glob("*-*"):
            file.unlink()

    def go(self, index):
        (self.folder / f"go-{index}").touch()
        self.wait_for((self.folder / f"done-{index}").exists)

    def switch(self, environment, *options):
        return harness.run([ANNOT, "set", *options], env=environment).stdout

    def counted(self, output, name="work"):
        wanted = f"select coalesce(sum(call_count), 0) from calls where name = '{name}'"
        text = harness.run([ANNOT, "query", "--csv", str(output), wanted]).stdout
        return int(float(text.split()[-1]))

    def record(self, interpreter, path, mode, cycles):
        environment = self.environment_of(path)
        output = self.folder / f"{mode}.annot"
        recorder = self.start(
            [ANNOT, "record", "--sampling=none", "--force", "--python", "names", "-o", str(output),
             "--", interpreter.command, str(PROGRAM), str(self.folder), str(3 * cycles)],
            environment)
        self.go(0)
        for index in range(1, 3 * cycles - 2, 3):
            told = self.switch(environment, f"--trace-functions={mode}", "--trace-select",
                               "switched_program.py")
            self.assertIn(f"tracing functions {mode}", told)
            self.go(index)
            self.go(index + 1)
            self.assertIn("tracing off", self.switch(environment, "--trace-functions=off"))
            self.go(index + 2)
        self.go(3 * cycles - 2)
        self.go(3 * cycles - 1)
        self.assertEqual(recorder.wait(SECONDS), 0)
        self.assertEqual(self.counted(output), (cycles - 1) * 2 * CALLS)
        return output

    def test_calls_between_switches_are_counted(self):
        for (interpreter, path), mode in itertools.product(interpreters(), ("exact", "aggregate")):
            with self.subTest(python=interpreter.version, mode=mode):
                self.clear()
                self.record(interpreter, path, mode, 2)

    def test_twenty_cycles_and_what_is_told_of_them(self):
        interpreter, path = interpreters()[0]
        output = self.record(interpreter, path, "exact", 21)
        told = harness.run([ANNOT, "info", str(output)]).stdout
        self.assertIn("counts are of a part of the run", told)
        marks = harness.run([ANNOT, "cat", str(output)]).stdout
        self.assertEqual(marks.count('"calls of Python: exact"'), 20)
        self.assertEqual(marks.count('"calls of Python: off"'), 20)

    def begin_recording(self, environment, output, command, *options):
        recorder = self.start([ANNOT, "record", "--sampling=none", "--force", "--python", "names",
                               *options, "-o", str(output), "--", *command], environment)
        self.go(0)
        return recorder

    def test_one_function_becomes_a_range(self):
        for interpreter, path in interpreters():
            with self.subTest(python=interpreter.version):
                self.clear()
                environment = self.environment_of(path)
                output = self.folder / "one.annot"
                recorder = self.begin_recording(
                    environment, output,
                    [interpreter.command, str(PROGRAM), str(self.folder), "4"])
                self.assertIn("tracing functions exact",
                              self.switch(environment, "--probe", "switched_program:work"))
                self.go(1)
                self.switch(environment, "--trace-functions=off")
                self.go(2)
                self.go(3)
                self.assertEqual(recorder.wait(SECONDS), 0)
                self.assertEqual(self.counted(output), CALLS)
                self.assertEqual(self.counted(output, "calls"), 0)

    def test_a_range_is_switched_on_and_off_inside_its_calls(self):
        for interpreter, path in interpreters():
            with self.subTest(python=interpreter.version):
                self.clear()
                self.switch_inside_calls(interpreter, path)

    def switch_inside_calls(self, interpreter, path):
        """Switched on in call 0, off in call 2: calls 1 and 2 begin in between, and none is lost.
        From 3.12 on the rest of call 0 is a range, too, but not counted as a call."""
        environment, output = self.environment_of(path), self.folder / "open.annot"
        recorder = self.start(
            [ANNOT, "record", "--sampling", "none", "--force", "--python", "names", "-o",
             str(output), "--", interpreter.command, str(HERE / "open_call_program.py"),
             str(self.folder)], environment)
        for index in range(4):  # the program must end if the test fails
            self.addCleanup((self.folder / f"go-{index}").touch)
        self.wait_for((self.folder / "in-0").exists)
        self.switch(environment, "--probe", "open_call_program:work")
        for index in (1, 2):
            (self.folder / f"go-{index - 1}").touch()
            self.wait_for((self.folder / f"in-{index}").exists)
        self.switch(environment, "--trace-functions=off")
        for index in (2, 3):
            (self.folder / f"go-{index}").touch()
        self.assertEqual(recorder.wait(SECONDS), 0)
        self.assertEqual(self.counted(output), 2)
        lines = harness.run([ANNOT, "cat", "--json", str(output)]).stdout.splitlines()
        begins = [line for line in map(json.loads, lines)
                  if line["event"] == "begin" and line["name"] == "work"]
        self.assertEqual(len([line for line in begins if not line.get("continues")]), 2)
        self.assertLessEqual(len(begins), 3)

    def test_short_calls_are_left_out_from_then_on(self):
        interpreter, path = interpreters()[0]
        environment = self.environment_of(path)
        output = self.folder / "short.annot"
        recorder = self.begin_recording(
            environment, output, [interpreter.command, str(PROGRAM), str(self.folder), "4"])
        for index, more in ((1, ("--trace-functions=min=1s",)), (2, ())):
            self.switch(environment, "--trace-functions=exact", "--trace-select",
                        "switched_program:work", *more)
            self.go(index)
        self.switch(environment, "--trace-functions=off")
        self.go(3)
        self.assertEqual(recorder.wait(SECONDS), 0)
        self.assertEqual(self.counted(output), CALLS)
        told = harness.run([ANNOT, "info", str(output)]).stdout
        self.assertIn(f"their callers ({CALLS:,} times)", told)

    def test_sums_are_refused_where_a_range_is_captured(self):
        interpreter, path = interpreters()[0]
        environment = self.environment_of(path)
        recorder = self.begin_recording(
            environment, self.folder / "captured.annot",
            [interpreter.command, str(PROGRAM), str(self.folder), "2"], "--capture-range", "none")
        for options in (("--trace-functions=aggregate",), ("--trace-lines", "work")):
            refused = subprocess.run([ANNOT, "set", *options], env=environment,
                                     capture_output=True, text=True, check=False)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(f"option {' '.join(options).split(' work')[0]}: not with --capture-range",
                          refused.stderr)
        self.go(1)
        self.assertEqual(recorder.wait(SECONDS), 0)

    def test_attach_traces_and_ends_it(self):
        for interpreter, path in interpreters()[:2]:
            with self.subTest(python=interpreter.version):
                self.clear()
                self.attach(interpreter, path)

    def attach(self, interpreter, path):
        environment = self.environment_of(HERE)  # pyannot is nowhere
        output = self.folder / "attached.annot"
        program = self.start([interpreter.command, str(PROGRAM), str(self.folder), "4"],
                             environment)
        self.go(0)
        refused = subprocess.run(
            [ANNOT, "attach", "--trace-functions", "--force", "-o", str(output), str(program.pid)],
            env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("pyannot is not in it", refused.stderr)
        recorder = self.begin_attached(dict(environment, ANNOT_PYTHON_PATH=str(path)), output,
                                       "--inject", str(program.pid))
        self.go(1)
        self.go(2)
        recorder.terminate()
        recorder.stderr.read()
        self.assertEqual(recorder.wait(SECONDS), 0)
        self.go(3)
        self.assertEqual(program.wait(SECONDS), 0)
        self.assertEqual(self.counted(output), 2 * CALLS)

    def begin_attached(self, environment, output, *options, select="switched_program.py"):
        if "--probe" not in options:
            options = ("--trace-functions=exact", "--trace-select", select, *options)
        recorder = self.start(
            [ANNOT, "attach", "--force", "-o", str(output), *options], environment,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.stderr.close)
        for line in recorder.stderr:
            if "tracing functions exact" in line:
                break
        return recorder

    def start_with_pyannot(self, interpreter, environment, rounds):
        main = f"import pyannot, runpy; runpy.run_path({str(PROGRAM)!r})"
        program = self.start([interpreter.command, "-c", main, str(self.folder), str(rounds)],
                             environment)
        self.go(0)
        return program

    def test_attach_makes_one_function_a_range(self):
        interpreter, path = interpreters()[0]
        environment = self.environment_of(path)
        output = self.folder / "one.annot"
        program = self.start_with_pyannot(interpreter, environment, 3)
        recorder = self.begin_attached(environment, output, "--probe", "switched_program:work",
                                       str(program.pid))
        self.go(1)
        recorder.terminate()
        recorder.stderr.read()
        self.assertEqual(recorder.wait(SECONDS), 0)
        self.go(2)
        self.assertEqual(program.wait(SECONDS), 0)
        self.assertEqual(self.counted(output), CALLS)

    def test_tracing_ends_after_its_recorder_was_killed(self):
        found, output = interpreters(), self.folder / "killed.annot"
        cases = [(found[0], "switched_program.py"), *((one, "nothing.py") for one in found[:2])]
        for (interpreter, path), select in cases:
            with self.subTest(python=interpreter.version, select=select):
                self.clear()
                environment = self.environment_of(path)
                program = self.start_with_pyannot(interpreter, environment, 2)
                recorder = self.begin_attached(environment, output, str(program.pid),
                                               select=select)
                recorder.kill()
                recorder.wait()
                harness.run([ANNOT, "recover"], env=environment)  # which shuts the gate
                self.go(1)
                self.assertEqual(program.wait(SECONDS), 0)


if __name__ == "__main__":
    harness.main()
