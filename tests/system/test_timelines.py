#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Timelines of real programs, as the real Perfetto UI shows them.

test_timelines.py ANNOT PYANNOT FOLDER: a pool, an asyncio server with a track for each request, and
a program without annotations are recorded and exported in both formats. Pictures and traces are
left in FOLDER. Exit status 0, 1, or 77 if the reader is not there.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys

import perfetto_ui
import traces
from machine_clock import taken_ns
from test_exports import Check, use_test_python

POOL = """
import multiprocessing, time
def fetch(n):
    time.sleep(0.01)
def score(n):
    return sum(i * i % 7 for i in range(60000))
def handle(n):
    fetch(n)
    return score(n)
if __name__ == "__main__":
    with multiprocessing.Pool(3) as pool:
        pool.map(handle, range(60), chunksize=1)
"""
SERVER = """
import asyncio, pyannot
async def answer(number):
    with pyannot.track("request %d" % number).annotate("GET /orders"):
        await asyncio.sleep(0.01)
        return sum(range(100000))
async def main():
    for first in range(1, 9, 4):
        await asyncio.gather(*[answer(n) for n in range(first, first + 4)])
asyncio.run(main())
"""
PLAIN = """
import time
def squares(n):
    return sum(i * i for i in range(n))
def slow_disk():
    time.sleep(0.1)
for _ in range(5):
    squares(400000)
    slow_disk()
print(time.process_time_ns())
"""

# The UI's tracks from top to bottom, and its initial selection.
GROUPS = "() => window.app.trace.workspace.children.map((node) => node.name)"
SELECTED = """() => {
    const selection = window.app.trace.selection.selection;
    return selection.kind === 'area' ? selection.trackUris : selection.kind;
}"""
# Tables from which viewers derive tracks above the program's.
NOISE = """select (select count(*) from sched) + (select count(*) from thread_state)
    + (select count(*) from ftrace_event) + (select count(*) from perf_sample)
    + (select count(*) from perf_counter_track) as n"""
TRACKS = """include perfetto module viz.summary.track_event;
    select ifnull(p.name, '') as process, ifnull(t.name, '') as thread, ifnull(g.name, '') as name,
      has_data as data, has_children as children, count(*) as n
    from _track_event_tracks_ordered_groups g left join thread t using (utid)
    left join process p on p.upid = ifnull(g.upid, t.upid) group by 1, 2, 3, 4, 5"""
ORDER = """include perfetto module viz.summary.track_event;
    select g.name from _track_event_tracks_ordered_groups g join thread t using (utid)
    join process p on p.upid = t.upid where has_data and t.is_main_thread and p.name != 'annot'
    order by p.upid, order_id"""
ROWS = """select p.pid, substr(r.row, 1, instr(r.row, ': ') - 1) as thread,
      substr(r.row, instr(r.row, ': ') + 2) as row, s.depth, s.name, s.ts, s.dur
    from slice s join (select k.id, utid, iif(k.name glob '*: *', k.name, t.name) as row
      from thread_track k join thread t using (utid)) r on r.id = s.track_id
    join thread t using (utid) join process p using (upid)
    where r.row glob '*: run state' or r.row glob '*: stacks' order by s.ts, s.depth"""
SAMPLES = """with recursive up(sample, ts, parent_id, frames) as (
      select s.id, s.ts, c.parent_id, f.name from cpu_profile_stack_sample s
        join stack_profile_callsite c on c.id = s.callsite_id
        join stack_profile_frame f on f.id = c.frame_id
      union all
      select up.sample, up.ts, c.parent_id, f.name || char(31) || up.frames from up
        join stack_profile_callsite c on c.id = up.parent_id
        join stack_profile_frame f on f.id = c.frame_id)
    select ts, frames from up where parent_id is null order by ts"""
LABELS = "select string_value as label from args where flat_key = 'chrome.process_label'"
SPANS = """select ifnull(k.name, '') as track, s.name, count(*) as n from slice s
    join process_track k on k.id = s.track_id group by 1, 2 order by 1, 2"""
