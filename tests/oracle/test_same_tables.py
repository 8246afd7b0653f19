#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random schedules (random_schedule.py): every table of a report, its first screen, flame graphs
and pyannot.read equal the schedule and one another.

    test_same_tables.py ANNOT ORACLE_LOAD [RECORDINGS [SEED]]

The test sums the schedule by thread, function, line, cause, and wall time. It parses the screen's
text: shares add up to 100 %, and each number equals that of a table to the printed precision. Last,
numbers are falsified one by one, and each must be detected.
"""

import collections
import csv
import importlib.util
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from random_schedule import FUNCTIONS, GC, GIL, PERIOD_NS, Schedule

REASONS = ("unknown", "preempted", "disk", "page fault", "pipe", "socket", "lock", "the GIL",
           "sleep", "poll", "child process", "terminal", "signal", "other file")
PHRASES = {"running": "running", "runnable but without a processor": "runnable", "asleep": "sleep",
           "in short waits": "short waits", "before its start or after its end": "absent",
           "waiting for the disk": "disk", "waiting for memory": "page fault",
           "waiting for a pipe": "pipe", "waiting for a socket": "socket",
           "waiting for a lock": "lock", "waiting for the GIL": "the GIL",
           "waiting for events": "poll", "waiting for a child process": "child process",
           "waiting for the terminal": "terminal", "waiting for a signal": "signal",
           "waiting for a device": "other file", "waiting": "unknown"}
UNITS = {"ns": 1, "us": 10 ** 3, "ms": 10 ** 6, "s": 10 ** 9}
NUMBER = r"~?([\d.]+ (?:ns|us|ms|s)|0)"
SHARE = r"(<?[\d.]+) %"


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout.decode()


# ---- The truth -----------------------------------------------------------------------------------

class Truth:
    def __init__(self, schedule):
        self.schedule = schedule
        self.sums = collections.Counter()  # by (table, key..., column)
        for thread in schedule.threads:
            self.add_thread(thread)
        self.wall = wall_of(schedule)

    def frames(self, stack):
        """(function, line) of each frame, innermost first."""
        while stack:
            stack, frame = self.schedule.stacks[stack]
            yield self.schedule.frames[frame]

    def line_of(self, stack):
        """The line of the innermost Python frame, else of the innermost known frame."""
        frames = [(FUNCTIONS[function], line) for function, line in self.frames(stack)]
        python = [(entry[1], line) for entry, line in frames if entry[0] == "python"]
        known = [(entry[1], line) for entry, line in frames if line]
        return (python or known or [(entry[1], 0) for entry, _ in frames] or [("", 0)])[0]

    def add_thread(self, thread):
        who = (self.schedule.processes[thread.process][0], thread.tid)
        for _, stack, flags in thread.cpu:
            names = [FUNCTIONS[function][1] for function, _ in self.frames(stack)]
            self.add("threads", who, cpu_ns=PERIOD_NS, sample_count=1,
                     gc_ns=PERIOD_NS * bool(flags & GC), gil_ns=PERIOD_NS * bool(flags & GIL))
            self.add("functions", (names or [""])[0], cpu_self_ns=PERIOD_NS)
            for name in set(names):
                self.add("functions", name, cpu_total_ns=PERIOD_NS, sample_count=1)
            self.add("lines", self.line_of(stack), cpu_self_ns=PERIOD_NS, sample_count=1)
        for begin, wake, end, reason, stack, _ in thread.waits:
            self.add("threads", who, blocked_ns=wake - begin, runnable_ns=end - wake)
            self.add("waits", REASONS[reason], total_ns=wake - begin, count=wake > begin)
            self.add("waits", "runnable", total_ns=end - wake, count=end > wake)
            self.add("lines", self.line_of(stack), blocked_ns=wake - begin, wait_count=wake > begin)
        for _, _, blocked, ready in thread.naps:
            self.add("threads", who, blocked_ns=blocked, runnable_ns=ready)

    def add(self, table, key, **columns):
        for name, value in columns.items():
            if value:
                self.sums[table, key, name] += value


def lives(schedule):
    """[begin, end) of each thread: for main threads the process's life, for others as observed.
    """
    for thread in schedule.threads:
        pid, _, begin, end = schedule.processes[thread.process]
        seen = [time for time, *_ in thread.cpu] + [entry[0] for entry in thread.events]
        for entry in thread.waits:
            seen += [entry[0], entry[2]]
        for entry in thread.naps:
            seen += entry[:2]
        if thread.tid == pid:
            seen += [begin, schedule.length if end is None else end]
        yield (min(seen), max(seen)) if seen else (0, 0)


def state_at(thread, time):
    """Running (partly running and partly ready), ready, or the reason of a wait."""
    for begin, wake, end, reason, _, _ in thread.waits:
        if begin <= time < end:
            return ("runnable",) if time >= wake else ("blocked", reason)
    for begin, end, blocked, ready in thread.naps:
        if begin <= time < end:
            waits = blocked + ready
            return "running", 1 - waits / (end - begin), ready / waits if waits else 0
    return "running", 1, 0


def wall_of(schedule):
    """Sums the wall time by state."""
    begins_ends = list(lives(schedule))
    times = {0, schedule.length, *itertools.chain(*begins_ends)}
    for thread in schedule.threads:
        times |= set(itertools.chain(*[entry[:3] for entry in thread.waits],
                                     *[entry[:2] for entry in thread.naps]))
    times = sorted(time for time in times if time <= schedule.length)
    sums = collections.Counter()
    for first, last in itertools.pairwise(times):
        states = [state_at(thread, first) for thread, (begin, end)
                  in zip(schedule.threads, begins_ends) if begin <= first < end]
        running = [state[1:] for state in states if state[0] == "running"]
        idle = 1.0
        for part, _ in running:
            idle *= 1 - part
        length = last - first
        if running:
            ready = sum(entry[1] for entry in running) / len(running)
            sums["running"] += length * (1 - idle)
            sums["runnable"] += length * idle * ready
            sums["short waits"] += length * idle * (1 - ready)
        elif ("runnable",) in states:
            sums["runnable"] += length
        else:
            sums["blocked" if states else "absent"] += length
    return sums


# ---- Tables --------------------------------------------------------------------------------------

class Checks:
    """Collects faults."""

    def __init__(self):
        self.found = []

    def equal(self, told, expected, what, slack=0):
        if abs(told - expected) > slack:
            self.found.append(f"{what}: {told}, not {expected}")


def sum_of(rows, column):
    return sum(row.get(column) or 0 for row in rows)


def numbers(row):
    return [(column, number) for column, number in row.items() if isinstance(number, int)]


def keyed(told):
    """{(table, key, column): sum} of the tables that Truth has."""
    keys = {"threads": lambda row: (row["pid"], row["tid"]),
            "functions": lambda row: (row.get("name") or row["function"]).split(" (")[0],
            "waits": lambda row: row["reason"],
            "lines": lambda row: (row["function"].split(" (")[0], row.get("line") or 0)}
    none = {"lines": ("", 0)}
    sums = collections.Counter()
    rows = [(table, row) for table in keys for row in told[table]]
    for table, row in rows:
        place = none.get(table, "") if "rest" in row else keys[table](row)
        for column, number in numbers(row):
            sums[table, place, column] += number
    return sums


def check_truth(checks, told, truth):
    sums = keyed(told)
    for entry, value in truth.sums.items():
        if entry[1:] != ("", "sample_count"):
            checks.equal(sums[entry], value, entry)
    columns = {(table, column) for table, _, column in truth.sums}
    for entry, value in sums.items():
        if (entry[0], entry[2]) in columns and entry[1] not in ("", ("", 0)):
            checks.equal(value, truth.sums[entry], entry)
    states = collections.Counter()
    for row in told["wall"]:
        states[row["state"]] += row["total_ns"]
    for state in {*states, *truth.wall}:
        checks.equal(states[state], truth.wall[state], f"wall, {state}", 10_000)


def check_sums(checks, told):
    """Tables of the same time have the same sums."""
    cpu_ns = sum_of(told["threads"], "cpu_ns")
    for table, column in (("processes", "cpu_ns"), ("own_functions", "cpu_ns"),
                          ("functions", "cpu_self_ns"), ("lines", "cpu_self_ns"),
                          ("ranges", "cpu_self_ns")):
        checks.equal(sum_of(told[table], column), cpu_ns, f"CPU time of {table}")
    samples = sum_of(told["threads"], "sample_count")
    for table in ("processes", "own_functions", "lines"):
        checks.equal(sum_of(told[table], "sample_count"), samples, f"samples of {table}")
    off_ns = sum_of(told["waits"], "total_ns")
    places = told["wait_places"]
    checks.equal(sum_of(places, "total_ns"), off_ns, "all of wait_places")
    blocked_ns = told["sampling"]["blocked_ns"]
    checks.equal(sum_of(told["lines"], "blocked_ns"), blocked_ns, "waits of lines")
    for column in ("cpu_ns", "runnable_ns", "blocked_ns"):
        checks.equal(sum_of(told["lines"], f"own_{column}"), sum_of(told["own_functions"], column),
                     f"{column} of own lines")
    helpers = [row for row in places if row["in_helpers"]]
    checks.equal(sum_of(told["own_functions"], "blocked_ns") + sum_of(helpers, "total_ns"),
                 blocked_ns, "waits of own_functions and helpers")
    checks.equal(sum_of(told["wall"], "total_ns"), told["recording"]["wall_ns"], "the wall time")
    for row in told["findings"]:
        checks.equal(row["share"], row["cost"] / row["whole"], f"share of {row['kind']}", 1e-9)


def check_tree(checks, told):
    """A function's total is its own time plus that of its callees."""
    rows = told["call_tree"]
    for column in ("cpu", "runnable", "blocked"):
        inside = collections.Counter()
        for row in reversed(rows):
            whole, own = row[f"{column}_ns"], row[f"{column}_self_ns"]
            checks.equal(own + inside.pop(row["depth"] + 1, 0), whole, f"{column} of {row}")
            inside[row["depth"]] += whole
        if column == "cpu":
            checks.equal(inside[0], sum_of(told["threads"], "cpu_ns"), "CPU time of call_tree")


