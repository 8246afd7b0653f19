# SPDX-License-Identifier: MIT
"""`annot record` loads pyannot into each interpreter below the command, and into no other process.

Each interpreter of this machine is entered once for every way to start one: those without a pyannot
report that, which only an entered interpreter can."""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import harness
import interpreters
from harness import ANNOT, RecordingTest, run

import pyannot
from pyannot import observe

PRELOADED = "annot-preload.so"
IS_HERE = "import sys; print('pyannot.observe' in sys.modules)"
# Prints two words: if the interpreter's list of audit hooks still leads into the library, and if
# the library is loaded at all.
HOOKS_LEFT = """
import ctypes, struct
maps = [line.split() for line in open("/proc/self/maps")]
spans = [(*(int(n, 16) for n in m[0].split("-")), m[1], m[-1]) for m in maps]
ours = [s[:2] for s in spans if s[3].endswith("annot-preload.so")]
writable = [s[:2] for s in spans if s[2].startswith("rw")]
base = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
end = next(s[1] for s in spans if s[0] <= base < s[1])
memory = open("/proc/self/mem", "rb", 0)
def read(address, size):
    memory.seek(address)
    return memory.read(size)
def is_hook(word):
    if word % 8 or not any(a <= word < b - 24 for a, b in writable):
        return False
    return any(a <= struct.unpack("<QQQ", read(word, 24))[1] < b for a, b in ours)
words = read(base, min(end - base, 1 << 16) & ~7)
print(any(is_hook(w) for w, in struct.iter_unpack("<Q", words)), bool(ours))
"""


class PreloadTest(RecordingTest):
    def setUp(self):
        super().setUp()
        self.environment.pop("PYTHONPATH", None)
        self.environment.pop("ANNOT_PYTHON")
        # This package, which may be built for another interpreter than the build's.
        self.environment["ANNOT_PYTHON_PATH"] = str(pathlib.Path(observe.__file__).parents[2])

    def run_recorded(self, *words, options=(), **changes):
        """The command's standard output; the recording is out.annot."""
        command = [ANNOT, "record", "-o", str(self.folder / "out.annot"), "--force",
                   "--sampling=none", *options, "--", *map(str, words)]
        result = subprocess.run(command, capture_output=True, text=True, check=False,
                                timeout=harness.TIMEOUT_SECONDS,
                                env={**self.environment, **changes})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_directory_clean()
        return result.stdout

    def info(self):
        return json.loads(run([ANNOT, "info", "--json", str(self.folder / "out.annot")]).stdout)

    def notes(self):
        return self.info()["sampling"].get("notes", {})

    def counts(self):
        return self.info()["sampling"].get("counts", {})


