# SPDX-License-Identifier: MIT
"""Imports are nested ranges, equal to those of -X importtime, without other changes."""

import json
import re
import subprocess
import sys

import harness
from harness import ANNOT
from observed_lines import ObservedTest

# A program's view of its imports: tracebacks of all failures, and the modules that remain.
FAILURES = """
    import importlib, os, tempfile, threading, traceback
    folder = tempfile.mkdtemp()
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True

    def write(name, text):
        with open(os.path.join(folder, name + ".py"), "w") as file:
            file.write(text)

    write("raises", "import needs_missing\\n")
    write("needs_missing", "import missing_here\\n")
    write("broken", "def (:\\n")
    write("fails", "1 / 0\\n")
    write("left", "import right\\nvalue = right.value\\n")
    write("right", "import left\\nvalue = 1\\nseen = hasattr(left, 'value')\\n")
    write("replaced", "import sys\\nsys.modules[__name__] = 7\\n")
    sys.modules["halted"] = None
    told = []

    def attempt(name):
        try:
            module = importlib.import_module(name)
            told.append(repr(getattr(module, "seen", module)).replace(folder, "F"))
        except BaseException:
            told.append(traceback.format_exc().replace(folder, "F"))
        try:
            exec(f"import {name}", {})
        except BaseException:
            told.append(traceback.format_exc().replace(folder, "F"))

    def attempts():
        for name in ("raises", "broken", "fails", "right", "replaced", "halted", "missing.sub",
                     "json.missing", "xml.dom"):
            attempt(name)
        threads = [threading.Thread(target=attempt, args=["wave"]) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        told.append(sorted(name for name in sys.modules if name in
                           ("raises", "broken", "fails", "left", "right", "needs_missing")))
        return told[:]
"""


class Imports(ObservedTest):
    def test_ranges_are_what_importtime_tells(self):
        script = self.script("""
            import pyannot.observe
            pyannot.observe.start("imports")
            import email.message, xml.dom.minidom, unittest.mock
        """)
        output = self.folder / "out.annot"
        command = [ANNOT, "record", "--no-preload", "-o", str(output), "--", sys.executable, "-X",
                   "importtime", str(script)]
        result = subprocess.run(command, capture_output=True, text=True, check=True,
                                env=self.environment, timeout=harness.TIMEOUT_SECONDS)
        self.read_lines()
        ends = [line for line in self.lines if line["event"] == "end"]
        told = told_by_importtime(result.stderr)[-len(ends):]
        self.assertGreater(len(ends), 30)
        self.assertEqual([(name, depth) for name, depth, _ in told],
                         [(line["name"].removeprefix("import "), line["path"].count("/"))
                          for line in ends])
        for (name, _, microseconds), line in zip(told, ends):
            self.assertLessEqual(line["duration_ns"], (microseconds + 1) * 1000, name)
        outer = sum(microseconds for _, depth, microseconds in told if depth == 0)
        ours = sum(line["duration_ns"] for line in ends if "/" not in line["path"])
        self.assertGreater(ours, outer * 1000 / 2)

    def test_the_report_has_a_row_per_module_and_sums_that_add_up(self):
        self.observe("imports", """
            with annotate("own"):
                import unittest.mock
            with annotate("own"):
                import xml.dom.minidom
        """)
        recording = str(self.folder / "out.annot")
        text = harness.run([ANNOT, "report", "--sort", "self", "--limit", "0", recording]).stdout
        ranges, imports = (text.split(f"\n{title}")[1].split("\n\n")[0].splitlines()
                           for title in ("ranges\n", "imports of Python modules"))
        # "(~ from fewer ..." explains "~" marks, if any.
        self.assertEqual([line.split()[0] for line in ranges if not line.startswith("(~")],
                         ["range", "own", "(imports)", "(outside)", "(sum)"])
        rows = {line.split()[0]: line.split() for line in imports[2:]}
        modules = {line["name"].removeprefix("import ") for line in self.lines
                   if line["event"] == "end" and line["name"].startswith("import ")}
        self.assertEqual(set(rows), modules | {"(sum)"})
        told = json.loads(harness.run([ANNOT, "report", "--json", recording]).stdout)
        for module in ("unittest.mock", "xml.dom.minidom"):
            row, = (row for row in told["ranges"]
                    if (row["path"] or "").endswith(f"import {module}"))
            self.assertEqual(rows[module][1], "1")
            self.assertEqual(rows[module][2:4], self.spelled(row["total_ns"]))
        self.assertEqual(rows["(sum)"][1:3], self.spelled(
            sum(row["self_ns"] for row in told["ranges"] if "import " in (row["path"] or ""))))
        self.assertEqual({row["module"]: (row["count"], self.spelled(row["total_ns"]))
                          for row in told["imports"]},
                         {module: (int(row[1]), row[2:4]) for module, row in rows.items()
                          if module != "(sum)"})

    @staticmethod
    def spelled(nanoseconds):
        """Formats like the tables: four digits and a unit."""
        for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
            if nanoseconds >= size:
                return [f"{nanoseconds / size:#.4g}".rstrip("."), unit]
        return [str(nanoseconds), "ns"]

    def test_programs_see_the_same_with_and_without(self):
        self.observe("imports", before=FAILURES, source="""
            observed = attempts()
            observe.stop()
            told.clear()
            for name in list(sys.modules):
                if name.split(".")[0] in ("left", "right", "replaced", "wave", "xml", "json"):
                    del sys.modules[name]
            plain = attempts()
            import re
            def text(told):
                return re.sub("0x[0-9a-f]+", "0x", repr(told))
            assert text(plain) == text(observed), f"{text(plain)}\\n{text(observed)}"
            assert any("ZeroDivisionError" in repr(each) for each in plain)
        """)
        names = [line["name"] for line in self.of_category("import", "begin")]
        self.assertIn("import needs_missing", names)
        self.assertEqual(len(self.of_category("import", "begin")),
                         len([line for line in self.lines if line["event"] == "end"]))

    def test_an_import_inside_of_a_task_is_the_threads(self):
        self.observe("asyncio,imports", """
            import asyncio

            async def main():
                with annotate("task"):
                    import wave
                    await asyncio.sleep(0)

            asyncio.run(main())
        """)
        wave = [line for line in self.lines if line["event"] == "begin"
                and line["name"] == "import wave"]
        self.assertNotEqual(wave[0]["kind"], "track")

    def test_nothing_is_left_after_remove(self):
        self.observe("none", """
            import importlib._bootstrap as bootstrap
            plain = bootstrap._find_and_load
            observe.start("imports")
            assert bootstrap._find_and_load is not plain
            observe.start("imports")
            observe.stop()
            assert bootstrap._find_and_load is plain
            import wave
        """)
        self.assertNotIn("import wave", [line.get("name") for line in self.lines])


def told_by_importtime(text):
    """[(module, depth, inclusive microseconds)], in order of their ends."""
    pattern = re.compile(r"import time: +\d+ \| +(\d+) \| ( *)(\S+)$")
    found = map(pattern.match, text.splitlines())
    return [(match[3], len(match[2]) // 2, int(match[1])) for match in found if match]


if __name__ == "__main__":
    harness.main()
