# SPDX-License-Identifier: MIT
"""CTF, read by babeltrace2. Each event is one of annot query's, at its true time."""

import collections
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time

from recordings import ANNOT, MAKE, annot, export, query

TEXT, NUMBER, FLOAT = r'"((?:[^"\\]|\\.)*)"', r"(-?\w+)", r"([\w.+-]+)"
NONE = "-"
LABEL, LIST = r'\( "(\w+)" : container = \d+ \)', r"\[(.*?) \]"
NAMES = {"name": TEXT, "domain": TEXT, "category": TEXT}
CONTEXT = {"hostname": TEXT, "pid": NUMBER, "tid": NUMBER, "procname": TEXT, "threadname": TEXT}
# Fields of events, in their order.
EVENTS = {
    "session_fact": {"name": TEXT, "value": TEXT},
    "range_begin": {"id": NUMBER, "kind": LABEL, **NAMES, "depth": NUMBER, "level": NUMBER,
                    "color": NUMBER, "track": TEXT, "file": TEXT, "line": NUMBER, "args": TEXT},
    "launch": {"id": NUMBER, **NAMES, "track": TEXT},
    "range_end": {"id": NUMBER, "kind": LABEL, **NAMES, "duration_ns": NUMBER, "how": LABEL,
                  "args": TEXT},
    "mark": {**NAMES, "severity": TEXT, "level": NUMBER, "color": NUMBER, "track": TEXT,
             "args": TEXT},
    "counter": {**NAMES, "value": NUMBER, "unit": TEXT},
    "counter_float": {**NAMES, "value": FLOAT, "unit": TEXT},
    "flow": {"phase": LABEL, "id": NUMBER, **NAMES},
    "sample": {"set": TEXT, "cpu": NUMBER, "duration_ns": NUMBER, "reason": TEXT,
               "value_count": NUMBER, "values": LIST, "path": TEXT, "stack_depth": NUMBER,
               "stack": LIST},
    "thread_state": {"state": LABEL, "reason": TEXT, "duration_ns": NUMBER},
    "lost": {"lost_count": NUMBER, "cause": TEXT, "duration_ns": NUMBER},
    "last_word": {"text": TEXT},
    "process_end": {"how": TEXT},
}
ESCAPES = {"a": "\a", "b": "\b", "e": "\033", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
           "v": "\v"}


def plain(text):
    """The text without babeltrace2's escapes."""
    return re.sub(r"\\(x[0-9a-fA-F]{2}|.)", lambda found: chr(int(found[1][1:], 16))
                  if len(found[1]) == 3 else ESCAPES.get(found[1], found[1]), text, flags=re.S)


def structure(fields):
    return r"\{ " + ", ".join(f"{name} = {form}" for name, form in fields.items()) + r" \}"


LINES = {name: re.compile(structure(CONTEXT) + ", " + structure(fields), re.S)
         for name, fields in EVENTS.items()}
HEAD = re.compile(r"\[(\d+)\.(\d{9})\] annot:(\w+): ")


def event(line):
    """Parses an event into its name and fields."""
    head = HEAD.match(line)
    assert head, line[:300]
    found = LINES[head[3]].fullmatch(line, head.end())
    assert found, line[:300]
    row = {"time": int(head[1]) * 1000000000 + int(head[2])}
    for (name, form), value in zip([*CONTEXT.items(), *EVENTS[head[3]].items()], found.groups()):
        if form is TEXT:
            value = "" if value == NONE else plain(value) if "\\" in value else value
        row[name] = int(value, 0) if form is NUMBER else value
    return head[3], row


class Trace:
    """events: rows by name, in the order of the trace; discarded: from babeltrace2's messages"""

    def __init__(self, path):
        run = subprocess.run(["babeltrace2", "--clock-seconds", "--no-delta", "--fields=loglevel",
                              path], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, encoding="utf-8")
        self.events, self.order = collections.defaultdict(list), []
        for line in run.stdout.split("\n")[:-1]:
            name, row = event(line)
            self.events[name].append(row)
            self.order.append((name, row))
        words = [line for line in run.stderr.splitlines() if line]
        self.discarded = sum(int(re.match(r"WARNING: Tracer discarded (\d+) event", line)[1])
                             for line in words)
        times = [row["time"] for _, row in self.order]
        assert times == sorted(times), path
        self.facts = {row["name"]: row["value"] for row in self.events["session_fact"]}


