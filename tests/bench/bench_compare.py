#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does `annot diff` see a change of 3 % in one range, and no change between equal programs?

    bench_compare.py ANNOT COMPARE_LOAD [--comparisons 20] [--runs 10] [--permille 30]
    bench_compare.py ANNOT COMPARE_LOAD --large 100000000

Each comparison records three programs in turn, as often as there are runs: the plain one twice, and
one with PERMILLE thousandths more work in its range "hash" (compare_load.c). One diff is of a plain
one and the changed one, the other of the two plain ones. The first of the three changes from round
to round. Prints the verdicts and their numbers.

--large EVENTS: the cost of a diff of two recordings with that many events each, and 65,536 paths of
ranges (make_trace writes them); CPU time and peak memory of one process, for each side. The same
with two recordings a side, of a tenth of the events.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from bench_large import run_measured
from rows import print_table, row

SIDE_SECONDS, SIDE_MEBIBYTES = 30, 256
SURE = ("slower", "faster", "more", "less", "new", "gone")


def record(annot, output, command):
    subprocess.run([annot, "record", "-q", "--force", "-o", output, "--", *command], check=True,
                   stdout=subprocess.DEVNULL)


def diff(annot, folder, sides, runs):
    paths = [[f"{folder}/{side}-{run}.annot" for run in range(runs)] for side in sides]
    done = subprocess.run(
        [annot, "diff", "--json", *paths[0], "vs", *paths[1]],
        capture_output=True, check=True)
    return json.loads(done.stdout)


def rows(report):
    for table, content in report.items():
        if isinstance(content, list):
            yield from ((table, row) for row in content if "verdict" in row)


def compare(options, folder):
    """Rows of the two diffs: those of "hash", certain ones of other ranges, those of the plain
    programs."""
    programs = {"a": "0", "b": str(options.permille), "c": "0"}
    for run in range(options.runs):
        for turn in range(3):
            name = "abc"[(run + turn) % 3]
            record(options.annot, f"{folder}/{name}-{run}.annot",
                   [options.load, programs[name]])
    changed = diff(options.annot, folder, "ab", options.runs)
    same = diff(options.annot, folder, "ac", options.runs)
    return changed, same


def large(annot, events):
    maker = pathlib.Path(annot).resolve().parents[1] / "tests/system/make_trace"
    entries = []
    with tempfile.TemporaryDirectory(prefix="annot-bench-", dir="/var/tmp") as folder:
        for runs, count in ((1, events), (2, events // 10)):
            paths = [f"{folder}/{runs}-{i}.annot" for i in range(2 * runs)]
            for i, path in enumerate(paths):
                subprocess.run([maker, "random", path, str(count // 2 - i * count // 100),
                                str(count // 100)], check=True, stdout=subprocess.DEVNULL)
            wall, cpu, mib = run_measured([annot, "diff", *paths[:runs], "vs",
                                           *paths[runs:]])
            what = f"{runs} a side, {count:,} events each"
            entries += [row(f"{what}: CPU", cpu / len(paths), "s", most=SIDE_SECONDS,
                            against=f"a recording; all: {wall:.0f} s, {cpu:.0f} s of CPU"),
                        row(f"{what}: memory", mib / 2, "MiB", most=SIDE_MEBIBYTES,
                            against=f"a side; all: {mib:.0f} MiB")]
    print_table("diff of large recordings", entries)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("annot")
    parser.add_argument("load")
    parser.add_argument("--comparisons", type=int, default=20)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--permille", type=int, default=30)
    parser.add_argument("--large", type=int, metavar="EVENTS")
    options = parser.parse_args()
    if options.large:
        large(options.annot, options.large)
        return
    told = {"total": 0, "each": 0, "relative": 0}
    changes = {"total": [], "each": [], "relative": []}
    plain = {"total": [], "each": [], "relative": []}
    others, alarms, walls, evened = [], [], 0, 0
    for number in range(options.comparisons):
        with tempfile.TemporaryDirectory() as folder:
            changed, same = compare(options, folder)
        evened += changed["comparison"]["speed_reference_count"] > 0
        for table, row in rows(changed):
            if row["name"] == "round/hash":
                told[row["metric"]] += row["verdict"] == "slower"
                changes[row["metric"]].append(100 * row["change"])
            elif row["verdict"] in SURE and row["name"] in ("round/load", "round/store"):
                others.append((number, row["name"], row["metric"], row["verdict"]))
        for table, row in rows(same):
            if row["name"].startswith("round/"):
                plain[row["metric"]].append(100 * row["change"])
            if row["name"] == "wall":
                walls += row["verdict"] in SURE
            elif row["verdict"] in SURE:
                alarms.append((number, table, row["name"], row["metric"], row["verdict"]))
        print(f"{number + 1}: load {os.getloadavg()[0]:.1f}, told apart so far {told}, alarms "
              f"{len(alarms)}, of the wall time {walls}", flush=True)
    print(f"{options.comparisons} comparisons of {options.runs} runs a side, "
          f"{options.permille / 10:g} % more work in one range")
    for metric, values in changes.items():
        spread = statistics.pstdev(values) if len(values) > 1 else 0
        print(f"  {metric:9s} told apart in {told[metric]}; change {statistics.mean(values):+.2f} "
              f"% +- {spread:.2f} (standard deviation); identical: "
              f"{statistics.pstdev(plain[metric]):.2f} around "
              f"{statistics.mean(plain[metric]):+.2f}")
    print(f"  compared at equal speed: {evened}; other ranges that were called changed: {others}")
    print(f"  identical programs: comparisons with an alarm in any row: "
          f"{len({alarm[0] for alarm in alarms})} {alarms}; of the wall time: {walls}")


if __name__ == "__main__":
    main()