class Interpreters(PreloadTest):
    def every_way(self, python):
        """Commands that each start one interpreter, and their number."""
        script = self.script("pass\n")
        (self.folder / "module_here.py").write_text("pass\n")
        quoted = f"'{python}'"
        ways = [f"{quoted} -c pass", f"{quoted} {script}", f"{quoted} -m module_here",
                f"echo pass | {quoted}", f"{quoted} -I -S -E -c pass"]
        return f"cd {self.folder} && " + " && ".join(ways), len(ways)

    def test_each_that_has_none_says_so_in_every_way_it_is_started(self):
        found = [python for python in interpreters.find()
                 if not self.has_pyannot(python)]
        if not found:
            self.skipTest("every interpreter here has a pyannot")
        for python in found:
            with self.subTest(str(python)):
                command, count = self.every_way(python.command)
                self.run_recorded("sh", "-c", command)
                told = {text: times for text, times in self.notes().items()
                        if text.startswith("Python without pyannot: ")}
                self.assertEqual(list(told.values()), [count], told)
                remedy = (r"(\S+) \(cpython-\S+\): not installed; in annot's source: "
                          r"\1 -m pip install \.$")
                self.assertRegex(list(told)[0], remedy)

    @staticmethod
    def has_pyannot(python):
        name = f"pyannot/_native{python.suffix}"
        annots = pathlib.Path(ANNOT).parents[1] / "pyannot"
        folders = pathlib.Path(observe.__file__).parents[2], annots
        return any((folder / name).exists() for folder in folders) or subprocess.run(
            [python.command, "-c", "import pyannot"], capture_output=True, check=False,
            cwd="/").returncode == 0

    def test_this_one_has_it_whatever_its_flags(self):
        for flags in ([], ["-I"], ["-S"], ["-E"], ["-I", "-S", "-E"], ["-X", "utf8"]):
            with self.subTest(flags):
                self.assertEqual(self.run_recorded(sys.executable, *flags, "-c", IS_HERE), "True\n")
                self.assertEqual(self.counts()["Python processes with pyannot"], 1)

    def test_a_virtual_environment_without_it_gets_it(self):
        run([sys.executable, "-m", "venv", "--without-pip", str(self.folder / "venv")])
        python = self.folder / "venv/bin/python"
        self.assertEqual(self.run_recorded(python, "-c", IS_HERE), "True\n")

    def test_no_hook_is_left_in_the_interpreter(self):
        for python in [sys.executable, *(python.command for python in interpreters.find())]:
            with self.subTest(python):
                told = self.run_recorded(python, "-W", "ignore", "-c", HOOKS_LEFT)
                self.assertEqual(told, "False True\n")

    def test_modules_beside_the_script_are_not_taken_for_those_of_the_library(self):
        for name in ("os", "_thread", "_posixsubprocess", "pyannot"):
            (self.folder / f"{name}.py").write_text(f"raise SystemExit('imported {name}')\n")
        path = self.script("import sys; print('pyannot.observe' in sys.modules, sys.path[0])\n")
        self.assertEqual(self.run_recorded(sys.executable, path), f"True {self.folder}\n")

    def test_the_program_sees_its_own_namespace_and_path(self):
        source = "import sys; print(sorted(globals()), sys.path, sys.argv, sys.gettrace())"
        plain = run([sys.executable, "-c", source, "x"], env=self.environment, cwd=self.folder)
        self.assertEqual(self.run_recorded(sys.executable, "-c", source, "x"), plain.stdout)

    def test_a_start_imports_three_modules(self):
        """One more import would double the cost of every interpreter's start."""
        source = "import sys; print(sorted(m for m in sys.modules if m.startswith('pyannot')))"
        # Without site: its .pth files may import other modules.
        self.assertEqual(self.run_recorded(sys.executable, "-S", "-c", source),
                         "['pyannot', 'pyannot._native', 'pyannot.observe']\n")

    def test_the_usual_start_compiles_nothing(self):
        """bootstrap.py runs only if pyannot is not found at once."""
        (self.folder / "sitecustomize.py").write_text(
            "import sys\ntexts = []\n"
            "sys.addaudithook(lambda event, args: event == 'compile' and texts.append(args[1]))\n")
        source = "import sitecustomize; print(sitecustomize.texts.count('<string>'))"
        path = str(self.folder)
        plain = run([sys.executable, "-c", source], env={**self.environment, "PYTHONPATH": path})
        told = self.run_recorded(sys.executable, "-c", source, PYTHONPATH=path)
        self.assertEqual(told, plain.stdout)
        self.assertEqual(self.counts()["Python processes with pyannot"], 1)
        before = self.run_recorded(sys.executable, "-c", source,
                                   PYTHONPATH=f"{self.broken()}:{path}")
        self.assertEqual(before, plain.stdout)  # also if a broken one comes first

    def broken(self):
        """A folder with a pyannot that cannot be imported."""
        package = self.folder / "broken/pyannot"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise RuntimeError('broken on purpose')\n")
        return str(package.parent)

    def test_where_the_interpreters_own_is_broken_annots_serves(self):
        self.run_recorded(sys.executable, "-c", "pass", PYTHONPATH=self.broken())
        self.assertEqual(self.counts()["Python processes with pyannot"], 1)

    def test_a_broken_one_is_told_and_the_program_runs(self):
        """With the preloaded library alone: else annot's own package would be found."""
        library = self.run_recorded("sh", "-c", "echo $LD_PRELOAD").strip()
        told = self.run_recorded(
            "env", f"LD_PRELOAD={library}", f"PYTHONPATH={self.broken()}", "ANNOT_PYTHON_PATH=",
            sys.executable, "-c", "print('ran')")
        self.assertEqual(told, "ran\n")
        note, = (text for text in self.notes() if text.startswith("Python without pyannot"))
        self.assertIn("RuntimeError: broken on purpose", note)
        self.assertIn("pip install --force-reinstall .", note)


