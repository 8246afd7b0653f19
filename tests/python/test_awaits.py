# SPDX-License-Identifier: MIT
"""Waits of asyncio tasks: a mark for each wait of a millisecond or longer, with the user's function
and line, the awaited object, and the duration; compared with the programs' own clock.
"""

import importlib.util
import json
import os
import sys
import unittest

import harness
from test_asyncio import TasksTest

LONGER_MS = 5  # a program's measurement exceeds the wait by at most this

MEASURES = """
import atexit, contextlib, json, os, time

truth = []

@contextlib.contextmanager
def waits(label):
    begin = time.monotonic()
    try:
        yield
    finally:
        truth.append((label, (time.monotonic() - begin) * 1000))

def tell(parent=os.getpid()):
    if os.getpid() == parent:
        print(json.dumps(truth))

atexit.register(tell)
"""


class AwaitsTest(TasksTest):
    """Programs that wait at lines ending in "# WAITS label", and measure these waits themselves."""

    def record_waits(self, source, **options):
        self.record_tracks(MEASURES + harness.textwrap.dedent(source), **options)
        self.truth = json.loads(self.output.splitlines()[-1])
        self.waits = [line["args"] | {"track": line["track"], "pid": line["pid"]}
                      for line in self.marks("awaited")]

    def told(self):
        """[(label, function, awaits, milliseconds)] of the program's functions, in order of time.
        MAY WAIT marks lines that take long only on a busy machine."""
        text = (self.folder / "program.py").read_text().splitlines()
        for values in self.waits:
            if values["file"] == str(self.folder / "program.py") and \
                    "# MAY WAIT" not in text[values["line"] - 1]:
                label = text[values["line"] - 1].partition("# WAITS ")[2]
                yield label, values["function"], values["awaits"], values["ms"]

    def assert_waits(self, expected):
        """{label: (function, awaits)}: checks that each wait is reported so, with its duration."""
        told = list(self.told())
        self.assertEqual({label: rest for label, *rest, _ in told},
                         {label: list(rest) for label, rest in expected.items()})
        for label in expected:
            true = [ms for name, ms in self.truth if name == label]
            found = [ms for name, _, _, ms in told if name == label]
            self.assertEqual(len(found), len(true), label)
            for one, other in zip(found, true):
                self.assertTrue(one <= other <= one + LONGER_MS, (label, found, true))


