# SPDX-License-Identifier: MIT
"""Prints faster than a terminal reads: its other end takes 16 kB every 50 ms, of 320 kB."""
# says: waits for the terminal in show
import os
import pty
import subprocess

SCREEN = "while sleep 0.05; do dd bs=16384 count=1 iflag=fullblock of=/dev/null 2>/dev/null; done"


def show(text):
    os.write(terminal, text)


screen, terminal = pty.openpty()
process = subprocess.Popen(["sh", "-c", SCREEN], stdin=screen)
os.close(screen)
for i in range(5_000):
    show(b"%062d\r\n" % i)
process.kill()
process.wait()
