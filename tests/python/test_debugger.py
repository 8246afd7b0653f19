# SPDX-License-Identifier: MIT
"""Tracing switched on through the debugger interface of CPython 3.14 and later: the program runs
the script once per request, and no trace of it remains. Programs that forbid that, or that wait,
are reached in another way."""

import functools
import subprocess
import time

import elsewhere
import harness
import interpreters
from harness import ANNOT, HERE, RecordingTest

SECONDS, CALLS = 60, 500
PROGRAM = """
import os, sys, threading, time
folder, waits = sys.argv[1], sys.argv[2] == "waits"
heard = []
def hear(event, args):
    if event == "cpython.remote_debugger_script":
        heard.append(os.fspath(args[0]))
sys.addaudithook(hear)
def work(number):
    return number + 1
def run():
    for index in range(3):
        while not os.path.exists(f"{folder}/go-{index}"):
            time.sleep(0.002)
        for number in range(500):
            work(number)
        open(f"{folder}/done-{index}", "w").close()
names = set(globals())
if waits:
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
else:
    run()
left = [path for path in heard if os.path.exists(os.path.dirname(path))]
new = set(globals()) - names - {"names", "left", "thread", "new"}
print(len(heard), left, new)
"""


# Installs a filter of the kernel (seccomp) that permits every system call.
FILTERED = """
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(code)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
""" + PROGRAM


@functools.cache
def newest():
    found = [one for one in interpreters.find()
             if one.version >= (3, 14) and one.can_build() and not one.watches_threads]
    return max(found, key=lambda one: one.version, default=None)


class Debugger(RecordingTest):
    def setUp(self):
        super().setUp()
        self.interpreter = newest()
        if self.interpreter is None:
            self.skipTest("no CPython 3.14 or later is here")
        self.package = str(elsewhere.package_for(self.interpreter))
        self.environment.pop("ANNOT_PYTHON", None)
        self.environment["PYTHONPATH"] = str(HERE)  # pyannot is nowhere

    def start(self, command, environment, **more):
        process = subprocess.Popen(list(map(str, command)), env=environment, text=True, **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def go(self, index):
        (self.folder / f"go-{index}").touch()
        end = time.monotonic() + SECONDS
        while not (self.folder / f"done-{index}").exists():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.002)

    def attach(self, program, output):
        recorder = self.start(
            [ANNOT, "attach", "--inject", "--sampling=none", "--trace-functions=exact",
             "--trace-select", "work", "-o", output, program.pid],
            dict(self.environment, ANNOT_PYTHON_PATH=self.package), stderr=subprocess.PIPE)
        self.addCleanup(recorder.stderr.close)
        for line in recorder.stderr:
            if "tracing functions exact" in line:
                return recorder
        self.fail(f"status {recorder.wait(SECONDS)}")

    def attached(self, options, how, text=PROGRAM, **environment):
        """The audit events of a program while its second round was recorded."""
        for file in self.folder.glob("*-*"):
            file.unlink()
        output = self.folder / f"{len(list(self.folder.iterdir()))}.annot"
        program = self.start(
            [self.interpreter.command, *options, "-c", text, self.folder, how],
            dict(self.environment, **environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.go(0)
        recorder = self.attach(program, output)
        self.go(1)
        recorder.terminate()
        recorder.stderr.read()
        self.assertEqual(recorder.wait(SECONDS), 0)
        self.go(2)
        told, errors = program.communicate(timeout=SECONDS)
        self.assertEqual((program.returncode, errors), (0, ""))
        counted = harness.run([ANNOT, "query", "--csv", str(output),
                               "select coalesce(sum(call_count), 0) from calls "
                               "where name = 'work'"])
        self.assertEqual(int(float(counted.stdout.split()[-1])), CALLS)
        return told.strip()

    def test_a_program_that_runs_python_hears_of_it(self):
        self.assertEqual(self.attached([], "runs"), "2 [] set()")

    def test_one_with_a_filter_of_system_calls_is_traced(self):
        self.assertEqual(self.attached([], "runs", FILTERED), "2 [] set()")

    def test_one_that_waits_is_asked_otherwise(self):
        self.assertEqual(self.attached([], "waits"), "0 [] set()")

    def test_one_that_permits_no_debuggers_is_asked_otherwise(self):
        self.assertEqual(self.attached(["-X", "disable-remote-debug"], "runs"), "0 [] set()")
        self.assertEqual(self.attached([], "runs", PYTHON_DISABLE_REMOTE_DEBUG="1"), "0 [] set()")


if __name__ == "__main__":
    harness.main()