class Places(AwaitsTest):
    def test_what_is_awaited_is_told_with_its_line(self):
        self.record_waits("""
            async def consume(queue):
                for _ in range(3):
                    with waits("queue"):
                        await queue.get()  # WAITS queue

            async def lock_up(lock, milliseconds):
                async with lock:
                    with waits("locked"):
                        await asyncio.sleep(milliseconds / 1000)  # WAITS locked

            async def serve(reader, writer):
                with waits("read"):
                    data = await reader.read(100)  # WAITS read
                writer.write(data)
                writer.close()

            async def ask():
                server = await asyncio.start_server(serve, "127.0.0.1", 0)
                reader, writer = await asyncio.open_connection(  # MAY WAIT
                    *server.sockets[0].getsockname())
                with waits("client"):
                    await asyncio.sleep(0.03)  # WAITS client
                writer.write(b"a line\\n")
                await reader.readline()  # MAY WAIT
                writer.close()
                server.close()

            async def main():
                loop = asyncio.get_running_loop()
                queue, lock = asyncio.Queue(), asyncio.Lock()
                task = asyncio.create_task(consume(queue))
                for _ in range(3):
                    with waits("sleep"):
                        await asyncio.sleep(0.02)  # WAITS sleep
                    queue.put_nowait(1)
                await task  # MAY WAIT
                with waits("gather"):
                    await asyncio.gather(  # WAITS gather
                        asyncio.sleep(0.01),
                        asyncio.sleep(0.03))
                future = loop.create_future()
                loop.call_later(0.02, future.set_result, None)
                with waits("future"):
                    await future  # WAITS future
                other = asyncio.create_task(lock_up(lock, 20))
                await asyncio.sleep(0)
                with waits("lock"):
                    async with lock:  # WAITS lock
                        pass
                other = asyncio.create_task(lock_up(lock, 20))
                with waits("task"):
                    await other  # WAITS task
                other = loop.run_in_executor(None, time.sleep, 0.02)
                with waits("thread"):
                    await other  # WAITS thread
                await ask()

            asyncio.run(main())
        """)
        self.assert_waits({
            "queue": ("consume", "Queue.get"), "sleep": ("main", "sleep"),
            "gather": ("main", "_GatheringFuture"), "future": ("main", "Future"),
            "lock": ("main", "Lock.acquire"), "locked": ("lock_up", "sleep"),
            "task": ("main", "Task"), "thread": ("main", "Future"),
            "client": ("ask", "sleep"), "read": ("serve", "StreamReader.read")})

    def test_the_innermost_function_is_found_in_any_awaitable(self):
        self.record_waits("""
            import types

            async def deep(number):
                if number:
                    return await deep(number - 1)
                with waits("deep"):
                    await asyncio.sleep(0.01)  # WAITS deep

            async def items():
                with waits("items"):
                    await asyncio.sleep(0.01)  # WAITS items
                yield 1

            async def more_items():
                async for item in items():
                    yield item

            @contextlib.asynccontextmanager
            async def opened():
                with waits("enter"):
                    await asyncio.sleep(0.01)  # WAITS enter
                yield
                with waits("exit"):
                    await asyncio.sleep(0.01)  # WAITS exit

            class Awaited:
                def __init__(self, number):
                    self.number = number

                def __await__(self):
                    return deep(self.number).__await__()

            class Waits:
                async def until(self, seconds):
                    end = time.monotonic() + seconds
                    await nothing(end)

            @types.coroutine
            def nothing(end):
                time.sleep(0.001)
                with waits("yields"):
                    yield  # WAITS yields

            async def burn():
                time.sleep(0.02)

            async def main():
                await deep(3)
                await deep(100)
                await Awaited(2)
                async for _ in more_items():
                    pass
                [item async for item in more_items()]
                await more_items().__anext__()
                async with opened():
                    pass
                asyncio.create_task(burn())
                await Waits().until(0.01)

            asyncio.run(main())
        """)
        self.assert_waits({
            "deep": ("deep", "sleep"), "items": ("items", "sleep"), "enter": ("opened", "sleep"),
            "exit": ("opened", "sleep"), "yields": ("nothing", "yield")})

    def test_own_code_is_told_from_that_of_libraries(self):
        library = self.folder / "site-packages" / "relays.py"
        library.parent.mkdir()
        library.write_text(harness.textwrap.dedent("""
            import asyncio

            async def relay(callback, *args):
                return await again(callback, *args)

            async def again(callback, *args):
                return await callback(*args)

            async def _later(seconds):
                await asyncio.sleep(seconds)

            async def later(seconds, event):
                await asyncio.wait([asyncio.ensure_future(event.wait())], timeout=seconds)

            async def listen():
                return await asyncio.get_running_loop().create_future()
        """))
        self.record_waits("""
            sys.path.insert(0, os.path.join(os.path.dirname(__file__), "site-packages"))
            import relays

            async def handle(seconds):
                with waits("handle"):
                    await asyncio.sleep(seconds)  # WAITS handle

            async def main():
                await relays.relay(relays.again, handle, 0.01)
                with waits("outer"):
                    await relays.relay(relays._later, 0.01)  # WAITS outer
                with waits("later"):
                    await relays.relay(relays.later, 0.01, asyncio.Event())  # WAITS later
                task = asyncio.create_task(relays.relay(relays._later, 0.01))
                with waits("task"):
                    await task  # WAITS task
                task = asyncio.create_task(relays.listen())
                with waits("cancels"):
                    await asyncio.sleep(0.02)  # WAITS cancels
                task.cancel()

            asyncio.run(main())
        """)
        self.assert_waits({
            "handle": ("handle", "sleep"), "outer": ("main", "sleep"), "later": ("main", "wait"),
            "task": ("main", "Task"), "cancels": ("main", "sleep")})
        others = {(values["function"], os.path.basename(values["file"]), values["awaits"])
                  for values in self.waits if values["function"] != "Event.wait"}
        self.assertLessEqual({("sleep", "tasks.py", "sleep"), ("listen", "relays.py", "listen")},
                             others)


