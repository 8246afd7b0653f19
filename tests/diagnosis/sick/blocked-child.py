# SPDX-License-Identifier: MIT
"""Runs a command that takes long, again and again."""
# says: convert
import subprocess


def convert():
    subprocess.run(["sleep", "0.3"], check=True)


for _ in range(4):
    convert()