def check_csv(checks, told, text):
    found = collections.defaultdict(list)
    for row in csv.DictReader(text.splitlines()):
        found[row.pop("table")].append(row)
    for table, rows in told.items():
        rows = [rows] if isinstance(rows, dict) else rows
        checks.equal(len(found[table]), len(rows), f"rows of {table} as CSV")
        pairs = [(cells, *cell) for row, cells in zip(rows, found[table]) for cell in numbers(row)]
        for cells, column, number in pairs:
            if column in cells:
                checks.equal(int(cells[column]), int(number), f"{table}, {column} as CSV")


# ---- The first screen ----------------------------------------------------------------------------

def precision(text):
    """Half of the last printed digit; for "<0.1" the whole value."""
    number = text.split()[0]
    return (1 if "<" in text else 0.5) * 10 ** -len(number.partition(".")[2])


def value(text):
    return float(text.lstrip("<").split()[0])


def time_is(checks, text, ns, what):
    unit = UNITS[text.split()[1]] if " " in text else 1
    checks.equal(float(text.split()[0]) * unit, ns, what, precision(text) * unit * 1.01 + 1)


def share_is(checks, text, part, whole, what):
    checks.equal(value(text), 100 * part / whole if whole else 0, what, precision(text) * 1.01)


def adds_up(checks, shares, what, more=0.0):
    checks.equal(sum(value(text) for text in shares), 100, what,
                 more + sum(precision(text) for text in shares) + 0.01)


