# SPDX-License-Identifier: MIT
"""Recordings that a program makes of itself: pyannot.record, start_recording, stop_recording."""

import collections
import inspect
import os
import signal
import subprocess
import sys

import harness
from harness import ANNOT
from recording_program import Inside


class Tables(Inside):
    """Tables of calls that are printed without keeping a recording."""

    FUNCTIONS = """
        import pyannot, sys
        def parse(text):
            return text.split(",")
        def load(count):
            for _ in range(count):
                parse("a,b,c")
        """

    def calls(self, source, **options):
        """The printed numbers of calls of the functions above."""
        parts = map(inspect.cleandoc, (self.FUNCTIONS, source))
        output = self.run_program("\n".join(parts), **options)
        self.wait_for_collectors()
        self.assertEqual([file.name for file in self.folder.glob("**/*.annot")], [])
        rows = [line.split() for line in output.splitlines() if line.startswith(("parse", "load"))]
        return {row[0]: int(row[2].replace(",", "")) for row in rows}

    def test_of_a_block(self):
        self.assertEqual(self.calls("""
            load(10)
            for mode in "aggregate", "exact":
                with pyannot.tracing(mode, print=sys.stdout if mode == "exact" else True):
                    load(1500 if mode == "exact" else 1)
            load(10)
            """), {"parse": 1500, "load": 1})
        self.assertEqual(self.errors, "")

    def test_of_the_rest_of_a_program(self):
        self.assertEqual(self.calls("""
            import os
            load(10)
            pyannot.trace(parse, print=True)
            load(700)
            if os.fork() == 0:
                load(30)
                sys.exit()
            os.wait()
            """), {"parse": 730})
        self.assertEqual(self.calls("""
            parse = pyannot.trace(print=sys.stdout)(parse)
            pyannot.trace(load)
            load(700)
            """), {"parse": 700, "load": 1})

    def test_not_while_others_record(self):
        source = self.script(self.FUNCTIONS + """
        with pyannot.tracing(print=True):
            load(10)
        """)
        done = harness.run([ANNOT, "record", "--sampling=none", "-o",
                            str(self.folder / "out.annot"),
                            "--", sys.executable, str(source)], env=self.environment)
        self.assertEqual(done.stdout, "")
        self.assertIn("no table of calls is printed: the program is recorded already", done.stderr)

    def test_without_annot(self):
        self.assertEqual(self.calls("""
            with pyannot.tracing(print=True):
                load(10)
            """, environment={"ANNOT": "/nonexistent", "PATH": "/nonexistent"}), {})
        self.assertIn("no table of calls is printed: ", self.errors)


