#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Flows, tracks, key-values, units, logs and last words in the real Perfetto UI, by SQL.

test_toolkit_exports.py EXPORT_MADE FOLDER: pictures and traces are left in FOLDER. Exit status 0,
1, or 77 if the reader is not there (see test_exports.py).
"""

import json
import pathlib
import re
import subprocess
import sys

import perfetto_ui
from test_exports import Check, use_test_python

US = 1000
TRACKS = 100000
LINES_MAX = 150  # of tracks in the reader for so many: as many as overlap
LOAD_SECONDS = 60  # 6 to 8 here; without lines that are shared it is 270

# Times since the beginning of the session: the native format has those of the machine.
SLICES = """select s.name, s.ts % 5000000000000 as ts, s.dur, ifnull(s.category, '') as category,
    ifnull(p.name, '') as parent, ifnull(t.name, '') as track, t.type as type, s.arg_set_id as args
    from slice s join track t on s.track_id = t.id left join slice p on p.id = s.parent_id
    order by s.ts, s.id"""
ARGS = """select arg_set_id as id, key, value_type as type, int_value, real_value, string_value
    from args where key glob 'debug.*' or key glob 'args.*'"""
ARROWS = """select a.ts % 5000000000000 as ts, b.ts % 5000000000000 as bts,
    ifnull(pa.name, '') as a, ifnull(pb.name, '') as b from flow f
    join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in
    left join slice pa on pa.id = a.parent_id left join slice pb on pb.id = b.parent_id
    order by 1, 2"""
COUNTERS = """select t.name, ifnull(p.name, '') as parent, ifnull(t.unit, '') as unit,
    count(*) as n, sum(c.value) as total from counter c
    join counter_track t on c.track_id = t.id join track r on r.id = t.id
    left join track p on p.id = r.parent_id group by 1, 2, 3 order by 2, 1"""
LOGS = "select prio, msg from android_logs order by ts"
PARENTS = """select distinct t.name, ifnull(p.name, '') as parent from track t
    left join track p on p.id = t.parent_id where t.type glob '*merged*' order by 1, 2"""

NAMES_LINE = "nobody marked it"

# The contents of tests/lib/toolkit_trace.c. Arrows: time and range around, of both ends.
ARROWS_EXPECTED = [
    (110 * US, "GET /x", 120 * US, "handle"), (120 * US, "handle", 130 * US, "work"),
    (180 * US, "main", 185 * US, ""), (180 * US, "main", 186 * US, ""),
    (200 * US, "main", 205 * US, ""), (220 * US, "main", 225 * US, "")]
LONELY = [(240 * US, "flow"), (245 * US, "flow"), (250 * US, "flow")]
# Line, name, begin, duration, range around.
ON_TRACKS = [
    ("connection 1", "open", 300, 90, ""), ("connection 1", "closed", 395, 0, ""),
    ("request", "GET /a", 310, 20, ""), ("request", "parse", 312, 2, "GET /a"),
    ("request", "header", 313, 0, "parse"), ("request", "GET /b", 320, 20, ""),
    ("connection 2", "open", 335, 465, ""), ("request", "GET /c", 336, 9, ""),
    ("request", "GET /d", 350, 450, ""), ("(unnamed)", "serve", 360, 10, ""),
    *(("job #", "job", 400 + 2 * i, 3, "") for i in range(40))]
VALUES = {
    "payload": -7, "domain": "mylib", "rows": 42, "size [bytes]": 4096, "http.status_code": 200,
    "http.request.method": "GET", "shape[0]": 10, "shape[1]": 20, "shape[2]": 30, "late[2]": 5,
    "rows (2)": 43, "domain (2)": 1, "(unnamed)": 2, "exact": 2**53, "large": 2**53 + 1,
    "smallest": -2**63, "unsigned": str(2**64 - 1), "tenth": 0.1, "not a number": "NaN",
    "infinite": float("-inf"), "yes": True, "nothing": "", 'quote " \\ \u00e4': "line\nbreak"}
# Values that one format writes differently.
VALUES_PERFETTO = {"size [bytes]": "size (bytes)", "late[2]": "late (2)"}
# This reader does not decode escapes in JSON.
VALUES_CHROME = {"large": str(2**53 + 1), "smallest": str(-2**63), "infinite": "-Infinity",
                 'quote " \\ \u00e4': "line\\nbreak"}
COUNTERS_PERFETTO = [("queue", "", "requests", 4, 6), ("requests/s", "", "", 4, 3994),
                     ("rx", "net", "bytes", 4, 600), ("tx", "net", "bytes", 5, 90)]
COUNTERS_CHROME = [("net rx [bytes]", "", "", 4, 600), ("net tx [bytes]", "", "", 4, 90),
                   ("queue requests", "", "", 4, 6), ("requests/s value", "", "", 4, 3994)]
LOGS_EXPECTED = [(3 + i, f"message of severity {i}") for i in range(5)] + [(6, "disk is full")]
PARENTS_EXPECTED = [("(unnamed)", ""), ("connection 1", "pool"),
                    ("connection 2", "pool"), ("copy", ""), ("job #", ""), ("net", ""),
                    ("pool", ""), ("request", "connection 1"), ("request", "connection 2")]


def make(export_made, trace, *words):
    return subprocess.run([export_made, words[0], trace, *words[1:]], check=True,
                          capture_output=True, text=True).stdout


def is_perfetto(trace):
    return trace.suffix == ".pftrace"


def value_of(row):
    """A cell of the table of arguments as a Python value."""
    if row["type"] == "bool":
        return bool(row["int_value"])
    if row["type"] == "string":
        return row["string_value"]
    return row["real_value"] if row["type"] == "real" else row["int_value"]


def args_by_set(rows):
    sets = {}
    for row in rows:
        key = row["key"].partition(".")[2]
        sets.setdefault(row["id"], {})[key] = value_of(row)
    return sets


def recorded(slices, sets):
    """Without the marks that name lines of the Chrome format."""
    return [row for row in slices
            if not str(sets.get(row["args"], {}).get("note", "")).endswith(NAMES_LINE)]


def on_tracks(slices):
    """Line without those above it, name, begin and duration in microseconds, range around."""
    rows = [row for row in slices if row["type"] in ("process_merged_track_event",
                                                     "legacy_async_process_slice")]
    return [(row["track"].rpartition("/")[2], row["name"], row["ts"] // US, row["dur"] // US,
             row["parent"]) for row in rows if row["name"] != "copy"]


def check_flows(check, what, arrows, slices):
    check.equal(f"{what}: arrows", [(r["ts"], r["a"], r["bts"], r["b"]) for r in arrows],
                ARROWS_EXPECTED)
    points = {time for row in arrows for time in (row["ts"], row["bts"])}
    check.equal(f"{what}: points without another end",
                [(row["ts"], row["name"]) for row in slices if row["ts"] not in points and
                 row["dur"] == 0 and row["name"] in ("flow", "request")], LONELY)


def check_values(check, what, slices, sets, perfetto):
    expected = dict(VALUES)
    if perfetto:
        expected = {VALUES_PERFETTO.get(key, key): value for key, value in expected.items()}
    else:
        expected.update(VALUES_CHROME)
    by_name = {(row["name"], row["ts"]): sets.get(row["args"], {}) for row in slices}
    check.equal(f"{what}: key-values", by_name["values", 20 * US], expected)
    check.equal(f"{what}: key-values of what begins with it", by_name["inner", 20 * US],
                {"rows": 1})
    check.equal(f"{what}: key-values of a mark", by_name["mark", 45 * US], {"rows": 2})
    check.equal(f"{what}: key-values of an overlapping range", by_name["copy", 46 * US],
                {"bytes": 3, "start_tid": 4000, "end_tid": 4001})
    check.equal(f"{what}: which track of a shared line", by_name["job", 404 * US],
                {"track": "job 4713", "track_id": "0xabcde0000000000b", "start_tid": 4100})
    check.equal(f"{what}: an unfinished range", by_name["GET /d", 350 * US]["unfinished"], True)
    check.equal(f"{what}: ended by another thread", by_name["open", 300 * US],
                {"peer": "10.0.0.1:443", "start_tid": 4000, "end_tid": 4001})
    check.equal(f"{what}: the last word", by_name["assertion failed: rows > 0", 690 * US],
                {"last_word": True})


def check_logs(check, what, slices, sets):
    messages = [row for row in slices if "log" in row["category"].split(",")]
    check.equal(f"{what}: messages of logs", [row["name"] for row in messages],
                [name for _, name in LOGS_EXPECTED])
    check.equal(f"{what}: severities", [sets[row["args"]]["severity"] for row in messages],
                ["debug", "info", "warning", "error", "fatal", "error"])
    check.equal(f"{what}: a message of a domain", messages[-1]["category"], "mylib,log")


def check_toolkit(check, export_made, folder):
    for suffix in (".pftrace", ".json"):
        trace = folder / f"toolkit{suffix}"
        perfetto = is_perfetto(trace)
        make(export_made, trace, "toolkit")
        report = perfetto_ui.inspect(trace, png=folder / f"toolkit{suffix}.png", size=(1700, 1500),
                                     sql=[SLICES, ARGS, ARROWS, COUNTERS, LOGS, PARENTS])
        slices, args, arrows, counters, logs, parents = report.rows
        what = trace.name
        sets = args_by_set(args)
        slices = recorded(slices, sets)
        check.clean(what, report)
        check_flows(check, what, arrows, slices)
        check.equal(f"{what}: tracks", sorted(on_tracks(slices)), sorted(ON_TRACKS))
        check_values(check, what, slices, sets, perfetto)
        check_logs(check, what, slices, sets)
        rows = [tuple(row.values()) for row in counters]
        check.equal(f"{what}: counters", rows, COUNTERS_PERFETTO if perfetto else COUNTERS_CHROME)
        if perfetto:
            check.equal(f"{what}: table of logs", [tuple(row.values()) for row in logs],
                        LOGS_EXPECTED)
            check.equal(f"{what}: what is below what", [tuple(row.values()) for row in parents],
                        PARENTS_EXPECTED)


def tally_tracks(slices):
    """Name of the track, of the range and of the range around it, number, nanoseconds."""
    tally = {}
    for row in slices:
        line = row["track"].rpartition("/")[2]
        if re.fullmatch(r"t\d", line) and row["name"].startswith("s"):
            entry = tally.setdefault((line, row["name"], row["parent"]), [0, 0])
            entry[0] += 1
            entry[1] += row["dur"]
    return sorted([*key, *entry] for key, entry in tally.items())


def sum_values(slices, sets):
    """By key: "k0" and "k0 (2)" are of the first. Equal sets are one in the reader."""
    sums = [0] * 5
    pairs = [pair for row in slices for pair in sets.get(row["args"], {}).items()]
    for key, value in pairs:
        if re.match(r"k\d", key):
            sums[int(key[1])] += value
    return sums


def check_random(check, export_made, folder):
    for suffix in (".pftrace", ".json"):
        trace = folder / f"random{suffix}"
        made = json.loads(make(export_made, trace, "random", "5000"))
        report = perfetto_ui.inspect(trace, sql=[SLICES, ARGS, ARROWS])
        slices, args, arrows = report.rows
        sets = args_by_set(args)
        slices = recorded(slices, sets)
        check.clean(trace.name, report)
        names = [f"r{i}" for i in range(5)] + [""]
        check.equal(f"{trace.name}: arrows",
                    sorted([r["ts"], r["bts"], names.index(r["a"]), names.index(r["b"])]
                           for r in arrows),
                    sorted([ts, bts, a % 6, b % 6] for ts, bts, a, b in made["arrows"]))
        check.equal(f"{trace.name}: ranges of tracks", tally_tracks(slices),
                    sorted(made["tracks"]))
        marks = [row for row in slices if re.search(r"t\d$", row["track"]) and row["dur"] == 0]
        check.equal(f"{trace.name}: marks of tracks", len(marks), made["track_marks"])
        check.equal(f"{trace.name}: sums of key-values", sum_values(slices, sets), made["sums"])


def check_many_tracks(check, export_made, folder):
    for suffix in (".pftrace", ".json"):
        trace = folder / f"tracks{suffix}"
        make(export_made, trace, "tracks", str(TRACKS))
        report = perfetto_ui.inspect(
            trace,
            sql=["select count(*) as n, count(distinct name) as names from track",
                 "select name, count(*) as n from slice where dur > 0 group by 1 order by 1"])
        (lines,), slices = report.rows
        check.clean(trace.name, report)
        print(f"        {trace.name}: {report.load_seconds:.1f} s, {lines['n']} lanes")
        check.equal(f"{trace.name}: every range", {row["name"]: row["n"] for row in slices
                                                   if row["name"] in ("serve", "select")},
                    {"serve": TRACKS,
                     "select": sum((step + 16) % 3 != 0 for step in range(TRACKS))})
        check.equal(f"{trace.name}: few lanes", lines["n"] <= LINES_MAX, True)
        check.equal(f"{trace.name}: few lines", lines["names"] <= 6, True)
        check.equal(f"{trace.name}: loads soon", report.load_seconds < LOAD_SECONDS, True)
        trace.unlink()


def main():
    use_test_python()
    export_made, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    check = Check()
    try:
        check_toolkit(check, export_made, folder)
        check_random(check, export_made, folder)
        check_many_tracks(check, export_made, folder)
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