def order(row):
    return [(value is not None, str(value)) for value in row]


def equal(what, told, wanted):
    told, wanted = sorted(told, key=order), sorted(wanted, key=order)
    assert len(told) == len(wanted), (what, len(told), len(wanted))
    for mine, other in zip(told, wanted):
        assert mine == other, (what, mine, other)


def names_of(row):
    name = None if row["name"] == "(unnamed)" else row["name"]
    return (name, row["domain"] or None, row["category"] or None)


def began(recording):
    """The recording's start in nanoseconds from 1970, which JSON has as text."""
    row = query(recording, "select begin_realtime_ns as ns from recording")[0]
    return int(row["ns"] or 0)


def rows_of(recording, table, columns, *options):
    rows = query(recording, f"select {', '.join(columns)} from {table}", *options)
    return [tuple(row[name.split(" as ")[-1]] or None
                  if name in NAMES else row[name.split(" as ")[-1]] for name in columns)
            for row in rows]


def pairs(trace):
    """Pairs begins with ends; pushed ranges nest on their threads."""
    opened, stacks, found = {}, collections.defaultdict(list), []
    for name, row in trace.order:
        if name not in ("range_begin", "range_end"):
            continue
        thread = (row["hostname"], row["procname"], row["pid"], row["tid"])
        if name == "range_begin":
            assert row["id"] not in opened, row
            opened[row["id"]] = row
            if row["kind"] == "pushed":
                stacks[thread].append(row["id"])
        else:
            begin = opened.pop(row["id"])
            assert names_of(begin) == names_of(row) and begin["kind"] == row["kind"], (begin, row)
            assert row["time"] - begin["time"] == row["duration_ns"], (begin, row)
            if row["kind"] == "pushed":
                assert stacks[thread].pop() == row["id"], (begin, row)
            found.append((begin, row))
    assert not opened, opened
    return found


def check_ranges(trace, recording, began_ns, *options):
    told = [(*names_of(begin), begin["pid"], begin["tid"], begin["time"] - began_ns,
             end["time"] - begin["time"], begin["kind"], begin["depth"],
             int(end["how"] == "unfinished"), int(end["how"] == "end_lost"), begin["file"] or None,
             begin["line"] or None) for begin, end in pairs(trace)]
    equal((recording, "ranges", options), told, rows_of(recording, "ranges", (
        *NAMES, "pid", "tid", "begin_ns", "duration_ns", "kind", "depth", "unfinished",
        "end_lost", "file", "line"), *options))


def check_points(trace, recording, began_ns, *options):
    told = [(*names_of(row), row["pid"], row["tid"], row["time"] - began_ns)
            for row in trace.events["mark"]]
    equal((recording, "marks", options), told, rows_of(recording, "marks", (
        *NAMES, "pid", "tid", "time_ns"), *options))
    told = [(*names_of(row), row["pid"], row["tid"], row["time"] - began_ns, str(row["value"]),
             row["unit"] or None)
            for kind in ("counter", "counter_float") for row in trace.events[kind]]
    rows = rows_of(recording, "counters", (*NAMES, "pid", "tid", "time_ns", "value", "unit"),
                   *options)
    equal((recording, "counters", options), told, [
        (*row[:6], str(row[6]) if isinstance(row[6], int) else f"{row[6]:g}", row[7] or None)
        for row in rows])
    told = [(row["id"] > 0, row["time"] - began_ns) for row in trace.events["launch"]]
    rows = rows_of(recording, "ranges", ("kind", "launched_ns"), *options)
    equal((recording, "launches", options), told, [(True, row[1]) for row in rows
                                                  if row[1] is not None])
    told = [(row["phase"], row["id"], row["pid"], row["tid"], row["time"] - began_ns)
            for row in trace.events["flow"]]
    rows = rows_of(recording, "flows", ("kind", "flow", "pid", "tid", "time_ns"), *options)
    equal((recording, "flows", options), told, [(row[0], int(row[1], 0), *row[2:])
                                               for row in rows])


