# SPDX-License-Identifier: MIT
"""Bad input and bad moments: whatever a program does with annotations, and whenever, it continues
as it would without them, and the recording is correct."""

import os
import subprocess
import sys
import unittest

import harness

NAMES = """
    import pyannot

    names = ["", "a\\0b", "\\0", "\\udcff", "\\ud83d", "\\U0001f600", "\\x1e\\x1f\\n\\t",
             "x" * (1 << 20), "\\u00e9" * (1 << 20), "\\udc80" * 5000, "%s%n", "a b=c", "\\u202e"]

    class Name(str):
        def __eq__(self, other):
            raise AssertionError("compared")
        __hash__ = str.__hash__
        def __str__(self):
            raise AssertionError("converted")
        __repr__ = __len__ = __getitem__ = __iter__ = __str__

    names.append(Name("subclass"))

    def everything(name):
        domain, track, flow = pyannot.domain(name), pyannot.track(name), pyannot.flow(name)
        with pyannot.annotate(name, domain=name, category=name, payload=name, item=name):
            pyannot.push(name, payload={str.__str__(name): name})
            pyannot.pop()
            pyannot.mark(name)
            pyannot.counter(name, 1)
            pyannot.counter(name, {str.__str__(name): 2})
            pyannot.end(pyannot.start(name))
            with domain.annotate(name), track.annotate(name):
                flow.begin()
            pyannot.flow(name, 3).end()
            track.begin(name)
            track.mark(name)
            track.end()
            pyannot.set_thread_name(name)
        pyannot.annotate(name)(lambda: None)()

    for name in names * 3:
        everything(name)
    pyannot.set_process_name("named at last")
    pyannot.set_thread_name("the thread")
    print(pyannot.enabled(), len(names))
"""

SHUTDOWN = """
    import atexit
    import sys
    import threading
    import time
    import weakref

    import pyannot
    from pyannot import annotate

    class Leaves:
        \"\"\"Annotates when it goes, by names that it kept.\"\"\"

        def __init__(self, name):
            self.name = name

        def __del__(self, annotate=annotate, mark=pyannot.mark, track=pyannot.track("dying")):
            with annotate(self.name):
                mark("in __del__", of=self.name)
            with track.annotate("dying"):
                pass

    class Cycle(Leaves):
        def __init__(self, name):
            super().__init__(name)
            self.itself = self

    @annotate
    def decorated():
        return 1

    @annotate
    def generator():
        with annotate("inside"):
            yield 1

    def forever():
        pyannot.set_thread_name("daemon")
        while True:
            with annotate("daemon works", item=1):
                decorated()
                pyannot.counter("daemon", {"x": 1})
            time.sleep(0.0005)  # the buffers are drained

    def at_exit(kept=Leaves("of atexit")):
        with annotate("at exit"):
            decorated()
            time.sleep(0.02)  # the daemon goes on

    atexit.register(at_exit)
    Leaves("at once")
    Cycle("of a cycle")
    kept = Leaves("of the module")
    kept_cycle = Cycle("of the module, a cycle")
    suspended = generator()
    next(suspended)
    weakref.finalize(kept, decorated)
    for _ in range(3 if "daemons" in sys.argv else 0):
        threading.Thread(target=forever, daemon=True).start()
    pyannot.push("never closed")
    time.sleep(0.05)
"""


class Names(harness.RecordingTest):
    def test_any_str_is_a_name_of_anything(self):
        recording = self.record(NAMES)
        self.assertEqual(self.output.split(), ["True", "14"])
        self.assertEqual(recording.lost(), 0)
        self.assertEqual(recording.process_names, ["named at last"])
        counts = recording.count("ranges")
        for name in ("a b", "\\udcff", "\\ud83d", "\U0001f600", "%s%n", "subclass", "a b=c"):
            with self.subTest(name=name):
                self.assertEqual(counts[name], 12, counts)
        self.assertLessEqual(max(map(len, counts)), 1024)

    def test_nor_does_it_matter_while_nobody_records(self):
        done = harness.run([sys.executable, str(self.script(NAMES))], env=self.environment)
        self.assertEqual(done.stdout.split(), ["False", "14"])


