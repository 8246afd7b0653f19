#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Spans of queues come seconds late and out of order; every output has them at their times, and
holds no more of them than if they had come at once. annot tail marks them.

test_queues.py QUEUE_RECORDING ANNOT FOLDER [PYANNOT_FOLDER]: the truth of queue_recording.c is
compared with the output of the commands and of pyannot.read, per process, context and name, for all
of the recording and for parts of it.
"""

import collections
import hashlib
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
import perfetto_lines

SPANS = 20000
PARTS = [(None, None), (3.0005, None), (None, 7.2), (9.9, 10.2), (15.0, 15.0007), (25, 26)]


def sums(spans, begin, end):
    """By process, lane and name: number, nanoseconds; as far as they lie in [begin, end)."""
    found = collections.Counter()
    lengths = collections.Counter()
    for span in spans:
        first, last = max(span["begin"], begin), min(span["end"], end)
        if not begin <= span["begin"] < end and not span["begin"] < begin < span["end"]:
            continue
        key = span["pid"], f"context {span['context']} stream 7", span["name"]
        found[key] += 1
        lengths[key] += last - first
    return {key: (found[key], lengths[key]) for key in found}


def options(begin, end):
    words = [] if begin is None else ["--from", f"{begin}s"]
    return words + ([] if end is None else ["--to", f"{end}s"])


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def from_cat(annot, path, words):
    """Lines in order of time, spans among them."""
    found, last = collections.defaultdict(lambda: [0, 0]), 0
    for line in run(annot, "cat", "--json", path, *words).splitlines():
        row = json.loads(line)
        assert row["time_ns"] >= last, (row, last)
        last = row["time_ns"]
        if row.get("kind") == "track":
            entry = found[row["pid"], row["track"], row["name"]]
            entry[0] += 1
            entry[1] += row["duration_ns"]
    return {key: tuple(value) for key, value in found.items()}


def from_chrome(annot, path, words, folder):
    trace = folder / "queues.json"
    run(annot, "export", "--force", path, "-o", str(trace), *words)
    found, open_at = collections.defaultdict(lambda: [0, 0]), {}
    events = [event for event in json.loads(trace.read_text())["traceEvents"]
              if event["ph"] in "be" and "stream 7" in event["cat"]]
    for event in events:
        lane = event["cat"].rsplit("/", 1)[-1]
        place = event["pid"], event["cat"], event["id2"]["local"], event["name"]
        if event["ph"] == "b":
            assert place not in open_at
            open_at[place] = event["ts"]
        else:
            entry = found[event["pid"], lane, event["name"]]
            entry[0] += 1
            entry[1] += round((event["ts"] - open_at.pop(place)) * 1000)
    assert not open_at
    return {key: tuple(value) for key, value in found.items()}


SLICE = re.compile(r"(\d+) slice \[process(\d+)/'(context . stream 7)'\] until (\d+) '(\w+)' ")


def from_perfetto(annot, path, words, folder):
    trace = folder / "queues.pftrace"
    run(annot, "export", "--force", path, "-o", str(trace), *words)
    found = collections.defaultdict(lambda: [0, 0])
    for line in perfetto_lines.lines(trace.read_bytes()):
        told = SLICE.match(line)
        if told:
            entry = found[int(told[2]), told[3], told[5]]
            entry[0] += 1
            entry[1] += int(told[4]) - int(told[1])
    return {key: tuple(value) for key, value in found.items()}


def from_report(annot, path, words):
    """By name only."""
    rows = json.loads(run(annot, "report", "--json", path, *words))["track_ranges"]
    return {row["path"]: (row["count"], row["total_ns"]) for row in rows}


def by_name(expected):
    names = collections.defaultdict(lambda: [0, 0])
    for (_, _, name), (count, length) in expected.items():
        names[name][0] += count
        names[name][1] += length
    return {name: tuple(value) for name, value in names.items()}


def from_pyannot(folder, path):
    script = """import collections, json, sys
import pyannot
recording = pyannot.read(sys.argv[1])
found = collections.defaultdict(lambda: [0, 0])
for row in recording.ranges:
    if row.track is not None:
        entry = found[row.thread.process.pid, row.track.name, row.name]
        entry[0] += 1
        entry[1] += row.end_ns - row.begin_ns
