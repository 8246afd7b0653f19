# SPDX-License-Identifier: MIT
"""Pools and executors, observed without changes of the program: every task is a range with its
function's name, arrows lead to it and on to its result, and the program's behaviour is the same."""

import importlib.util
import json
import operator
import os
import subprocess
import sys
import textwrap
import unittest

import harness
from harness import ANNOT, RecordingTest

START = textwrap.dedent("""
    import functools, json, multiprocessing, multiprocessing.pool, operator, os, sys
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
    if "--unseen" not in sys.argv:
        from pyannot import observe
        observe.start("pools")
        assert observe.status()["pools"] == "on", observe.status()
    context = multiprocessing.get_context(sys.argv[1])

    def square(number):
        return number * number

    def add(left, right):
        return left + right

    def fail(number):
        raise ValueError(f"no {number}")

    class Scale:
        def __init__(self, factor):
            self.factor = factor
        def by(self, number):
            return self.factor * number
        def __call__(self, number):
            return self.factor + number
    """)
METHODS = ("fork", "spawn", "forkserver")


class PoolTest(RecordingTest):
    def run_pool(self, body, method="fork", *args, options=(), start=START):
        source = start + "\nif __name__ == '__main__':\n" + textwrap.indent(
            textwrap.dedent(body), "    ")
        recording = self.record(source, method, *args, options=["--sampling=none", *options])
        self.assertEqual(recording.lost(), 0)
        return recording

    def run_unseen(self):
        """The output of the last program without a recorder."""
        command = [sys.executable, self.folder / "program.py", "fork", "--unseen"]
        return harness.run(command, env=self.environment).stdout

    def tasks(self):
        """The report's rows: {(function, kind of workers): row}."""
        path = str(self.folder / "out.annot")
        report = json.loads(harness.run([ANNOT, "report", "--json", path]).stdout)
        return {(row["function"], row["workers"]): row for row in report["tasks"]}

    def check_tasks(self, counts, workers="processes"):
        """{function: (tasks, calls)}"""
        rows = self.tasks()
        self.assertEqual(
            {name: (row["count"], row["call_count"])
             for (name, kind), row in rows.items() if kind == workers}, counts)
        for row in rows.values():
            self.assertEqual(row["unfinished_count"], 0)
            parts = [part["part"] for part in row["parts"]
                     if part["part"] not in ("hand over", "worker start")]
            self.assertEqual(parts, ["queued", "unpickle", "run", "send", "waiting", "fetch"]
                             if row["workers"] == "processes" else ["queued", "run"])
            self.assertEqual(sum(part["total_ns"] for part in row["parts"]), row["total_ns"])

    def check_errors(self, recording, *errors):
        """errors: (name of a range, exception that left it)."""
        told = {(event["name"], event["args"]["exception"].rpartition(".")[2])
                for event in recording.ranges if "exception" in event["args"]}
        self.assertEqual(told, set(errors))

    def check_arrows(self, recording, count):
        """Each arrow begins in a range of one thread and leads to another thread."""
        begins = {event["id"]: event for event in recording.events if event["ph"] == "s"}
        ends = {event["id"]: event for event in recording.events if event["ph"] == "f"}
        self.assertEqual(begins.keys(), ends.keys())
        self.assertEqual(len(begins), count)
        for number, begin in begins.items():
            self.assertNotEqual((begin["pid"], begin["tid"]),
                                (ends[number]["pid"], ends[number]["tid"]))
            self.assertLessEqual(begin["ts"], ends[number]["ts"])