class Children(PreloadTest):
    SOURCE = """
        import concurrent.futures, multiprocessing, os, subprocess, sys, threading

        def task(_):
            return os.getpid()

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            with context.Pool(2) as pool:
                pool.map(task, range(4), 1)
                pool.close()
                pool.join()
            process = context.Process(target=task, args=(1,), name="by its name")
            process.start()
            process.join()
    """

    def names(self, method):
        self.run_recorded(sys.executable, self.script(self.SOURCE), method,
                          options=["--python", "names"])
        self.assertEqual(self.notes(), {})
        recording = harness.Recording(self.folder / "out.annot")
        return recording, [re.sub(r" \(?\d+\)?$", "", name) for name in recording.process_names]

    def check_names(self, method, worker):
        recording, names = self.names(method)
        for name in (f"{worker}-1", f"{worker}-2", "by its name"):
            self.assertIn(name, names)
        self.assertTrue(any("program.py" in name for name in names), names)
        self.check_arrows(recording)

    def check_arrows(self, recording):
        """Each named child has an arrow from another process."""
        begins = {event["id"]: event for event in recording.events if event["ph"] == "s"}
        ends = [event for event in recording.events if event["ph"] == "f"]
        across = {end["pid"] for end in ends
                  if end["id"] in begins and begins[end["id"]]["pid"] != end["pid"]}
        self.assertGreaterEqual(len(across), 3)

    def test_fork(self):
        self.check_names("fork", "ForkPoolWorker")

    def test_spawn(self):
        self.check_names("spawn", "SpawnPoolWorker")

    def test_forkserver(self):
        self.check_names("forkserver", "ForkServerPoolWorker")

    SAYS = """
        import multiprocessing, os, sys, threading, pyannot

        def say(name):
            pyannot.set_process_name(name)
            multiprocessing.current_process().name = threading.current_thread().name = "later"

        def nothing():
            pyannot.mark("here")

        def of_thread():
            pyannot.set_thread_name("my thread")
            threading.current_thread().name = "later"
            pyannot.mark("renamed")

        if "everywhere" in sys.argv:
            pyannot.set_process_name("said by all")
        if __name__ == "__main__":
            pyannot.set_process_name("the parent's")
            context = multiprocessing.get_context(sys.argv[1])
            for name, target, arguments in (("Own", say, ("mine",)), ("Other", nothing, ())):
                process = context.Process(target=target, args=arguments, name=name)
                process.start()
                process.join()
            if os.fork() == 0:
                os._exit(nothing() is not None)
            os.wait()
            thread = threading.Thread(target=of_thread)
            thread.start()
            thread.join()
    """

    def said(self, *arguments):
        """The names of the processes of SAYS, and of threads."""
        self.run_recorded(sys.executable, self.script(self.SAYS), *arguments,
                          options=["--python", "names"])
        recording = harness.Recording(self.folder / "out.annot")
        names = [re.sub(r" \(?\d+\)?$", "", name) for name in recording.process_names]
        return sorted(name for name in names if not name.endswith("tracker)")), recording

    def test_what_a_process_says_stays_its_own(self):
        """A parent's name is not taken for its workers' names."""
        for method in ("fork", "spawn"):
            with self.subTest(method):
                names, recording = self.said(method)
                self.assertEqual(names, ["Other", "mine", "the parent's", "the parent's"])
                self.assertIn("my thread", recording.thread_names)
                self.assertNotIn("later", recording.thread_names)

    def test_what_a_script_says_in_each_worker_stays_there(self):
        names, _ = self.said("spawn", "everywhere")
        self.assertEqual(names, ["mine", "said by all", "the parent's", "the parent's"])

    def test_ls_tells_workers_apart(self):
        source = """
            import json, multiprocessing, os, subprocess, sys

            def own_name(_):
                rows = subprocess.run([sys.argv[1], "ls", "--json"], check=True,
                                      capture_output=True, text=True).stdout.splitlines()
                return next(row["process"] for row in map(json.loads, rows)
                            if row["pid"] == os.getpid())

            if __name__ == "__main__":
                with multiprocessing.get_context("fork").Pool(1) as pool:
                    print(own_name(0), pool.apply(own_name, (0,)))
                    pool.close()
                    pool.join()
        """
        told = self.run_recorded(sys.executable, self.script(source), ANNOT)
        self.assertEqual(told, "None ForkPoolWorker-1\n")

    def test_threads_have_their_names_also_new_ones(self):
        source = """
            import pyannot, threading

            def rename():
                threading.current_thread().name = "second name"
                pyannot.mark("renamed")

            for name, target in (("kept name", str), ("first name", rename)):
                thread = threading.Thread(target=target, name=name)
                thread.start()
                thread.join()
            threading.Thread(name="greenlet")._set_native_id()  # as gevent has it called
            pyannot.mark("of the first thread")
        """
        self.run_recorded(sys.executable, self.script(source))
        names = harness.Recording(self.folder / "out.annot").thread_names
        self.assertNotIn("greenlet", names)
        self.assertIn("kept name", names)
        self.assertIn("second name", names)
        self.assertNotIn("first name", names)
        self.assertNotIn("MainThread", names)

    def test_subprocesses_have_it_with_an_arrow(self):
        source = f"""
            import subprocess, sys
            subprocess.run([sys.executable, "-I", "-c", {IS_HERE!r}], check=True)
        """
        self.assertEqual(self.run_recorded(sys.executable, self.script(source)), "True\n")
        recording = harness.Recording(self.folder / "out.annot")
        self.assertEqual(self.counts()["Python processes with pyannot"], 2)
        begin, = (event for event in recording.events if event["ph"] == "s")
        end, = (event for event in recording.events if event["ph"] == "f")
        self.assertEqual(begin["id"], end["id"])
        self.assertNotEqual(begin["pid"], end["pid"])

    def test_each_arrow_has_both_its_ends(self):
        """For each way to start a process; no arrow for unreported starts: a shell, an exec."""
        source = """
            import multiprocessing, os, subprocess, sys

            def task():
                pass

            if __name__ == "__main__":
                python = [sys.executable, "-c", "pass"]
                for method in ("fork", "spawn", "forkserver"):
                    process = multiprocessing.get_context(method).Process(target=task)
                    process.start()
                    process.join()
                subprocess.run(python, check=True)
                subprocess.run(python, check=True, preexec_fn=int)
                if os.fork() == 0:
                    os.execv(sys.executable, python)
                os.wait()
                os.execv(sys.executable, python)
        """
        self.run_recorded("sh", "-c", '"$0" "$1" && "$0" -c pass',
                          sys.executable, self.script(source), options=["--python", "names"])
        flows = list(pyannot.read(self.folder / "out.annot").flows)
        begins, ends = (collections.Counter(flow.id for flow in flows if flow.kind == kind)
                        for kind in ("begin", "end"))
        self.assertEqual(begins, ends)
        self.assertEqual(set(begins.values()), {1})
        self.assertGreaterEqual(len(begins), 8)  # with a resource tracker and a fork server

    def test_an_empty_environment_is_left_alone(self):
        source = f"""
            import subprocess, sys
            subprocess.run([sys.executable, "-c", {IS_HERE!r}], check=True, env={{}})
        """
        self.assertEqual(self.run_recorded(sys.executable, self.script(source)), "False\n")


