# SPDX-License-Identifier: MIT
"""The content of recordings of Python programs, for each way of annotating."""

import collections
import json

import harness
from harness import RecordingTest


class Ranges(RecordingTest):
    def test_with_push_and_decorator(self):
        recording = self.record(
            """
            import pyannot
            from pyannot import annotate

            @annotate("decorated")
            def decorated():
                pyannot.mark("inside")

            for i in range(100):
                with annotate("outer"):
                    pyannot.push("pushed")
                    decorated()
                    pyannot.pop()
                    with annotate("long form", payload=i, domain="d", category="c", level=2):
                        pyannot.counter("i", i)
            """
        )
        ranges = ["outer", "pushed", "decorated", "long form"]
        self.assertEqual(recording.count("ranges"), dict.fromkeys(ranges, 100))
        self.assertEqual(recording.count("marks"), {"inside": 100})
        self.assertEqual(recording.lost(), 0)
        self.assertEqual(
            collections.Counter(recording.parents()),
            {
                ("outer", None): 100,
                ("pushed", "outer"): 100,
                ("decorated", "pushed"): 100,
                ("long form", "outer"): 100,
            },
        )

    def test_exceptions_close_their_ranges(self):
        recording = self.record(
            """
            from pyannot import annotate

            @annotate("raises")
            def raises():
                raise KeyError

            for _ in range(10):
                try:
                    with annotate("outer"):
                        raises()
                except KeyError:
                    with annotate("handler"):
                        pass
            """
        )
        self.assertEqual(
            collections.Counter(recording.parents()),
            {("outer", None): 10, ("raises", "outer"): 10, ("handler", None): 10},
        )

    def test_recursion_and_one_object_nested(self):
        recording = self.record(
            """
            from pyannot import annotate

            @annotate("recurse")
            def recurse(n):
                return n and recurse(n - 1)

            recurse(49)
            annotation = annotate("nested")
            with annotation:
                with annotation:
                    with annotate("nested"):
                        pass
            """
        )
        self.assertEqual(
            collections.Counter(recording.parents()),
            {
                ("recurse", None): 1,
                ("recurse", "recurse"): 49,
                ("nested", None): 1,
                ("nested", "nested"): 2,
            },
        )

    def test_threads_share_objects_and_have_names(self):
        recording = self.record(
            """
            import threading
            import pyannot

            annotation = pyannot.annotate("shared")

            def nest(depth):
                with annotation:
                    if depth:
                        nest(depth - 1)

            def work(number):
                pyannot.set_thread_name(f"worker {number}")
                for _ in range(100):
                    nest(9)

            pyannot.set_process_name("the process")
            threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            """
        )
        self.assertEqual(recording.count("ranges"), {"shared": 8000})
        self.assertEqual(recording.lost(), 0)
        per_thread = collections.Counter(event["tid"] for event in recording.ranges)
        self.assertEqual(list(per_thread.values()), [1000] * 8)
        self.assertEqual(len({e["tid"] for e in recording.ranges}), 8)
        for number in range(8):
            self.assertIn(f"worker {number}", " ".join(recording.thread_names))
        self.assertIn("the process", " ".join(recording.process_names))

    def test_names_of_all_kinds_arrive(self):
        names = ["é", "日本", "with space", "x" * 1000, "quote\"back\\slash", "</script>"]
        recording = self.record(
            f"""
            from pyannot import annotate, mark
            for name in {names!r}:
                with annotate(name):
                    mark(name)
            mark("\\udcff")
            """
        )
        self.assertEqual(recording.count("ranges"), dict.fromkeys(names, 1))
        self.assertEqual(recording.count("marks"), {**dict.fromkeys(names, 1), "\\udcff": 1})

    def test_a_program_that_annotates_nothing(self):
        recording = self.record("import pyannot")
        self.assertEqual(recording.ranges, [])


class Suspending(RecordingTest):
    def test_tasks_do_not_swallow_each_other(self):
        recording = self.record(
            """
            import asyncio
            from pyannot import annotate

            @annotate("task")
            async def task(n):
                for _ in range(n):
                    await asyncio.sleep(0)
                    with annotate("step"):
                        pass

            @annotate("generator")
            def generator():
                yield 1
                yield 2

            @annotate("async generator")
            async def async_generator():
                yield 1
                yield 2

            async def main():
                await asyncio.gather(*(task(i) for i in range(10)))
                async for _ in async_generator():
                    pass

            asyncio.run(main())
            a, b = generator(), generator()
            next(a), next(b)
            with annotate("plain"):
                list(a), list(b)
            """
        )
        self.assertEqual(
            recording.count("free_ranges"), {"task": 10, "generator": 2, "async generator": 1}
        )
        self.assertEqual(
            collections.Counter(recording.parents()), {("step", None): 45, ("plain", None): 1}
        )

    def test_start_and_end_overlap_and_cross_threads(self):
        recording = self.record(
            """
            import threading
            import pyannot
            first, second = pyannot.start("first"), pyannot.start("second", payload=1)
            pyannot.end(first)
            thread = threading.Thread(target=pyannot.end, args=(second,))
            thread.start()
            thread.join()
            assert first and second and first != second
            """
        )
        self.assertEqual(recording.count("free_ranges"), {"first": 1, "second": 1})


