# SPDX-License-Identifier: MIT
"""Ranges of asyncio's tasks: each is on the task that opened it, whichever tasks run in between and
wherever it is left. ANNOT_TEST_TASKS: number of random tasks that run at once (10000)."""

import collections
import importlib.util
import json
import os
import random
import sys
import unittest

import harness
from harness import HERE
from observed_lines import ObservedTest

TASKS = int(os.environ.get("ANNOT_TEST_TASKS", "10000"))
HEAD = """
import asyncio, sys
import pyannot
from pyannot import annotate, mark, observe, pop, push
"""


class TasksTest(ObservedTest):
    """Records a program and lists the ranges of each track."""

    def record_tracks(self, source, parts="asyncio", options=()):
        text = HEAD + f"observe.start({parts!r})\n" + harness.textwrap.dedent(source)
        recording = self.record(text, options=["--no-preload", *options])
        self.assertEqual(recording.lost(), 0)
        self.read_lines()
        return self.tracks()

    def tracks(self):
        """{label of a track: [(depth, name)] by start}; the range of the task's life is depth 0."""
        found = collections.defaultdict(list)
        self.closed = collections.defaultdict(list)
        for line in self.lines:
            if line.get("kind") != "track":
                continue
            label = line["track"].removeprefix("asyncio tasks/")
            if line["event"] == "begin":
                found[label].append((line["depth"], line["name"]))
            elif line["event"] == "end":
                self.closed[label].append(line.get("name"))
        return dict(found)

    @staticmethod
    def only(tracks, start):
        """The ranges of the tracks with this prefix of a label: some versions name a task late."""
        return [ranges for label, ranges in tracks.items() if label.startswith(start)]

    def ranges_of_threads(self):
        others = ("track", "overlapping")
        return [line["name"] for line in self.lines
                if line["event"] == "begin" and line.get("kind") not in others]


class Model(TasksTest):
    def test_random_tasks_are_recorded_as_they_ran(self):
        seed = int(os.environ.get("ANNOT_MODEL_SEED", random.randrange(1 << 30)))
        print(f"ANNOT_MODEL_SEED={seed}", flush=True)
        program = HERE / "tasks_program.py"
        recording = self.record(program, TASKS, seed, options=["--policy", "wait"])
        self.assertEqual(recording.lost(), 0)
        told = json.loads(self.output)
        self.assertTrue(told["enabled"])
        self.read_lines()
        tracks = self.tracks()
        self.assertEqual(self.ranges_of_threads(), ["all of it"])
        for name, ranges in told["expected"].items():
            got = tracks.pop(f"Model.go ({name})")
            self.assertEqual(got[0], (0, "Model.go"))
            self.assertEqual(got[1:], [(depth + 1, what) for depth, what in ranges], name)
        self.assertEqual(set(tracks) - {"run (Task-1)"}, {
            label for label in tracks if "shutdown" in label})
        for label, names in self.closed.items():
            self.assertEqual(names[-1], label.partition(" (")[0])


