# SPDX-License-Identifier: MIT
"""Unmodified programs under `annot record`, with all of Python's observers, behave as without it:
output, errors with their tracebacks, exit status. Addresses are not compared."""

import json
import os
import re
import subprocess
import sys

import elsewhere
import harness
from harness import ANNOT, TIMEOUT_SECONDS, RecordingTest

POOLS = """
    import multiprocessing, sys, time
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

    class Unpicklable:
        def __reduce__(self):
            raise RuntimeError("no pickle")

    class Unloadable:
        def __reduce__(self):
            return fail, ("no load",)

    def fail(text):
        raise RuntimeError(text)

    def task(number):
        if number == 1:
            raise ValueError(number)
        if number == 5:
            sys.exit(3)
        return {2: Unpicklable, 3: lambda: task, 4: Unloadable}.get(number, lambda: number)()

    def told(function, *arguments):
        try:
            print(function(*arguments))
        except BaseException as error:
            print(type(error), error, error.__cause__, error.args)

    if __name__ == "__main__":
        with ProcessPoolExecutor(2) as pool:
            for number in (0, 1, 2, 5):
                told(pool.submit(task, number).result)
            told(pool.submit(task, Unpicklable()).result)
            print(list(pool.map(task, [0, 6, 7], chunksize=2)))
        for wrong in ({"initializer": fail, "initargs": ("init",)}, {}):
            with ProcessPoolExecutor(1, **wrong) as pool:
                told(pool.submit(task, 4).result)
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            told(pool.map, task, range(2))  # of two failures either may be the first
            told(pool.apply, task, (2,))
            print(pool.starmap(pow, [(1, 2), (2, 3)]), list(pool.imap(abs, [-1, -2], chunksize=2)))
            told(pool.map, lambda: None, [1])
            told(pool.apply, time.sleep, ("x",))
        with ThreadPoolExecutor(2) as pool:
            told(pool.submit(task, 1).result)
        fail("at last")
"""

TASKS = """
    import asyncio, contextvars, sys, traceback

    number = contextvars.ContextVar("number", default=0)

    async def work(n):
        number.set(n)
        await asyncio.sleep(0.001)
        if n == 2:
            raise KeyError(n)
        await asyncio.sleep(100 if n == 3 else 0)
        return number.get(), asyncio.current_task().get_name()

    async def count():
        try:
            for n in range(9):
                yield n
        finally:
            print("closed")

    async def main():
        tasks = [asyncio.create_task(work(n), name=f"w{n}") for n in range(4)]
        await asyncio.wait(tasks[:3])
        tasks[3].cancel()
        print(await asyncio.gather(*tasks, return_exceptions=True))
        try:
            tasks[2].result()
        except KeyError:
            traceback.print_exc()
        async for n in count():
            if n == 2:
                break
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(42)", stdout=-1)
        print(await child.communicate(), child.returncode, len(asyncio.all_tasks()))
        print(asyncio.get_running_loop().get_task_factory(), type(asyncio.current_task()))
        forgotten = asyncio.create_task(work(2))
        await asyncio.wait([forgotten])

    asyncio.run(main())
    print(number.get())
"""

PROCESSES = """
    import multiprocessing, os, subprocess, sys, threading, traceback

    class Own(multiprocessing.Process):
        def run(self):
            parent = multiprocessing.parent_process()
            print("run", self.name, parent.pid == os.getppid(), flush=True)
            sys.exit(6)

    def fail():
        raise KeyError("in a thread")

    def start_failing():
        for method in multiprocessing.get_all_start_methods():
            context = multiprocessing.get_context(method)
            process = context.Process(target=fail, name="failing")
            process.start()
            process.join()
            print(process.exitcode, flush=True)
        try:
            multiprocessing.get_context("spawn").Process(target=lambda: 0).start()
        except Exception:
            traceback.print_exc()

    if __name__ == "__main__":
        for command in (["/no/such"], ["/etc/passwd"], "exit 3"):
            try:
                print(subprocess.run(command, shell=isinstance(command, str), capture_output=True))
            except OSError as error:
                print(type(error), error)
        print(subprocess.run([sys.executable, "-c", "import os; print(len(os.environ))"], env={},
                             capture_output=True).returncode)
        shown = "import sys; print(sys.path, sys.flags, sys.argv); 1/0"
        print(subprocess.run([sys.executable, "-I", "-S", "-E", "-c", shown, "a"],
                             capture_output=True))
        start_failing()
        own = Own(name="mine")
        own.start()
        own.join()
        print(own.exitcode)
        thread = threading.Thread(target=fail, name="bad")
        thread.start()
        thread.join()
        print(sorted(os.listdir("/proc/self/fd")), threading.active_count(), flush=True)
        if os.fork() == 0:
            raise SystemExit(5)
        print(os.wait()[1], flush=True)
        os.execv(sys.executable, [sys.executable, "-c", "import sys; sys.exit(9)"])
"""