def values_of(row):
    found = dict(re.findall(r'name = "([^"]*)", value = (-?\d+)', row["values"]))
    assert len(found) == row["value_count"], row
    return {name: int(value) for name, value in found.items()}


def leaf(row):
    frames = re.findall(r'\[\d+\] = ' + TEXT, row["stack"])
    assert len(frames) == row["stack_depth"], row
    return plain(frames[-1]) if frames else None


def check_samples(trace, recording, began_ns, *options):
    told = []
    for row in trace.events["sample"]:
        values, waits = values_of(row), row["set"] in ("off-cpu", "short-waits")
        told.append((row["pid"], row["tid"], row["time"] - began_ns, row["set"],
                     values.get("cpu", 0) if row["set"] == "cpu" else 0,
                     values["blocked"] if waits else None, values["runnable"] if waits else None,
                     row["reason"] or None, row["path"] or None, leaf(row), row["cpu"]))
    rows = rows_of(recording, "samples", (
        "pid", "tid", "time_ns", "sample_set", "cpu_ns", "blocked_ns", "runnable_ns", "reason",
        "path", "function", "cpu"), *options)
    equal((recording, "samples", options), told, [
        (*row[:5], *(row[5:7] if row[3] in ("off-cpu", "short-waits") else (None, None)),
         row[7] if row[3] == "off-cpu" else None, *row[8:]) for row in rows])


def check_states(trace):
    """States follow one another, with gaps only where the thread does not exist."""
    last = {}
    for row in trace.events["thread_state"]:
        thread = (row["hostname"], row["procname"], row["pid"], row["tid"])
        assert row["time"] >= last.get(thread, 0) and row["duration_ns"] > 0, row
        last[thread] = row["time"] + row["duration_ns"]


def check_lost(trace, recording, began_ns):
    told = [(row["pid"], row["tid"], row["time"] - began_ns, row["duration_ns"], row["cause"],
             row["lost_count"]) for row in trace.events["lost"] if row["tid"]]
    rows = rows_of(recording, "losses", ("pid", "tid", "end_ns", "begin_ns", "cause", "lost_count"))
    equal((recording, "losses"), told, [(*row[:3], row[2] - row[3], *row[4:]) for row in rows])
    lost = sum(row["lost_count"] for row in trace.events["lost"])
    assert trace.discarded == lost, (recording, trace.discarded, lost)
    known = query(recording, "select sum(lost_count) as n from processes")[0]["n"] or 0
    assert lost == known, (recording, lost, known)


def check_facts(trace, recording, began_ns):
    """Times are relative to 1970, and threads have their names."""
    row = query(recording, "select command, host from recording")[0]
    for name in ("command", "host"):
        assert trace.facts.get(name) == row[name], (recording, name, trace.facts)
    if trace.events["session_fact"]:
        assert trace.events["session_fact"][0]["time"] == began_ns, recording
    known = query(recording, """select p.pid, t.tid, p.label as process, t.label as thread
        from threads t join processes p on p.id = t.process""")
    told = {(row["pid"], row["tid"], row["procname"], row["threadname"])
            for _, row in trace.order if row["tid"]}
    assert told <= {tuple(row.values()) for row in known}, (recording, told, known)


def check(recording):
    if not shutil.which("babeltrace2"):
        return "babeltrace2"
    path = recording.with_suffix(".ctf")
    export(recording, path)
    assert sorted(entry.name for entry in path.iterdir()) == ["metadata", "stream"]
    if recording.stem == "made-hostile":
        check_counts(path, recording)
        return None
    trace = Trace(path)
    began_ns = began(recording)
    check_ranges(trace, recording, began_ns)
    check_points(trace, recording, began_ns)
    check_samples(trace, recording, began_ns)
    check_states(trace)
    check_lost(trace, recording, began_ns)
    check_facts(trace, recording, began_ns)
    if recording.stem == "made-names":
        check_hostile(recording.parent)
        check_failures(recording.parent)
    return None