class Delivery(PreloadTest):
    def test_where_nothing_can_be_recorded_nothing_stays_wrapped(self):
        source = "import sys; print(set(sys.modules['pyannot.observe'].status().values()))"
        limited = f"ulimit -f 8; exec '{sys.executable}' -c \"{source}\""
        self.assertEqual(self.run_recorded("sh", "-c", limited), "{'off'}\n")

    def test_known_events_of_two_threads_and_a_child_arrive(self):
        source = """
            import os, threading
            thread = threading.Thread(target=str)
            thread.start()
            thread.join()
            if os.fork() == 0:
                os._exit(0)
            os.wait()
        """
        self.run_recorded(sys.executable, self.script(source), options=["--python", "names"])
        marks = harness.Recording(self.folder / "out.annot").count("marks")
        for name in ("started", "second thread", "forked"):
            self.assertEqual(marks[name], 1, marks)
        counts = self.counts()
        self.assertEqual(counts["Python processes with pyannot"], 2)
        self.assertEqual(counts["Python processes: names observed"], 2)
        self.assertEqual(self.notes(), {})

    def test_known_events_are_not_in_the_tables(self):
        source = """
            import os, pyannot
            pyannot.mark("started")
            pyannot.mark("own", domain="python")
            if os.fork() == 0:
                os._exit(0)
            os.wait()
        """
        self.run_recorded(sys.executable, self.script(source), options=["--python", "names"])
        path = str(self.folder / "out.annot")
        text = run([ANNOT, "report", "--sort", "self", path]).stdout
        table = text.partition("\nmarks\n")[2].partition("\n\n")[0]
        self.assertEqual(sorted(line.split()[:2] for line in table.splitlines()[1:]),
                         [["python:own", "1"], ["started", "1"]])
        told = json.loads(run([ANNOT, "report", "--json", path]).stdout)["marks"]
        self.assertEqual(len(told), 4)

    def test_a_child_of_which_nothing_arrives_is_told(self):
        """Its parent does not exist: no process has number 0, and few have this one."""
        source = """
            from pyannot import observe
            observe.getpid = lambda: 4194303
            observe.report("forked", 1)
        """
        self.run_recorded(sys.executable, self.script(source))
        self.assertIn("A Python process was forked with pyannot, and nothing of it arrived.",
                      self.notes())

    def test_subinterpreters_record_if_they_import_it(self):
        """Without the import only the main interpreter is observed."""
        inside = "import pyannot\nwith pyannot.annotate('in the other'): pass\n"
        source = f"""
            try:
                import _interpreters
            except ImportError:
                import _xxsubinterpreters as _interpreters
            import pyannot
            other = _interpreters.create()
            with pyannot.annotate("around"):
                _interpreters.run_string(other, {inside!r})
            _interpreters.destroy(other)
        """
        self.run_recorded(sys.executable, self.script(source), options=["--python", "names"],
                          PYTHONPATH=str(pathlib.Path(observe.__file__).parents[2]))
        recording = harness.Recording(self.folder / "out.annot")
        self.assertIn(("in the other", "around"), list(recording.parents()))


