#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A sample counts as much as its CPU time in every output, also where readers count samples.

The recording was sampled at 499 Hz for a second, then at 99 Hz for two. `annot query` adds up the
weights; each output is read as its viewer reads it.
"""

import collections
import csv
import json
import re
import shutil
import sqlite3
import subprocess

import perfetto_ui
from harness import Skip, case, check, equal, main, program
from test_exports import use_test_python

SHARES = """select f.function, sum(cpu_ns) * 1.0 / (select sum(cpu_ns) from samples) as share
    from samples join stack_frames f using (stack) group by 1"""
# A row for each sample, as the viewer's flame graph counts them.
ROWS = """with recursive up(leaf, parent_id, name) as (
      select c.id, c.parent_id, f.name from stack_profile_callsite c
        join stack_profile_frame f on f.id = c.frame_id
      union all
      select up.leaf, c.parent_id, f.name from up
        join stack_profile_callsite c on c.id = up.parent_id
        join stack_profile_frame f on f.id = c.frame_id)
    select up.name as name, count(*) as n from cpu_profile_stack_sample p
      join up on up.leaf = p.callsite_id group by 1 order by 1"""
ALL_ROWS = "select count(*) as n from cpu_profile_stack_sample"


def make(home, kind="rates"):
    recording = home.work / f"{kind}.annot"
    subprocess.run([program("make_trace"), kind, recording], check=True)
    return recording


def shares_of(home, recording):
    """By weights: {function: share}."""
    done = home.annot("query", "--json", recording, SHARES).ok()
    rows = [json.loads(line) for line in done.out.decode().splitlines()]
    return {row["function"]: row["share"] for row in rows}


def close(home, recording, found, within=0.002):
    """`found`: shares by names that begin with a function's name."""
    truth = shares_of(home, recording)
    check(truth, "no function was sampled")
    for name, share in truth.items():
        seen = sum(value for label, value in found.items() if label.split(" (")[0] == name)
        check(abs(seen - share) <= within, f"{name} has {seen:.4f}, by weights {share:.4f}")


def in_perfetto(home, recording, *options):
    """Shares of functions by rows in the viewer, and the number of rows."""
    trace = recording.with_suffix(".pftrace")
    home.annot("export", "--force", "-o", trace, *options, recording).ok()
    try:
        report = perfetto_ui.inspect(trace, sql=[ROWS, ALL_ROWS])
    except perfetto_ui.NoVerdict as reason:
        raise Skip(str(reason)) from reason
    equal(report.failures("data_loss"), [], "errors of the viewer")
    rows, count = report.rows[0], report.rows[1][0]["n"]
    return {row["name"]: row["n"] / count for row in rows}, count


def write_speedscope(path, threads):
    """Sampled profiles of {thread: [(function, weight in ns)]}."""
    names = sorted({name for samples in threads.values() for name, _ in samples})
    profiles = [{"type": "sampled", "name": thread, "unit": "nanoseconds", "startValue": 0,
                 "endValue": sum(weight for _, weight in samples),
                 "samples": [[names.index(name)] for name, _ in samples],
                 "weights": [weight for _, weight in samples]}
                for thread, samples in threads.items()]
    path.write_text(json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": name} for name in names]}, "profiles": profiles}))


@case
def perfetto_counts_rows_of_both_rates(home):
    recording = make(home)
    found, count = in_perfetto(home, recording)
    close(home, recording, found)
    truth = home.annot("query", "--json", recording, "select sum(cpu_ns) as ns from samples").ok()
    units = json.loads(truth.out)["ns"] * 499 / 1e9
    check(abs(count - units) < 3, f"{count} rows stand for {units:.1f} periods of 499 Hz")


@case
def perfetto_counts_rows_of_a_selection(home):
    """The later part has one rate: each sample is one row."""
    recording = make(home)
    found, count = in_perfetto(home, recording, "--from", "1500ms")
    check("early (rates.py:10)" not in found, "early() is in the selection")
    done = home.annot("query", "--json", "--from", "1500ms", recording,
                      "select count(*) as n from samples").ok()
    equal(count, json.loads(done.out)["n"], "the number of rows in a part at 99 Hz")


@case
def perfetto_counts_rows_of_a_merge(home):
    """Of recordings with 100 Hz, and with 499 and 99 Hz."""
    merged, steady = home.work / "merged.annot", home.work / "random.annot"
    home.run(program("make_trace"), "random", steady, "1000", "600").ok()
    home.annot("merge", "--clock-error", "5ms", "-o", merged, steady, make(home)).ok()
    check("99 Hz to 499 Hz" in home.info(merged), "the rates of the merge are not told")
    found, _ = in_perfetto(home, merged)
    close(home, merged, found)


@case
def perfetto_counts_rows_of_imports(home):
    """Weights of any size: shares hold, and there are 100,000 rows at most."""
    profile, recording = home.work / "any.speedscope.json", home.work / "any.annot"
    write_speedscope(profile, {
        "main": [("large", 10**12), ("small", 10**9), ("least", 1)],
        "helper": [("medium", 37 * 10**9 + i) for i in range(50)]})
    home.annot("import", "-o", recording, profile).ok()
    found, count = in_perfetto(home, recording)
    close(home, recording, found)
    check(count <= 100000 + 2, f"{count} rows")


@case
def perfetto_counts_rows_of_short_threads(home):
    """Less than a row each: some have one, and shares hold."""
    profile, recording = home.work / "short.speedscope.json", home.work / "short.annot"
    threads = {f"t{i}": [("brief" if i % 3 else "other", 3)] for i in range(3000)}
    write_speedscope(profile, {"main": [("large", 10**6)], **threads})
    home.annot("import", "-o", recording, profile).ok()
    found, _ = in_perfetto(home, recording)
    close(home, recording, found)


def sums(pairs):
    """Of pairs of a label, "early (rates.py:10)", and a weight: shares by label."""
    found = collections.Counter()
    for label, weight in pairs:
        found[label] += weight
    whole = sum(found.values())
    return {label: weight / whole for label, weight in found.items()}


def export(home, recording, form, *options):
    path = recording.with_suffix(f".{form}")
    home.annot("export", "--force", "-f", form, "-o", path, *options, recording).ok()
    return path


def leaves_close(home, recording, pairs):
    """Of pairs of the innermost function and a weight."""
    found = sums(pairs)
    check(found, "there is no sample")
    close(home, recording, {**found, "<module>": 1})


@case
def folded_stacks_have_weights(home):
    recording = make(home)
    lines = [line.rpartition(" ") for line in
             export(home, recording, "folded").read_text().splitlines()]
    leaves_close(home, recording, [(line[0].split(";")[-1], int(line[2])) for line in lines])


@case
def speedscope_has_weights(home):
    recording = make(home)
    whole = json.loads(export(home, recording, "speedscope").read_text())
    frames = [frame["name"] for frame in whole["shared"]["frames"]]
    leaves_close(home, recording, [(frames[stack[-1]], weight) for profile in whole["profiles"]
                                   for stack, weight in zip(profile["samples"],
                                                            profile["weights"])])


@case
def firefox_has_weights(home):
    recording = make(home)
    whole = json.loads(export(home, recording, "firefox").read_text())
    shared, pairs = whole["shared"], []
    for thread in whole["threads"]:
        samples = thread["samples"]
        equal(samples["weightType"], "tracing-ms", "the type of weights")
        for stack, weight in zip(samples["stack"], samples["weight"]):
            function = shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]
            pairs.append((shared["stringArray"][shared["funcTable"]["name"][function]], weight))
    leaves_close(home, recording, pairs)


