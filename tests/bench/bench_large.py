#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every reader of a large recording, and its traces as imports, in little memory.

    bench_large.py BUILD [RECORDS [SAMPLES]] [--json FILE]

make_trace writes the recording through the store (three processes, nine threads, nested and
overlapping ranges on all paths, samples of 256 stacks); each reader writes to /dev/null. Peak
memory is the kernel's ru_maxrss of that one process, times are its wall and CPU time. Imports read
an export from a pipe: their memory is that of the larger process, their CPU time that of both. The
formats ctf and nsys are left out, which write folders and files of 10 GB. First a recording of 10^7
records and 10^5 samples, for the cost of a report.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from rows import finish, row

RECORDS, SAMPLES = 100_000_000, 100_000
MEBIBYTES = 256
PAGE_SECONDS, PAGE_BYTES = 30, 5_000_000
MILLION_A_SECOND = 10
READERS = {
    "report": ("report", "--limit", "40"),
    "html": ("html", "--force", "-o", "{page}"),
    "cat": ("cat",),
    **{name: ("export", "--force", "-f", name, "-o", "/dev/null")
       for name in ("folded", "perfetto", "chrome", "speedscope", "firefox", "pprof", "otlp", "csv",
                    "parquet")},
}
IMPORTS = ("chrome", "perfetto", "speedscope")


def run_measured(command):
    """Wall seconds, CPU seconds, peak MiB of one process. posix_spawn shares the caller's pages
    until exec, so a small helper process lies between."""
    script = ("import os, resource, sys; null = os.open(os.devnull, os.O_WRONLY); "
              "pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, "
              "file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)]); "
              "_, status, usage = os.wait4(pid, 0); "
              "print(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)")
    begin = time.monotonic()
    out = subprocess.run([sys.executable, "-S", "-E", "-c", script, *command], check=True,
                         stdout=subprocess.PIPE).stdout.decode().split()
    if out[-3] != "0":
        sys.exit(f"{command} failed: wait status {out[-3]}")
    return time.monotonic() - begin, float(out[-2]), int(out[-1]) / 1024


def make(build, path, records, samples):
    _, cpu, mib = run_measured([str(build / "tests/system/make_trace"), "random", path,
                                str(records // 2), str(samples)])
    return [row(f"recording of {records:,} records", os.path.getsize(path) / 2**20, "MiB",
                against=f"{samples:,} samples, {cpu:.0f} s of CPU"),
            row("memory of the store's writer", mib, "MiB", most=MEBIBYTES)]


def import_again(annot, path, place):
    """Rows of importing each export."""
    for name in IMPORTS:
        pipe = (f"'{annot}' export -f {name} -o - '{path}' 2>/dev/null | "
                f"'{annot}' import --force -o '{place}/again.annot' - 2>/dev/null")
        wall, cpu, mib = run_measured(["/bin/sh", "-c", pipe])
        yield row(f"memory of import, {name}", mib, "MiB", most=MEBIBYTES,
                  against=f"{wall:.1f} s, {cpu:.1f} s of CPU")


def main():
    numbers = [int(word) for word in sys.argv[2:] if word.isdigit()]
    records, samples = [*numbers, *(RECORDS, SAMPLES)[len(numbers):]]
    build = pathlib.Path(sys.argv[1]).resolve()
    annot = str(build / "tools/annot")
    place = tempfile.mkdtemp(prefix="annot-bench-", dir="/var/tmp")
    path = f"{place}/large.annot"
    try:
        entries = make(build, path, 10_000_000, 100_000)
        _, cpu, mib = run_measured([annot, *READERS["report"], path])
        entries += [row("a report of it", 10 / cpu, "M records/s", least=MILLION_A_SECOND,
                        against=f"{cpu:.1f} s of CPU"),
                    row("its memory", mib, "MiB", most=MEBIBYTES)]
        entries += make(build, path, records, samples)
        for reader, command in READERS.items():
            page = f"{place}/large.html"
            words = [word.format(page=page) for word in command]
            wall, cpu, mib = run_measured([annot, *words, path])
            entries.append(row(f"memory of {reader}", mib, "MiB", most=MEBIBYTES,
                               against=f"{wall:.1f} s, {cpu:.1f} s of CPU"))
            if reader == "html":
                entries += [row("time of html", wall, "s", most=PAGE_SECONDS),
                            row("the page", os.path.getsize(page), "bytes", most=PAGE_BYTES)]
        entries += import_again(annot, path, place)
    finally:
        shutil.rmtree(place)
    finish("large recording", entries)


if __name__ == "__main__":
    main()
