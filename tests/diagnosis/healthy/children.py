# SPDX-License-Identifier: MIT
"""Two commands that compute at the same time."""
import subprocess
import sys

CODE = "print(sum(i * i for i in range(12_000_000)))"
running = [subprocess.Popen([sys.executable, "-c", CODE]) for _ in range(2)]
for process in running:
    process.wait()