@case
def pprof_shows_cpu_time(home):
    """Its reader adds up the default type."""
    if not shutil.which("go"):
        raise Skip("Go is missing")
    recording = make(home)
    done = home.run("go", "tool", "pprof", "-top", "-unit", "ns",
                    export(home, recording, "pprof")).ok()
    rows = re.findall(r"^ *([0-9.]+)ns .* (\S+)$", done.out.decode(), re.M)
    leaves_close(home, recording, [(name, float(ns)) for ns, name in rows if float(ns)])


@case
def call_graph_has_weights(home):
    recording = make(home)
    rows = re.findall(r'tooltip="total \d+, self (\d+): ([^"]*)"',
                      export(home, recording, "dot").read_text())
    leaves_close(home, recording, [(name, int(ns)) for ns, name in rows if int(ns)])


@case
def flame_graph_has_weights(home):
    """Boxes are as wide as their CPU time."""
    recording = make(home)
    boxes = re.findall(r'<g[^>]*><title>([^<(]*) \([^<]*</title><rect[^>]* width="([0-9.]+)"',
                       export(home, recording, "svg").read_text().replace("&lt;", "<"))
    check(boxes, "there is no box")
    leaves_close(home, recording, [(name, float(width)) for name, width in boxes
                                   if name != "<module>"])


@case
def nsys_database_has_weights(home):
    recording = make(home)
    database = sqlite3.connect(export(home, recording, "nsys"))
    leaves_close(home, recording, database.execute(
        """select value, cpuCycles from COMPOSITE_EVENTS e join SAMPLING_CALLCHAINS c
        on c.id = e.id join StringIds s on s.id = c.symbol where stackDepth = 0""").fetchall())


@case
def tables_have_weights(home):
    recording = make(home)
    with open(export(home, recording, "csv", "--table", "samples"), encoding="utf-8") as file:
        leaves_close(home, recording,
                     [(row["function"], int(row["cpu_ns"])) for row in csv.DictReader(file)])


@case
def ctf_has_weights(home):
    if not shutil.which("babeltrace2"):
        raise Skip("babeltrace2 is missing")
    recording = make(home)
    done = home.run("babeltrace2", export(home, recording, "ctf")).ok()
    rows = re.findall(r'annot:sample: .*name = "cpu", value = (\d+) .*= "(\w+)" \] \}$',
                      done.out.decode(), re.M)
    leaves_close(home, recording, [(name, int(ns)) for ns, name in rows])


@case
def report_has_weights(home):
    recording = make(home)
    data = json.loads(home.annot("report", "--json", recording).ok().out)
    for table, column in (("functions", "cpu_self_ns"), ("own_functions", "cpu_ns")):
        leaves_close(home, recording, [(row["name"], row[column]) for row in data[table]
                                       if row[column]])


if __name__ == "__main__":
    use_test_python()
    main()
