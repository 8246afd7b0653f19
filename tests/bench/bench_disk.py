#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The size of a recording on disk: the example pipeline, and a tight loop.

    bench_disk.py BUILD [--json FILE]

The file's size over the number of its records, as `annot info` counts them; a range is two records.
The whole file counts: definitions and index too.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from rows import finish, row

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RATE, SECONDS = "2e6", "2"


def measure(annot, path, command, environment):
    """(records, bytes, true if no record was lost)"""
    subprocess.run([annot, "record", "--force", "-o", path, "--", *command], env=environment,
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    info = subprocess.run([annot, "info", path], env=environment, check=True,
                          capture_output=True).stdout.decode()
    records = int(re.search(r"^records\s+([\d,]+)", info, re.M).group(1).replace(",", ""))
    return records, os.path.getsize(path), bool(re.search(r"^lost\s+nothing", info, re.M))


def entries_of(what, measured):
    records, size, whole = measured
    against = f"{size:,} bytes, {records:,} records" + ("" if whole else ", some lost")
    return [row(f"{what}, a record", size / records, "bytes", most=4, against=against),
            row(f"{what}, a range", 2 * size / records, "bytes", most=8)]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    annot = str(build / "tools/annot")
    place = tempfile.mkdtemp(prefix="annot-bench-", dir="/dev/shm")
    environment = dict(os.environ, ANNOT_DIR=f"{place}/annot",
                       PYTHONPATH=str(build / "pyannot"))
    pipeline = [sys.executable, str(SOURCE / "examples/pipeline/pipeline.py"), "--output",
                f"{place}/out"]
    tight = [str(build / "tests/bench/bench_emitter"), RATE, SECONDS, "pairs"]
    entries = []
    try:
        if (build / "pyannot").exists():
            entries += entries_of("example pipeline",
                                  measure(annot, f"{place}/p.annot", pipeline, environment))
        entries += entries_of("tight loop", measure(annot, f"{place}/t.annot", tight, environment))
    finally:
        shutil.rmtree(place)
    finish("disk", entries)


if __name__ == "__main__":
    main()
