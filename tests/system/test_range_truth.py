#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU time of ranges by process, thread and domain against the events, and against the clocks of
the threads themselves.

No sample may contradict the events of its thread; those within 2 us of an edge are counted apart.
Each row has exactly the samples that by the events of its threads belong there. Against the clocks,
sums over a path, and over a process or thread, are held to the error of random sampling. A single
row cannot be: samples come at equal distances, and threads that share a processor take turns of
equal length. Where one is a multiple of the other, a range meets a sample in each of its turns, or
in no turn (measured: 7 samples of 24 ms at 99 Hz, each 30.3 ms after the other, in turns of 1.4
ms). But a stretch on a processor can be off by one sample at most, so the programs report their
number; and the host's share may all have been one row's. Where the host takes processors away, all
may be off by the same share: the whole is compared first. With ANNOT_LONG_TESTS=1: 99 and 999 Hz,
five times each.
"""

import bisect
import json
import math
import os
import sys

from harness import Skip, case, check, equal, main, program
from samples import LONG, need_bpf, record

HERE = os.path.dirname(os.path.abspath(__file__))
TURNS = [(hz, turn) for hz in (99, 999) for turn in range(5)] if LONG else [(99, 0), (999, 0)]
NOTHING = ("(inherited)", "parent", "nested")
EDGE_NS = 2000


def rows_of(home, done, by):
    return json.loads(home.annot("report", "--json", "--by", by, done.path).ok().out)


def truth_of(done, field):
    """By pid or tid and path: nanoseconds, and the stretches in which they were spent."""
    sums = {}
    for line in done.out.decode().splitlines():
        words = line.split()
        key = int(words[field]), words[2]
        ns, stretches = sums.get(key, (0, 0))
        sums[key] = ns + int(words[3]), stretches + int(words[4])
    check(sums, "the program told nothing")
    return sums


def error_ns(period, count):
    """Of a sum of samples: one period, and four times the deviation of their number."""
    return period + 4 * period * math.sqrt(count)


def sampled_of(report, field):
    """Nanoseconds by pid or tid and path; all inherited ranges as one."""
    sums = {}
    for row in ranges_of(report):
        key = row[field], row["path"].rsplit("/", 1)[-1]
        sums[key] = sums.get(key, 0) + row["cpu_self_ns"]
    for row in report["inherited_ranges"]:
        key = row[field], "(inherited)"
        if row["cpu_self_ns"]:
            sums[key] = sums.get(key, 0) + row["cpu_self_ns"]
    return sums


def ranges_of(report):
    return [row for row in report["ranges"] if "rest" not in row]


def rows_are_possible(report, period):
    for row in ranges_of(report):
        most = (row["total_ns"] or 0) + error_ns(period, row["sample_count"])
        check(row["cpu_ns"] <= most, f"more CPU time than time: {row}")
        check((row.get("running_ns") or 0) <= (row["total_ns"] or 0),
              f"ran longer than it was: {row}")
    for row in ranges_of(report) + report["inherited_ranges"]:
        equal(row["few_samples"], 0 < row["sample_count"] < 10, f"{row}")
    equal(sum(row["cpu_self_ns"] for row in report["ranges"]), report["sampling"]["cpu_ns"],
          "self times of all rows and of what is in none of them")


def samples_agree(report):
    sampling = report["sampling"]
    check(sampling["checked_count"] > 0.5 * sampling["sample_count"], f"not compared: {sampling}")
    # A host that stops a processor just after a time stamp can cause one.
    check(sampling["contradicted_count"] <= 1 + sampling["checked_count"] / 1000,
          f"samples in wrong ranges: {sampling}")
    equal(sampling["unsure_count"], 0, "samples where events are missing")
    # A range begins or ends each few milliseconds: 4 us of it are 1 in 500.
    check(sampling["at_edge_count"] <= 5 + sampling["checked_count"] / 50, f"at edges: {sampling}")


def open_ranges(events):
    """Times of a thread's events, and the innermost open range from each of them on."""
    times, paths, stack = [], [None], []
    for event in events:
        if event["kind"] == "push":
            stack.append(f"{event['domain']}:{event['name']}".lstrip(":"))
        elif event["kind"] == "pop" and stack:
            stack.pop()
        times.append(event["time"])
        paths.append(stack[-1] if stack else None)
    return times, paths


def sampled_by_events(done, field):
    """As sampled_of, from events and samples alone; and the part of it at edges of ranges."""
    dump, of_thread, sums, at_edges = done.samples.dump, {}, {}, 0
    for event in dump.events:
        of_thread.setdefault(event["thread"], []).append(event)
    opened = {thread: open_ranges(events) for thread, events in of_thread.items()}
    for sample in done.samples.cpu:
        times, paths = opened.get(sample["thread"], ([], [None]))
        thread = dump.threads[sample["thread"]]
        at = bisect.bisect_right(times, sample["time"])
        owner = thread["tid"] if field == "tid" else dump.processes[thread["process"]]["pid"]
        key = owner, paths[at]
        sums[key] = sums.get(key, 0) + sample["weight"]
        near = [abs(time - sample["time"]) for time in times[max(0, at - 1):at + 1]]
        at_edges += sample["weight"] if near and min(near) <= EDGE_NS else 0
    return sums, at_edges


