#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All events of a program arrive as intended: depth, misuse, masks, names, payloads.

Expected values come from the program's own account and from this page, never from annot."""

import json
import math
import struct

import traces
from harness import ANNOT, case, check, equal, main, program

POP_EMPTY, END_FOREIGN, NAME_CUT, NAME_INLINE = range(4)


def record_shape(home, shape):
    result = home.record(program("emit_shapes"), shape).ok()
    account = [json.loads(line) for line in result.out.decode().splitlines()]
    return result.path, account


def ranges_of(dump):
    """(name, begin, end) of pushed ranges, by walking the events of each thread."""
    found, stacks = [], {}
    for event in dump.kind("push", "pop"):
        stack = stacks.setdefault(event["thread"], [])
        if event["kind"] == "push":
            stack.append(event)
        else:
            begin = stack.pop()
            equal(event["id"], len(stack), f"depth told by the pop of {begin['name']}")
            found.append((begin["name"], begin["time"], event["time"]))
    equal([stack for stack in stacks.values() if stack], [], "ranges never closed")
    return found


def within(account, ranges):
    """Each accounted range is recorded once, with its begin and end inside its brackets."""
    equal([name for name, _, _ in ranges], [entry["name"] for entry in account], "recorded ranges")
    for entry, (name, begin, end) in zip(account, ranges):
        for what, time in (("begin", begin), ("end", end)):
            low, high = entry[what]
            check(low - 1000 <= time <= high + 1000,
                  f"{what} of {name} is {time}, outside [{low}, {high}]")


def exports_of(home, path):
    chrome = traces.read(home.export(path, ".json"))
    perfetto = traces.read(home.export(path, ".pftrace"))
    return chrome, perfetto


def agree(home, path):
    """Both exports agree; returns their contents."""
    chrome, perfetto = exports_of(home, path)
    for key, rows in chrome.items():
        other = perfetto[key]
        equal(len(rows), len(other), f"number of {key} in Chrome and Perfetto")
        for ours, theirs in zip(rows, other):
            equal(ours, theirs, f"a row of {key} in Chrome and Perfetto")
    equal(chrome.processes, perfetto.processes, "names of processes")
    names = {key: name for key, name in chrome.threads.items() if not name.endswith(": lost")}
    equal(names, perfetto.threads, "names of threads")  # Chrome has no sub-tracks for gaps
    return chrome


@case
def push_ten_thousand_deep(home):
    path, _ = record_shape(home, "deep")
    dump = home.dump(path).whole()
    names = [event["name"] for event in dump.kind("push")]
    equal(names, [f"level {i}" for i in range(10000)], "names of the pushes")
    equal([event["id"] for event in dump.kind("pop")], list(range(9999, -1, -1)), "depths")
    trace = agree(home, path)
    equal(len(trace["pushed"]), 10000, "slices")
    deepest = max(row[4].count("/") for row in trace["pushed"])
    equal(deepest, 9999, "parents of the innermost slice")
    report = home.annot("report", path, timeout=120).ok().out.decode()
    check("level 9999" in report or "level" in report, "the report shows no level")


@case
def one_pop_too_many_closes_nothing(home):
    path, account = record_shape(home, "underflow")
    dump = home.dump(path).whole()
    within(account, ranges_of(dump))
    equal(dump.processes[0]["misuse"][POP_EMPTY], 3, "pops without a push that were counted")
    equal(len(dump.events), 8, "events")
    info = home.info(path)
    check("pop" in info, f"info does not tell of the needless pops:\n{info}")
    agree(home, path)


@case
def masked_push_inside_an_open_range(home):
    path, account = record_shape(home, "masked")
    dump = home.dump(path).whole()
    wanted = [entry for entry in account if "hidden" not in entry["name"]]
    within(wanted, ranges_of(dump))
    equal(dump.kind("mark"), [], "marks that the mask hid")
    equal(sum(dump.processes[0]["misuse"]), 0, "misuse")
    agree(home, path)


EXPECTED_NAMES = [
    "tab\there\nnewline\x01\x1f\x7f",
    "invalid \ufffd\ufffd\ufffd( utf-8",
    None,  # surrogate and overlong forms: the number of U+FFFD for one is not specified
    "emoji \U0001f680 \u6f22\u5b57",
    "quote \" backslash \\ </script> & %s",
    "",
    "(null)",
    "last, before the long ones",
]


@case
def strange_names_arrive(home):
    path, _ = record_shape(home, "names")
    dump = home.dump(path).whole()
    pushes = [event["name"] for event in dump.kind("push")]
    equal(len(pushes), len(EXPECTED_NAMES) + 2, "pushes")
    for actual, expected in zip(pushes, EXPECTED_NAMES):
        if expected is None:
            check(actual.startswith("surrogate \ufffd") and " overlong \ufffd" in actual,
                  f"the name {actual!r}")
        else:
            equal(actual, expected, "a name")
    equal(pushes[-2], "x" * 1024, "the name of 1,025 bytes")
    equal(pushes[-1], "y" * 1022, "the name cut before its emoji")
    equal(dump.processes[0]["misuse"][NAME_CUT], 2, "names that were cut, as counted")
    equal(dump.processes[0]["name"], "pr\ufffdocess \"quoted\"", "the process's name")
    equal(dump.threads[0]["name"], "thread\nwith newline", "the thread's name")
    trace = agree(home, path)
    paths = {row[4] for row in trace["pushed"]}
    check({name for name in EXPECTED_NAMES if name} <= paths, f"names of slices: {paths}")
    for command in ("info", "report"):
        text = home.annot(command, path).ok().out
        check(b"\x01" not in text and b"\x1f" not in text and b"\x7f" not in text,
              f"{command} hands control characters to the terminal")