class Times(AwaitsTest):
    def test_short_waits_are_not_told(self):
        self.record_waits("""
            async def main():
                for number in range(300):
                    with waits("turn"):
                        await asyncio.sleep(0)

            asyncio.run(main())
        """)
        long = [ms for _, ms in self.truth if ms >= 1]  # some exist on a busy machine
        self.assertLessEqual(len(self.waits), len(long))
        self.assertLess(len(long), 150)

    def test_a_cancelled_task_tells_its_wait(self):
        """Handles that do something else with a task do not end its wait."""
        self.record_waits("""
            async def cancelled():
                try:
                    with waits("cancelled"):
                        await asyncio.sleep(100)  # WAITS cancelled
                except asyncio.CancelledError:
                    with waits("cleans up"):
                        await asyncio.sleep(0.01)  # WAITS cleans up
                    raise

            async def main():
                loop = asyncio.get_running_loop()
                task = asyncio.create_task(cancelled())
                loop.call_later(0.01, task.get_stack)
                loop.call_later(0.02, task.print_stack)
                loop.call_later(0.04, task.cancel)
                with waits("gather"):
                    await asyncio.gather(task, return_exceptions=True)  # WAITS gather
                with waits("timeout"), contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(loop.create_future(), 0.02)  # WAITS timeout

            asyncio.run(main())
        """)
        self.assert_waits({
            "cancelled": ("cancelled", "sleep"), "cleans up": ("cancelled", "sleep"),
            "gather": ("main", "_GatheringFuture"), "timeout": ("main", "wait_for")})

    def test_what_never_goes_on_and_what_fails_is_left_alone(self):
        self.record_waits("""
            async def never():
                await asyncio.get_running_loop().create_future()

            async def main():
                tasks = [asyncio.ensure_future(never()) for _ in range(3)]
                try:
                    raise ValueError
                except ValueError:
                    with waits("handles"):
                        await asyncio.sleep(0.01)  # WAITS handles
                    assert sys.exc_info()[0] is ValueError
                assert sys.exc_info()[0] is None
                print(*map(repr, tasks[0].get_stack()), file=sys.stderr)

            loop = asyncio.new_event_loop()
            loop.set_exception_handler(lambda *_: None)
            loop.run_until_complete(main())
            loop.close()
        """)
        self.assert_waits({"handles": ("main", "sleep")})

    def test_chains_that_are_too_long_say_nothing(self):
        self.record_waits("""
            async def deep(number):
                if number:
                    return await deep(number - 1)
                await asyncio.sleep(0.01)

            async def main():
                await deep(300)
                with waits("after"):
                    await asyncio.sleep(0.01)  # WAITS after

            asyncio.run(main())
        """)
        self.assert_waits({"after": ("main", "sleep")})


class Unseen(AwaitsTest):
    """Steps that are not reported to the observer."""

    @unittest.skipIf(sys.version_info < (3, 12), "eager tasks came with Python 3.12")
    def test_the_first_wait_of_an_eager_task_is_not_told(self):
        self.record_waits("""
            async def eager():
                await asyncio.sleep(0.01)
                with waits("second"):
                    await asyncio.sleep(0.01)  # WAITS second

            async def main():
                asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
                task = asyncio.create_task(eager())
                with waits("first"):
                    await task  # WAITS first

            asyncio.run(main())
        """)
        self.assert_waits({"first": ("main", "Task"), "second": ("eager", "sleep")})

    @unittest.skipUnless(importlib.util.find_spec("uvloop"), "needs uvloop")
    def test_uvloop_says_nothing(self):
        self.record_waits("""
            import uvloop

            async def main():
                with annotate("range"):
                    await asyncio.sleep(0.01)

            loop = uvloop.new_event_loop()
            loop.run_until_complete(main())
            loop.close()
        """)
        self.assertEqual(self.waits, [])

    def test_steps_between_two_recordings_are_no_part_of_a_wait(self):
        program = self.script("""
            import asyncio, sys
            import pyannot
            from pyannot import observe

            observe.start("asyncio")

            async def main():
                for number in range(2):
                    pyannot.start_recording(f"{sys.argv[1]}/{number}.annot", observe=False)
                    await asyncio.sleep(0.01)
                    await asyncio.sleep(0.01)
                    pyannot.stop_recording()
                    await asyncio.sleep(0.2)
                pyannot.start_recording(f"{sys.argv[1]}/2.annot", observe=False)
                await asyncio.sleep(0.01)
                await asyncio.sleep(0.01)
                observe.stop()
                await asyncio.sleep(0.2)
                observe.start("asyncio")
                await asyncio.sleep(0.01)
                await asyncio.sleep(0.01)
                pyannot.stop_recording()

            asyncio.run(main())
        """)
        harness.run([sys.executable, str(program), str(self.folder)], env=self.environment)
        for number, count in enumerate((1, 1, 2)):
            os.replace(self.folder / f"{number}.annot", self.folder / "out.annot")
            self.read_lines()
            found = [line["args"]["ms"] for line in self.marks("awaited")]
            self.assertTrue(len(found) == count and all(9 < ms < 150 for ms in found), found)

    def test_a_forked_child_tells_its_own_waits(self):
        self.record_waits("""
            async def child():
                await asyncio.sleep(0.01)

            async def main():
                with waits("before"):
                    await asyncio.sleep(0.01)  # WAITS before
                pid = os.fork()
                if pid == 0:
                    asyncio.new_event_loop().run_until_complete(child())
                    os._exit(0)
                os.waitpid(pid, 0)
                with waits("after"):
                    await asyncio.sleep(0.01)  # WAITS after

            asyncio.run(main())
        """)
        children = [values for values in self.waits if values["function"] == "child"]
        self.assertEqual(len(children), 1)
        self.waits = [values for values in self.waits if values["pid"] != children[0]["pid"]]
        self.assert_waits({"before": ("main", "sleep"), "after": ("main", "sleep")})


if __name__ == "__main__":
    harness.run_where_there_are("uvloop")
    harness.main()