def same_as_events(sampled, done, field, truth):
    """For the ranges that the program reports; others begin and end at edges of these."""
    by_events, at_edges = sampled_by_events(done, field)
    keys = [key for key in truth if key[1] != "(inherited)"]
    off = {key: (sampled.get(key, 0), by_events.get(key, 0)) for key in keys
           if sampled.get(key, 0) != by_events.get(key, 0)}
    check(sum(abs(mine - theirs) for mine, theirs in off.values()) <= 2 * at_edges,
          f"ns by report and by events, {at_edges} ns at edges: {off}")


def sums_of(values, part):
    sums = {}
    for key, value in values.items():
        sums[key[part]] = sums.get(key[part], 0) + value
    return sums


def cpu_by_thread(done):
    """For messages: ms of samples and how many are outside of ranges, by "pid/tid"."""
    dump, sums = done.samples.dump, {}
    for sample in done.samples.cpu:
        thread = dump.threads[sample["thread"]]
        key = f"{dump.processes[thread['process']]['pid']}/{thread['tid']}"
        ms, outside = sums.get(key, (0, 0))
        sums[key] = round(ms + sample["weight"] / 1e6, 1), outside + (not done.samples.path(sample))
    return sums


def without_path(done, field):
    """ns by pid or tid of samples in no range at all: a child's inherited ranges are unknown in the
    first instants of a program, when the collector has not found it."""
    dump, sums = done.samples.dump, {}
    for sample in done.samples.cpu:
        thread = dump.threads[sample["thread"]]
        owner = thread["tid"] if field == "tid" else dump.processes[thread["process"]]["pid"]
        if not done.samples.path(sample):
            sums[owner] = sums.get(owner, 0) + sample["weight"]
    return sums


def same_as_clocks(sampled, done, field, truth, period):
    outside = without_path(done, field)
    clocks = {key: ns for key, (ns, _) in truth.items()}
    mine = {key: sampled.get(key, 0) for key in truth}
    whole = sum(mine.values()) / sum(clocks.values())
    count = sum(clocks.values()) / period
    check(abs(whole - 1) < 0.25 + 4 / math.sqrt(count), f"all in all {whole:.3f} of the clocks")

    def near(key, actual, ns, error):
        check(abs(actual / whole - ns) <= error + 0.05 * ns,
              f"{key}: {actual / 1e6:.1f} ms, by its clock {ns / 1e6:.1f} ms (all: {whole:.3f}; "
              f"lost: {done.samples.losses()}; {cpu_by_thread(done)})")
    for part in (0, 1):
        actual = sums_of(mine, part)
        for key, ns in sums_of(clocks, part).items():
            near(key, actual[key], ns, error_ns(period, ns / period))
    for key, (ns, stretches) in truth.items():
        unknown = outside.get(key[0], 0) if key[1] == "(inherited)" else 0
        near(key, mine[key], ns, period * stretches + unknown + done.samples.taken_ns)
    for key, ns in sampled.items():
        check(key in truth or key[1].split(":")[0] == "python" or key[1] in NOTHING or
              ns < error_ns(period, 10), f"{ns} ns in {key}, of which nobody told")


def check_run(home, done, hz):
    period = 1e9 / hz
    for by, field, column in (("process", "pid", 0), ("thread", "tid", 1)):
        report = rows_of(home, done, by)
        samples_agree(report)
        rows_are_possible(report, period)
        sampled, truth = sampled_of(report, field), truth_of(done, column)
        same_as_events(sampled, done, field, truth)
        same_as_clocks(sampled, done, field, truth, period)
    edges = report["sampling"]
    print(f"  {hz} Hz: {edges['checked_count']} samples compared, "
          f"{edges['at_edge_count']} at edges, {edges['contradicted_count']} in wrong ranges")


@case
def forks_and_threads_with_equal_ranges_in_several_domains(home):
    for hz, _ in TURNS:
        done = record(home, program("target_ranges"), str(4 if hz > 500 else 12),
                      options=["--rate", str(hz)])
        need_bpf(home, done)
        check_run(home, done, hz)


@case
def workers_of_a_pool_with_equal_ranges_in_several_domains(home):
    if "ANNOT_PYANNOT" not in os.environ:
        raise Skip("ANNOT_PYANNOT names no pyannot of this interpreter")
    for hz, _ in TURNS:
        done = record(home, sys.executable, os.path.join(HERE, "target_pool.py"),
                      str(5 if hz > 500 else 15), "8", options=["--rate", str(hz)],
                      env=dict(home.environment, PYTHONPATH=os.environ["ANNOT_PYANNOT"]))
        need_bpf(home, done)
        check_run(home, done, hz)


main()
