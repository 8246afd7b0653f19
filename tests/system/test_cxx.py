# SPDX-License-Identifier: MIT
"""The events of a C++ program through annot.hpp are in the recording, one by one."""

import struct

from harness import case, check, equal, main, program


def double(number):
    return struct.unpack("<Q", struct.pack("<d", number))[0]


def story(events, *keys):
    return [tuple(event.get(key) for key in keys) for event in events]


def between(events, first, last):
    """Events from the first of one name to the last of the other."""
    names = [event["name"] for event in events]
    return events[names.index(first):len(names) - names[::-1].index(last)]


def recorded(home):
    dump = home.dump(home.record(program("emit_cxx")).path)
    cut = [event for event in dump.events if len(event["name"]) == 1024]
    equal(sum(sum(process["misuse"]) for process in dump.processes), len(cut), "counts of misuse")
    equal(sum(sum(process["lost"]) for process in dump.processes), 0, "losses")
    return dump


def told(home):
    """The events of the first thread, in its order."""
    events = recorded(home).events
    first = next(event["thread"] for event in events if event["name"] == "throws")
    return [event for event in events if event["thread"] == first]


@case
def ranges_end_when_exceptions_leave_them(home):
    events = told(home)
    equal(story(events[:5], "kind", "name"), [
        ("push", "throws"), ("push", "thrown over"), ("pop", ""), ("pop", ""), ("mark", "caught"),
    ], "the events of the exception")


@case
def a_range_that_is_handed_on_ends_once(home):
    events = between(told(home), "handed on", "closed once")
    equal(story(events, "kind", "name"), [
        ("push", "handed on"), ("mark", "before the return"), ("mark", "still open"), ("pop", ""),
        ("mark", "closed once"),
    ], "the events of the range")


@case
def texts_of_every_kind(home):
    dump = recorded(home)
    events = between(dump.events, "string", "x" * 1024)
    equal(story(events, "kind", "name"), [
        ("push", "string"), ("push", "view"), ("push", ""), ("mark", "x" * 1024),
    ], "the events")
    equal(dump.processes[0]["name"], "in C++", "the name of the process")


@case
def what_events_carry(home):
    events = between(told(home), "full", "io mark")
    equal(story(events, "kind", "name", "domain", "category"), [
        ("push", "full", "", "reads"), ("payload", "int", "", ""), ("payload", "unsigned", "", ""),
        ("payload", "double", "", ""), ("payload", "bool", "", ""), ("payload", "literal", "", ""),
        ("payload", "string", "", ""), ("payload", "view", "", ""),
        ("push", "read", "io", "reads"), ("mark", "io mark", "io", ""),
    ], "the events")
    equal((events[0]["color"], events[0]["level"]), (0xff102030, 3), "colour and level")
    equal([event["value"] for event in events[1:8]],
          [-5, 5, double(2.5), 1, "literal", "some text", "some"], "the values")


@case
def counters_keep_their_kind(home):
    dump = recorded(home)
    events = [event for event in dump.events if event["kind"] == "counter"]
    equal(story(events, "name", "domain", "value"), [
        ("queue", "", -3), ("queue", "", 3), ("queue", "", double(0.5)), ("bytes", "io", 7),
        ("memory/used", "", 1), ("memory/free", "", double(2.0)),
    ], "the counters")
    equal(len({event["value_kind"] for event in events[:3]}), 2, "kinds of numbers")


@case
def process_ranges_move(home):
    dump = recorded(home)
    begins = [event for event in dump.events if event["kind"] == "start"]
    ends = [event for event in dump.events if event["kind"] == "end"]
    equal([event["name"] for event in begins], ["request", "replaced", "released"], "the ranges")
    names = {event["id"]: event["name"] for event in begins}
    equal(sorted(names[event["id"]] for event in ends), ["released", "replaced", "request"],
          "the ends")
    where = {names[event["id"]]: event["thread"] for event in ends}
    check(where["request"] != where["replaced"], "the moved range ended on its first thread")


@case
def flows_and_tracks(home):
    dump = recorded(home)
    flows = [event for event in dump.events if event["kind"].startswith("flow")]
    equal(story(flows, "kind", "name"),
          [("flow_begin", "sent"), ("flow_step", ""), ("flow_end", "")], "the flow")
    equal(len({event["id"] for event in flows}), 1, "flows")
    tracks = [event for event in dump.events if event["kind"].startswith("track")]
    equal(story(tracks, "kind", "name"), [
        ("track_begin", "outer"), ("track_begin", "inner"), ("track_mark", "on the track"),
        ("track_end", ""), ("track_end", ""),
    ], "the events on tracks")
    check(tracks[0]["id"] == tracks[4]["id"] != tracks[1]["id"] == tracks[3]["id"],
          "ends are not on the tracks of their begins")


@case
def logs_and_formats(home):
    events = told(home)
    names = [event["name"] for event in events]
    at = names.index("watch out")
    equal(story(events[at:at + 2], "name", "value"),
          [("watch out", None), ("severity", "warning")], "the log")
    if len(events) > at + 2:  # a library that has std::format
        equal(story(events[at + 2:], "kind", "name"), [
            ("push", "row 3 of text"), ("mark", " " * 1024), ("pop", "")], "formatted names")


if __name__ == "__main__":
    main()
