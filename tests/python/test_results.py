# SPDX-License-Identifier: MIT
"""Results inside of the program: text, stats, flame, html and notebooks of pyannot.record."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

import harness
import pyannot
from harness import ANNOT
from recording_program import Inside

NOBODY = 65534

WORK = """
    import json, os, sys, time, pyannot
    def spin(seconds):
        until = time.process_time() + seconds
        while time.process_time() < until:
            pass
    def sleepy(seconds):
        time.sleep(seconds)
"""


class ResultsTest(Inside):
    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir()
        self.environment["TMPDIR"] = str(self.temporary)
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
            self.environment.pop(name, None)

    def run_work(self, source, *args, **options):
        return self.run_program(WORK + source, *args, **options)


class Numbers(ResultsTest):
    def test_a_function_that_spins_is_what_the_rows_show(self):
        self.run_work("""
    with pyannot.record(sample=499) as r:
        spin(0.5)
    if r.recording.sample_count == 0:
        sys.exit()  # nothing can be sampled here
    for functions in ("own", "python"):
        rows = r.stats(sort="self", functions=functions)
        everything = sum(row.self_ns for row in rows)
        first = rows[0]
        assert (first.function, first.kind) == ("spin", "python"), first
        assert first.self_ns >= 0.9 * everything, rows
        assert 0.4e9 < first.self_ns <= first.total_ns < 1e9, first
        assert os.path.samefile(first.file, __file__) and 2 < first.line < 8, first
        assert first.sample_count > 100, first
    assert sum(row.self_ns for row in r.stats(functions="all")) > 0.4e9
    hottest = r.text().split("Hottest:")[1].splitlines()[0]
    assert "spin (program.py:" in hottest, hottest  # relative to where the program runs
            """)

    def test_a_block_that_sleeps_says_so(self):
        self.run_work("""
    with pyannot.record() as r:
        sleepy(0.4)
    if not r.recording.table("sampling")[0]["off_cpu"]:
        sys.exit()  # waits cannot be recorded here
    first = r.stats()[0]
    assert first.function == "sleepy" and 0.39e9 < first.blocked_ns < 0.6e9, first
    assert first.wall_ns > 0.9 * 0.4e9 and first.self_ns < 0.1e9, first
    headline = r.text(width=200).splitlines()[0]
    assert "(sleepy" in headline, headline  # before Python 3.11 time.sleep() is a select()
            """)

    def test_the_results_are_of_the_block_alone(self):
        self.run_work("""
    def wall():
        return r.recording.report()["recording"]["wall_ns"]
    best = 1e9
    for _ in range(8):  # on a busy machine, one of them
        with pyannot.record() as r:
            begin = time.monotonic_ns()
            spin(0.02)
            took = time.monotonic_ns() - begin
        assert wall() >= took, (wall(), took)
        best = min(best, wall() - took)
        waited = sum(row["total_ns"] for row in r.recording.table("wait_places")
                     if row["reason"] == "poll")
        assert waited == 0, r.text("--table", "wait_places")
    assert best < 2e6, best
    with pyannot.record() as r:
        pass
    assert wall() < 50e6 and "waiting for events" not in r.text(), r.text()
    with pyannot.record("out.annot", duration=0.05) as r:  # ends by itself
        sleepy(0.2)
    assert 0.04e9 < wall() < 0.2e9, wall()
    whole = r.text("--from", "0ms", "--to", "10s", width=200).splitlines()[0]
    assert whole != r.text(width=200).splitlines()[0], whole
            """)

    def test_a_thread_that_only_waits_has_a_row(self):
        self.run_work("""
    import threading
    def helper():
        for _ in range(4):
            time.sleep(0.03)
    with pyannot.record() as r:
        thread = threading.Thread(target=helper)
        thread.start()
        sleepy(0.2)
        thread.join()
    if not r.recording.table("sampling")[0]["off_cpu"]:
        sys.exit()  # waits cannot be recorded here
    rows = {row.function: row for row in r.stats()}
    assert rows["sleepy"].blocked_ns > 0.19e9, rows
    assert 0.11e9 < rows["helper"].blocked_ns < 0.2e9, rows
            """)

    def test_a_program_that_was_just_written_has_its_text(self):
        for _ in range(3):  # each begins at a different phase of a tick
            self.run_work("""
    with pyannot.record("out.annot", force=True, sample=999) as r:
        spin(0.2)
    if r.recording.sample_count:
        assert "while time.process_time() < until:" in r.text("--lines"), r.text("--lines")
    assert "source files that changed" not in r.text()
            """)

    def test_rows_are_sorted_and_limited(self):
        self.run_work("""
    with pyannot.record(sample=999) as r:
        spin(0.1); sleepy(0.05)
    for functions in ("own", "python", "all"):
        for sort, field in [("wall", "wall_ns"), ("self", "self_ns"), ("total", "total_ns"),
                            ("blocked", "blocked_ns"), ("runnable", "runnable_ns"),
                            ("count", "sample_count")]:
            values = [getattr(row, field) or 0 for row in r.stats(sort=sort, functions=functions)]
            assert values == sorted(values, reverse=True), (sort, values)
        names = [row.function for row in r.stats(sort="function", functions=functions)]
        assert names == sorted(names)
        assert len(r.stats(functions=functions, limit=1)) <= 1
    for wrong in ({"sort": "time"}, {"functions": "mine"}):
        try:
            r.stats(**wrong)
        except ValueError as error:
            assert "must be one of" in str(error)
        else:
            raise AssertionError(wrong)
            """)

    def test_the_rows_are_those_of_the_report(self):
        self.run_work("""
    with pyannot.record("out.annot", sample=999) as r:
        spin(0.2)
    with open("stats.json", "w") as file:
        json.dump([row._asdict() for row in r.stats(sort="function")], file)
            """)
        stats = json.loads((self.folder / "stats.json").read_text())
        told = harness.run([ANNOT, "report", "--json", str(self.folder / "out.annot")]).stdout
        rows = [row for row in json.loads(told)["own_functions"] if row.get("rest") is None]
        self.assertEqual(
            sorted((row["function"], row["self_ns"], row["blocked_ns"], row["sample_count"])
                   for row in stats),
            sorted((row["name"], row["cpu_ns"], row["blocked_ns"], row["sample_count"])
                   for row in rows))

    def test_the_text_is_that_of_annot_report(self):
        self.run_work("""
    with pyannot.record("out.annot") as r:
        spin(0.1)
    same = pyannot.read("out.annot")
    assert str(r) == r.text() == same.text()
    open("default", "w").write(r.text())
    open("narrow", "w").write(r.text(width=80))
    open("all", "w").write(r.text("--all", width=120))
            """)
        path = str(self.folder / "out.annot")
        for name, options, width in [("default", [], "100"), ("narrow", [], "80"),
                                     ("all", ["--all"], "120")]:
            self.assertEqual(
                (self.folder / name).read_text(),
                harness.run([ANNOT, "report", *options, path],
                            env={**self.environment, "COLUMNS": width}).stdout)


class Files(ResultsTest):
    def test_pictures_and_pages(self):
        output = self.run_work("""
    with pyannot.record(sample=999) as r:
        spin(0.2)
    for _ in range(2):  # they are replaced
        assert r.html("x.html") == os.path.abspath("x.html")
        if r.recording.sample_count:
            assert r.flame("x.svg", "--python-only") == os.path.abspath("x.svg")
            assert "spin" in open("x.svg").read()
    page = r.open()
    assert open(page).read() == open("x.html").read()
    os.unlink(page)
            """)
        self.assertIn("<html", (self.folder / "x.html").read_text())
        self.assertRegex(output, "no browser can be shown here; the page is .*html")
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_nothing_is_left_behind(self):
        """No files, descriptors, children, threads; also if blocks raise or are interrupted."""
        self.run_work("""
    import signal, threading
    def state():
        return (sorted(os.listdir("/proc/self/fd")), threading.active_count(),
                os.listdir(os.environ["TMPDIR"]), dict(os.environ))
    def block(i):
        with pyannot.record(sample=99 if i % 4 == 0 else 0) as r:
            if i % 5 == 1:
                raise KeyError
            if i % 5 == 2:
                os.kill(os.getpid(), signal.SIGINT)
            if i % 5 == 3:
                with pyannot.record():
                    pass
            sleepy(0.001)
        assert len(os.listdir(os.environ["TMPDIR"])) == 1
        if i % 10 == 0:
            r.text(); r.stats()
    def guarded(i):
        try:
            block(i)
        except (KeyError, KeyboardInterrupt, pyannot.RecordingError) as error:
            assert i % 5 != 3 or "this program is recorded already" in str(error)
        else:
            assert i % 5 in (0, 4)
    guarded(0)
    before = state()
    for i in range(20):
        guarded(i)
        assert state() == before, (i, state(), before)
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        pass
    else:
        raise AssertionError("a child is left")
            """)
        self.wait_for_collectors()  # they report it just before
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_forked_children_leave_the_results_alone(self):
        self.run_work("""
    with pyannot.record(sample=0) as r:
        child = os.fork()
        if child == 0:
            with pyannot.annotate("in the child"):
                pass
            r.stop()
            try:
                r.text()
            except pyannot.RecordingError:
                sys.exit(7)  # with its atexit handlers
            sys.exit(1)
        assert os.waitpid(child, 0)[1] == 7 << 8
        with pyannot.annotate("in the parent"):
            pass
    names = {range.name for range in r.recording.ranges if range.domain is None}
    assert names == {"in the child", "in the parent"}, names
            """)
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_the_file_goes_with_the_object_or_the_program(self):
        self.run_work("""
    r = pyannot.record(sample=0)
    folders = []
    for _ in range(3):
        assert r.start() is r and r.stop() is r and r.stop() is r
        r.text()
        folders.append(os.listdir(os.environ["TMPDIR"]))
    assert [len(folder) for folder in folders] == [1, 1, 1] and folders[0] != folders[1]
    del r
    assert os.listdir(os.environ["TMPDIR"]) == []
    kept = pyannot.record(sample=0).start().stop()
    running = pyannot.record(sample=0).start()
            """)
        self.wait_for_collectors()
        self.assertEqual(list(self.temporary.iterdir()), [])


class Refusals(ResultsTest):
    def test_results_that_are_not_there_yet(self):
        output = self.run_work("""
    r = pyannot.record(sample=0)
    def refused():
        assert str(r) == repr(r) and r._repr_mimebundle_() == {} and r._repr_html_() is None
        for see in (r.text, r.stats, r.open, lambda: r.html("x"), lambda: r.flame("x"),
                    lambda: r.recording):
            try:
                see()
            except pyannot.RecordingError as error:
                assert error.hint, error
                text = str(error).splitlines()[0]
            else:
                raise AssertionError
        print(repr(r), text)
        assert not os.path.exists("x")
    refused()
    with r:
        refused()
    try:
        r.flame("x.svg")
    except pyannot.RecordingError as error:
        print(error)
            """)
        self.assertIn("<pyannot.record: not started> there are no results: nothing was recorded",
                      output)
        self.assertIn("there are no results yet: the recording runs", output)
        self.assertRegex(output, "samples")

    def copy_annot(self):
        """Copies annot and the package in the build's layout: others may not enter its folder."""
        package = pathlib.Path(pyannot.__file__).parent
        shutil.copytree(package, self.folder / "pyannot" / "pyannot")
        (self.folder / "tools").mkdir()
        annot = shutil.copy(shutil.which(ANNOT), self.folder / "tools")
        self.environment.update(ANNOT=str(annot), PYTHONPATH=str(self.folder / "pyannot"))

    def test_without_rights_it_records_what_it_can_and_says_so(self):
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root, to give it up, and setpriv")
        for path in (self.folder, self.temporary, self.directory):
            os.chown(path, NOBODY, NOBODY)
        self.copy_annot()
        script = self.script(WORK + """
    with pyannot.record(sample=499) as r:
        spin(0.5)
    sampling = r.recording.table("sampling")[0]
    print(r.text())
    assert sampling["way"] != "eBPF", sampling
    if r.recording.sample_count:
        assert r.stats(sort="self")[0].function == "spin", r.stats()
            """)
        words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                 "--bounding-set=-all", sys.executable, str(script)]
        if subprocess.run([*words[:-1], "-c", "import pyannot"], env=self.environment,
                          capture_output=True, check=False).returncode != 0:
            self.skipTest("this interpreter is not for everybody to run")
        result = subprocess.run(words, env={**self.environment, "HOME": str(self.folder)},
                                cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("without eBPF: ", result.stdout)
        self.assertIn("hint: ", result.stdout)


class Notebooks(ResultsTest):
    def test_it_shows_itself(self):
        self.run_work("""
    with pyannot.record(sample=999) as r:
        spin(0.1)
    shown = r._repr_mimebundle_(include=None, exclude=None)
    assert shown["text/plain"] == r.text() and shown["text/html"] == r._repr_html_()
    assert shown["text/html"].startswith("<pre") and "spin" in shown["text/html"]
    assert ("<iframe" in shown["text/html"]) == (r.recording.sample_count > 0)
    assert pyannot.read(r.path)._repr_mimebundle_() == shown
            """)

    def test_a_real_notebook(self):
        harness.run_where_there_are("nbclient", "nbformat", "ipykernel")
        if not all(map(importlib.util.find_spec, ("nbclient", "nbformat", "ipykernel"))):
            self.skipTest("nbclient and ipykernel are not installed")
        import nbclient
        import nbformat
        from jupyter_client.manager import KernelManager

        cells = ["import pyannot, time",
                 "def slow():\n    until = time.process_time() + 0.3\n"
                 "    while time.process_time() < until: pass\n"
                 "with pyannot.record(sample=499) as r:\n    slow()\nr",
                 "r.stats(sort='self', limit=1)"]
        notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, cells)])
        manager = KernelManager(kernel_name="python3")
        environment = {**self.environment, "IPYTHONDIR": str(self.folder / "ipython"),
                       "JUPYTER_RUNTIME_DIR": str(self.folder / "jupyter")}
        manager.kernel_spec.argv[0] = sys.executable
        client = nbclient.NotebookClient(notebook, timeout=harness.TIMEOUT_SECONDS, km=manager)
        try:
            client.execute(env=environment, cwd=str(self.folder))
        finally:
            manager.shutdown_kernel()  # asks it first
        shown = notebook.cells[1].outputs[0].data
        self.assertIn("wall", shown["text/plain"])
        self.assertIn("<pre", shown["text/html"])
        if "0 samples" not in shown["text/plain"]:
            self.assertIn("function='slow'", notebook.cells[2].outputs[0].data["text/plain"])
        self.assertEqual(list(self.temporary.iterdir()), [])


if __name__ == "__main__":
    harness.main()