US_NS = 1000


def record(annot, pyannot, folder, name, program):
    """The recording, and the program's output."""
    script, recording = folder / f"{name}.py", folder / f"{name}.annot"
    script.write_text(program)
    done = subprocess.run([annot, "record", "-q", "--force", "-o", recording, "--",
                           sys.executable, script], check=True, stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, PYTHONPATH=pyannot))
    info = json.loads(subprocess.run([annot, "info", "--json", recording], check=True,
                                     capture_output=True, text=True).stdout)
    if not info["sampling"].get("off_cpu"):
        raise perfetto_ui.NoVerdict("waits are not recorded here")
    return recording, info, done.stdout


def export(annot, recording, suffix, *options):
    output = recording.with_suffix(suffix)
    subprocess.run([annot, "export", "--force", *options, "-o", output, recording], check=True)
    return output


def sums_of(rows):
    """Time by process, thread and row: of states all, of flame charts that of the outermost."""
    sums = collections.Counter()
    for row in rows:
        if row["depth"] == 0:
            sums[row["pid"], row["thread"], row["row"]] += row["dur"]
    return sums


def check_rows(check, what, rows):
    sums = sums_of(rows)
    states = {key[:2]: ns for key, ns in sums.items() if key[2] == "run state"}
    stacks = {key[:2]: ns for key, ns in sums.items() if key[2] == "stacks"}
    check.equal(f"{what}: there are rows", bool(stacks), True)
    check.equal(f"{what}: flame charts add up to run states", stacks, states)
    return sums


