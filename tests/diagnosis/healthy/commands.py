# SPDX-License-Identifier: MIT
"""Twelve short Python commands, as many at a time as there are processors."""
import concurrent.futures
import os
import subprocess
import sys

CODE = "print(sum(i * i for i in range(3_000_000)))"


def run(_):
    subprocess.run([sys.executable, "-c", CODE], check=True)


with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
    list(pool.map(run, range(12)))