class Blocks(Inside):
    def test_a_block_is_recorded_and_what_is_around_it_is_not(self):
        output = self.run_program("""
            import os, pyannot
            def work(name):
                with pyannot.annotate(name):
                    pyannot.mark("in " + name)
            work("before")
            with pyannot.record("out.annot", sample=0) as recording:
                assert pyannot.enabled()
                for _ in range(1000):
                    work("inside")
                inside = pyannot.read("out.annot")
            work("after")
            after = pyannot.read("out.annot")
            print(recording.path, inside.complete, after.complete)
            """)
        self.assertEqual(output.split(), [str(self.folder / "out.annot"), "False", "True"])
        self.assertEqual(self.names(), {"inside": 1000})
        self.assertTrue(self.recording().command.endswith("program.py"))
        marks = collections.Counter(
            mark.name for mark in self.recording().marks if mark.domain != "python")
        self.assertEqual(marks, {"in inside": 1000})
        self.wait_for_collectors()
        self.assert_directory_clean()

    def test_the_recording_is_whole_when_the_block_is_left(self):
        self.run_program("""
            import pyannot
            for i in range(20):
                with pyannot.record("out.annot", force=True, sample=0):
                    for _ in range(100 * i):
                        with pyannot.annotate("r"):
                            pass
                seen = pyannot.read("out.annot")  # a collection of garbage may come at any time
                assert seen.complete and 100 * i == sum(r.domain != "python" for r in seen.ranges)
            """)

    def test_what_the_block_raises_is_raised(self):
        self.run_program("""
            import pyannot
            try:
                with pyannot.record("out.annot", sample=0):
                    with pyannot.annotate("raises"):
                        raise KeyError("mine")
            except KeyError as error:
                assert error.args == ("mine",) and error.__context__ is None
            else:
                raise AssertionError
            """)
        self.assertEqual(self.names(), {"raises": 1})

    def test_stop_twice_and_stop_inside_of_a_block(self):
        output = self.run_program("""
            import os, pyannot
            print(pyannot.stop_recording())
            pyannot.start_recording("out.annot", sample=0)
            pyannot.mark("m")
            print(os.path.basename(pyannot.stop_recording()), pyannot.stop_recording())
            with pyannot.record("other.annot", sample=0):
                pyannot.stop_recording()
                pyannot.stop_recording()
            """)
        self.assertEqual(output.split(), ["None", "out.annot", "None"])
        self.recording()
        self.recording("other.annot")

    def test_options_reach_annot(self):
        self.run_program("""
            import pyannot
            with pyannot.record("out.annot", sample=None, enable=["io", "net/http"],
                                disable="io/disk",
                                pool_size="1M", policy="wait"):
                for domain, category in [("io", None), ("io", "disk"), ("net", "http"),
                                         (None, None)]:
                    with pyannot.annotate(f"{domain} {category}", domain=domain, category=category):
                        pass
            """)
        self.assertEqual(self.names(), {"io None": 1, "net http": 1})

    def test_a_recording_of_a_stated_length_ends_by_itself(self):
        self.run_program("""
            import time, pyannot
            with pyannot.record("out.annot", sample=0, duration=0.05):
                until = time.monotonic() + 60
                while pyannot.enabled() and time.monotonic() < until:
                    with pyannot.annotate("r"):
                        time.sleep(0.001)
                assert not pyannot.enabled()
            """)
        self.assertGreater(self.names()["r"], 0)

    def test_threads_start_and_stop_it(self):
        self.run_program("""
            import threading, pyannot
            def run(function, *args, **options):
                thread = threading.Thread(target=function, args=args, kwargs=options)
                thread.start(); thread.join()
            def work():
                for _ in range(100):
                    with pyannot.annotate("in a thread"):
                        pass
            run(pyannot.start_recording, "out.annot", sample=0)
            run(work)
            with pyannot.annotate("in the first"):
                pass
            run(pyannot.stop_recording)
            """)
        self.assertEqual(self.names(), {"in a thread": 100, "in the first": 1})

    def test_what_runs_is_sampled(self):
        self.run_program("""
            import time, pyannot
            with pyannot.record("out.annot", sample=999):
                with pyannot.annotate("busy"):
                    until = time.process_time() + 0.3
                    while time.process_time() < until:
                        pass
            """)
        recording = self.recording()
        if recording.sample_count == 0:
            self.skipTest("nothing can be sampled here")
        self.assertGreater(recording.sample_count, 20)


