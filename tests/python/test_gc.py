# SPDX-License-Identifier: MIT
"""Garbage collections are ranges of the thread that they interrupt."""

import json
import sys

import harness
from observed_lines import ObservedTest

CYCLES = """
import gc, json
gc.disable()

def cycles(count):
    for _ in range(count):
        cycle = []
        cycle.append(cycle)
"""


class Collections(ObservedTest):
    def test_each_collection_is_a_range_with_what_it_collected(self):
        self.observe("gc", before=CYCLES, source="""
            with annotate("around"):
                cycles(1000)
                found = gc.collect()
                cycles(10)
                young = gc.collect(0)
                gc.collect(1)
                mark("told", payload=json.dumps([found, young]))
        """)
        begin, end = (at for at, line in enumerate(self.lines) if line.get("name") == "around")
        self.lines = self.lines[begin:end]  # outside, the interpreter collects at its own times
        names = [line["name"] for line in self.of_category("gc", "begin")]
        self.assertEqual(names, ["gc generation 2", "gc generation 0", "gc generation 1"])
        self.assertEqual({line["path"] for line in self.ended(set(names))},
                         {f"around/python:{name}" for name in names})
        found, young = json.loads(self.marks("told")[0]["payload"])
        self.assertGreaterEqual(found, 1000)
        told = [line["args"] for line in self.ended(set(names))]
        self.assertEqual(told[0], {"collected": found, "uncollectable": 0})
        self.assertEqual([values["collected"] for values in told[:2]], [found, young])

    def test_a_collection_inside_of_a_task_is_the_threads(self):
        self.observe("asyncio,gc", before=CYCLES, source="""
            import asyncio

            async def main():
                with annotate("task"):
                    gc.collect()
                    await asyncio.sleep(0)

            asyncio.run(main())
        """)
        begun = self.of_category("gc", "begin")
        self.assertTrue(begun)
        self.assertNotIn("track", [line["kind"] for line in begun])

    def test_a_recording_that_begins_in_a_collection_is_not_told_its_end(self):
        """Otherwise its end would close a range that was opened in between."""
        output = self.folder / "out.annot"
        program = self.script(f"""
            import gc
            import pyannot
            from pyannot import observe

            def begin(phase, info):
                if phase == "start" and not pyannot.enabled():
                    pyannot.start_recording({str(output)!r})
                    pyannot.push("around")

            gc.disable()
            observe.start("gc")
            gc.callbacks.append(begin)
            gc.collect()
            pyannot.mark("still inside")
            pyannot.pop()
            gc.collect()
            pyannot.stop_recording()
        """)
        harness.run([sys.executable, str(program)], env=self.environment)
        self.read_lines()
        names = [(line["event"], line["name"]) for line in self.lines
                 if line["event"] in ("begin", "mark", "end")]
        self.assertEqual(names, [("begin", "around"), ("mark", "still inside"), ("end", "around"),
                                 ("begin", "gc generation 2"), ("end", "gc generation 2")])

    def test_nothing_is_left_after_remove(self):
        self.observe("gc", """
            import gc
            assert len(gc.callbacks) == 1
            observe.stop()
            assert gc.callbacks == []
            gc.collect()
        """)
        self.assertEqual(self.of_category("gc", "begin"), [])


if __name__ == "__main__":
    harness.main()