class Pools(PoolTest):
    BODY = """
        with context.Pool(3) as pool:
            assert pool.map(square, range(20), chunksize=6) == [n * n for n in range(20)]
            assert list(pool.imap(Scale(2).by, range(5))) == [0, 2, 4, 6, 8]
            assert sorted(pool.imap_unordered(Scale(2), range(9), chunksize=4))[-1] == 10
            assert pool.starmap(add, [(1, 2), (3, 4), (5, 6)], chunksize=2) == [3, 7, 11]
            assert pool.apply(functools.partial(add, 1), (2,)) == 3
            results = [pool.apply_async(operator.neg, (n,)) for n in range(4)]
            assert [result.get() for result in results] == [0, -1, -2, -3]
            pool.close()
            pool.join()
    """
    TASKS = {"square": (4, 20), "Scale.by": (5, 5), "Scale": (3, 9), "add": (3, 4), "neg": (4, 4)}

    def check_pool(self, method):
        recording = self.run_pool(self.BODY, method)
        self.check_tasks(self.TASKS)
        counts = recording.count("ranges")
        self.assertEqual({name: counts[name] for name in self.TASKS},
                         {name: tasks for name, (tasks, _) in self.TASKS.items()})
        self.assertEqual(counts["start process"], 3)
        self.assertEqual(counts["start-up"], 3)
        tasks = sum(tasks for tasks, _ in self.TASKS.values())
        jobs = 4 + 1 + 4
        self.check_arrows(recording, 2 * tasks + jobs)
        chunks = [event["args"]["chunk"] for event in recording.ranges if event["name"] == "square"]
        self.assertEqual(sorted(chunks), [2, 6, 6, 6])

    def test_fork(self):
        self.check_pool("fork")

    def test_spawn(self):
        self.check_pool("spawn")

    def test_forkserver(self):
        self.check_pool("forkserver")

    def test_parts_nest_on_the_worker(self):
        recording = self.run_pool(self.BODY)
        around = {(name, parent) for name, parent in recording.parents()}
        self.assertIn(("send", None), around)
        self.assertIn(("square", None), around)
        self.assertIn(("unpickle", None), around)
        self.assertNotIn(("unpickle", "square"), around)

    def counts(self, recording):
        """The values of the pool's two counters: busy workers, queued tasks."""
        values = {}
        for event in sorted(recording.counters, key=operator.itemgetter("ts")):
            values.setdefault(event["name"], []).append(*event["args"].values())
        return [values[f"python: Pool 1: {what}"] for what in ("busy workers", "queued tasks")]

    def test_a_call_in_a_task_of_asyncio_closes_no_range_of_the_task(self):
        self.run_pool("""
            import asyncio, pyannot
            observe.start("pools,asyncio")

            async def main():
                pyannot.push("mine")
                with ThreadPoolExecutor(2) as executor:
                    assert list(executor.map(square, range(2))) == [0, 1]
                with pyannot.annotate("inside"):
                    pass
                pyannot.pop()

            asyncio.run(main())
        """)
        text = harness.run([ANNOT, "cat", "-j", str(self.folder / "out.annot")]).stdout
        begins = {line["name"]: line for line in map(json.loads, text.splitlines())
                  if line["event"] == "begin"}
        self.assertEqual((begins["mine"]["depth"], begins["inside"]["depth"]), (1, 2))

    def test_counters(self):
        recording = self.run_pool(self.BODY)
        busy, queued = self.counts(recording)
        self.assertEqual((max(busy), busy[-1], queued[-1]), (3, 0, 0))
        self.assertEqual(min(busy + queued), 0)

    def test_of_a_long_queue_only_what_changes_much_is_told(self):
        busy, queued = self.counts(self.run_pool("""
            with context.Pool(2) as pool:
                pool.map(square, range(2000), chunksize=1)
                pool.close()
                pool.join()
        """))
        self.assertEqual((queued[0], queued[-1], busy[-1]), (1998, 0, 0))
        self.assertLess(len(queued), 500)
        for before, after in zip(queued, queued[1:]):
            self.assertLessEqual(before - after, after / 64 + 1)
        self.assertEqual([value for value in queued if value < 64],
                         [*range(63, 0, -1), 0, 0, 0])  # twice for workers that become idle

    def test_each_recording_is_told_the_counters(self):
        """Also if they equal the last values of the recording before."""
        path = self.script(START + textwrap.dedent("""
            import pyannot, time
            pool = context.Pool(1)
            with pyannot.record("1.annot", sample=0):
                result = pool.apply_async(time.sleep, (0.3,))
            result.get()
            with pyannot.record("2.annot", sample=0):
                assert pool.apply(square, (3,)) == 9
            pool.terminate()
            print(sorted({counter.value for counter in pyannot.read("2.annot").counters}))
        """))
        result = harness.run([sys.executable, path, "fork"], env=self.environment, cwd=self.folder)
        self.assertEqual(result.stdout, "[0, 1]\n")

    def test_initializer_and_replaced_workers(self):
        recording = self.run_pool("""
            with context.Pool(2, square, (1,), maxtasksperchild=3) as pool:
                pool.map(add, zip(range(0)), chunksize=1)
                assert pool.starmap(add, [(n, n) for n in range(12)], chunksize=1)[-1] == 22
                pool.close()
                pool.join()
        """)
        self.check_tasks({"add": (12, 12)})
        self.assertGreaterEqual(recording.count("ranges")["square"], 4)  # of the initializer
        self.assertEqual(recording.count("ranges")["start-up"],
                         recording.count("ranges")["start process"])

    def test_errors_keep_the_ranges_in_order(self):
        """A task that raises, one whose result cannot be pickled, one that cannot be sent."""
        recording = self.run_pool("""
            with context.Pool(2) as pool:
                outcomes = []
                for function, value in [(fail, 1), (threading_lock, 1), (square, lambda: 0)]:
                    try:
                        pool.apply(function, (value,))
                    except Exception as error:
                        outcomes.append(type(error).__name__)
                assert pool.map(square, range(3), 1) == [0, 1, 4]
                print(outcomes)
                pool.close()
                pool.join()
        """, start=START + "import threading\ndef threading_lock(_): return threading.Lock()\n")
        self.assertIn("['ValueError', 'MaybeEncodingError', ", self.output)
        self.check_tasks({"square": (3, 3), "fail": (1, 1), "threading_lock": (1, 1)})
        # What the pickler says depends on the version.
        unsent = self.output.split("'")[5]
        self.check_errors(recording, ("fail", "ValueError"), ("send", "TypeError"),
                          ("send", unsent))
        self.assertLessEqual({parent for _, parent in recording.parents()},
                             {None, "start process", "start-up"})

    def test_a_worker_that_is_terminated_in_send_is_complete(self):
        """The parent has the result, but the worker cannot record that it was sent: it stays in
        the call that wrote it, until `with` terminates it."""
        for method in METHODS:
            with self.subTest(method=method):
                self.run_pool("""
                    with context.Pool(1) as pool:
                        assert pool.map(square, [3]) == [9]
                """, method, start=START + textwrap.dedent("""
                    import time
                    from multiprocessing.queues import SimpleQueue

                    def put(self, obj, original=SimpleQueue.put):
                        original(self, obj)
                        if multiprocessing.parent_process() is not None:
                            time.sleep(1000)

                    SimpleQueue.put = put
                """))
                self.check_tasks({"square": (1, 1)})
                self.assertEqual(self.tasks()["square", "processes"]["received_count"], 1)
                path = str(self.folder / "out.annot")
                text = harness.run([ANNOT, "report", path]).stdout
                self.assertIn("(worker ended in send, result received: 1)", text)

    def test_many_pools_that_are_left_with_their_last_result(self):
        """Under load, so that the parent is often faster than the worker that it ends."""
        burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
        try:
            self.run_pool("""
                for _ in range(40):
                    with context.Pool(2) as pool:
                        assert pool.map(square, range(8), 1) == [n * n for n in range(8)]
            """)
        finally:
            for burner in burners:
                burner.kill()
                burner.wait()
        self.check_tasks({"square": (320, 320)})

    def test_a_killed_worker_keeps_what_it_told(self):
        recording = self.run_pool("""
            with ProcessPoolExecutor(1, mp_context=context) as executor:
                assert executor.submit(square, 3).result() == 9
                try:
                    executor.submit(os._exit, 1).result()
                except Exception as error:
                    print(type(error).__name__)
        """)
        self.assertIn("BrokenProcessPool", self.output)
        self.assertEqual(recording.count("ranges")["_exit"], 1)
        self.assertEqual(self.tasks()["_exit", "processes"]["unfinished_count"], 1)
        self.assertEqual(self.tasks()["square", "processes"]["count"], 1)


