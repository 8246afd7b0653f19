#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Spans that an outside observer reports of a thread nest with the ranges of the program.

test_probes.py PROBE_RECORDING ANNOT FOLDER [PYANNOT_FOLDER]: the truth of probe_recording.c is
compared with the output of the commands and of pyannot.read, per thread and range, for all of the
recording and for parts of it. The spans come late and out of order; some cross ranges of the
program.
"""

import collections
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
import perfetto_lines

STEPS = 6000
THREADS = [100, 101, 102, 103]
PARTS = [(None, None), (5000123, None), (None, 12000777), (9000001, 9400000), (20000000, 20000700),
         (29000000, None)]
SAMPLE_NS = 1000
LAST = 1 << 62


def options(part):
    begin, end = part
    words = [] if begin is None else ["--from", f"{begin / 1e9:.9f}s"]
    return words + ([] if end is None else ["--to", f"{end / 1e9:.9f}s"])


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Truth:
    """The truth of probe_recording.c, cut to a part."""

    def __init__(self, rows):
        self.rows = rows

    def ranges(self, tid, part):
        """[(name, path, begin, end, self time, crossed)], cut to the part."""
        begin, end = (0 if part[0] is None else part[0]), (LAST if part[1] is None else part[1])
        own = [row for row in self.rows if row["tid"] == tid and "name" in row]
        found, inside = [], collections.Counter()
        for row in own:
            first, last = max(row["begin"], begin), min(row["end"], end)
            within = begin <= row["begin"] < end or row["begin"] < begin < row["end"]
            if within and row["parent"] >= 0:
                inside[row["parent"]] += last - first
            found.append((row, first, last) if within else None)
        return [(row["name"], row["path"], first, last, last - first - inside[index],
                 row["crossed"] and row["end"] < end)
                for index, (row, first, last) in
                ((index, entry) for index, entry in enumerate(found) if entry)]

    def samples(self, tid, part):
        begin, end = (0 if part[0] is None else part[0]), (LAST if part[1] is None else part[1])
        return [row["path"] for row in self.rows
                if row["tid"] == tid and "time" in row and begin <= row["time"] < end]


def bare(name):
    return name.replace("probe:", "")


def from_cat(annot, path, part):
    """Ends with their paths; lines are in order of time."""
    found, last = collections.defaultdict(list), 0
    opened = collections.Counter()
    for line in run(annot, "cat", "--json", path, *options(part)).splitlines():
        row = json.loads(line)
        assert row["time_ns"] >= last, (row, last)
        last = row["time_ns"]
        if row["event"] == "begin":
            opened[row["tid"]] += 1
        elif row["event"] == "end":
            found[row["tid"]].append((row["path"], row["time_ns"] - row["duration_ns"],
                                      row["time_ns"], row.get("crossed", False)))
    assert all(opened[tid] == len(found[tid]) for tid in THREADS), opened
    return {tid: sorted(found[tid]) for tid in THREADS}


def from_report(annot, path, part, tid):
    rows = json.loads(run(annot, "report", "--json", "-t", str(tid), path, *options(part)))
    return {row["path"]: (row["count"], row["total_ns"], row["self_ns"], row["cpu_ns"],
                          row["cpu_self_ns"]) for row in rows["ranges"] if row["path"]}


def expected_report(truth, tid, part):
    rows = collections.defaultdict(lambda: [0] * 5)
    for _, path, begin, end, self_ns, _ in truth.ranges(tid, part):
        rows[path][0] += 1
        rows[path][1] += end - begin
        rows[path][2] += self_ns
    for path in truth.samples(tid, part):
        if path:
            rows[path][4] += SAMPLE_NS
        words = path.split("/")
        for depth in range(1, len(words) + 1 if path else 0):
            rows["/".join(words[:depth])][3] += SAMPLE_NS
    return {path: tuple(row) for path, row in rows.items()}


def from_text(annot, path, part, tid):
    """How often each path is in the table that people read."""
    text = run(annot, "report", "--sort", "self", "-n", "0", "-t", str(tid), path, *options(part))
    table = text.split("\nranges\n", 1)
    lines = table[1].split("\n\n", 1)[0].splitlines()[1:] if len(table) > 1 else []
    words = [line.split() for line in lines]
    return {line[0]: int(line[1].replace(",", "")) for line in words if line[0][0] != "("}


def from_folded(annot, path, part, tid):
    text = run(annot, "export", "--format", "folded", "--by", "range", "-t", str(tid), path,
               "-o", "-", *options(part))
    pairs = (line.rsplit(" ", 1) for line in text.splitlines())
    return {stack: int(weight) for stack, weight in pairs}


BOX = re.compile(r'data-d="\d+ (\d+) [^"]*"><title>([\w:]+)$', re.M)


def from_flame(annot, path, part, tid):
    """How many boxes of a name have a weight."""
    text = run(annot, "flame", "--by", "range", "--min-width", "0.0000001", "-t", str(tid), path,
               "-o", "-", *options(part))
    return collections.Counter((name, int(weight)) for weight, name in BOX.findall(text)
                               if name not in ("all", "work"))


def expected_flame(truth, tid, part):
    weights = collections.Counter()
    for path in truth.samples(tid, part):
        words = path.split("/") if path else []
        for depth in range(1, len(words) + 1):
            weights["/".join(words[:depth])] += SAMPLE_NS
    return collections.Counter((path.rsplit("/", 1)[-1], weight)
                               for path, weight in weights.items())


def from_chrome(annot, path, part, folder):
    trace = folder / "probes.json"
    run(annot, "export", "--force", path, "-o", str(trace), *options(part))
    found = collections.defaultdict(list)
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event["ph"] == "X":
            begin = round(event["ts"] * 1000)
            found[event["tid"]].append((event["name"], begin,
                                        begin + round(event["dur"] * 1000)))
    return {tid: sorted(found[tid]) for tid in THREADS}


SLICE = re.compile(r"(\d+) slice \[process\d+/thread\d+:(\d+)(?:/'\w+: ranges')?\] "
                   r"until (\d+) '([\w/]+)' ")
BEGIN_NS = 5000000000000


def from_perfetto(annot, path, part, folder):
    trace = folder / "probes.pftrace"
    run(annot, "export", "--force", path, "-o", str(trace), *options(part))
    found = collections.defaultdict(list)
    for line in perfetto_lines.lines(trace.read_bytes()):
        told = SLICE.match(line)
        if told:
            found[int(told[2])].append((told[4], int(told[1]) - BEGIN_NS, int(told[3]) - BEGIN_NS))
    return {tid: sorted(found[tid]) for tid in THREADS}


def from_pyannot(folder, path):
    script = """import collections, json, sys
