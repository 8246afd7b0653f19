# SPDX-License-Identifier: MIT
"""Ranges follow work into threads: work in an executor's thread lies inside the ranges that the
submitter had open, in paths, samples and waits, and is counted once."""

import importlib.util
import json
import sys
import unittest

import harness
from harness import ANNOT, RecordingTest

HEAD = """
import asyncio, contextvars, functools, json, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from pyannot import annotate

def parse(text):
    with annotate("inner"):
        return len(text)

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
"""
BY_POOLS = ("python:submit", "python:map")  # of the submitting side, in every path


class InheritedTest(RecordingTest):
    def record_program(self, source, *args, options=("--sampling=none",)):
        recording = self.record(HEAD + harness.textwrap.dedent(source), *args,
                                options=["--python=pools,asyncio", *options])
        self.assertEqual(recording.lost(), 0)
        return recording

    def report(self, *options):
        path = str(self.folder / "out.annot")
        return json.loads(harness.run([ANNOT, "report", "--json", *options, path]).stdout)

    def rows(self, table="ranges", *options):
        """{path: row}"""
        return {row["path"]: row for row in self.report(*options)[table]
                if row["path"] and not row["path"].endswith(BY_POOLS)}

    def check_paths(self, source, where, **others):
        """where: {path of ranges around parse: count}; others: {range: count}"""
        self.record_program(source)
        expected = dict(others)
        for path, count in where.items():
            expected[f"{path}python:parse"] = expected[f"{path}python:parse/inner"] = count
        self.assertEqual({path: row["count"] for path, row in self.rows().items()}, expected)


class Asyncio(InheritedTest):
    def test_to_thread_and_executors(self):
        self.check_paths("""
            async def main():
                loop = asyncio.get_running_loop()
                with annotate("request"):
                    assert await asyncio.to_thread(parse, "abc") == 3
                    await asyncio.to_thread(functools.partial(parse, text="abc"))
                with annotate("copied"):
                    run = contextvars.copy_context().run
                    assert await loop.run_in_executor(None, run, parse, "ab") == 2
                with annotate("plain"), annotate("more", domain="lib"):
                    assert await loop.run_in_executor(None, parse, "a") == 1
                await loop.run_in_executor(None, parse, "")

            asyncio.run(main())
        """, {"python:main/": 1, "python:main/request/": 2, "python:main/copied/": 1,
              "python:main/plain/lib:more/": 1})
        self.assertEqual({path: row["count"] for path, row in self.rows("track_ranges").items()
                          if path.startswith("python:main")},
                         {"python:main" + path: 1
                          for path in ("", "/request", "/copied", "/plain", "/plain/lib:more")})

    def test_tasks_made_inside_keep_what_was_open(self):
        """gather and, before 3.12, wait_for wrap awaitables in tasks."""
        self.check_paths("""
            async def work(text):
                with annotate("w"):
                    return await asyncio.to_thread(parse, text)

            async def main():
                with annotate("request"):
                    await asyncio.gather(asyncio.to_thread(parse, "a"),
                                         asyncio.to_thread(parse, "b"), work("c"))
                with annotate("made"):
                    task = asyncio.create_task(work("d"))
                await task
                await work("e")

            with annotate("all"):
                asyncio.run(main())
        """, {"all/python:main/request/python:to_thread/": 2,
              "all/python:main/request/python:work/w/": 1,
              "all/python:main/made/python:work/w/": 1, "all/python:main/w/": 1}, all=1)

    @unittest.skipIf(sys.version_info < (3, 12), "tasks are eager from 3.12 on")
    def test_the_first_step_of_an_eager_task(self):
        self.check_paths("""
            async def eager():
                with annotate("first"):
                    await asyncio.to_thread(parse, "a")
                with annotate("later"):
                    await asyncio.to_thread(parse, "a")

            async def main():
                asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
                with annotate("request"):
                    await asyncio.create_task(eager())

            asyncio.run(main())
        """, {f"python:main/request/python:eager/{name}/": 1 for name in ("first", "later")})

    @unittest.skipUnless(importlib.util.find_spec("uvloop"), "uvloop is not installed")
    def test_uvloop(self):
        self.check_paths("""
            import uvloop

            async def main():
                with annotate("request"):
                    await asyncio.to_thread(parse, "a")

            with annotate("all"):
                uvloop.install()
                asyncio.run(main())
        """, {"all/python:main/request/": 1}, all=1)

    @unittest.skipUnless(importlib.util.find_spec("anyio"), "anyio is not installed")
    def test_anyio(self):
        self.check_paths("""
            import anyio, anyio.to_thread, traceback

            def fails():
                raise LookupError

            async def main():
                with annotate("request"):
                    assert await anyio.to_thread.run_sync(parse, "abc") == 3
                    async with anyio.create_task_group() as group:
                        for _ in range(3):
                            group.start_soon(anyio.to_thread.run_sync, parse, "a")
                with annotate("failing"):
                    try:
                        await anyio.to_thread.run_sync(fails)
                    except LookupError as error:
                        assert traceback.extract_tb(error.__traceback__)[-1].name == "fails"

            anyio.run(main)
        """, {"python:main/request/": 4}, **{"python:main/failing/python:fails": 1})
        [task] = [row for row in self.report()["tasks"] if row["function"] == "parse"]
        self.assertEqual((task["count"], task["unfinished_count"]), (4, 0))


