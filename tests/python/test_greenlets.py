# SPDX-License-Identifier: MIT
"""Ranges, samples and calls of greenlets, and of gevent's: each is on its own greenlet, whichever
greenlets run in between and however one ends. ANNOT_TEST_GREENLETS: number of random ones (800)."""

import collections
import importlib.util
import json
import os
import random
import statistics
import sys
import unittest

import harness
from harness import ANNOT, HERE, RecordingTest
from test_task_samples import Shown

GREENLETS = int(os.environ.get("ANNOT_TEST_GREENLETS", "800"))
HEAD = """
import gc, greenlet, sys, threading, time
import pyannot
from pyannot import annotate, mark, observe, pop, push
observe.start("greenlets,asyncio")
"""


def needs(package):
    return unittest.skipUnless(importlib.util.find_spec(package), f"{package} is not installed")


class GreenletsTest(RecordingTest):
    def tracks(self):
        """{label of a track: [(depth, name)] by start}, and the ranges that ended there, by end."""
        text = harness.run([ANNOT, "cat", "-j", str(self.folder / "out.annot")]).stdout
        self.lines = list(map(json.loads, text.splitlines()))
        begun, self.ended = collections.defaultdict(list), collections.defaultdict(list)
        for line in self.lines:
            if line.get("kind") == "track" and line["event"] == "begin":
                begun[line["track"]].append((line["depth"], line["name"]))
            elif line.get("kind") == "track" and line["event"] == "end":
                self.ended[line["track"]].append(line.get("name"))
        return dict(begun)

    def of_threads(self):
        return [line["name"] for line in self.lines
                if line["event"] == "begin" and line.get("kind") == "pushed"]

    def record_calls(self, source, mode, select):
        """{(task or greenlet, function): calls}"""
        self.record_tracks(source, ["--python", "asyncio,greenlets", f"--trace-functions={mode}",
                                    "--trace-select", select])
        report = json.loads(harness.run(
            [ANNOT, "report", "--json", str(self.folder / "out.annot")]).stdout)
        contexts = collections.Counter()
        for row in report["calls_by_context"]:
            contexts[row["task"], row["name"]] += row["call_count"]
        return dict(contexts)

    def record_tracks(self, source, options=("--no-preload",)):
        recording = self.record(HEAD + harness.textwrap.dedent(source),
                                options=["--sampling=none", *options])
        self.assertEqual(recording.lost(), 0)
        return self.tracks()


@needs("greenlet")
class Model(GreenletsTest):
    def test_random_greenlets_are_recorded_as_they_ran(self):
        seed = int(os.environ.get("ANNOT_MODEL_SEED", random.randrange(1 << 30)))
        print(f"ANNOT_MODEL_SEED={seed}", flush=True)
        recording = self.record(HERE / "greenlet_ranges_program.py", GREENLETS, seed,
                                options=["--no-preload", "--sampling=none", "--policy", "wait"])
        self.assertEqual(recording.lost(), 0)
        told = json.loads(self.output)
        self.assertTrue(told["enabled"])
        tracks = {}
        for label, ranges in self.tracks().items():
            self.assertEqual(ranges[0], (0, ranges[0][1]))
            self.assertEqual(len(self.ended[label]), len(ranges), label)
            if ranges[0][1] in ("Model.run", "run") and len(ranges) > 1:
                tracks[ranges[1][1]] = ranges
        for name, ranges in told["expected"].items():
            if ranges:  # without ranges, an exception was thrown into it before it began
                self.assertEqual(tracks.pop(name)[1:],
                                 [(depth + 1, what) for depth, what in ranges], name)
        self.assertEqual(tracks, {})
        self.assertEqual(set(self.of_threads()), {"all of it", "turn"})


