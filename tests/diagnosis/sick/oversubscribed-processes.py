# SPDX-License-Identifier: MIT
"""Four commands for each processor, all of which compute at once."""
import os
import subprocess
import sys

CODE = "print(sum(i * i for i in range(4_500_000)))"
count = 4 * len(os.sched_getaffinity(0))
running = [subprocess.Popen([sys.executable, "-c", CODE]) for _ in range(count)]
for process in running:
    process.wait()
