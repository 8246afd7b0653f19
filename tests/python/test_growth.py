# SPDX-License-Identifier: MIT
"""The memory of annotating does not grow with time, with and without a recorder.

ANNOT_TEST_RANGES: number of ranges, by default a million; ten million for a thorough run.
"""

import os
import subprocess
import sys
import unittest

import harness

RANGES = int(os.environ.get("ANNOT_TEST_RANGES", "1000000"))
PER_ROUND = 10

PROGRAM = """
    import asyncio
    import re
    import sys

    import pyannot
    from pyannot import annotate

    kept, io, track = annotate("kept", item=1), pyannot.domain("io"), pyannot.track("track")

    @annotate
    def function():
        pass

    @annotate
    def generator():
        yield 1

    def round(number):
        with annotate("name"), kept, io.annotate("inside"), annotate("made", number=number):
            function()
            for _ in generator():
                pass
            pyannot.push("pushed", payload={"number": number, "text": "a text"})
            pyannot.pop()
        with track.annotate("on the track", payload=number):
            pyannot.counter("counter", {"one": number, "two": 0.5})
        pyannot.end(pyannot.start("started", number=number))
        pyannot.flow("arrow").begin()
        try:
            with annotate("fails"):
                raise KeyError
        except KeyError:
            pass

    async def statements(count):
        for number in range(count):
            async with annotate("async", number=number):
                pass

    def anonymous_bytes():
        with open("/proc/self/status") as status:
            return int(re.search(r"RssAnon:\\s*(\\d+)", status.read())[1]) << 10

    def work(count):
        for number in range(count):
            round(number)
        asyncio.run(statements(count))

    count = int(sys.argv[1]) // 10
    work(count)
    before = anonymous_bytes()
    for _ in range(9):
        work(count)
    print(pyannot.enabled(), anonymous_bytes() - before)
"""


class Growth(harness.RecordingTest):
    def grown(self, command):
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env=self.environment, timeout=max(300, RANGES // 10000))
        self.assertEqual(done.returncode, 0, done.stderr)
        enabled, grown = done.stdout.split()
        return enabled, int(grown)

    def test_while_nobody_records(self):
        path = self.script(PROGRAM)
        enabled, grown = self.grown([sys.executable, str(path), str(RANGES // PER_ROUND)])
        self.assertEqual(enabled, "False")
        self.assertLess(grown, 1 << 20)

    def test_while_somebody_records(self):
        path = self.script(PROGRAM)
        enabled, grown = self.grown(self.command(path, RANGES // PER_ROUND))
        self.assertEqual(enabled, "True")
        self.assertLess(grown, 1 << 20)


if __name__ == "__main__":
    harness.main()
