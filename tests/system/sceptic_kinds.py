#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Flows, tracks, key-values, structs, groups of counters and last words arrive as intended, also
when the collector dies in between. Expected values follow emit_kinds.c."""

import os
import signal
import struct
import subprocess
import time

from harness import ANNOT, case, check, equal, main, program

SCHEMA = 5  # of misuse


def bits(number):
    return struct.unpack("<Q", struct.pack("<d", number))[0]


def with_values(events):
    """(event, its key-values), in the order of the file."""
    found = []
    for event in events:
        if event["kind"] == "payload":
            equal((event["thread"], event["time"]),
                  (found[-1][0]["thread"], found[-1][0]["time"]), "thread and time of a key-value")
            found[-1][1].append((event["name"], event.get("value")))
        else:
            found.append((event, []))
    return found


VALUES = [
    ("int", -(1 << 63)), ("uint", (1 << 64) - 1), ("double", bits(-0.25)), ("bool", 1),
    ("string", "text ä\n"),
    ("x [mm]", -1), ("y [mm]", 2), ("weight", bits(0.5)), ("label", "here"), ("near[0]", 3),
    ("near[1]", 4),
    ("point", "ffffffff02000000000000000000e03f686572650000000003000400000000"),
]


@case
def each_kind_arrives(home):
    path = home.record(program("emit_kinds"), "kinds").ok().path
    dump = home.dump(path).whole()
    events = with_values(dump.events)
    parent, child = dump.processes
    for kind in ("push", "mark"):
        equal([values for event, values in events
               if event["kind"] == kind and event["name"] == "valued"], [VALUES],
              f"key-values of the {kind}")
    equal([values for event, values in events if event["name"] == "nearly"],
          [[("severity", "warning")]], "key-values of the log")
    equal([(e["name"], e["value"]) for e in dump.kind("counter")],
          [("queue/depth", 3), ("queue/age", bits(1.5))], "counters of the group")
    equal(parent["misuse"][SCHEMA], 2, "structs that do not fit")
    begin, = dump.kind("flow_begin")
    end, = dump.kind("flow_end")
    equal((begin["name"], end["id"]), ("order", begin["id"]), "name and end of the flow")
    equal(dump.threads[end["thread"]]["process"], child["ordinal"], "where it ends")
    check(dump.kind("flow_step")[0]["id"] != begin["id"], "two flows are one")


@case
def a_track_is_one_in_all_processes_and_its_silent_parent_has_a_name(home):
    path = home.record(program("emit_kinds"), "kinds").ok().path
    dump = home.dump(path).whole()
    begin, = dump.kind("track_begin")
    mark, = dump.kind("track_mark")
    end, = dump.kind("track_end")
    equal(({begin["id"], mark["id"], end["id"]}, begin["name"], mark["name"]),
          ({begin["id"]}, "serve", "half"), "the events on the track")
    check(begin["thread"] != end["thread"], "the child did not end it")
    equal([(t["name"], t["parent"] >= 0 and dump.tracks[t["parent"]]["name"])
           for t in dump.tracks], [("request 1", "requests"), ("requests", False)], "tracks")
    equal([(u["counter"], u["unit"]) for u in dump.units], [("queue/age", "ms")], "units")
    info = home.info(path)
    check("requests/request 1" in info and "queue/age: ms" in info, info)
    report = home.annot("report", "--all", path).ok().out.decode()
    check("ranges on tracks" in report and "serve" in report, report)


@case
def a_last_word_stands_where_the_process_ends(home):
    result = home.record(program("emit_kinds"), "abort")
    equal(result.status, -signal.SIGABRT, "status")
    check(b"annot: last word of emit_kinds (" in result.err and b"): out of cheese\n" in result.err,
          f"the end of the recording does not tell it:\n{result.err_text}")
    dump = home.dump(result.path).whole()
    process, = dump.processes
    equal((process["note"], process["note_thread"], process["how_text"]),
          ("out of cheese", 0, "killed by SIGABRT"), "the end of the process")
    check(process["start"] <= process["note_time"] <= process["end"], f"its time: {process}")
    check("thread main, at" in home.info(result.path), "info does not show it")


def check_stream(dump, count):
    """Every range with its three key-values, exactly once and in order, on 100 tracks in turn."""
    events = with_values(dump.events)
    begins = [(event, values) for event, values in events if event["kind"] == "track_begin"]
    equal([values for _, values in begins],
          [[("number", i), ("text", "some text"), ("half", bits(i / 2))] for i in range(count)],
          "key-values")
    names = [dump.tracks[event["id"]]["name"] for event, _ in begins]
    equal(names, [f"track {i % 100}" for i in range(count)], "tracks")
    equal([event["id"] for event in dump.kind("track_end")], [e["id"] for e, _ in begins],
          "tracks of the ends")
    equal(len(dump.tracks), 100, "tracks")


def wait_for_group(group):
    """Until no process of it is left."""
    until = time.monotonic() + 30
    try:
        while time.monotonic() < until:
            os.killpg(group, 0)
            time.sleep(0.02)
    except ProcessLookupError:
        return
    check(False, "the program does not end")


@case
def what_a_killed_collector_left_is_recovered_whole(home):
    count, path = 40000, home.work / "killed.annot"
    annot = home.start(ANNOT, "record", "--sampling=none", "-o", path, "--", program("emit_kinds"),
                       "stream", str(count), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while (not path.exists() or path.stat().st_size < 20000) and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(annot.pid, signal.SIGKILL)
    annot.wait(20)
    before = home.dump(path)
    check(0 < len(before.kind("track_begin")) < count, "the collector died too late or too early")
    wait_for_group(annot.pid)  # the program runs to its end
    home.annot("recover").ok()
    dump = home.dump(path).whole()
    check(dump.session["recovered"], "the recording does not say that it was recovered")
    check_stream(dump, count)
    equal(dump.processes[0]["events"], 2 * count, "events of the process")


@case
def a_hundred_thousand_tracks_and_a_million_key_values_stay_small(home):
    result = home.record(program("emit_kinds"), "many", "100000", options=("--sampling=none",)).ok()
    check(result.path.stat().st_size < 1 << 20, f"{result.path.stat().st_size} bytes")
    dump = home.dump(result.path, "--no-events").whole()
    equal(len(dump.tracks), 100000, "tracks")
    equal({t["name"] for t in dump.tracks}, {f"request {i}" for i in range(100000)}, "their names")
    began = time.monotonic()
    report = home.annot("report", "--sort", "count", result.path).ok()
    check("100,000" in report.out.decode(), "the report does not count them")
    check(time.monotonic() - began < 20, "the report takes too long")
    check(report.own_kib < 128 * 1024, f"the report takes {report.own_kib} KiB")


main()
