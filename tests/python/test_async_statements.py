# SPDX-License-Identifier: MIT
"""`async with annotate(...)`: which statement ends which range, among tasks and generators."""


import harness
from harness import RecordingTest


class AsyncStatements(RecordingTest):
    def ends(self, recording, name):
        """(begin, end) of each range of a name, in order of beginning."""
        begins = [event for event in recording.free_ranges if event["name"] == name]
        ends = {str(e["id2"]): e["ts"] for e in recording.events if e["ph"] == "e"}
        return sorted((event["ts"], ends[str(event["id2"])]) for event in begins)

    def test_one_annotation_in_many_tasks_at_once(self):
        recording = self.record(
            """
            import asyncio
            from pyannot import annotate

            SHARED = annotate("shared")

            async def work(steps):
                async with SHARED:
                    for _ in range(steps):
                        await asyncio.sleep(0)
                    async with SHARED:
                        await asyncio.sleep(0)

            async def main():
                await asyncio.gather(*(work(i % 7) for i in range(1000)))

            asyncio.run(main())
            """
        )
        self.assertEqual(recording.count("free_ranges"), {"shared": 2000})
        self.assertEqual(len(self.ends(recording, "shared")), 2000)

    def test_a_generator_closed_by_the_loop_ends_its_own_range(self):
        recording = self.record(
            """
            import asyncio
            import pyannot
            from pyannot import annotate

            async def numbers():
                async with annotate("numbers"):
                    yield 1
                    yield 2

            async def main():
                async with annotate("main"):
                    async for _ in numbers():
                        break
                    await asyncio.sleep(0)
                    await asyncio.sleep(0)
                    pyannot.mark("closed")
                    async with annotate("next"):
                        pyannot.mark("in next")
                    pyannot.mark("after")

            asyncio.run(main())
            """
        )
        marks = {event["name"]: event["ts"] for event in recording.marks}
        (numbers,), (main,), (following,) = (
            self.ends(recording, name) for name in ("numbers", "main", "next")
        )
        self.assertLess(numbers[1], marks["closed"])
        self.assertLess(marks["closed"], following[0])
        self.assertLess(marks["in next"], following[1])
        self.assertLess(following[1], marks["after"])
        self.assertLess(marks["after"], main[1])

    def test_a_task_ends_what_it_inherited_only_if_it_was_not_its_own(self):
        recording = self.record(
            """
            import asyncio
            import pyannot
            from pyannot import annotate

            async def child():
                async with annotate("same"):
                    await asyncio.sleep(0)

            async def main():
                async with annotate("same"):
                    await asyncio.gather(child(), child())
                    pyannot.mark("children are through")

            asyncio.run(main())
            """
        )
        (mark,) = recording.marks
        outer, *inner = self.ends(recording, "same")
        self.assertEqual(len(inner), 2)
        self.assertLess(mark["ts"], outer[1])
        self.assertLess(max(end for _, end in inner), mark["ts"])

    def test_what_somebody_else_puts_into_the_variable_is_ignored(self):
        self.record(
            """
            import asyncio
            import contextvars
            from pyannot import annotate

            async def main():
                async with annotate("a"):
                    (variable,) = (v for v in contextvars.copy_context() if "pyannot" in v.name)
                    for value in [None, (), ("a", 1, None), 3]:
                        variable.set(value)
                        async with annotate("b"):
                            pass

            asyncio.run(main())
            """
        )


if __name__ == "__main__":
    harness.main()