def section(screen, title):
    """The lines below a title with this prefix, up to an empty line."""
    found = re.search(rf"^{title}[^\n]*\n((?:[^\n]+\n)*)", screen, re.M)
    return found.group(1).splitlines() if found else []


def check_headline(checks, screen, told):
    text = " ".join(re.split(r"\n(?=Hottest|\n)", screen)[0].split())
    head = re.match(rf"{NUMBER} wall: (.*?)\.(?= |$)", text)
    wall_ns = told["recording"]["wall_ns"]
    time_is(checks, head.group(1), wall_ns, "the wall time of the headline")
    states = collections.Counter()
    for row in told["wall"]:
        states[row.get("reason") or row["state"]] += row["total_ns"]
    sentence = re.sub(r"in waits below [\d.]+ .?s", "in short waits", head.group(2))
    parts = re.findall(rf"{SHARE} ([^,()]+?)(?:,|$)", re.sub(r" \([^)]*\)", "", sentence))
    adds_up(checks, [share for share, _ in parts], f"headline {text!r}")
    rest_ns = wall_ns - sum(states[PHRASES[phrase]] for _, phrase in parts if phrase in PHRASES)
    for share, phrase in parts:
        ns = rest_ns if phrase == "other waits" else states[PHRASES[phrase]]
        share_is(checks, share, ns, wall_ns, f"headline, {phrase}")
    if not any(phrase == "other waits" for _, phrase in parts):
        checks.equal(rest_ns, 0, "what the headline leaves out", wall_ns / 1000)
    hottest = re.search(rf"^Hottest: (\S+) .*?, {NUMBER}, {SHARE} of {NUMBER} CPU time",
                        screen.replace("\n         ", " "), re.M)
    if hottest:
        row, cpu_ns = told["own_functions"][0], sum_of(told["own_functions"], "cpu_ns")
        checks.equal(hottest.group(1) == row["name"], True, "the hottest function")
        time_is(checks, hottest.group(2), row["cpu_ns"], "of the hottest function")
        share_is(checks, hottest.group(3), row["cpu_ns"], cpu_ns, "of the hottest function")
        time_is(checks, hottest.group(4), cpu_ns, "all CPU time of the headline")