@needs("greenlet")
class Places(GreenletsTest):
    def test_the_main_ones_ranges_are_the_threads(self):
        tracks = self.record_tracks("""
            def work():
                with annotate("inside"):
                    main.switch()
                with annotate("again"):
                    pass

            main = greenlet.getcurrent()
            other = greenlet.greenlet(work)
            with annotate("outside"):
                other.switch()
                with annotate("between"):
                    pass
                other.switch()
        """)
        self.assertEqual(tracks, {"greenlets/work (greenlet 1)": [
            (0, "work"), (1, "inside"), (1, "again")]})
        self.assertEqual(self.of_threads(), ["outside", "between"])

    def test_each_ending_closes_what_is_open(self):
        tracks = self.record_tracks("""
            def work(name):
                with annotate(name):
                    push("pushed")
                    greenlet.getcurrent().parent.switch()

            def ended(name, end):
                one = greenlet.greenlet(work)
                one.switch(name)
                try:
                    end(one)
                except ValueError:
                    pass

            ended("returned", lambda one: one.switch())
            ended("thrown", lambda one: one.throw(ValueError))
            ended("exited", lambda one: one.throw())
            ended("freed", lambda one: None)
            gc.collect()
            never = greenlet.greenlet(work)
            never.throw()
            mark("all over")
        """)
        names = {"returned", "thrown", "exited", "freed"}
        self.assertEqual({ranges[1][1] for ranges in tracks.values() if len(ranges) > 1}, names)
        for label, ranges in tracks.items():
            self.assertEqual(len(self.ended[label]), len(ranges), label)
        last = [line["event"] for line in self.lines if line.get("kind") == "track"
                or line.get("name") == "all over"]
        self.assertEqual(last[-1], "mark")

    def test_a_switch_to_another_thread_is_refused_as_ever(self):
        tracks = self.record_tracks("""
            def work():
                with annotate("inside"):
                    greenlet.getcurrent().parent.switch()

            one = greenlet.greenlet(work)
            one.switch()

            def elsewhere():
                with annotate("elsewhere"):
                    try:
                        one.switch()
                    except greenlet.error:
                        mark("refused")
                    with annotate("still here"):
                        pass

            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            one.switch()
        """)
        self.assertEqual(tracks, {"greenlets/work (greenlet 1)": [(0, "work"), (1, "inside")]})
        self.assertEqual(self.of_threads(), ["elsewhere", "still here"])

    def test_a_trace_function_of_the_programs_own(self):
        self.record_tracks("""
            told = []

            def work():
                with annotate("inside"):
                    greenlet.getcurrent().parent.switch()

            def fails(event, pair):
                raise KeyError

            def follow(event, pair):
                told.append(event)

            assert greenlet.settrace(follow) is None
            one = greenlet.greenlet(work)
            one.switch()
            one.switch()
            assert told == 4 * ["switch"], told
            assert greenlet.settrace(fails) is follow
            two = greenlet.greenlet(work)
            try:
                two.switch()
            except KeyError:
                mark("failed")
            assert greenlet.gettrace() is None
            three = greenlet.greenlet(work)
            three.switch()
            three.switch()
        """)
        self.assertEqual(sum(line["event"] == "begin" and line["name"] == "inside"
                             for line in self.lines), 2)

    TASKS = """
        import asyncio

        def leaf():
            time.sleep(0.001)

        def blocking(number):
            with annotate("blocking"):
                for _ in range(3):
                    with annotate("query"):
                        leaf()
                        greenlet.getcurrent().parent.switch(asyncio.sleep(0.001))

        async def request(number):
            inner = greenlet.greenlet(blocking)
            with annotate("request"):
                awaited = inner.switch(number)
                while not inner.dead:
                    leaf()
                    await awaited
                    awaited = inner.switch()

        async def main():
            await asyncio.gather(*(asyncio.create_task(request(n), name=f"r{n}")
                                   for n in range(4)))

        asyncio.run(main())
    """

    def test_one_that_a_task_runs_is_the_tasks(self):
        """Like SQLAlchemy: blocking code in a greenlet, which makes its task await."""
        tracks = self.record_tracks(self.TASKS)
        for number in range(4):
            self.assertEqual(tracks[f"asyncio tasks/request (r{number})"], [
                (0, "request"), (1, "request"), (2, "blocking"), *(3 * [(3, "query")])])
        self.assertFalse([label for label in tracks if label.startswith("greenlets/")])

    def test_calls_of_one_that_a_task_runs_are_the_tasks(self):
        for mode in ("exact", "aggregate"):
            contexts = self.record_calls(self.TASKS, mode, "request,blocking,leaf")
            self.assertEqual(contexts, {("request", "request"): 4, ("request", "blocking"): 4,
                                        ("request", "leaf"): 24}, mode)

    def test_a_loop_that_a_greenlet_runs(self):
        """Like Playwright: the loop switches to the main greenlet in the middle of a step."""
        tracks = self.record_tracks("""
            import asyncio

            async def serve():
                for _ in range(20):
                    with annotate("served"):
                        main.switch()
                        await asyncio.sleep(0)

            def loop():
                asyncio.run(serve())

            def deep(n):
                return deep(n - 1) if n else fiber.switch()

            main = greenlet.getcurrent()
            fiber = greenlet.greenlet(loop)
            fiber.switch()
            for number in range(19):
                with annotate("user"):
                    deep(number * 7 % 20)
            fiber.switch()
        """)
        [task] = [ranges for label, ranges in tracks.items() if "serve" in label]
        self.assertEqual(task, [(0, "serve"), *(20 * [(1, "served")])])
        self.assertEqual(self.of_threads(), 19 * ["user"])