class Choice(PreloadTest):
    def test_none_loads_nothing(self):
        told = self.run_recorded(sys.executable, "-c", IS_HERE, options=["--python", "none"])
        self.assertEqual(told, "False\n")
        self.run_recorded("sh", "-c", "echo pass", options=["--python=none"])

    def test_the_environment_is_the_default(self):
        told = self.run_recorded(sys.executable, "-c", IS_HERE, ANNOT_PYTHON="none")
        self.assertEqual(told, "False\n")
        told = self.run_recorded(sys.executable, "-c", IS_HERE, options=["--python=names"],
                                 ANNOT_PYTHON="none")
        self.assertEqual(told, "True\n")

    def test_parts_that_ran_are_told(self):
        self.run_recorded(sys.executable, "-c", "import multiprocessing",
                          options=["--python", "-gc,-imports"])
        parts = {name for name in observe.PARTS
                 if f"Python processes: {name} observed" in self.counts()}
        self.assertEqual(parts, {"names", "pools"})

    def test_annot_knows_the_parts_that_pyannot_has(self):
        for name in (*observe.PARTS, *observe.OPTIONS, "default", "none"):
            self.run_recorded("true", options=["--python", name])
        for name in ("pool", "-none"):
            result = subprocess.run([ANNOT, "record", "--python", name, "--", "true"],
                                    capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 125)
            for part in (*observe.PARTS, *observe.OPTIONS):
                self.assertIn(part, result.stderr)

    def test_no_preload_leaves_the_environment_alone_but_for_pyannot(self):
        told = self.run_recorded("sh", "-c", "echo $LD_PRELOAD $ANNOT_PYTHON",
                                 options=["--no-preload"])
        self.assertEqual(told, "default\n")

    def test_an_interpreter_that_nothing_is_loaded_into_finds_it_by_itself(self):
        """Like interpreters embedded in other programs: by the .pth in site-packages."""
        package = pathlib.Path(observe.__file__).parents[2]
        site = self.folder / "site"
        site.mkdir()
        shutil.copy(harness.HERE.parents[1] / "pyannot/pyannot/pyannot.pth", site)
        (site / "place.pth").write_text(f"{package}\n")
        (site / "pyannot.pth").rename(site / "z_pyannot.pth")
        source = f"import site; site.addsitedir({str(site)!r}); {IS_HERE}"
        told = self.run_recorded(sys.executable, "-c", source, options=["--no-preload"])
        self.assertEqual(told, "True\n")
        self.assertEqual(run([sys.executable, "-c", source], env=self.environment).stdout,
                         "False\n")


