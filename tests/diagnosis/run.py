#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Are the findings right? Programs with a known problem, and healthy ones, are recorded as users
would, and the findings of `annot report` are compared with the known problem.

    run.py ANNOT [--runs N] [--needed PART] [--beside N] [--json FILE] [--python PYTHON] [NAME...]

A program's problem is its file's name up to the first dash. Over all runs, precision is the part of
the reported findings that is true, recall the part of the true problems that was reported: each
must be PART, 0.95 by default. That others had the processors ("host") is true whenever something
else runs on the machine; it counts only where nothing else did, by the processors' own clocks. It
never stands before a program's own problem. --beside runs N busy processes for each processor
beside each program.

Comments at the beginning of a program give its requirements and expected findings:

    # says: WORDS            the finding has these words, else it counts as missed
    # also: PROBLEM, reason  another problem that it really has besides
    # record: OPTION...      options of annot record
    # beside: N ...          N busy processes for each processor run meanwhile, not recorded
    # needs: MODULE          it is left out where Python has no such module

A program that ends with exit status 77 cannot run here, and is left out.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NEEDED = 0.95
IDLE_PART = 0.05  # share of the processors that others may use
SKIP = 77
TEXTS = ("finding", "evidence", "advice")
COMMENT = re.compile(r"# (says|also|record|beside|needs): (.*)")


class Program:
    """One file: its problem (None if it is healthy), and the fields of its comments."""

    def __init__(self, path):
        self.path = path
        self.problem = path.stem.split("-")[0] if path.parent.name == "sick" else None
        self.comments = collections.defaultdict(list)
        for line in path.read_text().splitlines():
            if comment := COMMENT.fullmatch(line):
                self.comments[comment[1]].append(comment[2])
        self.also = {line.split(",")[0] for line in self.comments["also"]}
        self.options = [word for line in self.comments["record"] for word in line.split()]
        self.beside = sum(int(line.split()[0]) for line in self.comments["beside"])

    def missing(self, python):
        """The modules it needs that `python` does not have."""
        return [module for module in self.comments["needs"]
                if subprocess.run([python, "-c", f"import {module}"], check=False,
                                  stderr=subprocess.DEVNULL).returncode]