class Executors(InheritedTest):
    def test_submit_and_map(self):
        self.check_paths("""
            with ThreadPoolExecutor(2) as executor:
                with annotate("work"), annotate("part", domain="lib"):
                    executor.submit(parse, "a").result()
                with annotate("mapped"):
                    assert list(executor.map(parse, ["a", "bc"])) == [1, 2]
                executor.submit(parse, "a").result()
                with annotate("left early"):
                    future = executor.submit(parse, "a")
                future.result()
        """, {"work/lib:part/": 1, "mapped/": 2, "": 1, "left early/": 1},
            **{"work": 1, "work/lib:part": 1, "mapped": 1, "left early": 1})

    def test_tasks_of_tasks(self):
        """A long chain of tasks does not make an ever longer path."""
        self.record_program("""
            with ThreadPoolExecutor(2) as executor:
                def outer():
                    with annotate("own"):
                        return executor.submit(parse, "a")
                def chain(count):
                    with annotate("page"):
                        return executor.submit(chain, count - 1) if count else None
                with annotate("nested"):
                    executor.submit(outer).result().result()
                with annotate("chain"):
                    future = executor.submit(chain, 30)
                    while future is not None:
                        future = future.result()
        """)
        counts = {path: row["count"] for path, row in self.rows().items()}
        self.assertEqual(counts["nested/python:outer/own/python:parse/inner"], 1)
        first = "chain/python:chain/page"
        self.assertEqual({path: count for path, count in counts.items() if "/page" in path},
                         {first: 1, f"{first}/python:chain": 30, f"{first}/python:chain/page": 30})

    def test_deep_and_filtered_ranges(self):
        self.record_program("""
            with ThreadPoolExecutor(1) as executor:
                def descend(depth):
                    if depth == 0:
                        return executor.submit(parse, "a").result()
                    with annotate(f"level {depth}"), annotate("held back", domain="noise"):
                        return descend(depth - 1)
                for depth in (5, 100, 2000):
                    sys.setrecursionlimit(10000)
                    descend(depth)
        """, options=["--sampling=none", "--disable", "noise"])
        paths = [path for path in self.rows("ranges", "--limit", "0")
                 if path.endswith("python:parse")]
        levels = [f"level {depth}" for depth in range(5, 0, -1)]
        self.assertIn("/".join([*levels, "python:parse"]), paths)
        self.assertIn("/".join([*(f"level {100 - i}" for i in range(16)), "python:parse"]), paths)
        self.assertEqual(len(paths), 3)

    def test_exceptions_and_cancelled_tasks(self):
        recording = self.record_program("""
            def fails():
                raise LookupError("nowhere")

            with ThreadPoolExecutor(1) as executor, annotate("work"):
                assert isinstance(executor.submit(fails).exception(), LookupError)
                gate = threading.Event()
                executor.submit(gate.wait)
                assert executor.submit(parse, "never").cancel()
                gate.set()
        """)
        self.assertEqual([event["name"] for event in recording.ranges
                          if "exception" in event.get("args", ())], ["fails"])
        self.assertEqual({path: row["count"] for path, row in self.rows().items()},
                         {"work": 1, "work/python:fails": 1, "work/python:Event.wait": 1})

    def test_recording_begins_and_ends_in_the_middle(self):
        """Work submitted before the recording inherits no ranges; ranges inherited within it are
        not closed by pops after its end."""
        path = self.script(HEAD + harness.textwrap.dedent("""
            import pyannot
            from pyannot import observe
            observe.start("pools")

            def run(begun, gate):
                begun.set()
                gate.wait()
                with annotate("in it"):
                    pass

            def submit(executor):
                begun, gate = threading.Event(), threading.Event()
                future = executor.submit(run, begun, gate)
                begun.wait()
                return future, gate

            with ThreadPoolExecutor(1) as executor:
                with annotate("before"):
                    future, gate = submit(executor)
                pyannot.start_recording(sys.argv[1], sample=0)
                gate.set()
                future.result()
                with annotate("first"):
                    future, gate = submit(executor)
                pyannot.stop_recording()
                pyannot.start_recording(sys.argv[2], sample=0)
                gate.set()
                future.result()
                with annotate("second"):
                    executor.submit(parse, "a").result()
                pyannot.stop_recording()
        """))
        files = [str(self.folder / name) for name in ("a.annot", "b.annot")]
        harness.run([sys.executable, str(path), *files], env=self.environment)
        found = []
        for name in files:
            report = json.loads(harness.run([ANNOT, "report", "--json", name]).stdout)
            self.assertEqual(report["recording"]["orphan_end_count"], 0)
            found.append({row["path"]: row["count"] for row in report["ranges"]
                          if row["path"] and not row["path"].endswith(BY_POOLS)})
        self.assertEqual(found, [{"in it": 1, "first": 1, "first/python:run": 1},
                                 {"in it": 1, "second": 1, "second/python:parse": 1,
                                  "second/python:parse/inner": 1}])