STRICT = """
    import os, sys

    def hook(event, arguments):
        if event == "open" and "annot" in str(arguments[0]):
            raise RuntimeError("no file")

    sys.addaudithook(hook)
    if os.fork() == 0:
        print("child", flush=True)
        os._exit(4)
    print(os.wait()[1])
"""

GUARDS = """
    import builtins, sys

    class Block:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] not in sys.stdlib_module_names:
                raise ImportError("blocked " + name)

    def no_importer(name, *arguments):
        if "annot" in name:
            raise SystemError("who imports " + name)
        return imports(name, *arguments)

    def no_file(event, arguments):
        if event == "open" and "annot" in str(arguments[0]):
            print("opens", arguments[0])
            sys.exit(9)

    def forget(*names):
        for name in list(sys.modules):
            if name.split(".")[0] in names:
                del sys.modules[name]

    imports = builtins.__import__
    {
        "finder": lambda: sys.meta_path.insert(0, Block()),
        "import": lambda: setattr(builtins, "__import__", no_importer),
        "audit": lambda: sys.addaudithook(no_file),
        "modules": lambda: forget("pyannot", "threading", "concurrent", "subprocess", "asyncio"),
        "none": lambda: sys.modules.update(dict.fromkeys(["pyannot", "pyannot.observe.pools"])),
    }[sys.argv[1]]()
    import multiprocessing.pool, subprocess, threading
    from concurrent.futures import ThreadPoolExecutor

    def job(number):
        return number * number

    if __name__ == "__main__":
        thread = threading.Thread(target=job, args=(1,))
        thread.start()
        with ThreadPoolExecutor(2) as pool:
            print(list(pool.map(job, range(3))))
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(job, range(3)))
        print(subprocess.run(["true"]).returncode, len(set(sys.meta_path)))
        import importlib.util
        print([importlib.util.find_spec(name).loader for name in ("wave", "asyncio")])
"""

SEEN = """
    import multiprocessing.pool, os, pickle, sys, threading, traceback, types
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
    from posix import posix_spawn

    class Launcher:
        spawn = os.posix_spawn

    def stack():
        return [(os.path.basename(frame.filename), frame.name) for frame in
                traceback.extract_stack()]

    def told(make):
        try:
            make()
        except Exception:
            traceback.print_exc()

    def work():
        thread = threading.Thread(target=int, name="first")
        thread.start()
        thread.name = "second"
        thread.join()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(int).result()

    def files_seen(listen):
        seen = set()
        listen(lambda frame, event, value: seen.add(frame.f_code.co_filename))
        work()
        listen(None)
        return sorted(file for file in seen if "annot" in file)

    if __name__ == "__main__":
        print(os.waitpid(Launcher().spawn("/bin/true", ["true"], os.environ), 0)[1])
        for function in (os.posix_spawn, os.posix_spawnp,
                         sys.modules["_posixsubprocess"].fork_exec, os.fork):
            print(type(function), hasattr(function, "__get__"), function.__module__, repr(function),
                  function.__qualname__, function.__text_signature__, function.__self__,
                  pickle.loads(pickle.dumps(function)) is function)
        print(posix_spawn is os.posix_spawn)
        told(lambda: ThreadPoolExecutor(0))
        told(lambda: ProcessPoolExecutor(0))
        told(lambda: threading.Thread(name="x").__init__(group=1))
        with ThreadPoolExecutor(1) as pool:
            print(pool.submit(stack).result())
        with multiprocessing.pool.ThreadPool(1) as pool:
            print(pool.apply(stack))
        with multiprocessing.get_context("fork").Pool(1) as pool:
            print(pool.apply(stack))
        print(files_seen(sys.setprofile), files_seen(sys.settrace), len(set(sys.meta_path)))
"""

EXTRA = """
    import ctypes, gc

    freed = []
    FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    free = FREE(freed.append)  # CPython calls it for NULL, too, where it made room for a pointer
    api = ctypes.pythonapi
    if hasattr(api, "PyUnstable_Code_SetExtra"):  # 3.12
        request, store = api.PyUnstable_Eval_RequestCodeExtraIndex, api.PyUnstable_Code_SetExtra
    else:
        request, store = api._PyEval_RequestCodeExtraIndex, api._PyCode_SetExtra
    index = request(free)
    store.argtypes = ctypes.py_object, ctypes.c_ssize_t, ctypes.c_void_p

    for number in range(5):
        function = eval("lambda: number")
        if number == 3:
            store(function.__code__, index, 1000)
        function()
        if number == 1:
            store(function.__code__, index, 2000)
        del function
    gc.collect()
    print(freed)
"""