OTHER_PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#ifdef OWN_OPTIONS
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif
int main(void) { free(malloc(1)); puts("ran"); return 0; }
"""


class OtherPrograms(PreloadTest):
    def build(self, name, *flags, compiler="gcc"):
        source = self.folder / "program.c"
        source.write_text(OTHER_PROGRAM)
        program = self.folder / name
        command = [compiler, *flags, str(source), "-o", str(program)]
        if not shutil.which(compiler) or subprocess.run(
                command, capture_output=True, check=False).returncode != 0:
            self.skipTest(f"cannot build by {' '.join(command[:-3])}")
        return program

    def check_runs(self, program, **variables):
        self.assertEqual(self.run_recorded("sh", "-c", f"'{program}' 2>&1", **variables), "ran\n")

    def check_address_sanitizer(self, *flags, compiler="gcc"):
        """With ASAN_OPTIONS of the caller and of the program itself, and without any."""
        plain = self.build("plain", "-fsanitize=address", *flags, compiler=compiler)
        with self.subTest("options of nobody"):
            self.check_runs(plain)
        with self.subTest("options of the user"):
            self.check_runs(plain, ASAN_OPTIONS="detect_leaks=0")
        with self.subTest("options of what starts it below annot record"):
            told = self.run_recorded("sh", "-c", f"ASAN_OPTIONS=detect_leaks=0 '{plain}' 2>&1")
            self.assertEqual(told, "ran\n")
        own = self.build("own", "-fsanitize=address", "-DOWN_OPTIONS", *flags, compiler=compiler)
        with self.subTest("options of the program"):
            self.check_runs(own)

    def test_address_sanitizer_of_gcc_shared(self):
        self.check_address_sanitizer()

    def test_address_sanitizer_of_gcc_static(self):
        self.check_address_sanitizer("-static-libasan")

    def test_address_sanitizer_of_clang_shared(self):
        library = subprocess.run(["clang", "-print-file-name=libclang_rt.asan-x86_64.so"],
                                 capture_output=True, text=True, check=False).stdout.strip() \
            if shutil.which("clang") else ""
        if not os.path.exists(library):
            self.skipTest("no shared AddressSanitizer of clang")
        self.check_address_sanitizer("-shared-libasan", f"-Wl,-rpath,{os.path.dirname(library)}",
                                     compiler="clang")

    def test_address_sanitizer_of_clang_static(self):
        self.check_address_sanitizer(compiler="clang")

    def test_address_sanitizer_may_have_its_options_to_itself(self):
        """Options set by annot would replace those that `meson test` sets if there are none."""
        told = self.run_recorded("sh", "-c", "echo ${ASAN_OPTIONS-none}")
        self.assertEqual(told, "none\n")

    def test_thread_sanitizer(self):
        self.check_runs(self.build("thread", "-fsanitize=thread"))

    def test_static_programs(self):
        self.check_runs(self.build("whole", "-static"))

    def test_set_uid_programs_are_not_entered(self):
        program = self.build("set_uid")
        program.chmod(0o4755)
        self.check_runs(program)

    def test_what_was_preloaded_stays_first(self):
        library = self.folder / "other.so"
        library.write_bytes(pathlib.Path(self.preloaded()).read_bytes())
        told = self.run_recorded("sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD=str(library))
        first, second = told.strip().split(":")
        self.assertEqual(first, str(library))
        self.assertEqual(os.path.basename(second), PRELOADED)

    def preloaded(self):
        return self.run_recorded("sh", "-c", "echo $LD_PRELOAD").strip()

    def test_the_library_needs_none_and_defines_nothing(self):
        library = os.path.realpath(self.preloaded())
        if not shutil.which("readelf"):
            self.skipTest("no readelf")
        self.assertNotIn("NEEDED", run(["readelf", "-dW", library]).stdout)
        symbols = run(["readelf", "--dyn-syms", "-W", library]).stdout.splitlines()
        defined = [line for line in symbols if re.match(r"\s+\d+:", line) and " UND " not in line]
        self.assertEqual(defined, [])


if __name__ == "__main__":
    harness.main()
