# SPDX-License-Identifier: MIT
"""Payloads, counters, memory and deferred events of NVTX's extensions: the recording matches the
expectations that programs wrote (nvtx_truth.h), in the same order and with the same values."""

import collections
import json

from harness import case, check, equal, main, program
from ledger import events_of

APART = {"starts", "left_out", "monotonic_ns", "about_ns"}
KINDS = {"begin", "end", "mark", "counter", "range"}


def record(home, name, *options, **environment):
    truth = home.work / "truth"
    home.environment.update(environment, NVTX_LEDGER=str(truth))
    result = home.record(program(name), options=("--sampling=none", *options))
    result.ok()
    check("LOST" not in result.err_text, f"losses: {result.err_text}")
    told = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
    return told, [event for event in events_of(home, result.path) if event["event"] in KINDS]


def is_when(told, event, zero):
    """True if its times match the program's clock, to within 100 us."""
    if "monotonic_ns" not in told or not zero:
        return True
    begin = event["time_ns"] - zero["time_ns"] + zero["monotonic_ns"]
    return (abs(begin - told["monotonic_ns"]) < 100000 and
            abs(event.get("duration_ns", 0) - told.get("about_ns", 0)) < 100000)


def has(told, event):
    """True if an event matches the program's expectation."""
    values = dict(event.get("args", {}))
    if told.get("left_out"):
        check(values.pop("payload_left_out", 0) > 0, f"{event['name']}: nothing was left out")
    if "starts" in told:
        values = {key: values.get(key) for key in told["starts"]}
    expected = {**told, "values": told.get("starts", told.get("values", {}))}
    actual = {**event, "values": values}  # "args" of the event
    return all(actual.get(key) == expected[key]
               for key in expected if key not in APART)


def compare(told, events, zero=None):
    """Compare the events of threads, and separately those with their own times."""
    for is_own in False, True:
        lines = [line for line in told if (line["event"] == "range") == is_own]
        found = [event for event in events if (event["event"] == "range") == is_own]
        for line, event in zip(lines, found):
            check(has(line, event) and is_when(line, event, zero),
                  f"recorded was\n{event}\ntold was\n{line}")
        equal(len(found), len(lines), "how many events")


@case
def layouts_of_payloads(home):
    told, events = record(home, "nvtx_layouts")
    compare(told, events)
    equal({event["domain"] for event in events if event["event"] == "mark"}, {"payloads"},
          "domains")


@case
def held_back_by_a_filter(home):
    """The program can see that they are held back."""
    _, events = record(home, "nvtx_layouts", "--disable", "payloads", NVTX_IS_HELD_BACK="1")
    equal(events, [], "what was recorded")


@case
def many_threads_and_forks(home):
    told, events = record(home, "nvtx_crowd")
    threads = collections.defaultdict(list)
    for event in events:
        if event["event"] == "begin":
            threads[event["pid"], event["tid"]].append(event["args"])
    expected = [{"number": i, "text": f"text {i}", "squares": f"[{i}, {i**2}, {i**3}]",
                 "far": f"far {i}"} for i in range(told[0]["ranges"])]
    equal(len(threads), told[0]["threads"], "threads")
    for thread, values in threads.items():
        equal(values, expected, f"ranges of {thread}")


@case
def counters_and_memory(home):
    told, events = record(home, "nvtx_measures")
    compare(told, events)


@case
def events_that_are_told_later(home):
    """They are recorded with their own times, for every clock."""
    told, events = record(home, "nvtx_later")
    zero = {**told[1], "time_ns": events[1]["time_ns"]}
    told.sort(key=lambda line: line["monotonic_ns"] if line["event"] == "range" else 0)
    compare(told, sorted(events, key=lambda event: event["time_ns"]), zero)


if __name__ == "__main__":
    main()
