# SPDX-License-Identifier: MIT
"""Threads have their Python names in the recording, even if they never emit an event."""

import json
import os
import sys

import harness
from harness import ANNOT, RecordingTest

PROGRAM = """
import multiprocessing, os, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

def burn(go_on=None):
    if go_on is not None:
        go_on.wait()
    until = time.thread_time() + 0.06
    while time.thread_time() < until:
        sum(range(500))

def rename_itself():
    threading.current_thread().name = "called itself"
    burn()

def say():
    import pyannot
    pyannot.set_thread_name("said so")
    pyannot.mark("an event")
    burn()

def begin(target=burn, *args, **more):
    thread = threading.Thread(target=target, args=args, **more)
    thread.start()
    return thread

def child():
    threads = [begin(name="of a child"), begin(name="daemon of a child", daemon=True)]
    for thread in threads:
        thread.join()

go_on = threading.Event()
threads = [begin(name="first"), begin(name="second"), begin(name="a daemon", daemon=True),
           begin(rename_itself), begin(say, name="never seen")]
later = begin(burn, go_on, name="before")
later.name = "renamed later"
go_on.set()
with ThreadPoolExecutor(2, thread_name_prefix="executor") as executor:
    list(executor.map(lambda _: burn(), range(4)))
for thread in [later, *threads]:
    thread.join()
for number in range(8):  # numbers of threads come again
    begin(name=f"short {number}").join()
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
"""
NAMES = {"first", "second", "a daemon", "called itself", "said so", "renamed later", "executor_0",
         "executor_1", "of a child", "daemon of a child", *(f"short {n}" for n in range(8))}


RUNNING = """
import sys, threading, time
import pyannot

def burn():
    go_on.wait()
    until = time.thread_time() + 0.06
    while time.thread_time() < until:
        sum(range(500))

go_on = threading.Event()
threads = [threading.Thread(target=burn, name=f"there before {n}") for n in range(3)]
for thread in threads:
    thread.start()
pyannot.start_recording(sys.argv[1], sample=999)
go_on.set()
for thread in threads:
    thread.join()
pyannot.stop_recording()
"""


class ThreadNames(RecordingTest):
    def thread_names(self):
        path = str(self.folder / "out.annot")
        report = json.loads(harness.run([ANNOT, "report", "--json", path]).stdout)
        if not report["functions"]:
            self.skipTest("nothing can be sampled here")
        return set(harness.Recording(path).thread_names)

    def test_all_that_a_program_starts(self):
        recording = self.record(PROGRAM, options=["--rate", "999"])
        self.assertEqual(recording.lost(), 0)
        names = self.thread_names()
        self.assertEqual(NAMES - names, set())
        self.assertEqual({"before", "never seen"} & names, set())

    def test_those_that_run_when_a_recording_begins(self):
        program = self.script(RUNNING)
        path = str(self.folder / "out.annot")
        harness.run([sys.executable, str(program), path], env=self.environment)
        self.assertLessEqual({f"there before {n}" for n in range(3)}, self.thread_names())

    def test_a_thousand_that_do_nothing_take_no_memory(self):
        """Only threads that emit take blocks: a pool of 16 blocks is enough, without losses."""
        recording = self.record("""
            import threading
            end = threading.Event()
            threads = [threading.Thread(target=end.wait) for _ in range(1000)]
            for thread in threads: thread.start()
            end.set()
            for thread in threads: thread.join()
        """, options=["--sampling=none", "--pool-size", "128K"])
        self.assertEqual(recording.lost(), 0)


if __name__ == "__main__":
    os.environ["ANNOT_PYTHON"] = "default"
    harness.main()
