# SPDX-License-Identifier: MIT
"""pyannot on every CPython of this machine (interpreters.py has the places): its tests, and threads
that annotate in all ways at once, pass there too. On builds without a global lock the module must
not enable it. ANNOT_TEST_INTERPRETERS=all runs more tests on each."""

import json
import os
import subprocess
import sys

import elsewhere
import harness
import interpreters
from harness import ANNOT, HERE, RecordingTest

ALL = os.environ.get("ANNOT_TEST_INTERPRETERS") == "all"
TESTS = ["api", "inherited"] + ["recording", "filter", "pools", "subinterpreters",
                                "async_statements", "preload"] * ALL
# An ordinary test: its output shows where it ran.
ANY_TEST = f"""
    import sys, unittest
    sys.path.insert(0, {str(HERE)!r})
    import harness, pyannot

    class Any(unittest.TestCase):
        def test_any(self):
            print("ran on", sys.executable, "enabled:", pyannot.enabled(), flush=True)

    harness.main()
"""
THREADS, ROUNDS = (8, 3000) if ALL else (8, 150)


class Interpreters(RecordingTest):
    """Gets a test for each interpreter."""

    def environment_of(self, interpreter):
        if not interpreter.can_build():
            self.skipTest(f"no Python.h of {interpreter.command}")
        return dict(self.environment, PYTHONPATH=str(elsewhere.package_for(interpreter)))

    def check(self, interpreter):
        environment = self.environment_of(interpreter)
        for name in TESTS:
            command = [interpreter.command, str(HERE / f"test_{name}.py")]
            result = subprocess.run(
                command, capture_output=True, text=True, check=False, env=environment
            )
            self.assertEqual(result.returncode, 0, f"{name}:\n{result.stdout}{result.stderr}")
        self.check_threads(interpreter, environment)
        if interpreter.free_threaded:
            self.check_watching(interpreter, environment)

    def check_watching(self, interpreter, environment):
        """One thread stops watching tasks while others may be about to query them."""
        record = [ANNOT, "record", "--python", "none", "--sampling=none", "--force", "-o",
                  str(self.folder / "watching.annot"), "--"]
        program = [str(HERE / "watching_program.py"), "20000"]
        harness.run([*record, interpreter.command, *program], env=environment)

    def check_threads(self, interpreter, environment):
        output = self.folder / "threads.annot"
        record = [ANNOT, "record", "--python", "none", "--policy", "wait", "-o", str(output), "--"]
        program = [str(HERE / "threads_program.py"), str(THREADS), str(ROUNDS)]
        result = harness.run([*record, interpreter.command, *program], env=environment)
        told = json.loads(result.stdout)
        self.assertEqual(told["lock"], not interpreter.free_threaded)
        recording = harness.Recording(output)
        for kind, counts in told["expected"].items():
            self.assertEqual(recording.count(kind), counts, kind)
        self.assertEqual(recording.lost(), 0)
        reading = [interpreter.command, str(HERE / "leak_reading.py"), str(output), str(THREADS)]
        ranges = sum(sum(told["expected"][kind].values()) for kind in ("ranges", "free_ranges"))
        self.assertEqual(harness.run(reading, env=environment).stdout, f"{THREADS} {ranges}\n")


class AnyTest(RecordingTest):
    def run_on(self, commands, source):
        environment = dict(self.environment, ANNOT_TEST_ON=":".join(commands))
        return subprocess.run([sys.executable, self.script(source)], env=environment, text=True,
                              capture_output=True, check=False)

    def test_any_test_runs_on_those_that_are_told(self):
        commands = [one.command for one in FOUND if one.can_build() and not one.debug][:2]
        if not commands:
            self.skipTest("no other interpreter")
        result = self.run_on(commands, ANY_TEST)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for command in commands:
            self.assertEqual(result.stdout.count(f"ran on {command} "), 1, result.stdout)
        self.assertEqual(result.stdout.count("ran on"), len(commands))

    def test_a_failure_there_is_a_failure(self):
        result = self.run_on([sys.executable], ANY_TEST.replace("enabled()", "no_such_name"))
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)

    def test_what_is_no_interpreter_is_refused(self):
        result = self.run_on(["/bin/true"], ANY_TEST)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("/bin/true is no CPython", result.stderr)


def add_test(interpreter):
    name = str(interpreter).replace(" ", "_").replace(".", "_").replace("-", "_")
    setattr(Interpreters, f"test_{name}", lambda self: self.check(interpreter))


if __name__ == "__main__":
    FOUND = interpreters.find()
    for each in FOUND:
        add_test(each)
    harness.main()