@needs("greenlet")
class Calls(GreenletsTest):
    def edges(self, program, mode):
        """{(caller, callee): calls}"""
        self.record(program, options=["--sampling=none", "--python", "greenlets",
                                      f"--trace-functions={mode}",
                                      "--trace-select", program.name])
        report = json.loads(harness.run(
            [ANNOT, "report", "--json", str(self.folder / "out.annot")]).stdout)
        edges = {tuple(report["calls"][row[end]]["name"].split(".")[-1]
                       for end in ("caller_row", "callee_row")): row["call_count"]
                 for row in report["call_edges"]}
        return {pair: count for pair, count in edges.items()
                if not {"<module>", "<lambda>"} & set(pair)}

    def test_greenlets_have_stacks_of_their_own(self):
        for mode in ("exact", "aggregate"):
            self.assertEqual(self.edges(HERE / "greenlets_program.py", mode),
                             {("first", "leaf"): 6, ("second", "leaf"): 6, ("second", "deep"): 6,
                              ("deep", "deep"): 18, ("main", "leaf"): 2}, mode)

    def test_a_thread_that_was_traced_before_greenlet_was_imported(self):
        for mode in ("exact", "aggregate"):
            edges = self.edges(self.script("""
                import threading

                ready, go = threading.Event(), threading.Event()

                def leaf():
                    pass

                def other(parent):
                    leaf()
                    parent.switch()
                    leaf()

                def work():
                    leaf()
                    ready.set()
                    go.wait()
                    one = greenlet.greenlet(other)
                    one.switch(greenlet.getcurrent())
                    leaf()
                    one.switch()

                thread = threading.Thread(target=work)
                thread.start()
                ready.wait()
                import greenlet
                go.set()
                thread.join()
            """), mode)
            self.assertEqual(edges, {("work", "leaf"): 2, ("other", "leaf"): 2}, mode)


@needs("greenlet")
class Samples(Shown):
    def test_a_greenlet_shows_what_it_has_open(self):
        self.assertEqual(self.shown("""
            import greenlet

            def work(name):
                with annotate(name):
                    main.switch()
                    shown(name)
                    with annotate("deeper"):
                        main.switch()
                        shown(name + " deeper")
                main.switch()
                shown(name + " left")

            main = greenlet.getcurrent()
            shown("before")
            with annotate("outer"):
                ones = [greenlet.greenlet(work) for _ in range(2)]
                ones[0].switch("a")
                ones[1].switch("b")
                shown("main")
                for _ in range(3):
                    for one in ones:
                        one.switch()
                shown("again")
        """, "greenlets"), {
            "before": [], "main": ["outer"], "again": ["outer"],
            **{name: ["outer", "work", name] for name in "ab"},
            **{name + " deeper": ["outer", "work", name, "deeper"] for name in "ab"},
            **{name + " left": ["outer", "work"] for name in "ab"}})

    def test_a_loop_that_a_greenlet_runs(self):
        self.assertEqual(self.shown("""
            import asyncio, greenlet

            async def serve():
                with annotate("served"):
                    shown("served")
                    main.switch()
                    shown("served again")

            main = greenlet.getcurrent()
            fiber = greenlet.greenlet(lambda: asyncio.run(serve()))
            fiber.switch()
            with annotate("user"):
                shown("user")
            fiber.switch()
        """, "greenlets,asyncio"), {
            "served": ["<lambda>", "serve", "served"], "user": ["user"],
            "served again": ["<lambda>", "serve", "served"]})