def check_stacks(check, what, rows, samples, process):
    """At each sample of a process with one thread, the chart shows its very stack."""
    chart = [row for row in rows if row["row"] == "stacks" and row["pid"] == process["pid"]]
    found = expected = []
    for sample in samples:
        name, *frames = sample["frames"].split("\x1f")
        if name != process["name"]:
            continue
        # The sample's time is cut to microseconds.
        near = [at for row in chart for at in (row["ts"], row["ts"] + row["dur"])
                if 0 <= at - sample["ts"] < US_NS]
        ts = max(near, default=sample["ts"])
        open_then = [row["name"] for row in sorted(chart, key=lambda row: row["depth"])
                     if row["ts"] <= ts < row["ts"] + row["dur"]]
        found, expected = found + [open_then], expected + [frames]
    check.equal(f"{what}: samples of {process['name']}", bool(expected), True)
    # Where two rows begin or end within a microsecond, the sample may be of either.
    other = [pair for pair in zip(found, expected) if pair[0] != pair[1]]
    check.equal(f"{what}: the chart is as deep as the stack", other[len(expected) // 50 + 1:], [])


def check_tracks(check, what, tracks, order):
    check.equal(f"{what}: no track without a process",
                [t for t in tracks if not t["process"] and not t["thread"]], [])
    check.equal(f"{what}: no empty track",
                [t for t in tracks if t["name"] and not t["data"] and not t["children"]], [])
    check.equal(f"{what}: no row twice", [t for t in tracks if t["thread"] and t["n"] > 1
                                          and t["thread"].startswith("main")], [])
    names = [row["name"] for row in order]
    check.equal(f"{what}: ranges, run state, stacks", names[:3],
                ["main: ranges", "main: run state", "main: stacks"])


def check_order(check, what, trace, info):
    """Processes carry their place: the main one, then as they started."""
    ranks = {}
    for _, packet in traces.fields(trace.read_bytes()):
        track = traces.message(traces.message(packet).get(60, b""))
        if 3 in track:
            process = traces.message(track[3])
            ranks[process[1]] = process.get(3, 0)
    started = sorted(info["processes"], key=lambda process: process["begin_ns"])
    check.equal(f"{what}: order of processes",
                [pid for pid, _ in sorted(ranks.items(), key=lambda item: item[1])][:-1],
                [process["pid"] for process in started])


def look(check, annot, recording, info, folder):
    """One program in the Perfetto format."""
    trace, what = export(annot, recording, ".pftrace"), recording.stem
    report = perfetto_ui.inspect(
        trace, sql=[NOISE, TRACKS, ORDER, ROWS, SAMPLES, LABELS, SPANS],
        javascript=[GROUPS, SELECTED], png=folder / f"{what}.png", size=(1600, 1600))
    noise, tracks, order, rows, samples, labels, spans = report.rows
    groups, selected = report.values
    check.clean(trace.name, report)
    check.equal(f"{what}: nothing of the kernel", noise[0]["n"], 0)
    check.equal(f"{what}: only the clocks above the program", [groups[0], groups[-1][:6]],
                ["System", "annot "])
    check.equal(f"{what}: no more groups", len(groups), 2 + len(info["processes"]))
    check.equal(f"{what}: the flame graph is of all samples", len(selected), 1)
    roots = {row["frames"].split("\x1f")[0] for row in samples}
    check.equal(f"{what}: of all processes",
                roots <= {p["process"] for p in info["processes"]}, True)
    check_tracks(check, what, tracks, order)
    check_order(check, what, trace, info)
    sums = check_rows(check, what, rows)
    check_json(check, annot, recording, sums)
    return rows, samples, labels, spans, roots


def check_json(check, annot, recording, sums):
    trace = export(annot, recording, ".json")
    report = perfetto_ui.inspect(trace, sql=[ROWS])
    check.clean(trace.name, report)
    found = check_rows(check, trace.name, report.rows[0])
    check.equal(f"{trace.name}: the same sums", found, sums)


def check_pool(check, annot, pyannot, folder):
    recording, info, _ = record(annot, pyannot, folder, "pool", POOL)
    rows, samples, labels, _, roots = look(check, annot, recording, info, folder)
    workers = [p for p in info["processes"] if p["pid"] != info["processes"][0]["pid"]]
    check.equal("pool: all processes are in the flame graph",
                {p["process"] for p in workers} <= roots, True)
    for worker in workers:
        check_stacks(check, "pool", rows, samples, {"pid": worker["pid"],
                                                    "name": worker["process"]})
    check.equal("pool: no worker crashed",
                {row["label"] for row in labels} <= {"exit 0", "stopped by SIGTERM"}, True)


def check_plain(check, annot, pyannot, folder):
    taken = taken_ns()
    recording, info, printed = record(annot, pyannot, folder, "plain", PLAIN)
    taken = taken_ns() - taken
    rows, samples, *_ = look(check, annot, recording, info, folder)
    main = {"pid": info["processes"][0]["pid"], "name": info["processes"][0]["process"]}
    check_stacks(check, "plain", rows, samples, main)
    asleep = sum(row["dur"] for row in rows if row["name"] == "sleep")
    frames = [row for row in rows if row["name"].startswith("slow_disk")]
    check.equal("plain: it sleeps in its function", sum(row["dur"] for row in frames) >= asleep >
                490_000_000, True)
    running = sum(row["dur"] for row in rows if row["name"] == "running")
    print(f"        running {running} ns, the program's clock {int(printed)} ns, {taken} taken")
    # Its clock does not count the interpreter's own begin and end.
    check.equal("plain: it ran as long as it says",
                int(printed) * 0.9 < running < int(printed) * 1.5 + taken + 100_000_000, True)


def check_server(check, annot, pyannot, folder):
    recording, info, _ = record(annot, pyannot, folder, "server", SERVER)
    *_, spans, _ = look(check, annot, recording, info, folder)
    requests = {row["track"]: row["n"] for row in spans if row["name"] == "GET /orders"}
    check.equal("server: requests have their names", requests,
                {f"request {n}": 1 for n in range(1, 9)})


def main():
    use_test_python()
    annot, pyannot, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    check = Check()
    try:
        check_pool(check, annot, pyannot, folder)
        check_plain(check, annot, pyannot, folder)
        check_server(check, annot, pyannot, folder)
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