class Refusals(Inside):
    REFUSED = """
        import sys, pyannot
        try:
            pyannot.start_recording(sys.argv[1], sample=0)
        except pyannot.RecordingError as error:
            print(error)
        else:
            print("recorded")
        """

    def test_a_second_recording_is_refused_and_the_first_goes_on(self):
        output = self.run_program("""
            import pyannot
            with pyannot.record("out.annot", sample=0):
                try:
                    pyannot.start_recording("other.annot")
                except pyannot.RecordingError as error:
                    print(error)
                with pyannot.annotate("still recorded"):
                    pass
            """)
        self.assertRegex(output, r"cannot record into .*other.annot: this program records into "
                                 r".*out.annot already\nhint: .*stop_recording")
        self.assertEqual(self.names(), {"still recorded": 1})
        self.assertFalse((self.folder / "other.annot").exists())

    def test_a_block_inside_of_a_block_is_refused_in_words_of_blocks(self):
        output = self.run_program("""
            import pyannot
            with pyannot.record(sample=0):
                try:
                    with pyannot.record(sample=0):
                        pass
                except pyannot.RecordingError as error:
                    print(error)
            """)
        self.assertIn("already, by a block of record()", output)
        self.assertNotIn("/tmp", output)
        self.assertNotIn("stop_recording", output)

    def test_a_file_that_is_there_is_kept(self):
        (self.folder / "out.annot").write_text("mine")
        output = self.run_program(self.REFUSED, "out.annot")
        self.assertIn("out.annot: File exists\nhint: ", output)
        self.assertEqual((self.folder / "out.annot").read_text(), "mine")

    def test_a_folder_that_is_not_there(self):
        output = self.run_program(self.REFUSED, "nowhere/out.annot")
        self.assertIn("nowhere/out.annot: No such file or directory\nhint: ", output)

    def test_under_annot_record_it_is_refused_and_the_outer_one_goes_on(self):
        self.environment["FOLDER"] = str(self.folder)
        recording = self.record("""
            import os, pyannot
            try:
                pyannot.start_recording(os.path.join(os.environ["FOLDER"], "inner.annot"), sample=0)
            except pyannot.RecordingError as error:
                print(error)
            with pyannot.annotate("in the outer"):
                pass
            pyannot.stop_recording()
            with pyannot.annotate("in the outer"):
                pass
            """)
        self.assertIn("its annotations go to another recording already: "
                      f"{self.folder / 'out.annot'}", self.output)
        self.assertEqual(recording.count("ranges"), {"in the outer": 2})
        self.assertFalse((self.folder / "inner.annot").exists())

    def test_no_annot_program(self):
        output = self.run_program(self.REFUSED, "out.annot",
                                  environment={"ANNOT": "/nowhere/annot"})
        self.assertRegex(output, "cannot run /nowhere/annot: No such file.*\nhint: .*ANNOT")
        output = self.run_program(self.REFUSED, "out.annot",
                                  environment={"ANNOT": "", "PATH": "/nowhere"})
        if "recorded" not in output:  # unless this interpreter has one installed beside it
            self.assertRegex(output, "the annot program is not found\nhint: .*pip install")

    def test_a_program_that_is_no_annot(self):
        output = self.run_program(self.REFUSED, "out.annot", environment={"ANNOT": "/bin/true"})
        self.assertIn("annot ended without a message", output)

    def test_wrong_options(self):
        self.run_program("""
            import pyannot
            for options in [{"sample": -1}, {"sample": 10**6}, {"policy": "maybe"},
                            {"pool_size": "many"}, {"enable": "a" * 1000}]:
                try:
                    pyannot.start_recording("out.annot", **options)
                except pyannot.RecordingError as error:
                    assert "cannot record into" in str(error) and error.hint, error
                else:
                    raise AssertionError(options)
            try:
                pyannot.start_recording()
            except TypeError:
                pass
            try:
                pyannot.start_recording("out.annot", observe="everything")
            except ValueError:
                pass
            with pyannot.record("out.annot", sample=0):  # nothing of it is left
                pass
            """)
        self.recording()