print(json.dumps([[*key, *value] for key, value in found.items()]))"""
    python = os.environ.get("ANNOT_TEST_PYTHON", sys.executable)
    told = subprocess.run([python, "-c", script, path], check=True, text=True,
                          capture_output=True, env={"PYTHONPATH": folder}).stdout
    return {tuple(row[:3]): tuple(row[3:]) for row in json.loads(told)}


def check(name, told, expected, part):
    if told == expected:
        return 0
    odd = [(key, told.get(key), expected.get(key)) for key in sorted({*told, *expected})
           if told.get(key) != expected.get(key)]
    print(f"FAIL {name} {part}: {odd[:4]}")
    return 1


TEXTS = [["cat"], ["cat", "--json"], ["report", "--json"], ["export", "--format", "folded"],
         ["info", "--json"]]


def chrome_content(data):
    """Events without the numbers of lines, which are given in the order of spans; and the number of
    lines."""
    lines, events = collections.Counter(), []
    for event in json.loads(data)["traceEvents"]:
        if event["ph"] == "n":
            lines[event["pid"], event["cat"]] += 1
        else:
            event.pop("id2", None)
            events.append(json.dumps(event, sort_keys=True))
    return sorted(events), lines


CONTENT = {"chrome": chrome_content, "perfetto": perfetto_lines.lines}


def contents_of(annot, place):
    """The same of exports, whose bytes depend on the order of spans: names and lines get their
    numbers as they are met."""
    found = {}
    for (form, decode), part in itertools.product(CONTENT.items(), PARTS[::2]):
        data = subprocess.run([annot, "export", "--format", form, "q.annot", "-o", "-",
                               *options(*part)], cwd=place, check=True, capture_output=True).stdout
        found[form, part] = decode(data)
    return found


def texts_of(annot, place):
    """The output of the commands for q.annot there, by command and part."""
    found = {}
    for command, part in itertools.product(TEXTS, PARTS):
        words = [] if command[0] == "info" else options(*part)
        output = ["-o", "-"] if command[0] == "export" else []
        text = subprocess.run([annot, *command, "q.annot", *output, *words], cwd=place,
                              check=True, capture_output=True).stdout
        if command[0] == "info":
            text = [json.loads(text)[key] for key in ("records_by_kind", "tracks")]
        found[(*command, part)] = text
    return found


def same_in_order(recorder, annot, folder):
    """The same as for data recorded at once, or in several files: byte for byte, or of exports the
    content."""
    found = {}
    for way in ("late", "ordered", "volumes"):
        place = folder / way
        place.mkdir(exist_ok=True)
        run(recorder, str(place / "q.annot"), str(SPANS), way)
        found[way] = {**texts_of(annot, place), **contents_of(annot, place)}
    assert (folder / "volumes/q.2.annot").exists()
    odd = [(way, key) for way, texts in found.items() for key in texts
           if texts[key] != found["late"][key]]
    for way, key in odd:
        print(f"FAIL {way} {key}")
    return len(odd)


MIB = 1 << 20
LIMIT = 32 * MIB
FAST = ["500000", "40000"]  # spans, and nanoseconds from one to the next: ten seconds are half
WAYS = {"report": ["report", "--json"], "cat": ["cat"],
        "chrome": ["export", "--format", "chrome", "-o", "-"],
        "perfetto": ["export", "--format", "perfetto", "-o", "-"]}


def measured(command, place):
    """The digest of its output, and its peak memory."""
    digest = hashlib.sha256()
    with subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE) as process:
        while data := process.stdout.read(MIB):
            digest.update(data)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return digest.hexdigest(), usage.ru_maxrss * 1024


def is_later(last, row):
    """annot tail prints a range at its end, one of a queue at its begin."""
    ends = row["event"] == "range" and row["kind"] != "track"
    told = row["time_ns"] + (row["duration_ns"] if ends else 0)
    return max(last, told), told < last


def tail_marks(annot, place):
    """The file is read as it grew: exactly the late rows are marked."""
    failed, late, last = 0, 0, 0
    command = [annot, "tail", "-j", "-c", "-n", "10000000", "q.annot"]
    with subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as tail:
        for line in tail.stdout:
            if not line.startswith('{"time_ns"') or '"event":"range"' not in line:
                continue
            row = json.loads(line)
            last, later = is_later(last, row)
            failed += later != row.get("late", False)
            late += later
        note = tail.stderr.read()
    assert late > 100000, late
    if failed or f'marked "late", because they came after later ones: {late}\n' not in note:
        print(f"FAIL tail: {failed} marks are wrong, {late} lines are late: {note}")
        return 1
    return 0


def record_fast(recorder, place, *words):
    place.mkdir(exist_ok=True)
    subprocess.run([recorder, "q.annot", FAST[0], words[0], FAST[1], *words[1:]], cwd=place,
                   stdout=subprocess.DEVNULL, check=True)


def lateness_costs_no_memory(recorder, annot, folder):
    found, failed = {}, 0
    for way in ("late", "ordered"):
        place = folder / f"fast-{way}"
        record_fast(recorder, place, way)
        found[way] = {name: measured([annot, *words[:1], "q.annot", *words[1:]], place)
                      for name, words in WAYS.items()}
    for name in WAYS:
        (late, most), (ordered, usual) = found["late"][name], found["ordered"][name]
        print(f"{name}: {most / MIB:.1f} MiB, told in order {usual / MIB:.1f} MiB")
        if most > usual + 4 * MIB or most > LIMIT:
            print(f"FAIL {name} needs too much memory")
            failed += 1
        if name in ("report", "cat") and late != ordered:
            print(f"FAIL {name} differs")
            failed += 1
    return failed + tail_marks(annot, folder / "fast-late")


def work_of_gpus_is_in_its_own_tables(recorder, annot, folder):
    """And takes no more memory than all else may."""
    for who in ("imported", "gpu"):
        record_fast(recorder, folder / f"fast-{who}", "late", who)
    _, most = measured([annot, "report", "--json", "q.annot"], folder / "fast-gpu")
    tables, others = (json.loads(run(annot, "report", "--json", folder / f"fast-{who}" / "q.annot"))
                      for who in ("gpu", "imported"))
    rows = tables["gpu_kernels"] + tables["gpu_operations"]
    told = {row["name"]: (row["count"], row["total_ns"]) for row in rows if row.get("name")}
    expected = {row["path"].split(":")[-1]: (row["count"], row["total_ns"])
                for row in others["track_ranges"]}
    print(f"report of GPUs: {most / MIB:.1f} MiB")
    failed = check("GPUs", told, expected, "")
    if most > LIMIT or tables["track_ranges"]:
        print("FAIL a report of GPUs needs too much memory, or has their work twice")
        failed += 1
    return failed


def main():
    recorder, annot, folder = (os.path.abspath(word) for word in sys.argv[1:4])
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = str(folder / "queues.annot")
    failed = lateness_costs_no_memory(recorder, annot, folder)  # while this program is small
    failed += work_of_gpus_is_in_its_own_tables(recorder, annot, folder)
    spans = [json.loads(line) for line in run(recorder, path, str(SPANS)).splitlines()]
    for part in PARTS:
        begin = 0 if part[0] is None else round(part[0] * 1e9)
        end = 1 << 62 if part[1] is None else round(part[1] * 1e9)
        expected, words = sums(spans, begin, end), options(*part)
        failed += check("cat", from_cat(annot, path, words), expected, part)
        failed += check("chrome", from_chrome(annot, path, words, folder), expected, part)
        failed += check("perfetto", from_perfetto(annot, path, words, folder), expected, part)
        failed += check("report", from_report(annot, path, words), by_name(expected), part)
    if len(sys.argv) > 4:
        failed += check("pyannot", from_pyannot(sys.argv[4], path), sums(spans, 0, 1 << 62), "")
    failed += same_in_order(recorder, annot, folder)
    print(f"{'FAIL' if failed else 'ok'}: {len(spans)} spans, {len(PARTS)} parts")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
