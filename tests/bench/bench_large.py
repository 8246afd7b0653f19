#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recording of 10^8 records, exported in little memory.

    bench_export_large.py BUILD [RECORDS] [--json FILE]

make_trace writes the recording through the store (three processes, nine threads, nested and
overlapping ranges); `annot export` writes each format, plain to /dev/null. Peak memory is the
kernel's ru_maxrss of that one process, times are its wall and CPU time.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from rows import finish, row

RECORDS = 100_000_000
MEBIBYTES = 256


def run_measured(command):
    """Wall seconds, CPU seconds, peak MiB of one process. posix_spawn shares the caller's pages
    until exec, so a small process of its own stands between."""
    script = ("import os, resource, sys; pid = os.posix_spawn(sys.argv[1], sys.argv[1:], "
              "os.environ); _, status, usage = os.wait4(pid, 0); "
              "print(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)")
    begin = time.monotonic()
    out = subprocess.run([sys.executable, "-S", "-E", "-c", script, *command], check=True,
                         stdout=subprocess.PIPE).stdout.decode().split()
    if out[-3] != "0":
        sys.exit(f"{command} failed: wait status {out[-3]}")
    return time.monotonic() - begin, float(out[-2]), int(out[-1]) / 1024


def main():
    numbers = [int(word) for word in sys.argv[2:] if word.isdigit()]
    records = numbers[0] if numbers else RECORDS
    build = pathlib.Path(sys.argv[1]).resolve()
    annot = str(build / "tools/annot")
    place = tempfile.mkdtemp(prefix="annot-bench-", dir="/var/tmp")
    path = f"{place}/large.annot"
    entries = []
    try:
        _, cpu, mib = run_measured([str(build / "tests/system/make_trace"), "random", path,
                                    str(records // 2)])
        entries.append(row("recording of so many ranges", records // 2, "ranges",
                           against=f"{os.path.getsize(path) / 2**20:.0f} MiB, {cpu:.0f} s of CPU"))
        entries.append(row("memory of the store's writer", mib, "MiB", most=MEBIBYTES))
        for kind in ("perfetto", "chrome"):
            wall, cpu, mib = run_measured([annot, "export", "--force", "-f", kind, path, "-o",
                                           "/dev/null"])
            entries.append(row(f"memory of the export, {kind}", mib, "MiB", most=MEBIBYTES,
                               against=f"{wall:.1f} s, {cpu:.1f} s of CPU"))
        wall, cpu, mib = run_measured([annot, "report", path])
        entries.append(row("memory of the report", mib, "MiB", most=MEBIBYTES,
                           against=f"{wall:.1f} s, {cpu:.1f} s of CPU"))
    finally:
        shutil.rmtree(place)
    finish("large export", entries)


if __name__ == "__main__":
    main()