class Ends(Inside):
    def test_a_program_that_is_killed_leaves_a_whole_recording(self):
        program = self.start("""
            import os, signal, pyannot
            pyannot.start_recording("out.annot", sample=0)
            for _ in range(5000):
                with pyannot.annotate("kept"):
                    pass
            os.kill(os.getpid(), signal.SIGKILL)
            """)
        program.communicate(timeout=harness.TIMEOUT_SECONDS)
        self.assertEqual(program.returncode, -signal.SIGKILL)
        self.wait_for_collectors()
        self.assertEqual(self.names(), {"kept": 5000})
        self.assertNotIn(self.recording().processes[0].end, ("exit 0", "still running"))
        self.assert_directory_clean()

    def test_leaving_the_program_stops_it(self):
        for end in ("", "sys.exit(0)", "raise SystemExit"):
            with self.subTest(end=end):
                self.run_program("""
                    import sys, pyannot
                    pyannot.start_recording("out.annot", sample=0, force=True)
                    with pyannot.annotate("whole"):
                        pass
                    """ + end)
                self.assertEqual(self.names(), {"whole": 1})  # without ranges of waits

    def test_children_that_the_exit_waits_for_are_recorded_to_their_end(self):
        self.run_program("""
            import multiprocessing, time
            import pyannot

            def late():
                time.sleep(0.3)
                with pyannot.annotate("late"):
                    pass

            pyannot.start_recording("out.annot", sample=0)
            multiprocessing.get_context("fork").Process(target=late).start()
            """)
        self.assertEqual(self.names()["late"], 1)

    def test_children_survive_a_killed_parent_in_the_recording(self):
        program = self.start("""
            import os, signal, time, pyannot
            pyannot.start_recording("out.annot", sample=0)
            parent = os.getpid()
            if os.fork() == 0:
                while os.getppid() == parent:
                    time.sleep(0.001)
                time.sleep(0.3)
                with pyannot.annotate("orphan"):
                    pass
                os._exit(0)
            os.kill(os.getpid(), signal.SIGKILL)
            """)
        program.communicate(timeout=harness.TIMEOUT_SECONDS)
        self.wait_for_collectors()
        self.assertEqual(self.names()["orphan"], 1)

    def test_a_killed_annot_is_told_and_the_program_goes_on(self):
        output = self.run_program("""
            import os, signal, pyannot
            from pyannot import _recording
            pyannot.start_recording("out.annot", sample=0)
            with pyannot.annotate("r"):
                pass
            os.kill(_recording._state.collector._annot, signal.SIGKILL)
            with pyannot.annotate("r"):
                pass
            try:
                pyannot.stop_recording()
            except pyannot.RecordingError as error:
                print(error)
            with pyannot.record("next.annot", sample=0), pyannot.annotate("next"):
                pass
            """)
        self.assertIn("cannot complete", output)
        self.assertIn("annot recover completes it", output)
        self.assertEqual(self.names("next.annot"), {"next": 1})

    def test_an_annot_that_is_gone_sends_no_signal(self):
        """SIGPIPE ends many programs, for example the shell's tools."""
        output = self.run_program("""
            import os, signal, time, pyannot
            from pyannot import _recording
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            try:
                with pyannot.record("out.annot", sample=0):
                    annot = _recording._state.collector._annot
                    os.kill(annot, signal.SIGKILL)
                    while os.path.exists(f"/proc/{annot}/exe"):
                        time.sleep(0.001)
            except pyannot.RecordingError:
                print(signal.sigpending(), signal.pthread_sigmask(signal.SIG_BLOCK, []))
            """)
        self.assertEqual(output.split(), ["set()", "set()"])

    def test_a_program_that_closes_what_it_does_not_know(self):
        """Its next files reuse pyannot's numbers and stay unharmed; the recording is complete."""
        output = self.run_program("""
            import os, signal, time, pyannot
            from pyannot import _recording
            def work(end=None):
                pyannot.start_recording("out.annot", sample=0, force=True)
                before = {int(number) for number in os.listdir("/proc/self/fd")}
                os.closerange(3, max(before) + 1)
                files = [open(f"file{i}", "w+b", buffering=0) for i in range(8)]
                with pyannot.annotate("r"):
                    pass
                if end:
                    end()
                try:
                    pyannot.stop_recording()
                finally:
                    for file in files:
                        assert file.read() == b""
                        file.write(b"mine")
                        file.close()
            work()
            print(sum(range.name == "r" for range in pyannot.read("out.annot").ranges))
            try:
                work(lambda: os.kill(_recording._state.collector._annot, signal.SIGKILL))
            except pyannot.RecordingError as error:
                print(error)
            """)
        self.assertTrue(output.startswith("1\ncannot complete"), output)
        self.assertIn("annot recover", output)

    def test_control_c_while_it_begins_leaves_no_recording_behind(self):
        """The next recording can use the same file."""
        self.run_program("""
            import signal, time, pyannot
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            def record(seconds):
                signal.setitimer(signal.ITIMER_REAL, seconds)
                try:
                    pyannot.start_recording("out.annot", sample=0, force=True)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            def until_it_works(seconds):
                while True:
                    try:
                        record(seconds)
                    except KeyboardInterrupt:
                        return
                    except pyannot.RecordingError:  # the one before is about to end
                        time.sleep(0.01)
                        continue
                    finally:
                        pyannot.stop_recording()
                    return
            until_it_works(0)
            for i in range(12):
                until_it_works(0.0004 * (i + 1))
            until_it_works(0)
            while pyannot.enabled():  # one that was told to end before it began
                time.sleep(0.01)
            """)
        self.wait_for_collectors()

    def test_control_c_at_any_line_of_the_beginning_leaves_room_for_the_next(self):
        lines = int(self.run_program("""
            import sys, time, pyannot
            def interrupt_at(number):
                seen = [0]
                def trace(frame, event, arg):
                    if frame.f_code.co_name != "start_recording":
                        return None
                    seen[0] += event == "line"
                    if seen[0] == number:
                        sys.settrace(None)
                        raise KeyboardInterrupt
                    return trace
                sys.settrace(trace)
            def interrupted(number):
                interrupt_at(number)
                try:
                    pyannot.start_recording("out.annot", sample=0, force=True)
                except KeyboardInterrupt:
                    return True
                finally:
                    sys.settrace(None)
                pyannot.stop_recording()
                return False
            def record():
                until = time.monotonic() + 20
                while True:
                    try:
                        with pyannot.record("out.annot", sample=0, force=True):
                            return
                    except pyannot.RecordingError:  # the one before is about to end
                        if time.monotonic() > until:
                            raise
                        time.sleep(0.01)
            number = 1
            while interrupted(number):
                record()
                number += 1
            print(number)
            """))
        self.assertGreater(lines, 10)
        self.wait_for_collectors()

    def test_a_failure_does_not_hide_what_the_block_raised(self):
        self.run_program("""
            import os, signal, warnings, pyannot
            from pyannot import _recording
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                try:
                    with pyannot.record("out.annot", sample=0) as recording:
                        os.kill(_recording._state.collector._annot, signal.SIGKILL)
                        raise KeyError("mine")
                except KeyError:
                    pass
            assert [entry.category for entry in told] == [RuntimeWarning], told
            """)

    def test_a_full_disk_is_told(self):
        output = self.run_program("""
            import resource, signal, pyannot
            resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))
            try:
                with pyannot.record("/dev/full", sample=0, force=True):
                    for i in range(100000):
                        pyannot.mark(f"m{i}")
            except pyannot.RecordingError as error:
                print(error)
            """)
        self.assertIn("No space left on device", output)

    def test_other_programs_are_left_alone(self):
        bystander = self.start("""
            import sys, pyannot
            print("ready", flush=True)
            for line in sys.stdin:
                with pyannot.annotate("bystander"):
                    print(pyannot.status(), flush=True)
            """, stdin=subprocess.PIPE)
        self.addCleanup(bystander.communicate)
        self.assertEqual(bystander.stdout.readline(), "ready\n")
        program = self.start("""
            import sys, pyannot
            with pyannot.record("out.annot", sample=0):
                with pyannot.annotate("own"):
                    print("recording", flush=True)
                    sys.stdin.readline()
            """, stdin=subprocess.PIPE)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), "recording\n")
        bystander.stdin.write("go\n")
        bystander.stdin.flush()
        self.assertNotEqual(bystander.stdout.readline(), "recording\n")
        program.communicate("end\n", timeout=harness.TIMEOUT_SECONDS)
        self.assertEqual(self.names(), {"own": 1})


