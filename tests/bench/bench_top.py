#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU time and memory of annot top while it shows four busy Python processes.

    bench_top.py BUILD [--seconds N] [--json FILE]

annot runs on a pseudo-terminal of 120 x 40. Its CPU time is the kernel's count of its process, from
two seconds after its start on: sampler, sums and drawing. On a machine busy with other processes,
four processes have fewer samples than 99 a second and processor; so each run prints their number,
and one at 999 Hz has more than an idle machine would at 99.
"""

import fcntl
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

from rows import finish, row

BUSY = """
import multiprocessing, sys
def spin():
    while True:
        for i in range(1000):
            pass
if __name__ == "__main__":
    for _ in range(4):
        multiprocessing.Process(target=spin, daemon=True).start()
    sys.stdin.read()
"""
SETTLE = 2
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_kib(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(re.search(rf"{name}:\s+(\d+) kB", file.read()).group(1))


def read_for(fd, seconds):
    text, end = b"", time.monotonic() + seconds
    while (rest := end - time.monotonic()) > 0:
        if select.select([fd], [], [], rest)[0]:
            text += os.read(fd, 65536)
    return text


def watched(annot, busy, options, seconds):
    """CPU seconds per second, RssAnon, and the last output."""
    pid, fd = pty.fork()
    if pid == 0:
        time.sleep(0.2)
        os.execve(annot, ["annot", "top", str(busy), *options], {**os.environ, "TERM": "xterm"})
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    read_for(fd, SETTLE)
    before, begin = cpu_seconds(pid), time.monotonic()
    read_for(fd, seconds)
    used = (cpu_seconds(pid) - before) / (time.monotonic() - begin)
    memory = memory_kib(pid, "RssAnon")
    os.write(fd, b"q")
    os.waitpid(pid, 0)
    os.close(fd)
    return used, memory


def samples_per_second(annot, busy, options, seconds):
    done = subprocess.run([annot, "top", "--once", "-d", str(seconds), str(busy), *options],
                          capture_output=True, text=True, check=True)
    share = float(re.search(r"^cpu ([\d.]+) %", done.stdout, re.M).group(1)) / 100
    rate = int(re.search(r"(\d+) Hz", done.stdout).group(1))
    return share * rate


def measure(build, seconds):
    annot, entries = str(build / "tools/annot"), []
    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE) as busy:
        time.sleep(1)
        for rate in (99, 999):
            options = ["--rate", str(rate)]
            used, memory = watched(annot, busy.pid, options, seconds)
            samples = samples_per_second(annot, busy.pid, options, 3)
            against = f"{samples:.0f} samples a second; {seconds} s"
            budget = {"most": 1} if rate == 99 else {}
            entries.append(row(f"annot top, four busy processes, {rate} Hz", 100 * used, "% CPU",
                               against=against, **budget))
            entries.append(row(f"the same, memory of its own, {rate} Hz", memory / 1024, "MiB",
                               against=against))
        busy.stdin.close()
    return entries


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    seconds = int(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 30
    finish("top", measure(build, seconds))


if __name__ == "__main__":
    main()
