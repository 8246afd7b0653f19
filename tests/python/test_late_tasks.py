# SPDX-License-Identifier: MIT
"""Tasks of a program that was started without annot: observers start only with a recording."""

import collections
import subprocess
import sys

import harness
from harness import ANNOT
from observed_lines import ObservedTest


class LateTasks(ObservedTest):
    SERVER = """
        import asyncio
        from pyannot import annotate

        @annotate("request")
        async def request(i):
            with annotate("db"):
                await asyncio.sleep(0.005 * (i % 3 + 1))

        async def main():
            print("ready", flush=True)
            for i in range(10**9):
                asyncio.create_task(request(i))
                await asyncio.sleep(0.004)

        asyncio.run(main())
    """

    def test_requests_are_on_tracks_of_their_tasks(self):
        environment = {name: text for name, text in self.environment.items()
                       if name != "ANNOT_PYTHON"}
        output = self.folder / "out.annot"
        with subprocess.Popen([sys.executable, str(self.script(self.SERVER))], env=environment,
                              stdout=subprocess.PIPE) as server:
            self.assertEqual(server.stdout.readline(), b"ready\n")
            harness.run([ANNOT, "attach", "--sampling=none", "--duration", "1s", "-o",
                         str(output), str(server.pid)], env=environment)
            self.assertIsNone(server.poll())
            server.kill()
        self.read_lines()
        self.assertEqual([line for line in self.lines if line.get("kind") == "pushed"], [])
        tracks = collections.defaultdict(list)
        for line in self.lines:
            if line.get("kind") == "track" and line["event"] == "begin":
                tracks[line["track"]].append((line["depth"], line["name"]))
        self.assertIn([(0, "request"), (1, "request"), (2, "db")], tracks.values())
        self.assertIn("tasks of asyncio: observed since this recording found them",
                      harness.run([ANNOT, "info", str(output)]).stdout)


if __name__ == "__main__":
    harness.main()
