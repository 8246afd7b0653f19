# SPDX-License-Identifier: MIT
"""Unusual cases of tracing: code without a file, other profilers, threads that stay in a function
that is known to be tiny, coroutines closed by the garbage collector, interpreters that end and
begin again."""

import collections
import functools
import json
import os
import pathlib
import subprocess
import sysconfig
import textwrap
import unittest

import elsewhere
import harness
from harness import ANNOT, RecordingTest


@functools.cache
def interpreters():
    return list(elsewhere.this_oldest_newest())


class CornersTest(RecordingTest):
    def each(self, least=(3, 9), below=(4, 0)):
        found = [(one, path) for one, path in interpreters() if least <= one.version < below]
        if not found:
            self.skipTest("no such interpreter")
        return found

    def trace(self, interpreter, path, source, *options, command=()):
        """The recording as lines, and the number of calls of each function."""
        output = self.record_calls(interpreter, path, source, "--sampling=none", *options,
                                   command=command)
        text = harness.run([ANNOT, "cat", "--json", str(output)]).stdout
        lines = [json.loads(line) for line in text.splitlines()]
        counts = collections.Counter()
        for row in self.calls(output):
            counts[row["name"].split(".")[-1]] += row["call_count"]
        return lines, counts

    def calls(self, output):
        report = json.loads(harness.run([ANNOT, "report", "--json", str(output)]).stdout)
        return report.get("calls", ())

    def rows_by_name(self, output, query):
        rows = collections.defaultdict(list)
        text = harness.run([ANNOT, "query", "--json", str(output), query]).stdout
        for row in map(json.loads, text.splitlines()):
            rows[row["name"].split(".")[-1]].append(row)
        return rows

    def record_calls(self, interpreter, path, source, *options, command=()):
        script = self.script(textwrap.dedent(source))
        output = self.folder / "corner.annot"
        environment = dict(self.environment, PYTHONPATH=path)
        environment.pop("ANNOT_PYTHON", None)
        done = subprocess.run(
            [ANNOT, "record", "--force", *options, "-o", str(output), "--",
             *(command or [interpreter.command]), str(script), *(["2"] if command else [])],
            env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return output

    def test_code_without_a_file_is_chosen_by_its_name(self):
        source = """
            exec(compile("def made(n):\\n    return n\\n", "<string>", "exec"))
            exec(compile("def other(n):\\n    return n\\n", "<cell 1>", "exec"))
            exec("def plain(n):\\n    return n\\n")
            for n in range(7):
                made(n), other(n), plain(n)
        """
        for interpreter, path in self.each()[:1]:
            for select, names in (("<string>", "made plain"), ("<string>:made", "made"),
                                  ("<cell*", "other"), ("-<string>,-<module>", "other")):
                _, counts = self.trace(interpreter, path, source, "--python", "names",
                                       "--trace-functions=exact", "--trace-select", select)
                counts.pop("<module>", None)
                found = {name: count for name, count in counts.items()
                         if name in ("made", "other", "plain")}
                self.assertEqual(found, dict.fromkeys(names.split(), 7), select)

    def test_a_call_of_a_tiny_function_ends_in_whichever_thread(self):
        source = """
            import threading
            from pyannot import mark

            def tiny(entered=None, gate=None):
                if gate is not None:
                    entered.set()
                    gate.wait()

            def waits(entered, gate):
                tiny(entered, gate)
                mark("left")
                stays.wait()

            entered, gate, stays = (threading.Event() for _ in range(3))
            thread = threading.Thread(target=waits, args=(entered, gate))
            thread.start()
            entered.wait()
            for _ in range(20000):
                tiny()
            gate.set()
            tiny()
            stays.set()
            thread.join()
        """
        for interpreter, path in self.each((3, 12)):
            lines, _ = self.trace(interpreter, path, source, "--python", "names",
                                  "--trace-functions=adaptive", "--trace-select", "tiny,waits")
            [left] = [line for line in lines if line.get("name") == "left"]
            self.assertTrue([line for line in lines if line["event"] == "mark"
                             and line.get("name") == "tiny"], "it is estimated")
            of_thread = [line for line in lines
                         if line.get("thread_index") == left["thread_index"]]
            before = [(line["event"], line.get("name")) for line in
                      of_thread[:of_thread.index(left)] if line["event"] in ("begin", "end")]
            self.assertEqual(before[-3:], [("begin", "waits"), ("begin", "tiny"), ("end", "tiny")])

    def test_a_count_without_all_calls_is_marked_as_an_estimate(self):
        """The function's caller is not traced. Samples are optional."""
        source = """
            def work(n):
                return n * 2 + 1

            def caller():
                for n in range(400000):
                    work(n)

            caller()
        """
        for interpreter, path in self.each():
            for options in ([], ["--sampling=none"]):
                output = self.record_calls(interpreter, path, source, "--trace-functions=adaptive",
                                           "--trace-select", "work", *options)
                [work] = self.calls(output)
                if interpreter.version < (3, 12):
                    self.assertEqual((work["call_count"], work["known"]), (400000, "counted"))
                    continue
                sampled = work["estimated_call_count"] > 0
                self.assertEqual(work["known"], "estimated", work)
                self.assertLess(work["call_count"] - work["estimated_call_count"], 400000)
                text = harness.run([ANNOT, "report", "--table", "calls", str(output)]).stdout
                self.assertRegex(text, r"~[0-9]")
                self.assertIn("estimated from samples" if sampled else "too low", text)
                if options:
                    self.assertFalse(sampled)

    def test_more_functions_are_estimated_while_calls_take_much_of_the_time(self):
        source = """
            import time

            def brief(now=time.perf_counter_ns):
                end = now() + 2500
                while now() < end:
                    pass

            def long():
                time.sleep(0.001)

            def burst(count):
                for _ in range(count):
                    brief()

            for count in (210000, *[1] * 200):
                burst(count)
                long()
        """
        for interpreter, path in self.each((3, 12)):
            lines, _ = self.trace(interpreter, path, source, "--python", "names",
                                  "--trace-functions=adaptive", "--trace-select", "brief,long")
            [calls] = [line["payload"] for line in lines
                       if line["event"] == "mark" and line.get("domain") == "python calls"]
            begun = collections.Counter(
                line["name"] for line in lines if line["event"] == "begin")
            self.assertEqual(begun, {"brief": calls, "long": 201})
            self.assertGreater(calls, 50000)
            self.assertLess(calls, 210000)

    def test_a_profile_function_for_new_threads_is_left_alone(self):
        source = """
            import sys, threading
            import pyannot

            def theirs(frame, event, argument):
                pass

            def leaf():
                pass

            def run(count):
                threads = [threading.Thread(target=leaf) for _ in range(count)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()

            threading.setprofile(theirs)
            try:
                with pyannot.tracing(select="leaf", c_calls=True):
                    raise SystemExit("nothing was refused")
            except RuntimeError as error:
                assert "threading.setprofile" in str(error), error
            assert threading._profile_hook is theirs
            threading.setprofile(None)
            with pyannot.tracing(select="leaf", c_calls=True):
                run(3)
            assert threading._profile_hook is None and sys.getprofile() is None
            with pyannot.tracing(select="leaf", c_calls=True):
                threading.setprofile(theirs)
                run(1)
            assert threading._profile_hook is theirs
        """
        for interpreter, path in self.each((3, 9), (3, 12)):
            _, counts = self.trace(interpreter, path, source)
            self.assertEqual(counts["leaf"], 3)
            told = harness.run([ANNOT, "info", str(self.folder / "corner.annot")]).stdout
            self.assertIn("another profiler set a profile function", told)

    def test_a_call_of_another_thread_ends_where_tracing_does(self):
        """Its thread waits in it, runs on with ranges of its own, or is traced again."""
        source = """
            import threading, time, pyannot
            entered, first, second = threading.Semaphore(0), threading.Event(), threading.Event()
            def waits():
                entered.release()
                first.wait()
            def ranges():
                entered.release()
                first.wait()
                with pyannot.annotate("later"):
                    second.wait()
            def again():
                waits()
                second.wait()
            def leaf():
                pass
            with pyannot.tracing("exact"):
                threads = [threading.Thread(target=target) for target in (waits, ranges, again)]
                for thread in threads:
                    thread.start()
                    entered.acquire()
            pyannot.mark("off")
            time.sleep(.2)
            first.set()
            time.sleep(.2)
            with pyannot.tracing("exact"):
                pyannot.mark("on")
                leaf()
                second.set()
                for thread in threads:
                    thread.join()
        """
        query = ("select name, begin_ns, end_ns, unfinished from ranges where file is not null or "
                 "name = 'later' union select name, time_ns, time_ns, 0 from marks")
        for interpreter, path in self.each():
            with self.subTest(python=interpreter.version):
                output = self.record_calls(interpreter, path, source, "--sampling=none")
                rows = self.rows_by_name(output, query)
                off, on = (rows[name][0]["begin_ns"] for name in ("off", "on"))
                self.assertGreater(rows["later"][0]["end_ns"], on)
                for name, number in (("waits", 2), ("ranges", 1), ("again", 1)):
                    before = [row for row in rows[name] if row["begin_ns"] < off]
                    self.assertEqual(len(before), number, (name, rows[name]))
                    self.assertLess(max(row["end_ns"] for row in before), off + 1e8, (name, before))
                    self.assertEqual({row["unfinished"] for row in before}, {1}, (name, before))
                info = harness.run([ANNOT, "info", str(output)]).stdout
                self.assertIn("nothing", info.split("lost")[1].split("\n")[0])

    def test_tracing_that_begins_again_in_the_middle_of_a_call(self):
        source = """
            from pyannot import _trace

            def leaf():
                return 1

            def with_results(n):
                leaf()
                _trace.start({"functions": "exact", "return": "1"})
                return leaf() + n

            def without():
                _trace.start({"functions": "exact"})
                return leaf()

            def in_generator():
                yield leaf()
                _trace.start({"functions": "exact", "return": "1"})
                yield leaf()
                _trace.stop()

            def in_no_more():
                _trace.stop()
                return leaf()

            with_results(7), without(), leaf(), list(in_generator())
            _trace.start({"functions": "exact"})
            in_no_more(), leaf()
        """
        for interpreter, path in self.each():
            lines, counts = self.trace(interpreter, path, source, "--trace-functions=exact")
            self.assertEqual(self.ends(lines, "with_results"), [None, {"returned": 8}])
            self.assertEqual(self.ends(lines, "without"), [None, None])
            self.assertEqual(self.ends(lines, "in_generator"), 4 * [None])
            self.assertEqual(self.ends(lines, "in_no_more"), [None])
            self.assertEqual(self.ends(lines, "leaf"), [None, {"returned": 1}, None, None, None,
                                                        {"returned": 1}])
            self.assertEqual(counts["leaf"], 6)

    def ends(self, lines, name):
        """The attributes at each end of a call, or of a piece of one."""
        return [line.get("args") for line in lines
                if line["event"] == "end" and line.get("name", "").split(".")[-1] == name]

    BEGUN = """
        import pyannot

        class Made:
            def __init__(self, function):
                function()

        class Equal:
            def __init__(self, function):
                self.function = function

            def __eq__(self, other):
                return self.function()

        def leaf(n=0):
            return n

        def inner():
            pyannot.tracing(MODE, select="program.py", **OPTIONS).__enter__()

        def by_class():
            Made(inner)
            for n in range(3):
                leaf()
            return 3

        def by_operator():
            Equal(by_class) == 1
            for n in range(5):
                leaf()
            return 5

        def by_key():
            sorted([1], key=lambda n: by_operator())
            for n in range(7):
                leaf()
            Made(leaf)
            return 7

        def outer():
            by_key()
            for n in range(9):
                leaf()
            return 9

        def late():
            Equal(leaf) == 1

        def main():
            outer()
            Made(late)  # deeper than outer was

        main()
        list(map(leaf, range(11)))
    """

    def edges(self):
        """{(caller, callee): calls} of traced Python."""
        report = json.loads(harness.run(
            [ANNOT, "report", "--json", str(self.folder / "corner.annot")]).stdout)
        names = [row["name"].split(".")[-1] for row in report["calls"]]
        found = {(names[row["caller_row"]], names[row["callee_row"]]): row["call_count"]
                 for row in report["call_edges"]}
        return {edge: calls for edge, calls in found.items() if calls}

    def test_calls_that_had_begun_are_callers_until_they_return(self):
        edges = {("by_class", "leaf"): 3, ("by_operator", "leaf"): 5, ("by_key", "leaf"): 7,
                 ("by_key", "__init__"): 1, ("__init__", "leaf"): 1, ("outer", "leaf"): 9,
                 ("main", "__init__"): 1, ("__init__", "late"): 1, ("late", "__eq__"): 1,
                 ("__eq__", "leaf"): 1, ("<module>", "leaf"): 11, ("late", "__init__"): 1}
        for interpreter, path in self.each():
            for mode in ("exact", "adaptive", "aggregate"):
                source = self.BEGUN.replace("MODE", repr(mode)).replace("OPTIONS", "{}")
                self.trace(interpreter, path, source, "--python", "names")
                self.assertEqual(self.edges(), edges, (interpreter.version, mode))

    def test_results_of_calls_that_had_begun(self):
        options = "{'c_calls': True, 'returns': True}"
        source = self.BEGUN.replace("MODE", "'exact'").replace("OPTIONS", options)
        for interpreter, path in self.each():
            lines, _ = self.trace(interpreter, path, source, "--python", "names")
            for name, result in (("by_class", 3), ("by_operator", 5), ("by_key", 7), ("outer", 9)):
                self.assertEqual(self.ends(lines, name), [{"returned": result}], name)
            edges = self.edges()
            self.assertEqual(edges["by_key", "leaf"], 7, interpreter.version)
            self.assertEqual(edges["outer", "leaf"], 9, interpreter.version)

    def test_a_coroutine_that_garbage_collection_closes_ends_no_other(self):
        source = """
            import asyncio
            from pyannot import mark

            async def work(gate, box):
                await gate.wait()
                box.clear()
                mark("still in it")
                await asyncio.sleep(0)
                mark("left soon")

            async def main():
                gate, box = asyncio.Event(), []
                box.append(work(asyncio.Event(), box))
                box[0].send(None)
                task = asyncio.create_task(work(gate, box))
                await asyncio.sleep(0)
                gate.set()
                await task

            asyncio.run(main())
        """
        for interpreter, path in self.each():
            lines, _ = self.trace(interpreter, path, source, "--python", "asyncio",
                                  "--trace-functions=exact", "--trace-select", "work,main")
            track = next(line["track_id"] for line in lines if line.get("name") == "work"
                         and line.get("domain") == "python calls" and line.get("kind") == "track"
                         and "main" not in line["track"])
            told = [line.get("name") for line in lines if line["event"] == "mark"
                    or (line["event"] == "end" and line.get("track_id") == track)]
            self.assertLess(told.index("left soon"), told.index("work"))

    def test_an_exit_without_its_enter_ends_no_other_call(self):
        source = """
            import pyannot

            def inner():
                pyannot.trace(inner)

            @pyannot.trace
            def outer():
                inner()
                pyannot.mark("inside")
                inner()

            outer()
        """
        for interpreter, path in self.each((3, 12)):
            lines, counts = self.trace(interpreter, path, source, "--python", "names")
            told = [(line["event"], line.get("name")) for line in lines
                    if line.get("name") in ("inner", "outer", "inside")
                    and line["event"] in ("begin", "end", "mark")]
            self.assertEqual(told, [("begin", "outer"), ("mark", "inside"), ("begin", "inner"),
                                    ("end", "inner"), ("end", "outer")])
            self.assertEqual((counts["inner"], counts["outer"]), (1, 1))

    def test_an_interpreter_that_begins_again(self):
        source = """
            import sys
            import pyannot

            def leaf(n):
                return n

            async def coroutine():
                leaf(1)

            with pyannot.tracing(select="leaf,again,coroutine"):
                for n in range(50):
                    leaf(n)
                try:
                    coroutine().send(None)
                except StopIteration:
                    pass
            pyannot.trace(leaf)
            leaf(1)
        """
        for interpreter, path in self.each():
            told = harness.run([interpreter.command, "-c", "import sysconfig as s; print(s."
                                "get_config_var('LIBDIR'), s.get_config_var('INSTSONAME'))"]).stdout
            library = pathlib.Path(*told.split())
            if not library.name.endswith(".so.1.0") or not library.exists():
                continue
            home = pathlib.Path(interpreter.command).resolve().parent.parent
            self.environment["PYTHONHOME"] = str(home)
            _, counts = self.trace(interpreter, path, source,
                                   command=[os.environ["EMBED"], str(library)])
            self.assertEqual((counts["leaf"], counts["coroutine"]), (2 * 52, 2))


if __name__ == "__main__":
    harness.main()