@needs("gevent")
class Gevent(GreenletsTest):
    PROGRAM = """
        from gevent import monkey
        monkey.patch_all()
        import gevent, gevent.pool

        def leaf(n):
            return n

        def work(n):
            with annotate("work"):
                leaf(n)
                time.sleep(0.001)
                with annotate("inner"):
                    leaf(n)
                    gevent.sleep(0)
            return n

        pool = gevent.pool.Pool(5)
        assert sorted(pool.imap_unordered(work, range(40))) == list(range(40))
        killed = gevent.spawn(work, 1000)
        gevent.sleep(0)
        killed.kill()
    """

    def test_a_pool_has_a_track_for_each_of_its_greenlets(self):
        tracks = self.record_tracks(self.PROGRAM)
        works = [ranges for label, ranges in tracks.items() if label.startswith("greenlets/work ")]
        whole = [(0, "work"), (1, "work"), (2, "inner")]
        self.assertEqual(sorted(works), sorted([*(40 * [whole]), whole[:2]]))
        whole_ends = ["inner", "work", "work"]
        self.assertEqual(sum(self.ended[label] == whole_ends for label in tracks), 40)
        self.assertEqual(self.of_threads(), [])

    def test_calls_of_a_pool_are_all_counted(self):
        for mode in ("exact", "aggregate"):
            contexts = self.record_calls(self.PROGRAM, mode, "work,leaf")
            self.assertEqual(contexts, {("work", "work"): 41, ("work", "leaf"): 81}, mode)


