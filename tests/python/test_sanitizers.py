# SPDX-License-Identifier: MIT
"""The extension, and libannot inside it, compiled with AddressSanitizer and
UndefinedBehaviorSanitizer, under the tests of pyannot; there each Python object is a separate block
of malloc. If a free-threaded Python built with ThreadSanitizer is found, threads that annotate in
all ways at once run under that, too."""

import os
import subprocess
import sys

import harness
import interpreters
import module_build
from harness import ANNOT, HERE, RecordingTest

ADDRESS_FLAGS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-O1", "-g",
                 "-fno-omit-frame-pointer"]
THREAD_FLAGS = ["-fsanitize=thread", "-O1", "-g"]
# Without recorder: all ways to call. With one: all ways to emit.
TESTS = ["test_api.py", "leak_program.py 5", "threads_program.py 4 50"]


def library_of_compiler(name):
    """The path of a library of gcc, or None if it is not installed."""
    path = harness.run(["gcc", f"-print-file-name={name}"]).stdout.strip()
    return os.path.realpath(path) if os.path.isabs(path) else None


class Sanitizers(RecordingTest):
    def run_all(self, python, environment):
        file = str(self.folder / "out.annot")
        record = [ANNOT, "record", "--force", "-o", file, "--"]
        for test in TESTS:
            self.run_one([], python, test.split(), environment)
            self.run_one(record, python, test.split(), environment)
        self.run_one([], python, ["leak_program.py", "2", file], environment)
        self.run_one([], python, ["leak_reading.py", file, "4"], environment)

    def run_one(self, prefix, python, test, environment):
        program, *arguments = test
        command = [*prefix, python, str(HERE / program), *arguments]
        with self.subTest(test=test, recorded=bool(prefix)):
            result = subprocess.run(
                command, capture_output=True, text=True, check=False, env=environment
            )
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertNotRegex(result.stderr, "runtime error|Sanitizer")

    def build(self, interpreter, flags, mark):
        """Builds the package, and verifies that the compiler applied the flags."""
        package = self.folder / "package"
        module_build.build(interpreter, package, flags)
        (module,) = (package / "pyannot").glob("_native*.so")
        self.assertIn(mark, module.read_bytes())
        return dict(self.environment, PYTHONPATH=str(package))

    def test_no_wrong_access_in_the_extension(self):
        libraries = [library_of_compiler(f"lib{name}.so") for name in ("asan", "ubsan")]
        if None in libraries:
            self.skipTest("no libasan of gcc")
        this = interpreters.ask(sys.executable)
        environment = dict(
            self.build(this, ADDRESS_FLAGS, b"__asan_report_load"),
            PYTHONMALLOC="malloc",
            LD_PRELOAD=" ".join(libraries),
            # Objects that Python keeps until its end are not leaks (test_leaks.py counts).
            ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1",
        )
        self.run_all(sys.executable, environment)

    def test_no_race_in_the_extension(self):
        found = [one for one in interpreters.find() if one.watches_threads and one.can_build()]
        if not found:
            self.skipTest("no Python built with ThreadSanitizer")
        environment = self.build(found[0], THREAD_FLAGS, b"__tsan_read8")
        self.run_all(found[0].command, environment)


if __name__ == "__main__":
    harness.main()