class Pairs(harness.RecordingTest):
    def told(self, words):
        """The count that `annot info` prints for these words."""
        for line in harness.run([harness.ANNOT, "info", str(self.folder / "out.annot")]).stdout \
                .partition("remarkable calls")[2].splitlines():
            if words in line:
                return int(line.split()[0].replace(",", ""))
        return 0

    def test_ends_without_begins(self):
        recording = self.record("""
            import pyannot

            track = pyannot.track("track")
            for _ in range(5):
                pyannot.pop()
            pyannot.annotate("a").__exit__(None, None, None)
            track.end()
            track.annotate("a").__exit__(None, None, None)
            pyannot.end(0)
            with pyannot.annotate("well"):
                pyannot.pop()
            with pyannot.annotate("and"):
                pass
        """)
        self.assertEqual(recording.count("ranges"), {"well": 1, "and": 1})
        self.assertEqual(self.told("pops without a push"), 6)

    def test_a_range_is_ended_once(self):
        recording = self.record("""
            import pyannot

            first, second = pyannot.start("first"), pyannot.start("second")
            for _ in range(3):
                pyannot.end(first)
            pyannot.end(second)
            pyannot.end((1 << 64) - 1)
            pyannot.end(12345)
            for wrong in (-1, 1 << 64, 1.5, None, "1"):
                try:
                    pyannot.end(wrong)
                except (TypeError, OverflowError):
                    print("refused")
        """)
        self.assertEqual(self.output.split(), ["refused"] * 5)
        self.assertEqual(recording.count("free_ranges"), {"first": 1, "second": 1})

    def test_a_token_of_another_process_ends_nothing(self):
        recording = self.record("""
            import os
            import subprocess
            import sys

            import pyannot

            token = pyannot.start("the parent's")
            child = os.fork()
            if child == 0:
                pyannot.end(token)
                with pyannot.annotate("of the child"):
                    pyannot.end(pyannot.start("the child's"))
                os._exit(0)
            os.waitpid(child, 0)
            program = "import sys, pyannot; pyannot.end(int(sys.argv[1])); pyannot.mark('other')"
            subprocess.run([sys.executable, "-c", program, str(token)], check=True)
            pyannot.mark("before its end")
            pyannot.end(token)
        """)
        self.assertEqual(recording.count("free_ranges"), {"the parent's": 1, "the child's": 1})
        marks = {mark["name"]: mark["ts"] for mark in recording.marks}
        end = [e["ts"] for e in recording.events if e["ph"] == "e" and e["name"] == "the parent's"]
        self.assertGreater(end[0], marks["before its end"])
        self.assertGreaterEqual(self.told("ends of ranges that are not open here"), 1)

    def test_a_range_of_a_track_is_not_ended_by_a_fork_inside_of_it(self):
        recording = self.record("""
            import os
            import subprocess
            import sys

            import pyannot

            track, handed = pyannot.track("track"), pyannot.track("handed over")
            track.begin("the parent's")
            handed.begin("ended elsewhere")
            child = os.fork()
            if child == 0:
                track.end()
                track.begin("the child's")
                track.end()
                with track.annotate("a statement of the child"):
                    track.begin("and inside")
                    if os.fork() == 0:
                        track.end()
                        os._exit(0)
                    os.wait()
                    track.end()
                track.end()
                os._exit(0)
            os.waitpid(child, 0)
            program = "import sys, pyannot; pyannot.track('handed over', id=int(sys.argv[1])).end()"
            subprocess.run([sys.executable, "-c", program, str(handed.id)], check=True)
            pyannot.mark("before its end")
            track.end()
        """)
        self.assertEqual(recording.count("free_ranges"), dict.fromkeys(
            ["the parent's", "the child's", "a statement of the child", "and inside",
             "ended elsewhere"], 1))
        mark, = (mark["ts"] for mark in recording.marks)
        ends = {e["name"]: e["ts"] for e in recording.events if e["ph"] == "e"}
        self.assertGreater(ends["the parent's"], mark)
        self.assertLess(ends["ended elsewhere"], mark)
        self.assertEqual(self.told("ends of ranges that are not open here"), 3)

    def test_objects_are_used_after_a_fork(self):
        recording = self.record("""
            import os

            import pyannot
            from pyannot import annotate

            kept, track, flow = annotate("kept", item=1), pyannot.track("track"), pyannot.flow("f")
            library = pyannot.domain("library")

            @annotate
            def function():
                pass

            def everything():
                with kept, library.annotate("inside"), track.annotate("on it"):
                    function()
                flow.step()

            everything()
            kept.__enter__()                      # left in both
            if os.fork() == 0:
                everything()
                kept.__exit__(None, None, None)   # the parent's: nothing here
                with annotate("last of the child"):
                    pass
                os._exit(0)
            os.wait()
            kept.__exit__(None, None, None)
            everything()
        """)
        counts = recording.count("ranges")
        self.assertEqual(counts["function"], 3)
        self.assertEqual(counts["inside"], 3)
        self.assertEqual(counts["last of the child"], 1)
        self.assertEqual(counts["kept"], 4)
        self.assertEqual(recording.lost(), 0)


