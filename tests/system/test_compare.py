#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`annot diff` and `annot stat` on real recordings: their numbers are those of `annot report`, a
known change is found, equal programs show none, and limits end with the documented status.
"""

import json
import os
import re
import statistics
import sys
import xml.etree.ElementTree

from harness import Skip, check, case, equal, main

LOAD = os.environ.get("ANNOT_COMPARE_LOAD", "")
SURE = ("slower", "faster", "more", "less", "new", "gone")


def record(home, name, *words):
    path = home.work / f"{name}.annot"
    home.annot("record", "-q", "-o", path, "--", LOAD, *words).ok()
    return path


def report(home, path):
    return json.loads(home.annot("report", "--json", "--lines", path).ok().out)


def diff(home, *words, status=0):
    return json.loads(home.annot("diff", "--json", *words).ok(status).out)


def row_of(rows, name, metric):
    found = [row for row in rows if row["name"] == name and row["metric"] == metric]
    equal(len(found), 1, f"rows of {name}, {metric}")
    return found[0]


def median_of(reports, table, name, key, column):
    return statistics.median(
        sum(row[column] for row in report[table] if row.get(key) == name) for report in reports)


@case
def numbers_are_those_of_the_report(home):
    sides = [[record(home, f"{side}{run}", more, "40") for run in range(3)]
             for side, more in (("a", "0"), ("b", "300"))]
    told = diff(home, *sides[0], "vs", *sides[1])
    for side, letter in zip(sides, "ab"):
        reports = [report(home, path) for path in side]
        wall = statistics.median(report["recording"]["wall_ns"] for report in reports)
        equal(row_of(told["runs"], "wall", "value")[letter], wall, "the wall time")
        for path in ("round", "round/load", "round/hash", "round/store"):
            total = median_of(reports, "ranges", path, "path", "total_ns")
            equal(row_of(told["ranges"], path, "total")[letter], total, f"the total of {path}")
            each = row_of(told["ranges"], path, "each")[letter]
            shown = median_of(reports, "ranges", path, "path", "p50_ns")
            check(abs(each - shown) <= 0.017 * shown, f"each {path}: {each}, in reports {shown}")
        for name in ("hash_bytes",):
            rows = [row for row in told["functions"] if row["name"].startswith(name)]
            total = median_of(reports, "functions", rows[0]["name"], "name", "cpu_self_ns")
            equal(rows[0][letter], total, f"the CPU time of {name}")


@case
def a_change_of_a_range_is_told_apart_and_the_others_are_not(home):
    a, b, c = [], [], []
    for run in range(10):
        a.append(record(home, f"a{run}", "0", "80"))
        b.append(record(home, f"b{run}", "60", "80"))
        c.append(record(home, f"c{run}", "0", "80"))
    told = diff(home, *a, "vs", *b)
    row = row_of(told["ranges"], "round/hash", "relative")
    equal(row["verdict"], "slower", f"the verdict about 6 % more work ({row})")
    check(0.03 < row["change"] < 0.09, f"6 % more work are {row['change']}")
    check(row["low"] <= row["difference"] <= row["high"], "the interval holds the estimate")
    equal(told["comparison"]["speed_reference_count"], 2, "ranges that tell the speed")
    for name in ("round/load", "round/store"):
        row = row_of(told["ranges"], name, "relative")
        check(row["verdict"] not in SURE, f"{name} did not change: {row}")
    same = diff(home, *a, "vs", *c)
    row = row_of(same["ranges"], "round/hash", "relative")
    check(row["verdict"] not in SURE, f"nothing changed: {row}")
    home.annot("diff", *a, "vs", *b, "--fail-if", "hash relative > +3%").ok(1)
    home.annot("diff", *a, "vs", *c, "--fail-if", "hash relative > +3%").ok(0)


@case
def one_run_a_side_says_what_it_cannot_know(home):
    a, b = record(home, "a", "0", "80"), record(home, "b", "500", "80")
    done = home.annot("diff", a, b).ok()
    check(b"gives no measure of noise" in b" ".join(done.out.split()), "it says what it lacks")
    told = diff(home, a, b)
    row = row_of(told["ranges"], "round/hash", "each")
    equal(row["verdict"], "slower", "half as much work again, by durations")
    equal(row["a_count"], 20, "batches")
    row = row_of(told["ranges"], "round/hash", "total")
    equal(row["verdict"], "one run", "the total of one run")
    done = home.annot("diff", "--undecided", "--fail-if", "hash > +1%", a, b)
    done.ok(3)


@case
def the_flame_graph_has_what_changed(home):
    sides = []
    for side, more in (("a", "0"), ("b", "1000")):
        sides.append([])
        for run in range(3):
            path = home.work / f"{side}{run}.annot"
            home.annot("record", "-q", "-r", "999", "-o", path, "--", LOAD, more, "60").ok()
            sides[-1].append(path)
    picture = home.work / "diff.svg"
    told = diff(home, *sides[0], "vs", *sides[1], "--flame", picture)
    text = picture.read_text()
    xml.etree.ElementTree.fromstring(text)
    boxes = dict((label, (kind, title)) for kind, label, title in re.findall(
        r'<g class="(\w+)" data-d="[^"]*"><title>([^\n]*)\n(.*?)</title>', text, re.DOTALL))
    kind, title = boxes["hash_bytes"]
    equal(kind, "d6", f"the colour of twice the work ({title})")
    check("A " in title and ", B " in title, f"both sides are in {title}")
    reports = [[report(home, path) for path in side] for side in sides]
    means = [statistics.mean(one["sampling"]["cpu_ns"] for one in side) / 1e6 for side in reports]
    found = re.search(r"the mean of A, 3 runs of ([\d.]+) ms, and B, 3 of ([\d.]+) ms", text)
    check(found, "the sums of both sides are there")
    for mean, shown in zip(means, found.groups()):
        check(abs(mean - float(shown)) < 0.2, f"a run has {mean} ms, in the picture {shown}")
    equal(told["comparison"]["a_runs"], 3, "runs of A")
    done = home.annot("diff", sides[0][0], sides[1][0], "--flame", picture)
    done.ok(1)
    check(b"diff.svg" in done.err, "an existing file stays as it is")


def python_program(home, name, lookup, rounds):
    """Work of known parts: a lookup, a loop, a wait of 0.2 s."""
    path = home.work / name
    path.write_text(f"""
