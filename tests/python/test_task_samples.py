# SPDX-License-Identifier: MIT
"""Samples of asyncio's tasks: during a step of a task, they have its ranges with those of the
thread. `annot dump` reads the same data as a sample, so each program runs it at certain places."""

import json
import os
import sys
import unittest

import harness
from harness import ANNOT, RecordingTest

HEAD = """
import asyncio, json, os, subprocess, sys, threading, time
import pyannot
from pyannot import annotate, observe, pop, push

SHOWN = {}

def shown(place, pid=None):
    command = [%r, "dump", "--json", "--sampling", "none", "-p", str(pid or os.getpid())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    threads = json.loads(done.stdout)["threads"]
    tid = pid or threading.get_native_id()
    [SHOWN[place]] = [thread["ranges"] for thread in threads if thread["tid"] == tid]

observe.start(%r)
"""


class Shown(RecordingTest):
    def shown(self, source, parts="asyncio", options=()):
        """{place: ranges of a sample at that place}"""
        text = HEAD % (ANNOT, parts) + harness.textwrap.dedent(source)
        text += "\nprint(json.dumps(SHOWN))\n"
        recording = self.record(text, options=["--no-preload", "--sampling=none", *options])
        self.assertEqual(recording.lost(), 0)
        return json.loads(self.output)


class Steps(Shown):
    def test_a_step_shows_what_its_task_has_open(self):
        self.assertEqual(self.shown("""
            @annotate("called")
            def called(place):
                shown(place)

            async def main():
                shown("life")
                with annotate("request"):
                    shown("first step")
                    await asyncio.sleep(0)
                    shown("second step")
                    async with annotate("inner"):
                        push("pushed")
                        await asyncio.sleep(0.001)
                        called("all of it")
                        pop()
                    shown("left")
                    asyncio.get_running_loop().call_soon(shown, "callback")
                    await asyncio.get_running_loop().run_in_executor(None, shown, "executor")
                try:
                    with annotate("failed"):
                        await asyncio.sleep(0)
                        raise LookupError
                except LookupError:
                    shown("after an exception")

            with annotate("outer"):
                asyncio.run(main())
                shown("after the loop")
        """), {
            "life": ["outer", "main"],
            "first step": ["outer", "main", "request"],
            "second step": ["outer", "main", "request"],
            "all of it": ["outer", "main", "request", "inner", "pushed", "called"],
            "left": ["outer", "main", "request"],
            "callback": ["outer"],
            "executor": [],
            "after an exception": ["outer", "main"],
            "after the loop": ["outer"],
        })

    def test_tasks_by_turns_show_their_own(self):
        self.assertEqual(self.shown("""
            async def work(name, gate, other):
                with annotate(name):
                    await gate.wait()
                    shown(name)
                    other.set()
                    await asyncio.sleep(0)
                    shown(name + " again")

            async def main():
                gates = [asyncio.Event() for _ in range(4)]
                tasks = [asyncio.create_task(work("abc"[i], gates[i], gates[i + 1]))
                         for i in range(3)]
                await asyncio.sleep(0)
                gates[0].set()
                await asyncio.gather(*tasks)
                shown("main")

            asyncio.run(main())
        """), {name: ["work", name[0]] for name in
               ("a", "b", "c", "a again", "b again", "c again")} | {"main": ["main"]})

    def test_a_range_that_another_task_leaves_is_gone_for_its_own(self):
        self.assertEqual(self.shown("""
            async def items():
                with annotate("items"):
                    yield 1

            async def opens(generator, closed):
                await generator.__anext__()
                with annotate("after"):
                    shown("opened")
                    await closed.wait()
                    shown("one less")

            async def closes(generator, closed):
                with annotate("closing"):
                    await generator.aclose()
                    shown("closed")
                    closed.set()

            async def main():
                generator, closed = items(), asyncio.Event()
                one = asyncio.create_task(opens(generator, closed))
                await asyncio.sleep(0)
                await closes(generator, closed)
                await one

            asyncio.run(main())
        """), {
            "opened": ["opens", "items", "after"],
            "closed": ["main", "closing"],
            "one less": ["opens", "items"],  # of a track, the innermost is closed
        })

    @unittest.skipIf(sys.version_info < (3, 12), "tasks are eager from 3.12 on")
    def test_the_first_step_of_an_eager_task_is_its_makers(self):
        self.assertEqual(self.shown("""
            async def eager():
                with annotate("in eager"):
                    shown("first step")
                    await asyncio.sleep(0)
                    shown("second step")

            async def main():
                asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
                with annotate("making"):
                    task = asyncio.create_task(eager())
                    shown("made")
                await task

            asyncio.run(main())
        """), {
            "first step": ["main", "making"],
            "made": ["main", "making"],
            "second step": ["eager", "in eager"],
        })

    def test_steps_that_are_ranges_stand_around_their_tasks(self):
        found = self.shown("""
            async def main():
                with annotate("request"):
                    await asyncio.sleep(0)
                    shown("step")

            with annotate("outer"):
                asyncio.run(main())
        """, parts="asyncio,asyncio-steps")
        self.assertEqual(found, {"step": ["outer", "main", "main", "request"]})

    def test_what_the_filter_holds_back_is_not_shown(self):
        found = self.shown("""
            async def main():
                with annotate("request"), annotate("detail", domain="noise"):
                    await asyncio.sleep(0)
                    shown("step")

            asyncio.run(main())
        """, options=["--disable", "noise python"])
        self.assertEqual(found, {"step": ["request"]})

    def test_a_child_forked_in_a_step_inherits_what_is_shown(self):
        self.assertEqual(self.shown("""
            async def main():
                with annotate("request"):
                    await asyncio.sleep(0)
                    here, there = os.pipe()
                    pid = os.fork()
                    if pid == 0:
                        with annotate("child"):
                            os.close(here)
                            os.write(there, b"x")
                            time.sleep(60)
                    os.close(there)
                    os.read(here, 1)
                    shown("child", pid)
                    os.kill(pid, 9)
                    os.waitpid(pid, 0)
                    shown("parent")

            with annotate("outer"):
                asyncio.run(main())
        """), {"child": ["outer", "main", "request", "child"],
               "parent": ["outer", "main", "request"]})

    def test_recording_begins_and_ends_in_the_middle_of_a_step(self):
        path = self.script(HEAD % (ANNOT, "asyncio") + harness.textwrap.dedent("""
            async def main():
                with annotate("before"):
                    pyannot.start_recording(sys.argv[1], sample=0)
                    with annotate("begun"):
                        shown("first step")
                        await asyncio.sleep(0)
                        shown("second step")
                        pyannot.stop_recording()
                        await asyncio.sleep(0)
                    pyannot.start_recording(sys.argv[2], sample=0)
                    with annotate("again"):
                        await asyncio.sleep(0)
                        shown("another one")
                    pyannot.stop_recording()

            asyncio.run(main())
            print(json.dumps(SHOWN))
        """))
        out = harness.run([sys.executable, str(path), str(self.folder / "a.annot"),
                           str(self.folder / "b.annot")], env=self.environment).stdout
        found = json.loads(out)
        self.assertEqual(found["second step"], ["main", "begun"])
        self.assertEqual(found["another one"][-1], "again")
        self.assertEqual(set(os.listdir(self.directory)) - {"wake"}, set())


if __name__ == "__main__":
    harness.main()
