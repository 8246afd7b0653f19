#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast `annot query` goes through ranges and samples, and in how much memory.

    bench_query.py BUILD [RANGES [SAMPLES]] [--json FILE]

make_trace writes the recording: three processes, nine threads, nested ranges of a dozen names. Each
query runs three times, one after the other in turn; times are the medians of the CPU time of the
whole command; memory is the most of all runs. Last, the same rows in a plain table of SQLite, whose
GROUP BY sorts them: CPU time of that statement alone.
"""

import csv
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from bench_large import run_measured
from rows import finish, row

RANGES, SAMPLES, ROUNDS = 10_000_000, 1_000_000, 3
MEBIBYTES = 256
# Statement, number of rows (a part of the ranges; "samples": of these), budget in million rows/s.
QUERIES = {
    "count and sum": ("SELECT count(*), sum(duration_ns) FROM ranges", 1, 3),
    "sums by name": ("SELECT name, count(*), sum(duration_ns) FROM ranges GROUP BY name", 1, 3),
    "sums by name and thread": ("SELECT name, thread, count(*), sum(self_ns) FROM ranges "
                                "GROUP BY name, thread ORDER BY 1, 2", 1, None),
    "sums by path": ("SELECT path, count(*), sum(duration_ns) FROM ranges GROUP BY path", 1, None),
    "quantiles by name": ("SELECT name, quantile(duration_ns, 0.99) FROM ranges GROUP BY name", 1,
                          None),
    "of one name": ("SELECT count(*), sum(duration_ns) FROM ranges WHERE name = 'parse'", 1, None),
    "paths": ("SELECT count(*), max(path) FROM ranges", 1, None),
    "the longest ten": ("SELECT name, duration_ns FROM ranges ORDER BY duration_ns DESC LIMIT 10",
                        1, None),
    "samples by function": ("SELECT function, sum(cpu_ns) FROM samples GROUP BY function",
                            "samples", None),
}


def plain_table(annot, recording, folder):
    """Seconds of CPU: GROUP BY over a table with the names and durations of all ranges."""
    rows = [str(annot), "query", "--csv", recording, "SELECT name, duration_ns FROM ranges"]
    with sqlite3.connect(f"{folder}/plain.db") as database:
        database.execute("CREATE TABLE plain (name TEXT, duration_ns INTEGER)")
        with subprocess.Popen(rows, stdout=subprocess.PIPE, text=True) as process:
            read = csv.reader(process.stdout)
            next(read)
            database.executemany("INSERT INTO plain VALUES (?, ?)", read)
        taken = []
        for _ in range(ROUNDS):
            begin = time.process_time()
            database.execute("SELECT name, count(*), sum(duration_ns) FROM plain "
                             "GROUP BY name").fetchall()
            taken.append(time.process_time() - begin)
    return statistics.median(taken)


def main():
    numbers = [int(word) for word in sys.argv[2:] if word.isdigit()]
    ranges, samples = [*numbers, *(RANGES, SAMPLES)[len(numbers):]]
    build = pathlib.Path(sys.argv[1]).resolve()
    entries = []
    with tempfile.TemporaryDirectory(prefix="annot-bench-", dir="/var/tmp") as place:
        path = f"{place}/large.annot"
        subprocess.run([build / "tests/system/make_trace", "random", path, str(ranges),
                        str(samples)], check=True, stdout=subprocess.DEVNULL)
        measured = {what: [] for what in QUERIES}
        for _ in range(ROUNDS):
            for what, (sql, _, _) in QUERIES.items():
                measured[what].append(run_measured([str(build / "tools/annot"), "query", "--csv",
                                                    path, sql]))
        plain = plain_table(build / "tools/annot", path, place)
    for what, (_, part, least) in QUERIES.items():
        wall, cpu = (statistics.median(run[i] for run in measured[what]) for i in (0, 1))
        count = samples if part == "samples" else ranges * part
        entries.append(row(what, count / cpu / 1e6, "M rows/s", least=least,
                           against=f"per CPU second; {wall:.2f} s, {cpu:.2f} s of CPU"))
    entries.append(row("sums by name, a plain table of SQLite", ranges / plain / 1e6, "M rows/s",
                       against=f"per CPU second; {plain:.2f} s of CPU, without reading"))
    entries.append(row("memory", max(run[2] for runs in measured.values() for run in runs), "MiB",
                       most=MEBIBYTES))
    finish("query", entries)


if __name__ == "__main__":
    main()