class Observed(GreenletsTest):
    """Observers of pools and imports, with greenlets in place of threads."""

    LATE_NS = 10_000_000  # between the ends of a task and of its function, mostly

    def run_program(self, library, kind):
        recording = self.record(HERE / "greenlet_observers_program.py", library, kind,
                                options=["--no-preload", "--sampling=none", "--policy", "wait"])
        self.assertEqual(recording.lost(), 0)
        self.told = json.loads(self.output.splitlines()[-1])
        self.assertTrue(self.told["enabled"])
        self.tracks()
        self.check_main()
        return [self.nested(events) for events in self.by_track().values()]

    def by_track(self):
        events = collections.defaultdict(list)
        for line in self.lines:
            if line.get("kind") == "track" and line["event"] in ("begin", "end"):
                events[line["track"]].append(line)
        return events

    def nested(self, events):
        """[(name, name of the enclosing range or None, depth, duration)] of one track."""
        open_names, ranges = [], []
        for line in events:
            if line["event"] == "begin":
                self.assertEqual(line["depth"], len(open_names))
                open_names.append(line["name"])
                continue
            self.assertEqual(open_names.pop(), line["name"])
            around = open_names[-1] if open_names else None
            ranges.append((line["name"], around, len(open_names), line["duration_ns"]))
        self.assertEqual(open_names, [])
        return ranges

    def check_main(self):
        """The thread's ranges are those of the main greenlet, without any of an observer."""
        pushed = [(line["depth"], line["name"]) for line in self.lines
                  if line["event"] == "begin" and line.get("kind") == "pushed"]
        turns = [line for line in pushed if line[1].startswith("main")]
        self.assertEqual(turns, self.told["turns"] * [(0, "main"), (1, "main part")])
        others = {name for _, name in pushed if not name.startswith(("main", "import "))}
        self.assertEqual(others, set())

    def check_tasks(self, tracks):
        ranges = [ranges for track in tracks for ranges in track]
        for name in self.told["took"]:
            [(_, around, depth, duration_ns)] = [one for one in ranges if one[0] == name]
            self.assertEqual((around, depth), ("work", 2), name)
            self.check_duration(name, duration_ns)
        works = [one for one in ranges if one[0] == "work"]
        self.assertEqual({one[2] for one in works}, {1})
        self.assertEqual(len(works), len(self.told["took"]))
        late_ns = [late_ns for track in tracks for late_ns in self.late(track)]
        self.assertGreaterEqual(min(late_ns), 0)
        self.assertLess(statistics.median(late_ns), self.LATE_NS)

    def check_duration(self, name, duration_ns):
        least_ns, most_ns = self.told["took"][name]
        self.assertTrue(least_ns <= duration_ns <= most_ns, (name, least_ns, duration_ns, most_ns))

    @staticmethod
    def late(track):
        """How much longer each task takes than the single range inside of it."""
        around = [duration_ns for name, _, _, duration_ns in track if name == "work"]
        inside = [duration_ns for name, _, _, duration_ns in track if name.startswith("work ")]
        assert len(around) == len(inside)
        return [one - other for one, other in zip(around, inside)]

    def check_pool(self, library, kind):
        self.check_tasks(self.run_program(library, kind))
        path = str(self.folder / "out.annot")
        report = json.loads(harness.run([ANNOT, "report", "--json", path]).stdout)
        self.assertEqual((report["pools"], report["tasks"]), ([], []))
        self.assertIn("workers are greenlets", harness.run([ANNOT, "info", path]).stdout)

    def check_imports(self, library):
        tracks = self.run_program(library, "imports")
        seen = 0
        for track in tracks:
            for number in range(8):
                if not any(one[0] == f"outer {number}" for one in track):
                    continue
                seen += 1
                kept = [one[:3] for one in track if one[0].endswith(str(number))]
                self.assertEqual(kept[:4], [
                    (f"inner {number}", f"import inner_{number}", 4),
                    (f"import inner_{number}", f"outer {number}", 3),
                    (f"outer {number}", f"import outer_{number}", 2),
                    (f"import outer_{number}", track[-1][0], 1)])
                [duration_ns] = [one[3] for one in track if one[0] == f"import outer_{number}"]
                self.check_duration(f"import outer_{number}", duration_ns)
        self.assertEqual(seen, 8)
        report = json.loads(harness.run(
            [ANNOT, "report", "--json", str(self.folder / "out.annot")]).stdout)
        counts = {row["module"]: row["count"] for row in report["imports"]}
        self.assertEqual({name: counts.get(f"outer_{name}") for name in range(8)},
                         dict.fromkeys(range(8), 1))

    @needs("gevent")
    def test_an_executor_of_gevent(self):
        self.check_pool("gevent", "executor")

    PROCESSES = """
        from gevent import monkey
        monkey.patch_all()
        import concurrent.futures, multiprocessing, sys
        import gevent

        def work(number):
            return number

        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
                futures = [pool.submit(work, number) for number in range(20)]
                mapped = gevent.spawn(lambda: list(pool.map(work, range(20))))
                mapped.join()
                assert [future.result() for future in futures] == mapped.value == list(range(20))
    """

    @needs("gevent")
    def test_processes_of_a_program_that_gevent_patched(self):
        for observers in ("pools,greenlets", "pools"):
            recording = self.record(self.PROCESSES, options=["--sampling=none", "--python",
                                                             observers])
            self.assertEqual(recording.lost(), 0)
            report = json.loads(harness.run(
                [ANNOT, "report", "--json", str(self.folder / "out.annot")]).stdout)
            tasks = [row for row in report["tasks"] if row["workers"] == "processes"]
            self.assertEqual([(row["function"], row["count"], row["unfinished_count"])
                              for row in tasks], [("work", 40, 0)], observers)
            self.assertEqual(recording.count("ranges")["submit"], 40)

    @needs("gevent")
    def test_threads_are_noted_where_greenlets_have_no_tracks(self):
        self.record("""
            from gevent import monkey
            monkey.patch_all()
            import concurrent.futures
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                assert list(pool.map(int, range(4))) == list(range(4))
        """, options=["--sampling=none", "--python", "pools"])
        told = harness.run([ANNOT, "info", str(self.folder / "out.annot")]).stdout
        self.assertIn("their tasks are recorded only with --python=greenlets",
                      " ".join(told.split()))

    @needs("gevent")
    def test_a_thread_pool_of_gevent(self):
        self.check_pool("gevent", "thread_pool")

    @needs("gevent")
    def test_imports_of_gevent(self):
        self.check_imports("gevent")

    @needs("eventlet")
    def test_an_executor_of_eventlet(self):
        self.check_pool("eventlet", "executor")

    @needs("eventlet")
    def test_a_thread_pool_of_eventlet(self):
        self.check_pool("eventlet", "thread_pool")

    @needs("eventlet")
    def test_imports_of_eventlet(self):
        self.check_imports("eventlet")


if __name__ == "__main__":
    harness.run_where_there_are("greenlet")
    harness.main()