ENDS = """
    import os, signal, sys, threading, time

    def depth(n=0):
        try:
            return depth(n + 1)
        except RecursionError:
            return n

    print(depth(), [signal.getsignal(n) for n in (2, 15, 17)], sys.excepthook, flush=True)
    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
    {
        "term": lambda: os.kill(os.getpid(), signal.SIGTERM),
        "int": lambda: os.kill(os.getpid(), signal.SIGINT) or time.sleep(100),
        "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "abort": os.abort,
        "exit": lambda: sys.exit("message"),
        "_exit": lambda: os._exit(7),
        "close": lambda: os.closerange(0, 1000) or os._exit(3),
    }[sys.argv[1]]()
"""


# Prints the audit events of the interpreter's hooks for tracers, until the interpreter ends.
AUDITED = """
    import os, sys

    def hook(event, arguments):
        if event.startswith("sys."):
            os.write(1, f"{event}\\n".encode())

    def work(number):
        return number + 1

    sys.addaudithook(hook)
    print(sum(work(number) for number in range(100)), flush=True)
"""


def comparable(text):
    return harness.without_annot(re.sub(r"0x[0-9a-f]+", "0x", text))


class Unchanged(RecordingTest):
    def run_one(self, command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS,
                              check=False, cwd=self.folder, env=self.environment)
        return done.returncode, comparable(done.stdout), comparable(done.stderr)

    def check(self, source, *arguments, options=("--python=default",)):
        """Same results alone and recorded; the recording is complete and has the interpreter."""
        self.environment["PYTHONHASHSEED"] = "0"
        command = [sys.executable, str(self.script(source)), *arguments]
        path = str(self.folder / "out.annot")
        record = [ANNOT, "record", "--force", *options, "-o", path, "--"]
        self.assertEqual(self.run_one([*record, *command]), self.run_one(command))
        info = json.loads(harness.run([ANNOT, "info", "--json", path]).stdout)
        self.assertEqual(info["lost_by_cause"], {})  # of records
        told = harness.run([ANNOT, "info", path]).stdout
        self.assertRegex(told, r"Python processes with pyannot +[1-9]")

    def test_pools(self):
        self.check(POOLS)

    def test_tasks_of_asyncio(self):
        self.check(TASKS)

    def test_processes(self):
        self.check(PROCESSES)

    def test_an_audit_hook_that_allows_nothing(self):
        self.check(STRICT)

    def test_importers_that_refuse_what_is_annots(self):
        for guard in ("finder", "import", "audit", "modules", "none"):
            with self.subTest(guard):
                self.check(GUARDS, guard)
                told = harness.run([ANNOT, "report", "--json", str(self.folder / "out.annot")])
                paths = [row["path"] or "" for row in json.loads(told.stdout)["ranges"]]
                self.assertTrue(any(path.endswith("job") for path in paths), paths)  # all is seen

    def test_functions_frames_and_finders_that_a_program_looks_at(self):
        self.check(SEEN)

    def test_data_that_others_keep_for_code_objects_while_calls_are_traced(self):
        for mode in ("exact", "aggregate", "adaptive"):
            with self.subTest(mode):
                self.check(EXTRA, options=("--python=default", f"--trace-functions={mode}"))

    def test_the_end_of_tracing_raises_no_audit_event(self):
        path = str(self.script(AUDITED))
        output = str(self.folder / "out.annot")
        for interpreter, package in elsewhere.this_oldest_newest():
            with self.subTest(python=interpreter.version):
                self.environment["PYTHONPATH"] = package
                command = [interpreter.command, path]
                record = [ANNOT, "record", "--force", "--sampling=none", "--python=default",
                          "--trace-functions=exact", "-o", output, "--"]
                self.assertEqual(self.run_one([*record, *command]), self.run_one(command))
                text = harness.run([ANNOT, "query", "--csv", output,
                                    "select coalesce(sum(call_count), 0) from calls "
                                    "where name = 'work'"]).stdout
                self.assertEqual(text.split()[-1], "100")

    def test_ends(self):
        for way in ("term", "int", "kill", "abort", "exit", "_exit", "close"):
            with self.subTest(way):
                self.check(ENDS, way)

    def test_text_of_a_program_on_its_input(self):
        source = b"import sys; print(sys.argv, __name__, sys.path[0]); sys.exit(3)\n"
        path = str(self.folder / "out.annot")
        command = [sys.executable, "-", "a"]
        both = [subprocess.run(words, input=source, capture_output=True, check=False,
                               env=self.environment)
                for words in (command, [ANNOT, "record", "-o", path, "--", *command])]
        self.assertEqual(both[0].returncode, 3)
        self.assertEqual(both[0].returncode, both[1].returncode)
        self.assertEqual(both[0].stdout, both[1].stdout)


if __name__ == "__main__":
    os.environ.pop("PYTHONWARNINGS", None)
    harness.main()
