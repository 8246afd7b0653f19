# SPDX-License-Identifier: MIT
"""Reads lines of a command that writes one every 50 ms, 20 times."""
# says: waits for a pipe in next_line
import subprocess


def next_line(lines):
    return lines.readline()


command = ["sh", "-c", "for i in $(seq 20); do sleep 0.05; echo $i; done"]
with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
    while next_line(process.stdout):
        pass
