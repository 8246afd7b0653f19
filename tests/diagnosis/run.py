#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is the diagnosis right? Programs with a known disease, and healthy ones, are recorded as users
would, and what `annot report` says of them is compared with what they have.

    run.py ANNOT [--runs N] [--needed PART] [--json FILE] [--python PYTHON] [NAME...]

A program's disease is its file's name up to the first dash. Over all runs, precision is the part of
what was said that is true, recall the part of what is true that was said: each must be PART, 0.95
by default. That others had the processors ("host") is true whenever something else runs on the
machine; it counts only where nothing else did, by the processors' own clocks.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NEEDED = 0.95
IDLE_PART = 0.05  # others may use so much of the processors
SKIP = 77
# A cause that a program with another disease has besides, and rightly so.
ALSO = {
    "imbalance": {"serial"},  # while the last worker goes on, it runs alone
    "few_tasks": {"idle_worker", "imports"},
    "oversubscribed": {"host"},
    "gil": {"host"},
    "overhead": {"gil", "oversubscribed"},  # of the parent's three threads
    "blocked": {"imports"},
}


def busy_ticks():
    """Of all processors: what was used, and what a host took, in hundredths of a second."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, soft, steal = map(int, fields[:8])
    return user + nice + system + irq + soft, steal


def programs(names):
    """(disease or None, path) of the programs whose names begin so; all without names."""
    for kind in ("sick", "healthy"):
        for path in sorted((HERE / kind).glob("*.py")):
            if not names or any(path.stem.startswith(name) for name in names):
                yield path.stem.split("-")[0] if kind == "sick" else None, path


def diagnose(annot, python, path, folder):
    """What annot says of one run of a program: (ids of diseases, did others use processors)."""
    recording = pathlib.Path(folder) / "r.annot"
    before, before_steal = busy_ticks()
    used = os.times()
    subprocess.run([annot, "record", "-q", "--force", "-o", recording, python, path], check=True,
                   stdout=subprocess.DEVNULL, timeout=120)
    after, after_steal = busy_ticks()
    now = os.times()
    ours = sum((now[2] - used[2], now[3] - used[3])) * 100
    lasted = (now[4] - used[4]) * 100 * len(os.sched_getaffinity(0))
    others = after - before - ours + after_steal - before_steal
    out = subprocess.run([annot, "report", "--json", recording], check=True, capture_output=True,
                         timeout=60).stdout
    report = json.loads(out)
    return report, others > IDLE_PART * lasted


def compare(disease, path, report, busy):
    """What one run shows: (true, false, missed) by disease, and lines that say what was wrong."""
    found = {row["disease"]: row["finding"] for row in report["diagnosis"]}
    said = set(found) - ALSO.get(disease, set()) - ({"host"} if busy else set())
    counts, wrong = collections.Counter(), []
    if disease in said:
        counts[disease, "true"] += 1
    elif disease:
        counts[disease, "missed"] += 1
        wrong.append(f"{path.stem}: not said, but {sorted(said) or 'nothing'}")
    for other in said - {disease}:
        counts[other, "false"] += 1
        wrong.append(f"{path.stem}: {other}, which is wrong: {found[other]}")
    return counts, wrong


def judge(annot, python, chosen, runs):
    """The same of all runs. Waits need eBPF."""
    counts, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="annot-diagnosis-") as folder:
        for disease, path in chosen * runs:
            report, busy = diagnose(annot, python, path, folder)
            if report["sampling"]["way"] != "eBPF":
                print("skipped: waits are recorded with eBPF only, which does not work here")
                sys.exit(SKIP)
            more, lines = compare(disease, path, report, busy)
            counts += more
            wrong += lines
    return counts, wrong


def part(some, whole):
    return some / whole if whole else 1.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("annot")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("--needed", type=float, default=NEEDED)
    parser.add_argument("--python", default=os.environ.get("ANNOT_TEST_PYTHON") or sys.executable)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    chosen = list(programs(args.names))
    counts, wrong = judge(args.annot, args.python, chosen, args.runs)
    rows = []
    for name in sorted({name for name, _ in counts}):
        true, false, missed = (counts[name, key] for key in ("true", "false", "missed"))
        rows.append({"disease": name, "runs": true + missed, "true": true, "false": false,
                     "missed": missed, "precision": part(true, true + false),
                     "recall": part(true, true + missed)})
    print(f"{'disease':16} {'runs':>5} {'precision':>9} {'recall':>7}")
    for row in rows:
        print(f"{row['disease']:16} {row['runs']:5} {row['precision']:9.2f} {row['recall']:7.2f}")
    sums = [sum(row[key] for row in rows) for key in ("true", "false", "missed")]
    precision, recall = part(sums[0], sums[0] + sums[1]), part(sums[0], sums[0] + sums[2])
    healthy = sum(disease is None for disease, _ in chosen) * args.runs
    print(f"{'all':16} {sums[0] + sums[2]:5} {precision:9.2f} {recall:7.2f}"
          f"   and {healthy} runs of healthy programs")
    print("\n".join(wrong))
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"rows": rows, "healthy": healthy,
                                                       "wrong": wrong}, indent=1) + "\n")
    return 0 if precision >= args.needed and recall >= args.needed else 1


if __name__ == "__main__":
    sys.exit(main())
