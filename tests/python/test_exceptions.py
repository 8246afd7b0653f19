# SPDX-License-Identifier: MIT
"""Every output shows the type of an exception that leaves a range; neither the exception nor its
traceback is changed."""

import json
import re
import traceback
import unittest

import harness
import pyannot
from pyannot import annotate

PROGRAM = """
    import asyncio
    import contextlib
    import json

    from pyannot import annotate, domain, track

    class Mine(Exception):
        class Inner(Exception):
            pass

    class Broken(type):
        def __getattribute__(cls, name):
            raise ZeroDivisionError

    class Odd(Exception, metaclass=Broken):
        pass

    def fails(error):
        raise error

    @contextlib.contextmanager
    def caught(kind):
        try:
            yield
        except kind:
            pass

    def raising(name, error, **items):
        with caught(type(error)), annotate(name, **items):
            raise error

    raising("with builtin", KeyError("key"), item=1)
    raising("with library", json.JSONDecodeError("text", "doc", 0))
    raising("with own", Mine.Inner())
    raising("with odd", Odd())

    with caught(OSError), contextlib.ExitStack() as stack:
        stack.enter_context(annotate("exit stack"))
        raise PermissionError

    with annotate("outer survives"):
        with caught(KeyError), annotate("inner fails"):
            raise KeyError

    with caught(Mine):
        annotate("function")(fails)(Mine())

    class Methods:
        @annotate
        def method(self):
            raise KeyError

        @annotate
        @classmethod
        def of_class(cls):
            raise KeyError

    with caught(KeyError):
        Methods().method()
    with caught(KeyError):
        Methods.of_class()

    @annotate
    def generator():
        yield 1
        raise ValueError

    @annotate
    def closed():
        yield 1

    with caught(ValueError):
        list(generator())
    steps = closed()
    next(steps)
    steps.close()

    with caught(LookupError), track("track").annotate("on track", item=2):
        raise LookupError

    @annotate
    async def coroutine():
        raise Mine

    @annotate
    async def async_generator():
        yield 1
        raise ValueError

    async def sleep():
        async with annotate("cancelled"):
            await asyncio.sleep(100)

    async def main():
        with caught(Mine):
            await coroutine()
        with caught(ValueError):
            async for _ in async_generator():
                pass
        with caught(KeyError):
            async with annotate("async with", item=3):
                raise KeyError
        task = asyncio.create_task(sleep())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    with annotate("last is well"):
        pass
"""

EXPECTED = {
    "with builtin": "KeyError",
    "with library": "json.decoder.JSONDecodeError",
    "with own": "Mine.Inner",
    "with odd": "Odd",
    "exit stack": "PermissionError",
    "outer survives": None,
    "inner fails": "KeyError",
    "function": "Mine",
    "Methods.method": "KeyError",
    "Methods.of_class": "KeyError",
    "generator": "ValueError",
    "closed": "GeneratorExit",
    "on track": "LookupError",
    "coroutine": "Mine",
    "async_generator": "ValueError",
    "async with": "KeyError",
    "cancelled": r"asyncio(\.exceptions)?\.CancelledError",
    "last is well": None,
}


class Told(harness.RecordingTest):
    def check(self, found):
        self.assertEqual(set(found), set(EXPECTED))
        for name, expected in EXPECTED.items():
            with self.subTest(range=name):
                if expected is None:
                    self.assertIsNone(found[name])
                else:
                    self.assertRegex(found[name] or "", f"^{expected}$")

    def test_in_every_output(self):
        recording = self.record(PROGRAM)
        found = {}
        for event in recording.events:
            if event["ph"] in "Xbe":
                type_name = event.get("args", {}).get("exception")
                found[event["name"]] = found.get(event["name"]) or type_name
        self.check(found)
        path = str(self.folder / "out.annot")
        ends = harness.run([harness.ANNOT, "cat", "--json", path]).stdout.splitlines()
        ends = [line for line in map(json.loads, ends) if line["event"] == "end"]
        self.check({line["name"]: line.get("args", {}).get("exception") for line in ends})
        text = harness.run([harness.ANNOT, "cat", path]).stdout
        self.assertRegex(text, r"end \"with own\" .* exception=Mine\.Inner\n")
        whole = harness.run([harness.ANNOT, "cat", "--complete", path]).stdout
        self.assertRegex(whole, r"range \"with builtin\" .* item=1 exception=KeyError\n")
        perfetto = self.folder / "out.pftrace"
        harness.run([harness.ANNOT, "export", path, "-o", str(perfetto)])
        self.assertEqual(len(re.findall(rb"JSONDecodeError", perfetto.read_bytes())), 1)


class Unchanged(unittest.TestCase):
    def frames(self, call):
        try:
            call()
        except KeyError as error:
            self.assertIsNone(error.__context__)
            return [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        return self.fail("nothing was raised")

    def test_a_decorated_function_adds_no_frame(self):
        @annotate
        def fails():
            raise KeyError

        self.assertEqual(self.frames(fails), ["frames", "fails"])

    def test_a_with_statement_adds_no_frame(self):
        def fails():
            with annotate("range"), pyannot.track("track").annotate("range"):
                raise KeyError

        self.assertEqual(self.frames(fails), ["frames", "fails"])

    def test_leaving_never_swallows(self):
        for manager in (annotate("a"), pyannot.track("t").annotate("a")):
            self.assertFalse(manager.__exit__(KeyError, KeyError(), None))
            self.assertFalse(manager.__exit__(None, None, None))


if __name__ == "__main__":
    harness.main()
