# SPDX-License-Identifier: MIT
"""pyannot on every CPython of this machine (interpreters.py says where it looks): its tests, and
threads that annotate in all ways at once, pass there too. On the builds without a global lock the
module must not bring it back. ANNOT_TEST_INTERPRETERS=all runs more tests on each."""

import json
import os
import subprocess

import harness
import interpreters
import module_build
from harness import ANNOT, HERE, RecordingTest

ALL = os.environ.get("ANNOT_TEST_INTERPRETERS") == "all"
TESTS = ["api"] + ["recording", "filter", "pools", "subinterpreters", "async_statements",
                    "preload"] * ALL
THREADS, ROUNDS = (8, 3000) if ALL else (8, 150)


class Interpreters(RecordingTest):
    """Gets a test for each interpreter."""

    def environment_of(self, interpreter):
        if not interpreter.can_build():
            self.skipTest(f"no Python.h of {interpreter.command}")
        module_build.build(interpreter, self.folder / "package")
        path = str(self.folder / "package")
        return dict(self.environment, PYTHONPATH=path)

    def check(self, interpreter):
        environment = self.environment_of(interpreter)
        for name in TESTS:
            command = [interpreter.command, str(HERE / f"test_{name}.py")]
            result = subprocess.run(
                command, capture_output=True, text=True, check=False, env=environment
            )
            self.assertEqual(result.returncode, 0, f"{name}:\n{result.stdout}{result.stderr}")
        self.check_threads(interpreter, environment)

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


def add_test(interpreter):
    name = str(interpreter).replace(" ", "_").replace(".", "_").replace("-", "_")
    setattr(Interpreters, f"test_{name}", lambda self: self.check(interpreter))


if __name__ == "__main__":
    for each in interpreters.find():
        add_test(each)
    harness.main()