def busy_ticks():
    """Of all processors: used time and the host's steal time, in hundredths of a second."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, soft, steal = map(int, fields[:8])
    return user + nice + system + irq + soft, steal


def programs(names):
    """Programs with these name prefixes; all without names."""
    paths = [path for kind in ("sick", "healthy") for path in sorted((HERE / kind).glob("*.py"))]
    return [Program(path) for path in paths
            if not names or any(path.stem.startswith(name) for name in names)]


@contextlib.contextmanager
def busy_processes(count):
    code = "while True: pass"
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def record(annot, python, program, recording):
    """Returns true if others used processors meanwhile, None if the program cannot run here."""
    processors = len(os.sched_getaffinity(0))
    with busy_processes(program.beside * processors):
        before, before_steal = busy_ticks()
        used = os.times()
        status = subprocess.run([annot, "record", "-q", "--force", "-o", recording,
                                 *program.options, python, program.path], check=False,
                                stdout=subprocess.DEVNULL, timeout=120).returncode
        after, after_steal = busy_ticks()
        now = os.times()
    if status not in (0, SKIP):
        sys.exit(f"{program.path.stem}: exit status {status}")
    ours = sum((now[2] - used[2], now[3] - used[3])) * 100
    lasted = (now[4] - used[4]) * 100 * processors
    others = after - before - ours + after_steal - before_steal
    return None if status == SKIP else others > IDLE_PART * lasted


def read(annot, recording):
    out = subprocess.run([annot, "report", "--json", recording], check=True, capture_output=True,
                         timeout=60).stdout
    report = json.loads(out)
    if report["sampling"]["way"] != "eBPF":
        print("skipped: waits are recorded with eBPF only, which does not work here")
        sys.exit(SKIP)
    return report


def compare(program, report, busy):
    """Judges one run: (true, false, missed) by problem, and lines about wrong findings."""
    found = collections.defaultdict(str)
    for row in report["findings"]:
        found[row["kind"]] += " ".join(filter(None, map(row.get, TEXTS))) + " "
    name, problem, wanted = program.path.stem, program.problem, program.comments["says"]
    order = [row["kind"] for row in report["findings"]]
    said = set(found) - program.also - ({"host"} if busy and problem != "host" else set())
    counts, wrong = collections.Counter(), []
    if problem in said and all(words in found[problem] for words in wanted):
        counts[problem, "true"] += 1
    elif problem in said:
        counts[problem, "missed"] += 1
        wrong.append(f"{name}: {problem}, but not \"{wanted[0]}\": {found[problem]}")
    elif problem:
        counts[problem, "missed"] += 1
        wrong.append(f"{name}: not said, but {sorted(said) or 'nothing'}")
    if problem in order and "host" in order[:order.index(problem)]:
        counts["host", "false"] += 1
        wrong.append(f"{name}: the machine comes before {problem}")
    for other in said - {problem}:
        counts[other, "false"] += 1
        wrong.append(f"{name}: {other}, which is wrong: {found[other]}")
    return counts, wrong


def judge(annot, python, chosen, runs):
    """The same of all runs, and which programs were left out."""
    counts, wrong, left_out = collections.Counter(), [], set()
    with tempfile.TemporaryDirectory(prefix="annot-diagnosis-") as folder:
        recording = pathlib.Path(folder) / "r.annot"
        for program in chosen * runs:
            busy = record(annot, python, program, recording)
            if busy is None:
                left_out.add(program.path.stem)
                continue
            more, lines = compare(program, read(annot, recording), busy)
            counts += more
            wrong += lines
    return counts, wrong, left_out


def part(some, whole):
    return some / whole if whole else 1.0


def table(counts):
    """A row for each problem, and one for all."""
    names = sorted({name for name, _ in counts})
    sums = {key: sum(counts[name, key] for name in names) for key in ("true", "false", "missed")}
    counts = {**counts, **{("all", key): value for key, value in sums.items()}}
    rows = []
    for name in [*names, "all"]:
        true, false, missed = (counts.get((name, key), 0) for key in ("true", "false", "missed"))
        rows.append({"problem": name, "runs": true + missed, "true": true, "false": false,
                     "missed": missed, "precision": part(true, true + false),
                     "recall": part(true, true + missed)})
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("annot")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--beside", type=int, default=0)
    parser.add_argument("--json")
    parser.add_argument("--needed", type=float, default=NEEDED)
    parser.add_argument("--python", default=os.environ.get("ANNOT_TEST_PYTHON") or sys.executable)
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    chosen = [program for program in programs(args.names) if not program.missing(args.python)]
    for program in chosen:
        program.beside += args.beside
    counts, wrong, left_out = judge(args.annot, args.python, chosen, args.runs)
    left_out |= {program.path.stem for program in programs(args.names)} - {
        program.path.stem for program in chosen}
    rows = table(counts)
    print(f"{'problem':16} {'runs':>5} {'precision':>9} {'recall':>7}")
    for row in rows:
        print(f"{row['problem']:16} {row['runs']:5} {row['precision']:9.2f} {row['recall']:7.2f}")
    healthy = sum(program.problem is None for program in chosen) * args.runs
    print(f"and {healthy} runs of healthy programs")
    for name in sorted(left_out):
        print(f"left out, as this machine cannot run it: {name}")
    print("\n".join(wrong))
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(
            {"rows": rows[:-1], "healthy": healthy, "left_out": sorted(left_out), "wrong": wrong},
            indent=1) + "\n")
    return 0 if min(rows[-1]["precision"], rows[-1]["recall"]) >= args.needed else 1


if __name__ == "__main__":
    sys.exit(main())