def own_rows(screen):
    """Rows: value, share, name; with waits also (CPU, ready if large, waits) before the name."""
    titles = "Own code|Installed|Python functions|Functions|Where "
    lines = section(screen, f"(?:{titles})")
    for line in lines:
        found = re.match(rf" *{NUMBER} +{SHARE} +(?:#+ +)?(?:{NUMBER} +(?:{NUMBER} +)?{NUMBER} +)?"
                         r"(\S.*)$", line)
        if found:
            yield found.groups()


def check_own(checks, screen, told):
    rows = list(own_rows(screen))
    by_name = {row["name"]: row for row in told["own_functions"]}
    if rows:
        adds_up(checks, [row[1] for row in rows], "shares of own functions")
    short_ns = sum_of([row for row in told["wall"] if row["state"] == "short waits"], "total_ns")
    whole = sum_of(told["own_functions"], "cpu_ns")
    if rows and rows[0][2] is not None:
        whole += sum(sum_of(told["own_functions"], column)
                     for column in ("runnable_ns", "blocked_ns"))
    if "\nWhere the wall time went" in screen:
        whole = max(whole + short_ns, told["recording"]["wall_ns"])
    for value, share, cpu, ready, waits, name in rows:
        row = by_name.get(name.split("  ")[0])
        if not row or name.startswith("("):
            continue
        ns = row["cpu_ns"]
        if cpu is not None:
            ns += row["runnable_ns"] + row["blocked_ns"]
            told_times = ((cpu, "cpu_ns"), (ready, "runnable_ns"), (waits, "blocked_ns"))
            for text, column in [entry for entry in told_times if entry[0] is not None]:
                time_is(checks, text, row[column], f"{name}: {column}")
        time_is(checks, value, ns, f"{name}: all")
        share_is(checks, share, ns, whole, f"{name}: share")