class Executors(PoolTest):
    def check_processes(self, method):
        recording = self.run_pool("""
            with ProcessPoolExecutor(2, mp_context=context) as executor:
                assert list(executor.map(square, range(10), chunksize=4)) == [
                    n * n for n in range(10)]
                futures = [executor.submit(add, n, right=1) for n in range(5)]
                assert sorted(future.result() for future in as_completed(futures)) == [
                    1, 2, 3, 4, 5]
                assert isinstance(executor.submit(fail, 1).exception(), ValueError)
        """, method)
        self.check_tasks({"square": (3, 10), "add": (5, 5), "fail": (1, 1)})
        self.check_errors(recording, ("fail", "ValueError"))
        self.check_arrows(recording, 2 * 9)
        self.assertEqual(recording.count("ranges")["submit"], 9)

    def test_processes_fork(self):
        self.check_processes("fork")

    def test_processes_spawn(self):
        self.check_processes("spawn")

    def test_processes_forkserver(self):
        self.check_processes("forkserver")

    def test_threads(self):
        recording = self.run_pool("""
            with ThreadPoolExecutor(2) as executor:
                assert list(executor.map(square, range(10))) == [n * n for n in range(10)]
                assert isinstance(executor.submit(fail, 1).exception(), ValueError)
            with multiprocessing.pool.ThreadPool(2) as pool:
                assert pool.map(functools.partial(add, 1), range(10), chunksize=3)[-1] == 10
                pool.close()
                pool.join()
        """)
        self.check_tasks({"square": (10, 10), "fail": (1, 1), "add": (4, 10)}, "threads")
        self.check_errors(recording, ("fail", "ValueError"))
        self.check_arrows(recording, 10 + 1 + 4 + 1)
        busy = [event["args"] for event in recording.counters
                if event["name"] == "python: thread executors: busy workers"]
        self.assertEqual([*busy[-1].values()], [0])

    def test_what_asyncio_gives_to_threads_has_its_own_name(self):
        self.run_pool("""
            import asyncio

            async def main():
                assert await asyncio.to_thread(add, 1, right=2) == 3
                loop = asyncio.get_running_loop()
                assert await loop.run_in_executor(None, functools.partial(square, 3)) == 9

            asyncio.run(main())
        """)
        self.assertEqual(set(self.tasks()), {("add", "threads"), ("square", "threads")})

    def test_what_is_never_run_is_not_told_as_run_and_waits_no_more(self):
        """Tasks cancelled, dropped at the executor's end, refused by pickle, left in a pool."""
        recording = self.run_pool("""
            import threading, time
            def cancel_most(executor, wait, go_on):
                begun = [executor.submit(wait, 60) for _ in range(2)]
                later = [executor.submit(square, n) for n in range(30)]
                assert sum(future.cancel() for future in later) > 20
                go_on()
                return begun

            go_on = threading.Event()
            with ThreadPoolExecutor(2) as executor:
                cancel_most(executor, go_on.wait, go_on.set)
            go_on.clear()
            executor = ThreadPoolExecutor(2)
            begun = [executor.submit(go_on.wait, 60) for _ in range(20)]
            threading.Timer(0.1, go_on.set).start()
            executor.shutdown(cancel_futures=True)

            go_on = context.Event()
            with ProcessPoolExecutor(2, mp_context=context, initializer=globals().update,
                                     initargs=({"go_on": go_on},)) as executor:
                cancel_most(executor, wait_for_all, go_on.set)
            with context.Pool(2) as pool:
                for call in (pool.apply, lambda none, one: pool.map(one, [1])):
                    try:
                        call(lambda: 0, (lambda: 0,))
                    except Exception as error:
                        print(type(error))
                assert pool.map(square, [1, 2]) == [1, 4]
                pool.map_async(time.sleep, [60] * 8, chunksize=1)
            del pool
        """, start=START + "def wait_for_all(seconds):\n    return go_on.wait(seconds)\n")
        rows = self.tasks()
        self.assertNotIn(("square", "threads"), rows)
        last = {event["name"]: [*event["args"].values()][0]
                for event in sorted(recording.counters, key=operator.itemgetter("ts"))}
        self.assertEqual(len(last), 6, last)
        self.assertEqual({name: value for name, value in last.items() if value}, {})

    @unittest.skipUnless(importlib.util.find_spec("joblib"), "joblib is not installed")
    def test_joblib(self):
        """joblib chooses the number of calls per task."""
        (self.folder / "sitecustomize.py").write_text(  # its workers do not import the program
            "from pyannot import observe\nobserve.start('pools')\n")
        path = f"{self.folder}:{os.environ['PYTHONPATH']}"
        self.environment["PYTHONPATH"] = path
        for backend, workers in (("loky", "processes"), ("multiprocessing", "processes"),
                                 ("threading", "threads")):
            with self.subTest(backend=backend):
                self.run_pool("""
                    import joblib
                    calls = [joblib.delayed(square)(n) for n in range(12)]
                    parallel = joblib.Parallel(2, backend=sys.argv[2], batch_size=3)
                    assert parallel(calls) == [n * n for n in range(12)]
                """, "fork", backend)
                row = self.tasks()["square", workers]
                self.assertEqual((row["call_count"], row["unfinished_count"]), (12, 0))
                self.assertLess(row["count"], 12)

    @unittest.skipUnless(importlib.util.find_spec("joblib"), "joblib is not installed")
    def test_annotated_functions_of_a_script_run_in_joblib(self):
        """joblib's workers lack the script: functions are sent with their code."""
        for wrapper in ("annotate", "nvtx.annotate()"):
            with self.subTest(wrapper):
                recording = self.record(f"""
                    import joblib, pickle, pyannot.nvtx as nvtx
                    from pyannot import annotate

                    PART = annotate("part", domain="own", payload={{"a": 1}})

                    @{wrapper}
                    def factorial(number):
                        "Says what it is."
                        with PART:
                            return number * factorial(number - 1) if number > 1 else 1

                    @annotate
                    def numbers(count):
                        yield from range(count)

                    class Scale:
                        @annotate
                        def by(self, number):
                            return sum(numbers(number)) + factorial(number)

                    @joblib.delayed
                    def of_task(factor):
                        @annotate
                        def local(number):
                            return Scale().by(number) * factor
                        return local

                    parallel = joblib.Parallel(2)
                    assert parallel(joblib.delayed(factorial)(n) for n in (4, 5)) == [24, 120]
                    assert parallel(joblib.delayed(Scale().by)(n) for n in (3, 4)) == [9, 30]
                    local, = parallel([of_task(2)])
                    assert local(3) == 18 and local.__name__ == "local"
                    assert factorial.__doc__ == "Says what it is."
                    assert pickle.loads(pickle.dumps(factorial)) is factorial
                """, options=["--python=none"])
                counts = recording.count("ranges")
                self.assertEqual([counts["factorial"], counts["own: part"] + counts["part"]],
                                 [4 + 5 + 3 + 4 + 3] * 2)
                self.assertEqual(counts["Scale.by"], 3)


