# SPDX-License-Identifier: MIT
"""pyannot.nvtx: calls with the nvtx package's names arrive in recordings."""

import json
import subprocess
import sys
import unittest

import harness
import pyannot

try:
    import numpy
except ImportError:
    numpy = None


class NvtxTest(harness.RecordingTest):
    def events(self, source, *kinds, options=(), **environment):
        """The program's events from `annot cat`, without those of pyannot itself."""
        self.environment.update(environment)
        text = "import pyannot.nvtx as nvtx\n" + harness.textwrap.dedent(source)
        self.record(self.script(text), options=["--sampling=none", *options])
        lines = harness.run([harness.ANNOT, "cat", "--json", str(self.folder / "out.annot")]).stdout
        events = [json.loads(line) for line in lines.splitlines()]
        return [event for event in events
                if event["event"] in kinds and event.get("domain") != "python"]

    def outcome(self, source, **environment):
        """The output of a program without a recorder."""
        done = subprocess.run([sys.executable, "-c", "import pyannot.nvtx as nvtx\n" + source],
                              env=dict(self.environment, **environment), text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()


class Said(NvtxTest):
    def test_each_call_says_all_that_it_was_given(self):
        everything = "'m', 'red', 'd', 'c', 3"
        begun = self.events(f"""
            with nvtx.annotate({everything}):
                pass
            @nvtx.annotate({everything})
            def function():
                pass
            function()
            nvtx.push_range({everything})
            nvtx.pop_range("d")
            nvtx.end_range(nvtx.start_range({everything}))
            nvtx.mark({everything})
            domain = nvtx.get_domain("d")
            attributes = domain.get_event_attributes("m", "red", "c", 3)
            domain.push_range(attributes)
            domain.pop_range()
            domain.end_range(domain.start_range(attributes))
            domain.mark(attributes)
            domain.mark(message="m", color="red", category="c", payload=3)
            other = domain.get_event_attributes()
            domain.mark(other, message="m", color="red", category="c", payload=3)
        """, "begin", "mark")
        said = [[event.get(key) for key in ("name", "domain", "category", "color", "payload")]
                for event in begun]
        self.assertEqual(said, 10 * [["m", "d", "c", "#ffff0000", 3]])

    def test_who_told_it_is_said(self):
        self.events("""
            import pyannot
            with pyannot.annotate("own"), nvtx.annotate("theirs"):
                with nvtx.annotate("named", domain="d"):
                    nvtx.mark("mark")
            """)
        recording = pyannot.read(str(self.folder / "out.annot"))
        told = {row.name: row.observer for rows in (recording.ranges, recording.marks)
                for row in rows}
        self.assertEqual({name: told[name] for name in ("own", "theirs", "named", "mark")},
                         {"own": "program", "theirs": "nvtx", "named": "nvtx", "mark": "nvtx"})

    def test_what_is_not_given_is_not_said(self):
        events = self.events("""
            with nvtx.annotate():
                nvtx.mark()
            nvtx.push_range("pushed")
            nvtx.pop_range()
            @nvtx.annotate()
            def function():
                pass
            function()
        """, "begin", "mark")
        self.assertEqual([event["name"] for event in events], ["", "", "pushed", "function"])
        for key in ("domain", "category", "color", "payload", "args"):
            self.assertEqual([event.get(key) for event in events], 4 * [None], key)

    def test_a_category_is_told_by_its_name_or_its_number(self):
        events = self.events("""
            domain = nvtx.get_domain("d")
            domain.mark(message="m", category="io")
            nvtx.mark("m", domain="d", category=domain.get_category_id("io"))
            nvtx.mark("m", domain="d", category=77)
            nvtx.mark("m", domain="d", category=0)
        """, "mark")
        self.assertEqual([event.get("category") for event in events], ["io", "io", "77", None])

    def test_attributes_that_change_say_the_new_thing(self):
        events = self.events("""
            domain = nvtx.get_domain("d")
            attributes = domain.get_event_attributes("first", "red", "c", 3)
            domain.mark(attributes)
            domain.set_event_attributes(attributes, message="second", color=None, payload=None)
            domain.mark(attributes)
            attributes.message, attributes.category = None, None
            domain.mark(attributes)
        """, "mark")
        said = [[event.get(key) for key in ("name", "category", "color", "payload")]
                for event in events]
        self.assertEqual(said, [["first", "c", "#ffff0000", 3], ["second", "c", None, None],
                                ["", None, None, None]])

    def test_an_object_of_a_name_is_made_once_and_may_be_shared_nested_and_pickled(self):
        events = self.events("""
            import pickle, sysconfig, threading
            if not sysconfig.get_config_var("Py_GIL_DISABLED"):
                assert nvtx.annotate("load") is nvtx.annotate("load")
            assert nvtx.annotate("load", domain="d") is not nvtx.annotate("load")
            class Derived(nvtx.annotate):
                def __init__(self, name):
                    super().__init__(name, domain="derived")
            def nest(annotation, depth):
                with annotation:
                    if depth:
                        nest(annotation, depth - 1)
            shared = pickle.loads(pickle.dumps(nvtx.annotate("shared", "red")))
            threads = [threading.Thread(target=nest, args=(shared, 9)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            with Derived("load"):
                pass
        """, "begin")
        self.assertEqual([event["name"] for event in events], 40 * ["shared"] + ["load"])
        self.assertEqual({event["depth"] for event in events}, set(range(10)))
        self.assertEqual(events[-1]["domain"], "derived")

    def test_what_awaits_or_yields_is_one_range_from_begin_to_end(self):
        events = self.events("""
            import asyncio
            @nvtx.annotate("task", domain="d")
            async def task():
                await asyncio.sleep(0.01)
            @nvtx.annotate("numbers")
            def numbers():
                yield 1
                yield 2
            async def main():
                await asyncio.gather(*(task() for _ in range(10)))
            asyncio.run(main())
            first, second = numbers(), numbers()
            next(first), next(second)
            list(first), list(second)
        """, "begin")
        self.assertEqual([event["name"] for event in events], 10 * ["task"] + 2 * ["numbers"])

    def test_ranges_across_await_belong_to_their_tasks(self):
        events = self.events("""
            import asyncio
            import pyannot.observe
            pyannot.observe.start("asyncio")
            domain = nvtx.get_domain("d")
            async def task(n):
                with nvtx.annotate("outer"):
                    domain.push_range(message="pushed")
                    await asyncio.sleep(0.001 * (5 - n))
                    with nvtx.annotate("inner"):
                        await asyncio.sleep(0.001 * n)
                    domain.pop_range()
                    await asyncio.sleep(0)
            async def main():
                with nvtx.annotate("all"):
                    await asyncio.gather(*(task(n) for n in range(5)))
            asyncio.run(main())
        """, "begin", "end")
        mine = [event for event in events if event["name"] in ("all", "outer", "pushed", "inner")]
        self.assertEqual(len(mine), 2 * (1 + 5 * 3))
        inner = [event["path"] for event in mine
                 if event["event"] == "end" and event["name"] == "inner"]
        self.assertEqual(len(inner), 5)
        for path in inner:
            self.assertEqual(path.count("outer"), 1)
            self.assertTrue(path.endswith("outer/d:pushed/inner"), path)

    def test_an_exception_passes_and_its_range_ends(self):
        events = self.events("""
            @nvtx.annotate()
            def function():
                raise KeyError
            for call in (function, function):
                try:
                    with nvtx.annotate("around"):
                        call()
                except KeyError:
                    pass
        """, "begin", "end")
        self.assertEqual([(event["event"], event["name"], event["depth"]) for event in events],
                         2 * [("begin", "around", 0), ("begin", "function", 1),
                              ("end", "function", 1), ("end", "around", 0)])


class Payloads(NvtxTest):
    @unittest.skipUnless(numpy, "needs numpy")
    def test_arrays_are_their_size_and_their_first_elements(self):
        events = self.events("""
            import numpy
            nvtx.mark("m", payload=[1, 2, 3])
            nvtx.mark("m", payload=range(10 ** 9))
            nvtx.mark("m", payload=numpy.arange(6.0).reshape(2, 3))
            nvtx.mark("m", payload=numpy.zeros(10 ** 7, "i1"))
            nvtx.mark("m", payload=())
            nvtx.mark("m", payload=b"some bytes")
            record = numpy.dtype([("x", "f8"), ("inner", [("y", "i4")]), ("list", "u1", 3)])
            nvtx.mark("m", payload=numpy.array((1.5, (7,), [1, 2, 3]), record))
            nvtx.mark("m", payload=[[object()] * 100] * 100)
        """, "mark")
        values = [event.get("args") for event in events]
        self.assertEqual(values[0], {"size": 3, "data": "[1, 2, 3]"})
        self.assertEqual(values[1]["size"], 10 ** 9)
        self.assertTrue(values[1]["data"].startswith("[0, 1, 2, "))
        self.assertEqual(values[2], {"size": 6, "shape": "2x3", "dtype": "float64",
                                     "data": "[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]"})
        self.assertEqual(values[3]["size"], 10 ** 7)
        self.assertLess(len(values[3]["data"]), 600)
        self.assertEqual((values[4], events[4].get("payload")), (None, None))
        self.assertEqual(events[5]["payload"], "some bytes")
        self.assertEqual(values[6], {"x": 1.5, "inner.y": 7, "list": "[1, 2, 3]"})
        self.assertIn("<object>", values[7]["data"])
        self.assertLess(len(values[7]["data"]), 600)

    @unittest.skipUnless(numpy, "needs numpy")
    def test_a_list_that_changes_is_looked_at_each_time(self):
        events = self.events("""
            payload = [1]
            annotation = nvtx.annotate("m", payload=payload)
            @nvtx.annotate("m", payload=payload)
            def function():
                pass
            with annotation:
                pass
            payload.append(2)
            with annotation:
                pass
            function()
            payload.append(3)
            function()
        """, "begin")
        self.assertEqual([event["args"]["size"] for event in events], [1, 2, 2, 3])

    def test_without_numpy_and_for_other_types_there_is_a_warning_and_the_event(self):
        events = self.events("""
            import sys, warnings
            sys.modules["numpy"] = None
            from pyannot.nvtx import _payload
            _payload.numpy_is_installed = lambda: False
            for payload in ([1], object()):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    nvtx.mark("m", payload=payload)
                assert [warning.category for warning in caught] == [nvtx.NvtxWarning], caught
                assert "Install numpy" in str(caught[0].message)
        """, "mark")
        self.assertEqual([event.get("args") for event in events], [None, None])


class Counters(NvtxTest):
    def test_samples_arrive(self):
        events = self.events("""
            domain = nvtx.get_domain("d")
            counter = domain.get_counter("n", int, scope="gpu")
            counter.sample(3)
            counter.sample_no_value(nvtx.CounterNoValueReason.ZERO)
            counter.sample(5)
            counter.sample_no_value(nvtx.CounterNoValueReason.UNCHANGED)
            counter.sample_no_value(nvtx.CounterNoValueReason.UNAVAILABLE)
            counter.batch_submit([7, 8], [domain.get_timestamp(), domain.get_timestamp()])
            domain.get_counter("f", float).sample(1.5)
        """, "counter")
        self.assertEqual([(event["name"], event["value"]) for event in events],
                         [("gpu/n", value) for value in (3, 0, 5, 5, 7, 8)] + [("f", 1.5)])
        self.assertEqual({event["domain"] for event in events}, {"d"})

    @unittest.skipUnless(numpy, "needs numpy")
    def test_a_structured_counter_has_a_series_for_each_field(self):
        events = self.events("""
            stamp = nvtx.numpy_dtype("i8", entry_kind=nvtx.EntryKind.COUNTER_TIMESTAMP)
            counter = nvtx.get_domain().get_counter("gc", [("gen", int), ("when", stamp),
                                                           ("mb", float)])
            counter.sample((1, 99, 2.5))
            counter.batch_submit([(2, 99, 3.5), (3, 99, 4.5)], [1, 2])
        """, "counter")
        self.assertEqual([(event["name"], event["value"]) for event in events],
                         [("gc/gen", 1), ("gc/mb", 2.5), ("gc/gen", 2), ("gc/mb", 3.5),
                          ("gc/gen", 3), ("gc/mb", 4.5)])


class Profiles(NvtxTest):
    PROGRAM = """
        import threading
        def inner():
            return len("x")
        def outer(fail=False):
            inner()
            if fail:
                raise KeyError
        def numbers():
            yield 1
            yield 2
        def before():
            profile.enable()
        profile = nvtx.Profile(linenos={linenos}, annotate_cfuncs={c})
        before()
        outer()
        list(numbers())
        try:
            outer(True)
        except KeyError:
            pass
        thread = threading.Thread(target=inner)
        thread.start()
        thread.join()
        profile.disable()
        outer()
    """

    def profiled(self, linenos, c):
        events = self.events(self.PROGRAM.format(linenos=linenos, c=c), "begin", "end")
        self.assertEqual({event["domain"] for event in events if event["event"] == "begin"},
                         {"nvtx.py"})
        begun = [event for event in events if event["event"] == "begin"]
        self.assertEqual(len(begun), len(events) - len(begun), "each range has its end")
        return [(event["name"], event["depth"]) for event in begun]

    def test_each_call_is_a_range_of_its_depth(self):
        names = self.profiled(False, False)
        self.assertEqual(names[:2], [("outer", 0), ("inner", 1)])
        self.assertEqual(names.count(("numbers", 0)), 3)  # it is resumed twice
        mine = [name for name in names if name[0] in ("outer", "inner")]
        self.assertEqual(mine.count(("outer", 0)), 2)
        self.assertEqual(mine.count(("inner", 1)), 3)  # once in the thread, below its run()
        self.assertEqual(len(mine), 5)
        self.assertNotIn("before", [name for name, _ in names])

    def test_names_have_the_line_and_builtin_functions_have_ranges(self):
        names = self.profiled(True, True)
        self.assertRegex(names[0][0], r"^program.py:\d+\(outer\)$")
        self.assertIn(("len", 2), names)

    def test_in_tasks_of_asyncio_each_call_ends_where_it_began(self):
        events = self.events("""
            import asyncio
            import pyannot.observe
            pyannot.observe.start("asyncio")
            async def work(n):
                for _ in range(3):
                    await asyncio.sleep(0.001)
            async def main():
                await asyncio.gather(*(work(n) for n in range(20)))
            profile = nvtx.Profile(linenos=False, annotate_cfuncs=True)
            profile.enable()
            asyncio.run(main())
            profile.disable()
        """, "begin", "end")
        tracks = {name: {event.get("track") is None for event in events if event["name"] == name}
                  for name in ("_run_once", "run_forever", "work")}
        self.assertEqual(tracks, {"_run_once": {True}, "run_forever": {True}, "work": {False}})
        report = harness.run([harness.ANNOT, "report", "--json", str(self.folder / "out.annot")])
        told = json.loads(report.stdout)
        self.assertEqual([row for name in ("ranges", "overlapping_ranges", "track_ranges")
                          for row in told[name] if row["unfinished_count"]], [])

    def test_a_script_is_profiled_by_python_dash_m(self):
        script = self.script("""
            import sys
            def work():
                print(sys.argv, __name__)
            work()
        """)
        done = harness.run([harness.ANNOT, "record", "--sampling=none", "-o",
                            str(self.folder / "out.annot"), "--", sys.executable, "-m",
                            "pyannot.nvtx", "--no-linenos", str(script), "-x", "y"],
                           env=self.environment)
        self.assertEqual(done.stdout, f"{[str(script), '-x', 'y']} __main__\n")
        self.assertIn("work", harness.Recording(self.folder / "out.annot").count("ranges"))


class WhoRecords(NvtxTest):
    def test_what_was_made_before_the_recording_began_is_in_it(self):
        events = self.events("""
            import subprocess, sys, time
            import pyannot
            annotation, domain = nvtx.annotate("kept", domain="d"), nvtx.get_domain("d")
            attributes = domain.get_event_attributes("attributes")
            @nvtx.annotate()
            def function():
                pass
            while not pyannot.enabled():
                function()
                time.sleep(0.001)
            function()
            domain.push_range(attributes)
            domain.pop_range()
            with annotation:
                pass
        """, "begin", options=["--delay", "500ms"])
        self.assertEqual([event["name"] for event in events],
                         ["function", "attributes", "kept"])

    def test_early_means_that_nothing_comes_of_what_is_made_while_nobody_records(self):
        said = self.outcome("""
def function(): pass
domain = nvtx.get_domain("d")
print(type(domain).__name__, nvtx.annotate()(function) is function, nvtx.start_range("m"),
      domain.start_range(), domain.get_event_attributes("m"), domain.get_timestamp(),
      type(domain.get_counter("n", int)).__name__, nvtx.Domain("d") is domain)
with nvtx.annotate("m", domain="d") as annotation:
    assert annotation.domain is domain
nvtx.push_range("m"), nvtx.pop_range(), nvtx.mark("m"), nvtx.end_range(None)
domain.push_range(message="m"), domain.pop_range(), domain.mark(message="m"), domain.end_range(0)
profile = nvtx.Profile()
profile.enable()
import sys
print(sys.getprofile())
""", ANNOT_NVTX="early")
        self.assertEqual(said, "DummyDomain True None 0 None 0 DummyCounter True\nNone")

    def test_early_under_a_recorder_is_as_without_it(self):
        events = self.events("""
            with nvtx.annotate("m"):
                nvtx.get_domain("d").mark(message="m")
        """, "begin", "mark", ANNOT_NVTX="early")
        self.assertEqual(len(events), 2)

    def test_nvtx_disable_leaves_functions_without_effect(self):
        events = self.events("""
            import sys
            assert not nvtx.enabled()
            def function():
                return 3
            assert nvtx.annotate("m")(function) is function
            with nvtx.annotate("m", "red", domain="d"):
                nvtx.mark("m")
                nvtx.push_range("m")
                nvtx.pop_range()
                nvtx.end_range(nvtx.start_range("m"))
            profile = nvtx.Profile(True, True)
            profile.enable()
            assert sys.getprofile() is None
            nvtx.get_domain("d").mark(message="of the domain")
        """, "begin", "mark", NVTX_DISABLE="1")
        self.assertEqual([event["name"] for event in events], ["of the domain"])

    def test_a_pop_too_many_and_one_too_few_do_no_harm(self):
        events = self.events("""
            nvtx.pop_range()
            with nvtx.annotate("a"):
                nvtx.push_range("left open")
            nvtx.pop_range()
            nvtx.pop_range("d")
            with nvtx.annotate("b"):
                pass
        """, "begin")
        self.assertEqual([event["name"] for event in events], ["a", "left open", "b"])
        self.assertEqual(events[-1]["depth"], 0)

    def test_nothing_leaks(self):
        counted = self.outcome("""
import gc, sys
def everything(i):
    with nvtx.annotate(f"name {i}"), nvtx.annotate("m", domain="d", category=i % 3):
        nvtx.push_range("m", payload=i)
        nvtx.pop_range()
    nvtx.end_range(nvtx.start_range("m", "red"))
    domain = nvtx.get_domain("d")
    domain.mark(domain.get_event_attributes("m", payload=1.5))
    nvtx.annotate(payload=[1])(everything)
    try:
        nvtx.annotate("m", i)(3)
    except TypeError:
        pass
for i in range(12000):
    everything(i)
gc.collect()
before = sys.getallocatedblocks()
for i in range(12000, 20000):
    everything(i)
gc.collect()
print(sys.getallocatedblocks() - before)
""")
        self.assertLess(int(counted), 2000)


if __name__ == "__main__":
    harness.run_where_there_are("numpy")
    harness.main()
