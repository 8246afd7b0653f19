#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU time of ranges by process, thread and domain against the clocks of the threads themselves.

No sample may contradict the events of its thread; those within 2 us of an edge are counted apart.
Where the host takes processors away, all rows may be off by the same share: rows are compared after
the whole is. With ANNOT_LONG_TESTS=1: 99 and 999 Hz, five times each.
"""

import json
import math
import os
import sys

from harness import Skip, case, check, equal, main, program
from samples import LONG, need_bpf, record

HERE = os.path.dirname(os.path.abspath(__file__))
TURNS = [(hz, turn) for hz in (99, 999) for turn in range(5)] if LONG else [(99, 0), (999, 0)]
NOTHING = ("(inherited)", "parent", "nested")


def rows_of(home, done, by):
    return json.loads(home.annot("report", "--json", "--by", by, done.path).ok().out)


def truth_of(done, field):
    sums = {}
    for line in done.out.decode().splitlines():
        words = line.split()
        key = int(words[field]), words[2]
        sums[key] = sums.get(key, 0) + int(words[3])
    check(sums, "the program told nothing")
    return sums


def error_ns(period, count):
    """Of a sum of samples: one period, and four times the deviation of their number."""
    return period + 4 * period * math.sqrt(count)


def sampled_of(report, field):
    """Nanoseconds by pid or tid and path; what was inherited as one."""
    sums = {}
    for row in report["ranges"]:
        path = row["path"].rsplit("/", 1)[-1]
        if row["kind"] == "inherited":
            path = "(inherited)"
            if not row["cpu_self_ns"]:
                continue
        if row["kind"] in ("pushed", "inherited"):
            key = row[field], path
            sums[key] = sums.get(key, 0) + row["cpu_self_ns"]
    return sums


def rows_are_possible(report, period):
    for row in report["ranges"]:
        if row["kind"] == "pushed":
            most = row["total_ns"] + error_ns(period, row["sample_count"])
            check(row["cpu_ns"] <= most, f"more CPU time than time: {row}")
            check(row.get("running_ns", 0) <= row["total_ns"], f"ran longer than it was: {row}")
        check(row.get("few_samples", 0) == (0 < row.get("sample_count", 0) < 10), f"{row}")
    self_ns = sum(row.get("cpu_self_ns", 0) for row in report["ranges"])
    equal(self_ns + report["outside_ranges"]["cpu_self_ns"], report["sampling"]["cpu_ns"],
          "self times of all rows and what is outside of them")


def samples_agree(report):
    sampling = report["sampling"]
    check(sampling["checked_count"] > 0.5 * sampling["sample_count"], f"not compared: {sampling}")
    # A host that stops a processor between a time stamp and what follows it can make one.
    check(sampling["contradicted_count"] <= 1 + sampling["checked_count"] / 1000,
          f"samples in wrong ranges: {sampling}")
    equal(sampling["unsure_count"], 0, "samples where events are missing")
    # A range begins or ends each few milliseconds: 4 us of it are 1 in 500.
    check(sampling["at_edge_count"] <= 5 + sampling["checked_count"] / 50, f"at edges: {sampling}")


def same_as_truth(sampled, truth, period):
    whole = sum(sampled.get(key, 0) for key in truth) / sum(truth.values())
    count = sum(truth.values()) / period
    check(abs(whole - 1) < 0.25 + 4 / math.sqrt(count), f"all in all {whole:.3f} of the clocks")
    for key, ns in truth.items():
        near = error_ns(period, ns / period) + 0.05 * ns
        check(abs(sampled.get(key, 0) / whole - ns) <= near,
              f"{key}: {sampled.get(key, 0) / 1e6:.1f} ms, by its clock {ns / 1e6:.1f} ms "
              f"(all: {whole:.3f})")
    for key, ns in sampled.items():
        check(key in truth or key[1].split(":")[0] == "python" or key[1] in NOTHING or
              ns < error_ns(period, 10), f"{ns} ns in {key}, of which nobody told")


def check_run(home, done, hz):
    period = 1e9 / hz
    for by, field, column in (("process", "pid", 0), ("thread", "tid", 1)):
        report = rows_of(home, done, by)
        samples_agree(report)
        rows_are_possible(report, period)
        same_as_truth(sampled_of(report, field), truth_of(done, column), period)
    edges = report["sampling"]
    print(f"  {hz} Hz: {edges['checked_count']} samples compared, "
          f"{edges['at_edge_count']} at edges, {edges['contradicted_count']} in wrong ranges")


@case
def forks_and_threads_with_equal_ranges_in_several_domains(home):
    for hz, _ in TURNS:
        done = record(home, program("target_ranges"), str(4 if hz > 500 else 12),
                      options=["--sample", str(hz)])
        need_bpf(home, done)
        check_run(home, done, hz)


@case
def workers_of_a_pool_with_equal_ranges_in_several_domains(home):
    if "ANNOT_PYANNOT" not in os.environ:
        raise Skip("ANNOT_PYANNOT names no pyannot of this interpreter")
    for hz, _ in TURNS:
        done = record(home, sys.executable, os.path.join(HERE, "target_pool.py"),
                      str(5 if hz > 500 else 15), "8", options=["--sample", str(hz)],
                      env=dict(home.environment, PYTHONPATH=os.environ["ANNOT_PYANNOT"]))
        need_bpf(home, done)
        check_run(home, done, hz)


main()