class Module(Inside):
    def test_python_m_pyannot_is_annot(self):
        def both(*words):
            return [subprocess.run([*program, *words], capture_output=True, text=True, check=False,
                                   env=self.environment, timeout=harness.TIMEOUT_SECONDS)
                    for program in ([ANNOT], [sys.executable, "-m", "pyannot"])]
        for words in (["--version"], ["help", "report"], ["report", "/nowhere"], ["nothing"]):
            annot, module = both(*words)
            self.assertEqual((annot.returncode, annot.stdout, annot.stderr),
                             (module.returncode, module.stdout, module.stderr))

    def test_python_m_pyannot_records_a_program(self):
        script = self.script("import pyannot\nwith pyannot.annotate('r'): pass")
        harness.run([sys.executable, "-m", "pyannot", "record", "-o", self.folder / "out.annot",
                     "--", sys.executable, script], env=self.environment)
        self.assertEqual(self.names()["r"], 1)

    def test_without_annot_it_says_what_to_do(self):
        result = subprocess.run([sys.executable, "-m", "pyannot", "ls"], capture_output=True,
                                text=True, check=False,
                                env={**self.environment, "ANNOT": "/nowhere/annot"})
        self.assertEqual(result.returncode, 127)
        self.assertIn("cannot run /nowhere/annot: No such file", result.stderr)


if __name__ == "__main__":
    harness.main()