import time

def {lookup}(until):
    while time.thread_time() < until:
        sum(range(1000))

def steady(until):
    while time.thread_time() < until:
        max(range(1000))

start = time.thread_time()
{lookup}(start + {rounds})
steady(start + {rounds} + 0.3)
time.sleep(0.2)
""")
    return path


def record_python(home, name, script, *options):
    path = home.work / name
    home.annot("record", "-q", "-o", path, *options, "--", sys.executable, script).ok()
    return path


@case
def the_screen_explains_what_became_faster(home):
    old = python_program(home, "old.py", "slow_lookup", 1.5)
    new = python_program(home, "new.py", "fast_lookup", 0.1)
    a, b = record_python(home, "a.annot", old), record_python(home, "b.annot", new, "-r", "199")
    text = home.annot("diff", a, b).ok().out.decode()
    check("rate of sampling: 99 Hz (at first 499 Hz) and 199 Hz" in text,
          f"how the sides differ: {text}")
    check("old.py" in text and "new.py" in text, f"both commands: {text}")
    told = diff(home, a, b)
    rows = [row for row in told["changes"] if row["kind"] == "own"]
    if not rows:
        raise Skip("samples of Python are missing")
    equal((rows[0]["a_name"], rows[0]["name"]), ("slow_lookup", "fast_lookup"), "the first row")
    check(-2e9 < rows[0]["difference"] < -1e9, f"1.4 s less, by samples: {rows[0]}")
    whole = [row for row in told["changes"] if row["kind"] == "whole"][0]
    for side, other in (("a", b), ("b", a)):
        parts = sum(row[side] for row in told["changes"] if row["kind"] != "whole")
        check(abs(parts - whole[side]) <= 0.02 * whole[side], f"rows add up to {parts}: {whole}")
    check("undecided" not in text and "unsure" not in text, f"one run a side: {text}")


def percentages(text):
    """(before, after, percentage) of each row: value and unit twice, a difference, a percentage."""
    number = r"([\d.,]+) (ns|us|ms|s)"
    sizes = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
    for match in re.finditer(rf"{number} +{number} +~?[-+][\d.]+ \w+ +([-+][\d.]+) %", text):
        before, unit, after, other, percent = match.groups()
        yield float(before) * sizes[unit], float(after) * sizes[other], float(percent)


@case
def each_percentage_follows_from_the_numbers_beside_it(home):
    a, b = record(home, "a", "0", "80"), record(home, "b", "300", "80")
    text = home.annot("diff", a, b, "-n", "50").ok().out.decode()
    found = list(percentages(text))
    check(len(found) >= 3, f"rows with percentages: {text}")
    for before, after, percent in found:
        true = 100 * (after - before) / before
        check(abs(true - percent) <= 0.5 + abs(true) * 1e-3, f"{before} to {after} is {true} %, "
                                                            f"not {percent} %")


@case
def runs_in_turn_are_kept_and_compared_again(home):
    kept = home.work / "kept"
    done = home.annot("stat", "-n", "4", "-o", kept, "--json", "--", LOAD, "0", "40", "--vs", LOAD,
                      "400", "40").ok()
    told = json.loads(done.out)
    equal(sorted(os.listdir(kept)), ["A", "B"], "folders")
    equal(len(os.listdir(kept / "A")), 4, "recordings of A")
    again = diff(home, kept / "A", kept / "B")
    for row, other in zip(told["ranges"], again["ranges"]):
        for key in ("name", "metric", "a", "b", "difference", "low", "high", "p"):
            equal(row[key], other[key], f"{key} by stat and by diff")
    reports = [report(home, kept / "A" / name) for name in sorted(os.listdir(kept / "A"))]
    walls = [report["recording"]["wall_ns"] for report in reports]
    row = row_of(told["stat_a"], "wall", "value")
    check(abs(row["mean"] - statistics.mean(walls)) < 1, "the mean wall time is that of reports")
    equal(row["min"], min(walls), "the least wall time")
    equal(row["median"], statistics.median(walls), "the median wall time")
    half = row["mean_high"] - row["mean"]
    truth = 3.182446 * statistics.stdev(walls) / 2  # Student's t of 3 degrees of freedom
    check(abs(half - truth) < 1e-5 * truth, f"the interval is {half}, not {truth}")


@case
def variants_are_one_table(home):
    kept = home.work / "sweep"
    words = ["stat", "-n", "4", "-o", kept, "--vary", "more=0,2000,4000", "--vary", "rounds=10,20"]
    told = json.loads(home.annot(*words, "--json", "--", LOAD, "{more}", "{rounds}").ok().out)
    rows = told["variants"]
    equal([(row["more"], row["rounds"]) for row in rows],
          [(more, rounds) for more in ("0", "2000", "4000") for rounds in ("10", "20")], "rows")
    for row in rows:
        folder = kept / row["variant"]
        equal(row["variant"], f"more={row['more']} rounds={row['rounds']}", "the label")
        walls = [report(home, folder / name)["recording"]["wall_ns"]
                 for name in sorted(os.listdir(folder))]
        equal((row["runs"], row["wall_ns"]), (4, statistics.median(walls)), f"of {row['variant']}")
        equal(row["wall_min_ns"], min(walls), "the least")
        speed = rows[0]["wall_ns"] / row["wall_ns"]
        check(abs(row["speed_up"] - speed) < 1e-9 * speed, f"the speed-up is {row['speed_up']}")
        ranges = [one for one in told[row["variant"]] if one["name"] == "round/hash"]
        equal(len(ranges), 2, "the total and each of a range")


@case
def resources_are_those_of_the_command(home):
    words = ["python3", "-S", "-c", "x = bytearray(60 << 20); sum(range(3000000))"]
    done = home.annot("stat", "-n", "3", "--no-record", "--json", "--", *words).ok()
    rows = json.loads(done.out)["stat_a"]
    memory, cpu = row_of(rows, "memory", "value"), row_of(rows, "CPU", "value")
    wall = row_of(rows, "wall", "value")
    check(60 << 20 < memory["median"] < 90 << 20, f"memory is {memory['median']}")
    check(0 < cpu["median"] < 1.2 * wall["median"], "one thread takes no more CPU than wall time")
    recorded = home.annot("stat", "-n", "3", "--json", "--", *words).ok()
    rows = json.loads(recorded.out)["stat_a"]
    again = row_of(rows, "memory", "value")
    check(abs(again["median"] - memory["median"]) < 8 << 20, "recorded, it is the same memory")
    check(row_of(rows, "CPU", "value")["median"] < 2 * cpu["median"], "and CPU time")


@case
def nothing_is_left_behind(home):
    temporary = home.work / "tmp"
    temporary.mkdir()
    home.environment["TMPDIR"] = str(temporary)
    home.annot("stat", "-n", "2", "--", LOAD, "0", "10").ok()
    home.annot("stat", "-n", "2", "--", "false").complains(1, "exit status 1")
    equal(os.listdir(temporary), [], "what is left of recordings")


if __name__ == "__main__":
    main()