def payload(event):
    """A dumped value, by its kind."""
    if event["value_kind"] == 3:
        return struct.unpack("<d", struct.pack("<Q", event["value"]))[0]
    return event.get("value")


EXPECTED_PAYLOADS = {
    "int64 min": -2**63,
    "uint64 max": 2**64 - 1,
    "double tenth": 0.1,
    "double infinite": math.inf,
    "bool true": 1,
    "string quoted": 'a "quoted"\n\ufffd text',
    "string null": "(null)",
    "all": 7,
}


@case
def payloads_of_all_kinds_are_exact(home):
    path, _ = record_shape(home, "payloads")
    dump = home.dump(path).whole()
    for kind in ("push", "mark", "start"):
        values = {event["name"]: payload(event) for event in dump.kind(kind)}
        check(math.isnan(values.pop("double nan")), f"NaN of a {kind}")
        equal(values, EXPECTED_PAYLOADS, f"payloads of {kind}")
        rich = next(event for event in dump.kind(kind) if event["name"] == "all")
        equal([rich["domain"], rich["category"], rich["color"], rich["level"]],
              ["storage", "disk", 0xff336699, 3], f"attributes of a {kind}")
    counters = [(event["name"], event["domain"], payload(event)) for event in dump.kind("counter")]
    levels = [0, -1.5, 1e300, 0.1, 4503599627370497.5]
    equal(counters, [("level", "", value) for value in levels] +
          [("bytes", "storage", 9007199254740993)], "counters")
    chrome, perfetto = exports_of(home, path)
    for trace in (chrome, perfetto):
        for rows in (trace["pushed"], trace["marks"], trace["started"]):
            exported_payloads(rows)
        equal([row[3] for row in sorted(trace["counters"], key=lambda row: row[1])
               if "level" in row[2]], levels, "exported values of the counter")
    equal(len(chrome["counters"]), len(perfetto["counters"]), "counters in both exports")


def exported_payloads(rows):
    values = {row[-2]: dict(row[-1]).get("payload") for row in rows}
    for name, expected in EXPECTED_PAYLOADS.items():
        # Integers that a viewer cannot hold go as text: JSON from 2^53 on, Perfetto from 2^63 on.
        if isinstance(expected, int) and abs(expected) > 2**53:
            equal(int(values[name]), expected, f"exported payload of {name}")
        elif name != "double infinite":  # JSON cannot hold it; Perfetto keeps it
            equal(values[name], expected, f"exported payload of {name}")


@case
def overlapping_ranges_keep_their_lanes(home):
    path, _ = record_shape(home, "overlap")
    dump = home.dump(path).whole()
    equal([event["name"] for event in dump.kind("start")],
          ["request a", "request b", "request never ended"], "ranges")
    equal(dump.processes[0]["misuse"][END_FOREIGN], 1, "foreign ends, as counted")
    trace = agree(home, path)
    ranges = {row[3]: row for row in trace["started"]}
    equal(sorted(ranges), ["request a", "request b", "request never ended"], "exported ranges")
    check(dict(ranges["request never ended"][4]).get("unfinished"), "the unfinished range's mark")
    times = {event["name"]: event for event in dump.kind("start")}
    ends = {event["id"]: event["time"] for event in reversed(dump.kind("end"))}
    for name in ("request a", "request b"):
        equal(ranges[name][2], ends[times[name]["id"]] - times[name]["time"], f"{name}'s duration")


@case
def what_was_dropped_is_counted_and_shown(home):
    """Four threads without pause and a pool that is far too small: calls = records + losses."""
    result = home.record(program("emit_crowd"), 2, 2, 40_000, 1_000_000_000,
                         options=["--pool-size", "64K"]).ok()
    calls = json.loads(result.out)["records"]
    dump = home.dump(result.path)
    equal(calls, 2 * 2 * 40_000 * 2, "calls of the program")
    check(dump.lost() > 0, "nothing was lost: the case tests nothing")
    records = len(dump.kind("push", "pop"))
    equal(records + dump.lost(), calls, "records and losses together")
    equal(sum(event["value"] for event in dump.kind("lost")), dump.lost(), "losses at their places")
    trace = agree(home, result.path)
    equal(sum(lost for _, lost in trace["lost"]), dump.lost(), "losses in the exports")
    equal(len(trace["pushed"]), len(dump.kind("push")), "ranges in the exports")
    shown = f"{dump.lost():,}"
    check(shown in home.info(result.path), f"info does not tell of {shown} losses")
    check("LOST" in result.err_text, f"the summary does not tell of losses: {result.err_text}")


@case
def an_unannotated_program_gives_one_hint(home):
    result = home.record("/bin/true", options=("--off-cpu=none", "--rate", "1")).ok()
    check("0 annotated events" in result.err_text, f"the summary: {result.err_text}")
    equal(result.err_text.count("hint:"), 1, "hints")
    for command in ("info", "report"):
        home.annot(command, result.path).ok()
    check(ANNOT, "annot")


if __name__ == "__main__":
    main()