def check_waits(checks, screen, told):
    wall_ns = told["recording"]["wall_ns"]
    places = [row for row in told["wait_places"] if not row["in_helpers"]]
    for line in section(screen, "Waits"):
        found = re.match(rf" *{NUMBER} +(?:{SHARE} +)?(\D+?) +([\d,]+) +{NUMBER} +{NUMBER}  "
                         r"(\S.*)$", line)
        if not found:
            continue
        total, share, reason, count, mean, most, name = found.groups()
        name = name.split("  ")[0]
        rows = [row for row in places if row["reason"] == reason and
                row["name"].strip("()") == name.strip("()")]
        checks.equal(len(rows), 1, f"places of waits like {line!r}")
        for row in rows[:1]:
            time_is(checks, total, row["total_ns"], f"{line!r}: total")
            time_is(checks, mean, row["total_ns"] // row["count"], f"{line!r}: mean")
            time_is(checks, most, row["max_ns"], f"{line!r}: longest")
            checks.equal(int(count.replace(",", "")), row["count"], f"{line!r}: count")
            if share:
                share_is(checks, share, row["total_ns"], wall_ns, f"{line!r}: share")


def check_rest(checks, screen, told):
    """Checks the findings, ranges and last lines."""
    found = re.findall(rf"^ *{SHARE} (\S.*)$", "\n".join(section(screen, "Findings")), re.M)
    for (share, _), row in zip(found, told["findings"]):
        share_is(checks, share, row["cost"], row["whole"], f"finding {row['finding']!r}")
    most = min(len(told["findings"]), 3)
    checks.equal(len(found) in (most, min(most, 2)), True, f"{len(found)} findings of {most}")
    paths = {row["path"]: row for row in told["ranges"] if "rest" not in row}
    inherited = {row["path"]: row["cpu_ns"] for row in told.get("inherited_ranges", [])}
    titles = {"total": "total_ns", "CPU": "cpu_ns", "runnable": "runnable_ns",
              "blocked": "blocked_ns", "p50": "p50_ns", "max": "max_ns"}
    lines = section(screen, "Ranges")
    columns = [titles[title] for title in lines[0].split()[1:]] if lines else []
    around, seen = [], 0
    for line in lines[1:]:
        cells = re.match(r" ( *)(\S.*?) +([\d,]+)" + rf" +{NUMBER}" * len(columns) + "$", line)
        if not cells:
            continue
        depth = len(cells.group(1)) // 2
        around[depth:] = [cells.group(2)]
        path = "/".join(around)
        if path not in paths:
            continue
        row, seen = paths[path], seen + 1
        checks.equal(int(cells.group(3)), row["count"], f"{line!r}: count")
        for text, column in zip(cells.groups()[3:], columns):
            others = inherited.get(row["path"], 0) if column == "cpu_ns" else 0
            time_is(checks, text, (row[column] or 0) + others, f"{line!r}: {column}")
    checks.equal(seen > 0, bool(lines), "ranges on the first screen")
    end = re.search(r"^([\d,]+) process(?:es)?, ([\d,]+) threads?; ([\d,]+) samples?"
                    r"(?: \([^)]*\))?, ([\d,]+) waits?", screen, re.M)
    recording, sampling = told["recording"], told["sampling"]
    expected = (recording["process_count"], recording["thread_count"], sampling["sample_count"],
                sampling["stretch_count"])
    for text, count in zip(end.groups(), expected):
        checks.equal(int(text.replace(",", "")), count, "of the last lines")


def check_screen(checks, screen, told):
    for part in (check_headline, check_own, check_waits, check_rest):
        part(checks, screen, told)


# ---- Tables as text ------------------------------------------------------------------------------

# Each table's columns with times, as printed.
TIMES = {"own_functions": ("cpu_ns", "runnable_ns", "blocked_ns"), "wall": ("total_ns",),
         "wait_places": ("total_ns", "max_ns"), "waits": ("total_ns", "mean_ns", "max_ns"),
         "lines": None,  # see LINE_TIMES
         "functions": ("cpu_self_ns", "cpu_total_ns"),
         "python_functions": ("cpu_python_ns", "cpu_total_ns")}


# Their presence depends on the recording; an empty cell is 0.
LINE_TIMES = {"time": "own_ns", "CPU": "own_cpu_ns", "runnable": "own_runnable_ns",
              "blocked": "own_blocked_ns"}


def check_text(checks, annot, path, told, options):
    """The same rows in the same order, with the same times."""
    for table, columns in TIMES.items():
        if not told.get(table):
            continue
        text = run(annot, "report", "--table", table, "--wide", "--all", *options, path)
        body = text.strip().splitlines()[2:]
        rows = [re.findall(r"(?<!\S)(?:[\d.]+ (?:ns|us|ms|s))(?!\S)", line) for line in body]
        rows = [cells for cells in rows if cells]
        told_rows = told[table]
        if table == "lines":
            columns = [LINE_TIMES[word] for word in text.strip().splitlines()[1].split()
                       if word in LINE_TIMES]
            told_rows = [row for row in told_rows if any(row[column] for column in columns)]
        if not rows and all("rest" in row for row in told[table]):
            continue  # a remainder alone cannot be compared
        checks.equal(len(rows), len(told_rows), f"rows of {table} as text")
        for cells, row in zip(rows, told_rows):
            known = [row[column] for column in columns if row.get(column) is not None]
            known = known if len(known) == len(cells) else [ns for ns in known if ns]
            checks.equal(len(cells), len(known), f"times in {cells} of {table} as text")
            for cell, ns in zip(cells, known):
                time_is(checks, cell, ns, f"{table} as text: {row}")
        shares = re.findall(r"([\d.]+)%", "\n".join(body)) if table in ("wall",) else []
        if shares:
            adds_up(checks, shares, f"shares of {table}")


# ---- Other outputs -------------------------------------------------------------------------------

def flame_whole(annot, path, options):
    """The time of the whole graph, and the self time of each box by label."""
    done = subprocess.run([annot, "flame", "--min-width", "0.0000001", "-f", "svg", "-o", "-",
                           *options, path],
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    box = re.compile(r'data-d="\d+ (\d+) (\d+) \d+ (\d+)"><title>([^\n]*)\n')
    rows = box.findall(done.stdout.decode())
    whole = sum(int(value) for value, _, depth, _ in rows if depth == "0")
    return whole, sum(int(own) for _, own, depth, _ in rows if depth != "0")


def check_flames(checks, annot, path, told, chosen):
    cpu_ns, off_ns = sum_of(told["threads"], "cpu_ns"), sum_of(told["waits"], "total_ns")
    for options, expected in (((), cpu_ns), (("--lines",), cpu_ns), (("--python-only",), cpu_ns),
                              (("--off-cpu",), off_ns), (("--idle",), cpu_ns + off_ns),
                              (("--by", "thread"), cpu_ns), (("--inverted",), cpu_ns)):
        whole, parts = flame_whole(annot, path, [*options, *chosen])
        checks.equal(whole, expected, f"flame {' '.join(options)}")
        if "--inverted" not in options:  # narrow boxes are merged
            checks.equal(parts, whole, f"boxes of flame {' '.join(options)}", whole // 1_000_000)
    for options in ((), ("--lines",), ("--python-only",), ("--by", "process")):
        lines = run(annot, "export", "-f", "folded", "-o", "-", *options, *chosen,
                    path).splitlines()
        folded = 1000 * sum(int(line.rpartition(" ")[2]) for line in lines)
        checks.equal(folded, cpu_ns, f"folded {' '.join(options)}", 1000 * len(lines))


def check_python(checks, path, told):
    import pyannot
    recording = pyannot.read(path)
    sums = collections.Counter()
    for sample in recording.samples:
        sums["cpu"] += sample.cpu_ns
        sums["runnable"] += sample.runnable_ns
    checks.equal(sums["cpu"], sum_of(told["threads"], "cpu_ns"), "CPU time of pyannot.read")
    runnable_ns = sum_of(told["threads"], "runnable_ns")
    checks.equal(sums["runnable"], runnable_ns, "runnable time of pyannot.read")
    mine = recording.report()
    for table, rows in told.items():
        if table != "lines":
            checks.equal(mine[table] == rows, True, f"{table} of pyannot.read's report")


# ---- All of it -----------------------------------------------------------------------------------

FALSIFIED = ("cpu_ns", "runnable_ns", "blocked_ns", "total_ns", "cpu_self_ns")


def falsified(told):
    """Falsifies each number of the tables that is in the truth, one at a time."""
    rows = [(table, row) for table in ("threads", "waits", "lines", "wall") for row in told[table]]
    for (table, row), column in itertools.product(rows, FALSIFIED):
        if row.get(column):
            row[column] += 50_000
            yield table, column
            row[column] -= 50_000


def check_falsified(checks, told, truth):
    for table, column in falsified(told):
        noticed = Checks()
        check_truth(noticed, told, truth)
        checks.equal(bool(noticed.found), True, f"a falsified {column} of {table} is noticed")


def selections(schedule):
    """Parts of the recording."""
    first, last = sorted(schedule.draw(0, schedule.length) for _ in range(2))
    times = ["--from", f"{first / 1e9:.9f}s", "--to", f"{last / 1e9:.9f}s"]
    thread = schedule.random.choice(schedule.threads)
    return times, ["--process", "100"], ["--thread", str(thread.tid), *times[:2]]


def check_part(checks, annot, path, options):
    """Checks all outputs of a part. Returns the tables."""
    told = json.loads(run(annot, "report", "--json", "--all", "--lines", *options, path))
    check_sums(checks, told)
    check_tree(checks, told)
    check_csv(checks, told, run(annot, "report", "--csv", "--all", "--lines", *options, path))
    check_text(checks, annot, path, told, options)
    check_screen(checks, run(annot, "report", *options, path), told)
    check_flames(checks, annot, path, told, options)
    return told


def check_recording(annot, oracle_load, seed, place):
    checks, path = Checks(), pathlib.Path(place) / f"{seed}.annot"
    schedule = Schedule(seed)
    subprocess.run([oracle_load, path], input=schedule.text().encode(), check=True)
    told = check_part(checks, annot, path, [])
    truth = Truth(schedule)
    check_truth(checks, told, truth)
    if importlib.util.find_spec("pyannot"):
        check_python(checks, path, json.loads(run(annot, "report", "--json", path)))
    if seed % 8 == 0:
        check_falsified(checks, told, truth)
    for options in selections(schedule):
        part = Checks()
        check_part(part, annot, path, options)
        checks.found += [f"{' '.join(options)}: {line}" for line in part.found]
    return checks.found


def main():
    annot, oracle_load = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 12
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        for seed in range(first, first + count):
            found = check_recording(annot, oracle_load, seed, place)
            failed += bool(found)
            for line in found[:20] or ["the same"]:
                print(f"seed {seed}: {line}")
    print(f"{count - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