class Places(TasksTest):
    def test_a_range_is_closed_where_it_was_opened(self):
        """An asynchronous generator that one task opens and another one closes."""
        tracks = self.record_tracks("""
            async def items():
                with annotate("items"):
                    yield 1
                    yield 2

            async def opens(generator):
                await generator.__anext__()
                with annotate("after"):
                    await asyncio.sleep(0)

            async def closes(generator):
                with annotate("closing"):
                    await generator.aclose()
                    mark("closed")

            async def main():
                generator = items()
                await asyncio.create_task(opens(generator), name="one")
                await asyncio.create_task(closes(generator), name="two")

            asyncio.run(main())
        """)
        self.assertEqual(tracks["opens (one)"], [(0, "opens"), (1, "items"), (2, "after")])
        self.assertEqual(self.closed["opens (one)"], ["after", "items", "opens"])
        self.assertEqual(tracks["closes (two)"], [(0, "closes"), (1, "closing")])
        self.assertEqual(self.closed["closes (two)"], ["closing", "closes"])

    def test_a_cancelled_task_closes_its_ranges(self):
        tracks = self.record_tracks("""
            async def forever():
                with annotate("forever"):
                    await asyncio.sleep(3600)

            async def main():
                task = asyncio.create_task(forever(), name="one")
                never = asyncio.create_task(forever(), name="never began")
                never.cancel()
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, never, return_exceptions=True)

            asyncio.run(main())
        """)
        self.assertEqual(tracks["forever (one)"], [(0, "forever"), (1, "forever")])
        self.assertEqual(self.closed["forever (one)"], ["forever", "forever"])
        self.assertEqual(tracks["forever (never began)"], [(0, "forever")])

    def test_a_loop_that_is_closed_leaves_no_range_open(self):
        """Its tasks are dropped: their coroutines are closed outside of any task."""
        tracks = self.record_tracks("""
            import gc

            async def pending():
                with annotate("pending"):
                    await asyncio.sleep(3600)

            def run():
                loop = asyncio.new_event_loop()
                loop.set_exception_handler(lambda *_: None)
                loop.create_task(pending(), name="one")
                loop.run_until_complete(asyncio.sleep(0))
                loop.close()

            with annotate("outside"):
                run()
                gc.collect()
                mark("collected")
        """)
        self.assertEqual(tracks["pending (one)"], [(0, "pending"), (1, "pending")])
        self.assertEqual(self.closed["pending (one)"], ["pending", "pending"])
        self.assertEqual(self.ranges_of_threads(), ["outside"])
        ends = [line["time_ns"] for line in self.lines
                if line["event"] == "end" and line.get("kind") == "track"]
        self.assertLess(max(ends), self.marks("collected")[0]["time_ns"])

    def test_callbacks_and_threads_are_not_the_task(self):
        tracks = self.record_tracks("""
            def called_back():
                with annotate("called back"):
                    pass

            def in_thread():
                with annotate("in thread"):
                    pass

            async def main():
                asyncio.get_running_loop().call_soon(called_back)
                with annotate("in task"):
                    await asyncio.sleep(0)
                    await asyncio.get_running_loop().run_in_executor(None, in_thread)

            asyncio.run(main())
        """)
        self.assertEqual(tracks["main (Task-1)"], [(0, "main"), (1, "in task")])
        self.assertEqual(sorted(self.ranges_of_threads()), ["called back", "in thread"])

    def test_two_loops_in_two_threads_do_not_mix(self):
        tracks = self.record_tracks("""
            import threading

            async def work(name):
                for _ in range(50):
                    with annotate(name):
                        await asyncio.sleep(0)

            async def main(name):
                tasks = [asyncio.create_task(work(name), name=f"{name} {n}") for n in range(20)]
                await asyncio.gather(*tasks)

            threads = [threading.Thread(target=asyncio.run, args=[main(name)])
                       for name in ("left", "right")]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        """, options=["--policy", "wait"])
        for name in ("left", "right"):
            for number in range(20):
                self.assertEqual(tracks[f"work ({name} {number})"],
                                 [(0, "work")] + [(1, name)] * 50)
        self.assertEqual(self.ranges_of_threads(), [])

    def test_marks_go_to_the_task_with_their_payloads(self):
        self.record_tracks("""
            io = pyannot.domain("io")

            def called_back():
                mark("called back")

            async def main():
                kept = annotate("kept", payload=1.5, more=True)
                mark("plain")
                mark("int", payload=3)
                mark("both", payload="text", item=4, category="c")
                mark(kept)
                io.mark("of io", payload=False)
                with annotate("range", payload=7, item=8):
                    asyncio.get_running_loop().call_soon(called_back)
                    await asyncio.sleep(0)

            mark("before")
            asyncio.run(main())
        """)
        marks = {line["name"]: line for line in self.lines
                 if line["event"] == "mark" and line.get("domain") != "python"}
        of_task = {name: line.get("args") for name, line in marks.items() if "track" in line}
        self.assertEqual(of_task, {
            "plain": None, "int": {"value": 3}, "both": {"value": "text", "item": 4},
            "kept": {"value": 1.5, "more": True}, "of io": {"value": False}})
        self.assertEqual({line["track"] for line in marks.values() if "track" in line},
                         {"asyncio tasks/main (Task-1)"})
        self.assertEqual((marks["both"]["category"], marks["of io"]["domain"]), ("c", "io"))
        self.assertNotIn("track", marks["before"])
        self.assertNotIn("track", marks["called back"])
        begin, = (line for line in self.lines
                  if line["event"] == "begin" and line["name"] == "range")
        self.assertEqual(begin["args"], {"value": 7, "item": 8})

    def test_statements_made_by_hand_go_to_the_task(self):
        tracks = self.record_tracks("""
            async def main():
                a, b = annotate("a"), annotate("b")
                a.__enter__()
                await asyncio.sleep(0)
                leave = b.__exit__
                b.__enter__()
                await asyncio.sleep(0)
                leave(None, None, None)
                a.__exit__(None, None, None)
                with annotate("c"):
                    pass

            asyncio.run(main())
        """)
        self.assertEqual(tracks["main (Task-1)"], [(0, "main"), (1, "a"), (2, "b"), (1, "c")])

    def test_an_exit_that_was_only_looked_up_may_go_away_on_any_thread(self):
        tracks = self.record_tracks("""
            import threading

            async def main():
                held = [annotate("never").__exit__]
                thread = threading.Thread(target=held.clear)
                thread.start()
                thread.join()
                del held
                bytearray(1000)
                b = annotate("b")
                b.__enter__()
                await asyncio.sleep(0)
                b.__exit__(None, None, None)

            asyncio.run(main())
            with annotate("after"):
                pass
        """)
        self.assertEqual([name for _, name in tracks["main (Task-1)"]], ["main", "b"])

    def test_a_child_that_is_forked_in_a_task_goes_on_by_itself(self):
        tracks = self.record_tracks("""
            import os

            async def main():
                with annotate("parent"):
                    pid = os.fork()
                    if pid == 0:
                        with annotate("child"):
                            pass
                        os._exit(0)
                    os.waitpid(pid, 0)
                    with annotate("after"):
                        await asyncio.sleep(0)

            asyncio.run(main())
        """)
        self.assertEqual(tracks["main (Task-1)"], [(0, "main"), (1, "parent"), (2, "after")])
        self.assertEqual(self.closed["main (Task-1)"], ["after", "parent", "main"])
        self.assertEqual(self.ranges_of_threads(), ["child"])

    def test_a_plain_call_and_a_decorated_coroutine_are_on_the_track(self):
        tracks = self.record_tracks("""
            @annotate("plain")
            def plain():
                pass

            @annotate("request")
            async def request():
                await asyncio.sleep(0)
                plain()

            async def main():
                await asyncio.gather(*(asyncio.create_task(request(), name=f"task {n}")
                                       for n in range(5)))

            asyncio.run(main())
        """)
        for number in range(5):
            self.assertEqual(tracks[f"request (task {number})"],
                             [(0, "request"), (1, "request"), (2, "plain")])
        self.assertEqual(self.ranges_of_threads(), [])

    @unittest.skipIf(sys.version_info < (3, 12), "eager tasks came with Python 3.12")
    def test_eager_tasks_have_tracks(self):
        tracks = self.record_tracks("""
            async def child(wait):
                with annotate("child"):
                    if wait:
                        await asyncio.sleep(0)

            async def main():
                asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
                with annotate("parent"):
                    tasks = [asyncio.create_task(child(n), name=f"eager {n}") for n in range(2)]
                    with annotate("after"):
                        await asyncio.gather(*tasks)

            asyncio.run(main())
        """)
        self.assertEqual(tracks["main (Task-1)"], [(0, "main"), (1, "parent"), (2, "after")])
        self.assertEqual(self.only(tracks, "child ("), [[(0, "child"), (1, "child")]] * 2)

    def test_a_task_of_python_has_a_track_as_well(self):
        tracks = self.record_tracks("""
            async def work():
                with annotate("work"):
                    await asyncio.sleep(0)

            def factory(loop, coroutine, **options):
                return asyncio.tasks._PyTask(coroutine, loop=loop, name="python")

            async def main():
                asyncio.get_running_loop().set_task_factory(factory)
                await asyncio.create_task(work())

            asyncio.run(main())
        """)
        self.assertEqual(self.only(tracks, "work ("), [[(0, "work"), (1, "work")]])