import pyannot
recording = pyannot.read(sys.argv[1])
rows = [[row.thread.tid, row.name, row.begin_ns, row.end_ns, row.self_ns, row.depth]
        for row in recording.ranges]
samples = [[row.thread.tid, list(row.ranges)] for row in recording.samples]
print(json.dumps([rows, samples]))"""
    python = os.environ.get("ANNOT_TEST_PYTHON", sys.executable)
    told = subprocess.run([python, "-c", script, path], check=True, text=True,
                          capture_output=True, env={"PYTHONPATH": folder}).stdout
    return json.loads(told)


def check(name, told, expected, part):
    if told == expected:
        return 0
    if isinstance(told, int):
        odd = [(told, expected)]
    elif isinstance(told, dict):
        odd = [(key, told.get(key), expected.get(key)) for key in sorted({*told, *expected})
               if told.get(key) != expected.get(key)]
    else:
        odd = [pair for pair in itertools.zip_longest(told, expected) if pair[0] != pair[1]]
    print(f"FAIL {name} {part}: {len(odd)} differ, the first {str(odd[:2])[:1500]}")
    return 1


def check_part(annot, path, folder, truth, part):
    ranges = {tid: truth.ranges(tid, part) for tid in THREADS}
    failed = check("cat", from_cat(annot, path, part),
                   {tid: sorted((row[1], row[2], row[3], row[5]) for row in ranges[tid])
                    for tid in THREADS}, part)
    named = {tid: sorted((row[0], row[2], row[3]) for row in ranges[tid]) for tid in THREADS}
    failed += check("chrome", from_chrome(annot, path, part, folder), named, part)
    paths = {tid: sorted((bare(row[1]), row[2], row[3]) for row in ranges[tid])
             for tid in THREADS}
    failed += check("perfetto", from_perfetto(annot, path, part, folder), paths, part)
    for tid in THREADS:
        expected = expected_report(truth, tid, part)
        failed += check(f"report of {tid}", from_report(annot, path, part, tid), expected, part)
        failed += check(f"text of {tid}", from_text(annot, path, part, tid),
                        {key: row[0] for key, row in expected.items()}, part)
        stacks = collections.Counter()
        for sample in truth.samples(tid, part):
            words = sample.split("/") if sample else ["(no range)"]
            stacks[";".join([*words, "work"])] += 1
        failed += check(f"folded of {tid}", from_folded(annot, path, part, tid), dict(stacks), part)
        if stacks:
            failed += check(f"flame of {tid}", from_flame(annot, path, part, tid),
                            expected_flame(truth, tid, part), part)
    return failed


TEXTS = [["cat"], ["cat", "--json"], ["report", "--json"],
         ["export", "--format", "folded", "--by", "range"], ["info", "--json"]]


def texts_of(annot, place):
    """The output of the commands for q.annot there, by command and part."""
    found = {}
    for command, part in itertools.product(TEXTS, PARTS):
        words = [] if command[0] == "info" else options(part)
        output = ["-o", "-"] if command[0] == "export" else []
        text = subprocess.run([annot, *command, "q.annot", *output, *words], cwd=place,
                              check=True, capture_output=True).stdout
        if command[0] == "info":
            text = [json.loads(text)[key] for key in ("records_by_kind", "tracks")]
        found[(*command, part)] = text
    return found


def same_in_order(recorder, annot, folder):
    """Byte for byte as for the same data recorded at once, or in several files."""
    found = {}
    for way in ("late", "ordered", "volumes"):
        place = folder / way
        place.mkdir(exist_ok=True)
        run(recorder, str(place / "q.annot"), str(STEPS), way)
        found[way] = texts_of(annot, place)
    assert (folder / "volumes/q.2.annot").exists()
    odd = [(way, key) for way, texts in found.items() for key in texts
           if texts[key] != found["late"][key]]
    for way, key in odd:
        print(f"FAIL {way} {key}")
    return len(odd)


def main():
    recorder, annot, folder = (os.path.abspath(word) for word in sys.argv[1:4])
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = str(folder / "probes.annot")
    truth = Truth([json.loads(line) for line in run(recorder, path, str(STEPS)).splitlines()])
    failed = sum(check_part(annot, path, folder, truth, part) for part in PARTS)
    if len(sys.argv) > 4:
        rows, samples = from_pyannot(sys.argv[4], path)
        for tid in THREADS:
            failed += check("pyannot", sorted(row[1:] for row in rows if row[0] == tid),
                            sorted([row[0], row[2], row[3], row[4], row[1].count("/")]
                                   for row in truth.ranges(tid, (None, None))), tid)
            failed += check("pyannot's samples", sorted("/".join(row[1]) for row in samples
                                                        if row[0] == tid),
                            sorted(truth.samples(tid, (None, None))), tid)
    sampling = json.loads(run(annot, "info", "--json", path))["sampling"]
    failed += check("agreement", sampling["at_edge_count"] + sampling["contradicted_count"], 0, "")
    failed += same_in_order(recorder, annot, folder)
    crossed = sum(row.get("crossed", False) for row in truth.rows)
    assert crossed > 100
    print(f"{'FAIL' if failed else 'ok'}: {len(truth.rows)} rows, {crossed} spans cross, "
          f"{len(PARTS)} parts")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
