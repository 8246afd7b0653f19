# SPDX-License-Identifier: MIT
"""Recorded children of programs that record themselves, and their view of the recording."""

import inspect
import json
import os
import pathlib
import shutil

import harness
import pyannot
from recording_program import Inside


class Children(Inside):
    def test_forked_and_spawned_children_are_recorded(self):
        self.run_program("""
            import concurrent.futures, multiprocessing, os, subprocess, sys
            import pyannot

            @pyannot.annotate("task")
            def task(n):
                return n

            if __name__ == "__main__":
                with pyannot.record("out.annot", sample=0, observe=False):
                    for method in ("fork", "spawn", "forkserver"):
                        context = multiprocessing.get_context(method)
                        with context.Pool(2) as pool:
                            assert pool.map(task, range(20)) == list(range(20))
                            pool.close()
                            pool.join()
                    code = "import pyannot\\nwith pyannot.annotate('command'): pass"
                    subprocess.run([sys.executable, "-c", code], check=True)
                    subprocess.run([sys.executable, "-I", "-c", "0"], check=True)
                    if os.fork() == 0:
                        with pyannot.annotate("forked"):
                            pass
                        os._exit(0)
                    os.wait()
            """)
        names = self.names()
        self.assertEqual({name: names[name] for name in ("task", "command", "forked")},
                         {"task": 60, "command": 1, "forked": 1})

    def test_a_child_that_lost_its_parent_is_recorded(self):
        """A daemon: forked twice, then another program by exec."""
        self.run_program("""
            import os, sys, time, pyannot
            code = "import pyannot; pyannot.mark('daemon'); open('done', 'w').close()"
            with pyannot.record("out.annot", sample=0):
                if os.fork() == 0:
                    between = os.getpid()
                    if os.fork() == 0:
                        os.setsid()
                        while os.getppid() == between:
                            time.sleep(0.001)
                        os.execv(sys.executable, [sys.executable, "-c", code])
                    os._exit(0)
                os.wait()
                until = time.monotonic() + 60
                while not os.path.exists("done") and time.monotonic() < until:
                    time.sleep(0.01)
            """)
        marks = [mark.name for mark in self.recording().marks if mark.domain != "python"]
        self.assertEqual(marks, ["daemon"])

    def test_a_forked_child_that_leaves_the_block_ends_nothing(self):
        self.run_program("""
            import os, sys, pyannot
            with pyannot.record("out.annot", sample=0):
                child = os.fork()
                if child == 0:
                    assert pyannot.stop_recording() is None
                else:
                    assert os.waitpid(child, 0)[1] == 0
                with pyannot.annotate("after the fork"):
                    pass
            if child == 0:
                sys.exit(0)
            """)
        self.assertEqual(self.names(), {"after the fork": 2})

    def test_a_forked_child_cannot_record_while_its_parent_does(self):
        output = self.run_program("""
            import os, pyannot
            pyannot.start_recording("out.annot", sample=0)
            child = os.fork()
            if child == 0:
                try:
                    pyannot.start_recording("child.annot", sample=0)
                except pyannot.RecordingError as error:
                    print(error, flush=True)
                os._exit(0)
            os.waitpid(child, 0)
            pyannot.stop_recording()
            if os.fork() == 0:
                with pyannot.record("child.annot", sample=0), pyannot.annotate("own"):
                    pass
                os._exit(0)
            os.wait()
            """)
        self.assertIn("its annotations go to another recording already", output)
        self.assertEqual(self.names("child.annot"), {"own": 1})

    def test_the_program_never_sees_the_one_that_records(self):
        self.run_program("""
            import multiprocessing, os, signal, subprocess, pyannot
            signals = []
            signal.signal(signal.SIGCHLD, lambda *args: signals.append(args))
            before = set(os.listdir("/proc/self/fd"))
            with pyannot.record("out.annot", sample=0):
                try:
                    print(os.waitpid(-1, os.WNOHANG))
                    raise AssertionError("there is a child")
                except ChildProcessError:
                    pass
                assert multiprocessing.active_children() == []
                tree = subprocess.run(["ps", "-o", "pid=", "--ppid", str(os.getpid())],
                                      capture_output=True, text=True).stdout.split()
                assert len(tree) <= 1, tree  # ps itself
                assert len(signals) == 1, signals
            assert len(signals) == 1, signals
            assert set(os.listdir("/proc/self/fd")) == before
            assert "ANNOT_SESSION" not in os.environ
            """)

    def test_the_one_that_records_keeps_nothing_of_the_program(self):
        self.run_program("""
            import os, signal, pyannot
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            read, write = os.pipe()
            os.set_inheritable(write, True)
            with pyannot.record("out.annot", sample=0):
                os.close(write)
                assert os.read(read, 1) == b""  # nobody else has it
                from pyannot import _recording
                pid = _recording._state.collector._annot
                assert os.getsid(pid) != os.getsid(0) and os.readlink(f"/proc/{pid}/cwd") == "/"
                status = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
                ignored = int(status["SigIgn"], 16)
                assert not ignored & 1 << signal.SIGXFSZ - 1  # as this interpreter does
                assert not ignored & 1 << signal.SIGUSR1 - 1
            """)

    def test_the_reaper_of_orphans_has_no_zombie_left(self):
        """The first process of a container is such a reaper."""
        self.run_program("""
            import ctypes, os, time, pyannot
            assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER
            with pyannot.record("out.annot", sample=0):
                pyannot.mark("m")
            try:
                os.waitpid(-1, os.WNOHANG)
                raise AssertionError("a child is left")
            except ChildProcessError:
                pass
            """)


    def test_pools_and_names_are_seen_in_children_of_every_kind(self):
        self.run_program("""
            import multiprocessing, os, subprocess, sys, pyannot

            def work(n):
                return n

            if __name__ == "__main__":
                before = dict(os.environ)
                with pyannot.record("out.annot", sample=0):
                    for method in ("fork", "spawn"):
                        with multiprocessing.get_context(method).Pool(2) as pool:
                            pool.map(work, range(10), chunksize=1)
                            pool.close()
                            pool.join()
                    subprocess.run([sys.executable, "-I", "-S", "-c", "0"], check=True)
                assert dict(os.environ) == before
            """)
        recording = self.recording()
        names = " ".join(process.name for process in recording.processes)
        for name in ("ForkPoolWorker-1", "SpawnPoolWorker-3"):
            self.assertIn(name, names)
        self.assertGreater(sum(1 for row in recording.ranges if row.domain == "python"), 0)

    START_CHILD = """
        import os, subprocess, sys, pyannot
        before = dict(os.environ)
        with pyannot.record("out.annot", sample=0):
            print(os.environ["ANNOT_PLACE"])
            subprocess.run([sys.executable, "-S", "-c", "pass"], check=True)
        assert dict(os.environ) == before
        """

    def installed(self, folder):
        """The environment with pyannot in a folder of that name."""
        package = pathlib.Path(pyannot.__file__).parent
        place = self.folder / folder
        shutil.copytree(package, place / "pyannot", symlinks=True,
                        ignore=shutil.ignore_patterns("*.p"))
        cache = self.folder / "cache"
        cache.mkdir(exist_ok=True)
        start = f"import sys; sys.path.insert(0, {str(place)!r})\n"
        return start, {"PYTHONPATH": "", "XDG_CACHE_HOME": str(cache), "ANNOT": harness.ANNOT}

    def observed(self, folder):
        """The number of processes with pyannot, and the notes, if it is installed there."""
        start, environment = self.installed(folder)
        source = start + inspect.cleandoc(self.START_CHILD)
        output = self.run_program(source, environment=environment)
        facts = json.loads(harness.run([harness.ANNOT, "info", "--json",
                                        str(self.folder / "out.annot")]).stdout)["sampling"]
        status = os.stat(self.environment["ANNOT_DIR"])
        self.assertEqual(output.strip(), f"{status.st_dev:x}-{status.st_ino:x}")
        (self.folder / "out.annot").unlink()
        return facts["counts"].get("Python processes with pyannot"), facts["notes"]

    def test_a_path_with_characters_of_lists_is_preloaded_by_a_link(self):
        for folder in ("plain", "a blank", "a:colon", "a$dollar;[x]"):
            with self.subTest(folder):
                processes, notes = self.observed(folder)
                self.assertEqual(processes, 2)
                self.assertFalse([note for note in notes if "load pyannot only where" in note])

    def test_what_cannot_be_preloaded_is_said(self):
        self.environment["HOME"] = ""
        shadow = pathlib.Path(f"/tmp/annot-{os.geteuid()}")
        if shadow.exists():
            self.skipTest(f"{shadow} is there")
        shadow.write_text("")
        self.addCleanup(shadow.unlink)
        start, environment = self.installed("a blank")
        (self.folder / "cache").rmdir()
        (self.folder / "cache").write_text("")
        self.run_program(start + inspect.cleandoc(self.START_CHILD), environment=environment)
        notes = json.loads(harness.run([harness.ANNOT, "info", "--json",
                                        str(self.folder / "out.annot")]).stdout)
        said = [note for note in notes["sampling"]["notes"] if "load pyannot only where" in note]
        self.assertEqual(len(said), 1)

    def test_nothing_is_observed_where_that_is_not_wanted(self):
        self.run_program("""
            import multiprocessing, os, pyannot
            def work(n):
                return n
            if __name__ == "__main__":
                with pyannot.record("out.annot", sample=0, observe=False):
                    assert "LD_PRELOAD" not in os.environ
                    with multiprocessing.get_context("spawn").Pool(2) as pool:
                        pool.map(work, range(10))
                        pool.close()
                        pool.join()
            """)
        self.assertEqual([row for row in self.recording().ranges], [])
        self.assertEqual([row for row in self.recording().marks], [])


if __name__ == "__main__":
    harness.main()