@unittest.skipUnless(importlib.util.find_spec("uvloop"), "needs uvloop")
class Uvloop(TasksTest):
    def test_its_tasks_have_tracks(self):
        """uvloop has its own handles: tasks are recognized without the hook of the loop."""
        tracks = self.record_tracks("""
            import uvloop

            async def work(number):
                with annotate("outer"):
                    await asyncio.sleep(0.001 * (number % 3))
                    async with annotate("inner"):
                        await asyncio.sleep(0)

            async def main():
                await asyncio.gather(*(work(number) for number in range(100)))

            loop = uvloop.new_event_loop()
            loop.run_until_complete(main())
            loop.close()
        """)
        self.assertEqual(self.only(tracks, "work ("),
                         [[(0, "work"), (1, "outer"), (2, "inner")]] * 100)
        self.assertEqual(self.ranges_of_threads(), [])


class Recordings(TasksTest):
    def test_tasks_outlive_recordings(self):
        """Two recordings begin and end while a task is inside of its ranges."""
        program = self.script(HEAD + harness.textwrap.dedent("""
            observe.start("asyncio")

            async def work():
                with annotate("before"):
                    for number in range(2):
                        pyannot.start_recording(f"{sys.argv[1]}/{number}.annot", observe=False)
                        await asyncio.sleep(0)
                        with annotate("whole"):
                            await asyncio.sleep(0)
                        with annotate("cut"):
                            await asyncio.sleep(0)
                            pyannot.stop_recording()
                            await asyncio.sleep(0)
                    with annotate("after"):
                        await asyncio.sleep(0)

            asyncio.run(work())
        """))
        harness.run([sys.executable, str(program), str(self.folder)], env=self.environment)
        for number in range(2):
            os.replace(self.folder / f"{number}.annot", self.folder / "out.annot")
            self.read_lines()
            self.assertEqual(self.tracks()["work (Task-1)"],
                             [(0, "work"), (1, "whole"), (1, "cut")])
            self.assertEqual(self.ranges_of_threads(), [])
            cut = [line for line in self.lines if line["event"] == "end"
                   and line.get("name") == "cut" and line.get("unfinished")]
            self.assertEqual(len(cut), 1)