class Moments(harness.RecordingTest):
    def shut_down(self, *arguments):
        """The ranges of the program, which prints nothing with or without a recorder."""
        path = self.script(SHUTDOWN)
        alone = [sys.executable, str(path), *arguments]
        for command in (alone, self.command(path, *arguments)):
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  env=self.environment, timeout=harness.TIMEOUT_SECONDS)
            told = harness.without_annot(done.stderr)
            self.assertEqual((done.returncode, done.stdout, told), (0, "", []))
        return harness.Recording(self.folder / "out.annot").count("ranges")

    def test_the_end_of_the_interpreter(self):
        counts = self.shut_down()
        for name in ("at once", "of a cycle", "of the module", "of the module, a cycle",
                     "at exit", "never closed"):
            with self.subTest(name=name):
                self.assertEqual(counts[name], 1, counts)

    def test_daemon_threads_go_on_at_exit(self):
        counts = self.shut_down("daemons")
        self.assertEqual(counts["at exit"], 1)
        self.assertGreater(counts["daemon works"], 10)

    def test_signal_handlers_annotate_inside_of_annotations(self):
        recording = self.record("""
            import signal
            import time

            import pyannot
            from pyannot import annotate

            handled, track = [], pyannot.track("signals")

            def handler(number, frame):
                with annotate("handler", number=number):
                    pyannot.mark("in the handler")
                    pyannot.counter("handled", {"signals": len(handled)})
                with track.annotate("handler of track"):
                    handled.append(number)

            signal.signal(signal.SIGALRM, handler)
            signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
            rounds, end = 0, time.monotonic() + 60
            while len(handled) < 100 and time.monotonic() < end:
                with annotate("outer"):
                    with annotate("inner", round=rounds):
                        pass
                rounds += 1
                if rounds % 64 == 0:
                    time.sleep(0.0005)  # the buffers are drained
            signal.setitimer(signal.ITIMER_REAL, 0)
            print(len(handled), rounds)
        """)
        handled, rounds = map(int, self.output.split())
        counts = recording.count("ranges")
        lost = recording.lost()
        self.assertGreaterEqual(handled, 100)
        for name, expected in (("outer", rounds), ("inner", rounds), ("handler", handled)):
            self.assertLessEqual(counts[name], expected)
            self.assertGreaterEqual(counts[name], expected - lost)
        if lost == 0:
            parents = set(recording.parents())
            self.assertLessEqual(parents, {("outer", None), ("inner", "outer"), ("handler", None),
                                           ("handler", "outer"), ("handler", "inner"),
                                           ("handler", "handler")})

    def test_exceptions_of_signal_handlers_leave_ranges_as_any_other(self):
        recording = self.record("""
            import signal

            from pyannot import annotate

            def handler(number, frame):
                raise KeyboardInterrupt

            signal.signal(signal.SIGALRM, handler)
            for _ in range(20):
                try:
                    with annotate("round"):
                        signal.setitimer(signal.ITIMER_REAL, 0.002)
                        while True:
                            pass
                except KeyboardInterrupt:
                    pass
            with annotate("outside"):
                pass
        """)
        self.assertEqual(recording.count("ranges"), {"round": 20, "outside": 1})
        self.assertEqual(set(recording.parents()), {("round", None), ("outside", None)})

    def test_recursion_to_the_limit(self):
        recording = self.record("""
            from pyannot import annotate

            @annotate
            def deep():
                with annotate("inside"):
                    deep()

            for _ in range(3):
                try:
                    deep()
                except RecursionError:
                    pass
            with annotate("outside"):
                pass
        """)
        self.assertIn(("outside", None), set(recording.parents()))


class Directories(harness.RecordingTest):
    """Unusable $ANNOT_DIR: the program runs, and status() says why it is not recorded."""

    PROGRAM = """
        import pyannot

        with pyannot.annotate("a", item=1):
            pyannot.mark("b")
            pyannot.end(pyannot.start("c"))
        print(pyannot.enabled(), pyannot.status())
    """

    def run_in(self, directory, enabled=("False",)):
        environment = dict(self.environment, ANNOT_DIR=str(directory))
        done = harness.run([sys.executable, str(self.script(self.PROGRAM))], env=environment,
                           cwd=self.folder)
        self.assertEqual(done.stderr, "")
        told, _, status = done.stdout.strip().partition(" ")
        self.assertIn(told, enabled)
        return status

    def test_each_is_survived_and_told(self):
        folder = self.folder
        (folder / "file").write_text("no directory")
        (folder / "open").mkdir()
        os.chmod(folder / "open", 0o777)
        (folder / "link").symlink_to(folder / "open")
        (folder / "loop").symlink_to(folder / "loop")
        (folder / "wake is a directory").mkdir(mode=0o700)
        (folder / "wake is a directory" / "wake").mkdir()
        (folder / "wake is garbage").mkdir(mode=0o700)
        (folder / "wake is garbage" / "wake").write_bytes(os.urandom(4096))
        for name in ("file", "file/below", "missing/below", "open", "link", "loop",
                     "wake is a directory", "wake is garbage", "x" * 300, "y/" * 3000):
            with self.subTest(directory=name[:40]):
                status = self.run_in(folder / name)
                self.assertNotIn(status, ("", "recording", "nobody records"))

    def test_an_empty_one_counts_as_none_and_a_relative_one_is_what_it_says(self):
        # The user's own directory, where a recording may run: the program must exit normally.
        self.run_in("", enabled=("False", "True"))
        self.assertEqual(self.run_in("relative"), "nobody records")
        self.assertTrue((self.folder / "relative" / "wake").exists())


if __name__ == "__main__":
    harness.main()