class Values(RecordingTest):
    def test_counters_keep_int_and_float(self):
        values = [0, -5, 2**53 + 1, 1.5, -0.25, 1e300, 7]
        recording = self.record(
            f"""
            from pyannot import counter
            for value in {values!r}:
                counter("c", value)
                counter("in a domain", value, domain="d")
            """
        )
        got = [list(event["args"].values())[0] for event in recording.counters]
        # Viewers hold counters as doubles, so the export does.
        expected = [float(value) for value in values]
        self.assertEqual(got[0::2], expected)
        self.assertEqual(got[1::2], expected)

    def test_payloads_arrive(self):
        payloads = [1, -1, 2**53 + 1, 1.5, True, "text", "é\"\\n"]
        recording = self.record(
            f"""
            from pyannot import mark
            for payload in {payloads!r}:
                mark("m", payload=payload)
            """
        )
        got = [json.dumps(event["args"]) for event in recording.marks]
        for payload, args in zip(payloads, got):
            self.assertIn(json.dumps(payload), args)


class OnAndOff(RecordingTest):
    SOURCE = """
        import sys, time
        from pyannot import annotate, enabled, mark, pop, push

        def wait(state):
            until = time.monotonic() + 20
            while enabled() != state:
                assert time.monotonic() < until
                time.sleep(0.001)

        @annotate("decorated off")
        def decorated_off():
            wait(True)
            push("stays open")

        @annotate("decorated on")
        def decorated_on():
            wait(False)

        shared = annotate("shared")
        with annotate("off to off"):
            with annotate("off to on"), shared:
                decorated_off()
                with shared:
                    mark("on")
            with annotate("inside"):  # leaving three that were entered off closed nothing
                pass
            pop()
            with annotate("whole"):
                mark("in whole")
            mark("outside")
            with annotate("on to off"), shared:
                push("left open")
                decorated_on()
                with shared:
                    pass
            pop()
        """

    def test_recording_begins_and_ends_inside_open_ranges(self):
        recording = self.record(self.SOURCE, options=["--delay", "1.5s", "--duration", "0.5s"])
        self.assertEqual(
            collections.Counter(recording.parents()),
            {
                ("stays open", None): 1,
                ("shared", "stays open"): 1,
                ("inside", "stays open"): 1,
                ("whole", None): 1,
                ("on to off", None): 1,
                ("shared", "on to off"): 1,
                ("left open", "shared"): 1,
                ("decorated on", "left open"): 1,
            },
        )
        self.assertEqual(recording.count("marks"), {"on": 1, "in whole": 1, "outside": 1})


class Children(RecordingTest):
    def test_a_range_open_at_fork_is_closed_by_the_parent_only(self):
        recording = self.record(
            """
            import os
            from pyannot import annotate
            with annotate("parent"):
                pid = os.fork()
                if pid == 0:
                    with annotate("child"):
                        pass
            if pid == 0:
                with annotate("child after"):
                    pass
                os._exit(0)
            os.waitpid(pid, 0)
            with annotate("parent after"):
                pass
            """
        )
        count = recording.count("ranges")
        self.assertEqual(
            {name: count[name] for name in ("child", "child after", "parent after")},
            {"child": 1, "child after": 1, "parent after": 1},
        )
        self.assertEqual(len({event["pid"] for event in recording.ranges}), 2)
        self.assertEqual(recording.lost(), 0)

    def test_every_start_method_and_pool(self):
        recording = self.record(
            """
            import concurrent.futures, multiprocessing, subprocess, sys
            from pyannot import annotate

            @annotate("task")
            def task(n):
                with annotate("inner"):
                    return n

            if __name__ == "__main__":
                for method in ("fork", "spawn", "forkserver"):
                    context = multiprocessing.get_context(method)
                    with context.Pool(2) as pool:
                        assert pool.map(task, range(50)) == list(range(50))
                    with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
                        assert list(pool.map(task, range(50))) == list(range(50))
                with concurrent.futures.ThreadPoolExecutor(4) as pool:
                    list(pool.map(task, range(50)))
                code = "import pyannot\\nwith pyannot.annotate('inner'): pass"
                subprocess.run([sys.executable, "-c", code], check=True)
            """
        )
        self.assertEqual(recording.count("ranges"), {"task": 350, "inner": 351})
        self.assertEqual(recording.lost(), 0)


if __name__ == "__main__":
    harness.main()