class Requests(TasksTest):
    def test_steps_are_ranges_of_the_loops_thread(self):
        self.record_tracks("""
            async def work():
                for _ in range(5):
                    await asyncio.sleep(0)

            asyncio.run(work())
        """, parts="asyncio-steps")
        self.assertEqual(self.ranges_of_threads().count("work"), 6)

    def test_what_keeps_the_loop_is_told_with_its_stack(self):
        self.record_tracks("""
            import time

            def innermost():
                time.sleep(0.5)

            async def slow():
                innermost()

            async def quick():
                await asyncio.sleep(0.3)

            asyncio.run(slow())
            asyncio.run(quick())
        """, parts="asyncio-slow=100ms")
        told = [line["args"] for line in self.marks("event loop blocked")]
        slow = [values for values in told if values["turn"].startswith("slow ")]
        self.assertEqual(len(slow), 1, told)
        self.assertGreaterEqual(slow[0]["ms"], 500)
        lines = slow[0]["stack"].splitlines()
        self.assertIn("innermost (", lines[0])
        self.assertIn("slow (", lines[1])
        self.assertFalse([values for values in told if values["turn"].startswith("quick ")
                          and "sleep" in values["stack"]])

    def test_what_keeps_the_loop_is_told_by_default(self):
        self.record_tracks("""
            import time

            async def slow():
                time.sleep(0.2)

            async def quick():
                for _ in range(20):
                    time.sleep(0.01)
                    await asyncio.sleep(0)

            def callback():
                time.sleep(0.1)

            async def main():
                asyncio.get_running_loop().call_soon(callback)
                await quick()
                await slow()

            asyncio.run(main())
        """)
        told = [line["args"] for line in self.marks("event loop blocked")]
        turns = {values["turn"].split()[0]: values["ms"] for values in told}
        self.assertEqual(len(told), 2, told)
        self.assertTrue(190 <= turns.pop("main") < 400, told)
        self.assertTrue(all("callback" in values["turn"] for values in told
                            if not values["turn"].startswith("main")), told)
        self.assertFalse([values for values in told if "stack" in values])

    def test_what_never_ends_is_told_while_it_runs(self):
        self.record_tracks("""
            import os, time

            async def hangs():
                time.sleep(2)
                os._exit(0)

            asyncio.run(hangs())
        """, parts="asyncio-slow=20ms")
        told = [line["args"] for line in self.marks("event loop still blocked")]
        self.assertEqual(len(told), 1)
        self.assertIn("hangs (", told[0]["stack"])


class Traces(TasksTest):
    def test_nothing_is_left_after_remove(self):
        self.record_tracks("""
            def placed():
                return [type(asyncio.events.Handle._run).__name__,
                        *(type(vars(annotate)[name]).__name__
                          for name in ("__exit__", "__aexit__"))]

            assert placed() == ["observed", "task_exit", "task_exit"], placed()
            observe.stop()
            left = placed()
            assert left[0] == "function" and "task_exit" not in left, left
            observe.start("asyncio")
            observe.stop()
            assert placed() == left

            async def main():
                with annotate("plain"):
                    pass

            asyncio.run(main())
        """)
        self.assertEqual(self.ranges_of_threads(), ["plain"])

    def test_a_callback_that_raises_is_told_as_ever(self):
        source = """
            import io, logging

            def told(text):
                return [line for line in text.splitlines() if "0x" not in line]

            def run(parts):
                observe.start(parts)
                stream = io.StringIO()
                handler = logging.StreamHandler(stream)
                logging.getLogger("asyncio").addHandler(handler)

                def fails():
                    raise ValueError("expected")

                async def main():
                    asyncio.get_running_loop().call_soon(fails)
                    await asyncio.sleep(0)

                asyncio.run(main())
                logging.getLogger("asyncio").removeHandler(handler)
                return told(stream.getvalue())

            plain, observed = run("none"), run("asyncio-steps")
            assert plain and plain == observed, (plain, observed)
        """
        self.record_tracks(source)

    def test_a_bad_threshold_is_refused_with_the_remedy(self):
        from pyannot import observe

        self.addCleanup(observe.stop)
        import asyncio  # noqa: F401  (the part begins with it)

        observe.start("asyncio-slow=soon")
        self.assertIn("as 100ms", observe.status()["asyncio"])


if __name__ == "__main__":
    harness.run_where_there_are("uvloop")
    harness.main()
