# SPDX-License-Identifier: MIT
"""Wrapped functions of the standard library look like the originals to inspect, pydoc, pickle, copy
and unittest.mock. Runs the same queries with a recorder and without."""

import subprocess
import sys

import harness
from harness import ANNOT, TIMEOUT_SECONDS, RecordingTest

PROGRAM = """
    import asyncio.base_subprocess, asyncio.events, concurrent.futures.process
    import concurrent.futures.thread, copy, importlib._bootstrap, inspect, multiprocessing.pool
    import multiprocessing.process, multiprocessing.spawn, os, pickle, pydoc, re, subprocess, sys
    import threading, types, typing, unittest.mock, _posixsubprocess

    pool, process = multiprocessing.pool, multiprocessing.process
    futures = concurrent.futures
    FUNCTIONS = [
        pool.worker, pool.Pool._setup_queues, pool.ThreadPool._setup_queues,
        pool.ApplyResult.__init__, pool.MapResult.__init__, pool.IMapIterator.__init__,
        process.BaseProcess.start, process.BaseProcess._bootstrap, process.BaseProcess.run,
        process.BaseProcess.name.fset, multiprocessing.spawn._main,
        futures.process._process_worker, futures.process.ProcessPoolExecutor.__init__,
        futures.thread._WorkItem.__init__, futures.thread._WorkItem.run,
        subprocess.Popen.__init__, subprocess.Popen._handle_exitstatus,
        asyncio.base_subprocess.BaseSubprocessTransport._process_exited,
        asyncio.events.Handle._run, importlib._bootstrap._find_and_load,
        threading.Thread._set_native_id, threading.Thread.name.fset,
        _posixsubprocess.fork_exec, os.posix_spawn, os.posix_spawnp,
    ]
    ATTRIBUTES = ["__name__", "__qualname__", "__module__", "__doc__", "__code__", "__defaults__",
                  "__kwdefaults__", "__annotations__", "__closure__", "__text_signature__",
                  "__self__", "__class__"]
    QUESTIONS = {
        "signature": inspect.signature, "arguments": inspect.getfullargspec,
        "file": inspect.getfile, "source file": inspect.getsourcefile,
        "source": inspect.getsource, "module": inspect.getmodule, "text": inspect.getdoc,
        "kind": lambda it: (inspect.isfunction(it), inspect.isbuiltin(it), inspect.isroutine(it)),
        "types": lambda it: isinstance(it, (types.FunctionType, types.BuiltinFunctionType)),
        "pickle": lambda it: pickle.loads(pickle.dumps(it)) is it,
        "copy": lambda it: copy.copy(it) is it and copy.deepcopy(it) is it,
        "help": lambda it: pydoc.render_doc(it, renderer=pydoc.plaintext),
        "repr": repr, "hints": typing.get_type_hints,
        "globals": lambda it: it.__globals__["__name__"],
        "coroutine": inspect.iscoroutinefunction,
        "mock": lambda it: inspect.signature(unittest.mock.create_autospec(it)),
        **{name: lambda it, name=name: getattr(it, name) for name in ATTRIBUTES},
    }

    def answer(ask, function):
        try:
            return str(ask(function))
        except Exception as error:
            return type(error).__name__  # its text may have type(function)

    for number, function in enumerate(FUNCTIONS):
        for name, ask in QUESTIONS.items():
            print(number, function.__qualname__, name, re.sub("0x[0-9a-f]+", "0x",
                  answer(ask, function)).replace("\\n", "|"))
    print(sum("observed" in type(function).__name__ for function in FUNCTIONS), file=sys.stderr)
"""


class Looks(RecordingTest):
    def test_nothing_tells_what_stands_there(self):
        program = [sys.executable, str(self.script(PROGRAM))]
        record = [ANNOT, "record", "--sampling=none", "--python=default", "-o",
                  str(self.folder / "out.annot"), "--"]
        plain, recorded = (subprocess.run(command, capture_output=True, text=True, check=True,
                                          timeout=TIMEOUT_SECONDS, env=self.environment)
                           for command in (program, record + program))
        self.assertEqual(plain.stdout.splitlines(), recorded.stdout.splitlines())
        self.assertEqual(plain.stderr, "0\n")
        count = int(recorded.stderr.splitlines()[0])
        # Of 22; functions that a version implements differently, and those in C, are not wrapped.
        self.assertGreaterEqual(count, 21)


if __name__ == "__main__":
    harness.main()