def check_parts(recording):
    if not shutil.which("babeltrace2"):
        return
    path = recording.with_suffix(".part.ctf")
    began_ns = began(recording)
    for choice in (["--from", "5ms", "--to", "20ms"], ["--range", "request"]):
        export(recording, path, *choice)
        trace = Trace(path)
        check_ranges(trace, recording, began_ns, *choice)
        check_points(trace, recording, began_ns, *choice)
        check_samples(trace, recording, began_ns, *choice)


def details(path):
    """All events, in the form of sink.text.details, which babeltrace2 prints fast."""
    return subprocess.run(["babeltrace2", path, "-c", "sink.text.details"], check=True,
                          stdout=subprocess.PIPE).stdout


def check_counts(path, recording):
    """Checks only counts, for a recording with texts of 1 MiB: babeltrace2's time to print them
    line by line grows with the square of their length."""
    told = collections.Counter(re.findall(rb"^Event `annot:(\w+)`", details(path), re.M))
    for table, kinds in (("ranges", (b"range_begin",)), ("ranges", (b"range_end",)),
                         ("marks", (b"mark",)), ("counters", (b"counter", b"counter_float")),
                         ("flows", (b"flow",)), ("samples", (b"sample",))):
        count = query(recording, f"select count(*) as n from {table}")[0]["n"]
        assert sum(told[kind] for kind in kinds) == count, (recording, table, told, count)


# ---- Names and failures --------------------------------------------------------------------------

HOSTILE = ['quote " back \\ slash', "nul \0 and \x01 \x1f \x7f", "\udcff lone", "\r\n\t\v\f\033[2J",
           "}; event { id = 1; }", "n" * 5000, "\u202e right to left \U0001f40d \u2028 \x85", ""]


def named(folder, names):
    """Makes a recording with ranges, categories and key-values of these names, and its export."""
    recording = folder / f"hostile-{len(names)}.annot"
    path = recording.with_suffix(".json")
    path.write_text(json.dumps([
        {"ph": "X", "pid": 1, "tid": 1, "ts": 1 + 10 * number, "dur": 5, "name": name, "cat": name,
         "args": {name: name}} for number, name in enumerate(names)]))
    annot("import", path, "-o", recording)
    export(recording, recording.with_suffix(".ctf"))
    return recording, recording.with_suffix(".ctf")


def check_hostile(folder):
    """Names from files of other tools."""
    recording, path = named(folder, HOSTILE)
    check_ranges(Trace(path), recording, began(recording))
    path = named(folder, ["n" * (1 << 20)])[1]
    assert (path / "stream").stat().st_size > 6 << 20
    assert details(path).count(b"n" * (1 << 20)) == 6


def kill_early(words, place):
    """Kills an export early. Returns true if it was unfinished."""
    child = subprocess.Popen(words)
    while not any(".part-" in name for name in os.listdir(place)) and child.poll() is None:
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    return child.wait() == -signal.SIGKILL


def check_failures(folder):
    """A failed export leaves a complete folder or no folder."""
    place = folder / "failures"
    place.mkdir()
    recording = place / "busy.annot"
    subprocess.run([MAKE, "busy", recording], check=True)
    words = [ANNOT, "export", "-o", place / "x.ctf", recording]
    full = subprocess.run(words, stderr=subprocess.PIPE, text=True, preexec_fn=lambda:
                          resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000)))
    assert full.returncode == 1 and "cannot write" in full.stderr, full.stderr
    assert os.listdir(place) == ["busy.annot"]
    for _ in range(100):
        if kill_early(words, place):
            break
        shutil.rmtree(place / "x.ctf")
    assert not (place / "x.ctf").exists()
    subprocess.run(words, check=True)
    assert (place / "x.ctf/metadata").exists()
