#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reports on a pseudo-terminal fit its width and use colour only if it is enabled.

    check_terminal.py ANNOT MAKE_RECORDING
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
COMMAND = re.compile(r"(next: | {6})annot \S")  # never cut, however long its path


def run_on_terminal(command, columns, **variables):
    """The output of the command on a terminal of that width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items()
            if name not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave,
                               env={**kept, "TERM": "xterm", **variables})
    os.close(slave)
    chunks = []
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # the terminal's other end is closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(master)
    process.wait(10)
    return b"".join(chunks).decode().replace("\r\n", "\n")


def check_widths(annot, path, problems):
    for columns in (60, 80, 100, 132):
        text = run_on_terminal([annot, "report", path], columns)
        lines = ESCAPE.sub("", text).split("\n")
        wide = [line for line in lines
                if len(line) > columns and not line.startswith("(") and not COMMAND.match(line)]
        if wide:
            problems.append(f"{columns} columns: {wide[0]!r} has {len(wide[0])}")
        if not re.search(r"^ file .*\n   analyse ", text, re.M):
            problems.append(f"{columns} columns: the costliest range is not there")


def check_colour(annot, path, problems):
    report = [annot, "report", path]
    wrong = [annot, "report", "--nonsense", path]
    if not ESCAPE.search(run_on_terminal(report, 100)):
        problems.append("no colour on a terminal")
    for command in (report, wrong):
        if "\x1b" in run_on_terminal(command, 100, NO_COLOR="1"):
            problems.append(f"colour in spite of NO_COLOR: {command[1:3]}")
        if "\x1b" in run_on_terminal(command, 100, TERM="dumb"):
            problems.append(f"colour on a dumb terminal: {command[1:3]}")
    piped = subprocess.run(report, capture_output=True, check=True)
    if b"\x1b" in piped.stdout:
        problems.append("colour in a pipe")


def main():
    annot, make_recording = sys.argv[1:3]
    problems = []
    with tempfile.TemporaryDirectory(prefix="annot-terminal-") as folder:
        path = os.path.join(folder, "p.annot")
        subprocess.run([make_recording, "pipeline", path], check=True)
        check_widths(annot, path, problems)
        check_colour(annot, path, problems)
    print("\n".join(problems) if problems else "fits and colours as it should")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