class Sums(InheritedTest):
    BODY = """
        def wait(seconds):
            time.sleep(seconds)

        async def main():
            with annotate("request"):
                await asyncio.gather(*(asyncio.to_thread(spin, 0.1) for _ in range(3)))
                await asyncio.to_thread(wait, 0.1)

        before = time.perf_counter()
        with annotate("all"):
            asyncio.run(main())
        with ThreadPoolExecutor(2) as executor, annotate("work"):
            begin = time.perf_counter()
            futures = [executor.submit(spin, 0.1) for _ in range(4)]
            for future in futures:
                future.result()
            print(time.perf_counter() - begin)
        """

    def test_each_second_counts_once(self):
        self.record_program(self.BODY, options=["--rate", "499"])
        report = self.report()
        ranges = self.rows()
        work_ns = float(self.output.split()[-1]) * 1e9
        self.assertEqual(ranges["work"]["count"], 1)
        self.assertAlmostEqual(ranges["work"]["total_ns"] / work_ns, 1, delta=0.02)
        self.assertEqual(ranges["work/python:spin"]["count"], 4)
        self.assertAlmostEqual(sum(row["self_ns"] for row in report["ranges"]),
                               report["recording"]["thread_time_ns"], delta=1)
        if not report["sampling"]["sample_count"]:
            self.skipTest("nothing was sampled here")
        tables = ("ranges", "track_ranges", "inherited_ranges", "unrecorded_ranges")
        apart = sum(row["cpu_self_ns"] for name in tables for row in report[name] if row["path"])
        outside = [row["cpu_self_ns"] for row in report["ranges"] if row.get("rest") == "outside"]
        self.assertEqual(apart + sum(outside), report["sampling"]["cpu_ns"])
        self.check_shares(ranges, self.rows("inherited_ranges"))

    def check_shares(self, ranges, inherited):
        """By the threads' own clocks: 0.3 s for the request, 0.4 s for the work."""
        request = "all/python:main/request"
        self.assertAlmostEqual(inherited[request]["cpu_ns"] / 0.3e9, 1, delta=0.15)
        self.assertAlmostEqual(inherited["work"]["cpu_ns"] / 0.4e9, 1, delta=0.15)
        for path, seconds in ((f"{request}/python:to_thread/python:spin", 0.3),
                              ("work/python:spin", 0.4)):
            self.assertAlmostEqual(ranges[path]["cpu_ns"] / 1e9 / seconds, 1, delta=0.15)
        self.assertLess(ranges["work"]["cpu_ns"], 0.05e9)  # it waits for the threads

    def test_samples_and_waits_lie_inside(self):
        self.record_program(self.BODY, options=["--rate", "499"])
        report = self.report("--range", "request")
        if not report["sampling"]["sample_count"]:
            self.skipTest("nothing was sampled here")
        self.assertIn("spin", {row["name"] for row in report["python_functions"]})
        self.assertIn(("wait", "sleep"),
                      {(row["name"], row["reason"]) for row in report["wait_places"]})
        self.assertAlmostEqual(report["sampling"]["inside_cpu_ns"] / 0.3e9, 1, delta=0.15)


if __name__ == "__main__":
    harness.run_where_there_are("uvloop")
    harness.main()
