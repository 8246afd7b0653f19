# SPDX-License-Identifier: MIT
"""No call leaks references (on debug builds of Python, which count them) or memory.
ANNOT_LEAK_CALLS (100) and ANNOT_LEAK_RANGES (1000000) make it longer."""

import json
import os
import sys

import elsewhere
import harness
import interpreters
from harness import ANNOT, HERE, RecordingTest

CALLS = os.environ.get("ANNOT_LEAK_CALLS", "100")
RANGES = int(os.environ.get("ANNOT_LEAK_RANGES", "1000000"))
GROWTH_KIB = 512  # an allocator's variation; a leak of 1 byte per range exceeds it

MANY_RANGES = """
    import pyannot
    from pyannot import annotate

    def own_kib():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))

    def ranges(count):
        prebuilt = annotate("prebuilt")
        for i in range(count // 4):
            with prebuilt:
                pass
            with annotate("cached"):
                pass
            with annotate("payload", payload=i, domain="d"):
                pass
            pyannot.end(pyannot.start("free"))

    assert pyannot.enabled()
    ranges({ranges} // 10)
    before = own_kib()
    ranges({ranges})
    print(own_kib() - before)
"""


class Leaks(RecordingTest):
    def check(self, python, environment):
        program = [python, str(HERE / "leak_program.py")]
        file = str(self.folder / "out.annot")
        record = [ANNOT, "record", "--force", "-o", file, "--"]
        for recorded, command in [
            (False, [*program, CALLS]),
            (True, [*record, *program, CALLS]),
            (True, [*record, *program, "0"]),  # every kind of event, and few to read
            (False, [*program, "20", file]),
        ]:
            with self.subTest(command=" ".join(command)):
                output = json.loads(harness.run(command, env=environment).stdout)
                self.assertEqual(output["enabled"], recorded)
                for name, growth in output["growth"].items():
                    # Per thousand calls: a leaking call leaves at least as many.
                    self.assertLess(max(growth), 500, f"{name}: [references, blocks] {growth}")

    def test_no_call_leaves_memory(self):
        self.check(sys.executable, self.environment)

    def test_no_call_leaves_a_reference(self):
        found = [one for one in interpreters.find() if one.debug and one.can_build()]
        if not found:
            self.skipTest("no debug build of Python with headers")
        for interpreter in found:
            with self.subTest(interpreter=str(interpreter)):
                package = elsewhere.package_for(interpreter)
                environment = dict(self.environment, PYTHONPATH=str(package))
                self.check(interpreter.command, environment)

    def test_many_ranges_do_not_grow_the_program(self):
        self.record(MANY_RANGES.format(ranges=RANGES))
        print(f"  {RANGES} ranges: {self.output.strip()} KiB more")
        self.assertLess(int(self.output), GROWTH_KIB)


if __name__ == "__main__":
    harness.main()