class Nothing(PoolTest):
    """The program's view is the same as without a recorder."""

    def test_the_program_prints_the_same(self):
        """Results, errors with the traceback of the worker, and the bytes in the pipes."""
        body = """
            import gc, inspect, pickle, traceback, weakref
            from multiprocessing.connection import Connection
            from multiprocessing.reduction import ForkingPickler
            sent = []
            class Proxy:
                def __call__(self, number):
                    return number
                def __getattr__(self, name):  # asks another machine
                    print("asked for", name)
                    raise AttributeError(name)
            dumps = ForkingPickler.dumps
            def counted(cls, value, protocol=None):
                data = dumps(value, protocol)
                sent.append(bytes(data))
                return data
            ForkingPickler.dumps = classmethod(counted)
            def show(error):
                print(type(error), error, "".join(traceback.format_exception(
                    type(error), error.__cause__, None)))
            with context.Pool(2) as pool:
                print(pool.map(square, range(10), chunksize=3))
                try:
                    pool.map(fail, [1])
                except ValueError as error:
                    show(error)
            with ProcessPoolExecutor(2, mp_context=context) as executor:
                print(list(executor.map(square, range(9), chunksize=2)))
                show(executor.submit(fail, 1).exception())
            with ThreadPoolExecutor(2) as executor:
                error = executor.submit(fail, 1).exception()
                print(traceback.extract_tb(error.__traceback__))
                gc.disable()  # arguments go with the future, also of a task that failed
                for function in square, fail:
                    argument = Scale(1)
                    gone = weakref.ref(argument)
                    future = executor.submit(function, argument)
                    print(type(future.exception()))
                    executor.submit(int).result()
                    del argument, future
                    print(gone() is None)
                gc.enable()
                print(executor.submit(Proxy(), 1).result())
            print(sorted(sent))
            module = multiprocessing.pool
            for function in (module.worker, module.Pool, module.MapResult, ProcessPoolExecutor,
                             multiprocessing.Process.start, ThreadPoolExecutor.submit):
                print(function.__qualname__, function.__module__, inspect.signature(function))
            assert pickle.loads(pickle.dumps(module.worker)) is module.worker
        """
        self.run_pool(body)
        seen = self.output
        self.assertEqual(seen, self.run_unseen())

    def test_remove_puts_everything_back(self):
        self.run_pool("""
            import concurrent.futures.process, concurrent.futures.thread, multiprocessing.spawn
            places = [multiprocessing.pool, multiprocessing.pool.Pool,
                      multiprocessing.pool.ThreadPool, multiprocessing.pool.ApplyResult,
                      multiprocessing.pool.MapResult, multiprocessing.pool.IMapIterator,
                      multiprocessing.process.BaseProcess, multiprocessing.spawn,
                      concurrent.futures.process, concurrent.futures.thread._WorkItem,
                      concurrent.futures.thread, concurrent.futures.Executor,
                      ProcessPoolExecutor, ThreadPoolExecutor]
            observe.stop()
            before = [dict(vars(place)) for place in places]
            for _ in range(2):
                observe.start("pools")
                during = [dict(vars(place)) for place in places]
                assert sum(one != other for one, other in zip(before, during)) == 14
                with context.Pool(2) as pool:
                    observe.stop()
                    for place, names in zip(places, before):
                        changed = [name for name, value in vars(place).items()
                                   if callable(value) and names.get(name) is not value]
                        assert not changed, (place, changed)
                    assert pool.map(square, range(3)) == [0, 1, 4]
                with ProcessPoolExecutor(2, mp_context=context) as executor:
                    assert executor.submit(square, 3).result() == 9
        """, "spawn")

    def test_a_function_that_looks_different_is_left_alone(self):
        self.run_pool("""
            observe.stop()
            def worker(other, queues):
                pass
            original, multiprocessing.pool.worker = multiprocessing.pool.worker, worker
            observe.start("pools")
            assert multiprocessing.pool.worker is worker
            assert observe.status()["pools"] == (
                "on; left alone: multiprocessing.pool.worker"), observe.status()
            observe.stop()
            multiprocessing.pool.worker = original
            observe.start("pools")
            with context.Pool(1) as pool:
                assert pool.map(square, range(3)) == [0, 1, 4]
        """)

    def test_without_a_recorder(self):
        path = self.script(START + "\nif __name__ == '__main__':\n" + textwrap.indent(
            textwrap.dedent(Pools.BODY), "    "))
        for method in METHODS:
            harness.run([sys.executable, path, method], env=self.environment)

    def test_pipes_are_closed_with_the_pool(self):
        """Hooks keep no connection alive: no descriptor stays open, even without a collection."""
        self.run_pool("""
            import gc, time
            def count():
                return len(os.listdir("/proc/self/fd"))
            def use():
                with context.Pool(2) as pool:
                    pool.map(square, range(3))
                    pool.close()
                    pool.join()
                with ProcessPoolExecutor(2, mp_context=context) as executor:
                    executor.submit(square, 3).result()
            gc.disable()
            use()
            before = count()
            for _ in range(3):
                use()
            print(count() - before)
        """)
        seen = int(self.output)
        self.assertLessEqual(seen, int(self.run_unseen()))


if __name__ == "__main__":
    harness.run_where_there_are("joblib")
    harness.main()
