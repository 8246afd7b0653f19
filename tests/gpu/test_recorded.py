#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CUPTI's data about programs that log their own activity: counts, bytes, order and times agree.

The buffers in recorded/ are those of a real GPU (README.md), next to the numbers that the programs
printed. They are the reference for replays of the buffers.
"""

import collections
import json
import pathlib
import sys

import recorded

HERE = pathlib.Path(__file__).parent / "recorded"


def load(name):
    truth = HERE / f"{name}.json"
    got = recorded.read(HERE / f"{name}.cupti.xz")
    activities = collections.defaultdict(list)
    for activity in got.activities():
        activities[activity["kind"]].append(activity)
    return got, activities, json.loads(truth.read_text()) if truth.exists() else {}


def kernels_of(activities, name):
    return [kernel for kernel in activities["kernel"] if kernel["name"] == name]


def is_launched_first(got, kernels):
    """Each kernel has a launch, and begins after it."""
    begins = {call[4]: call[0] for call in got.launches()}
    return all(begins[kernel["correlationId"]] <= kernel["start"] <= kernel["end"]
               for kernel in kernels)


def each_stream_has_its_kernels():
    got, activities, truth = load("streams")
    threads = {call["correlationId"]: call["threadId"] for call in activities["call"]}
    by_thread = collections.Counter(threads[kernel["correlationId"]]
                                    for kernel in kernels_of(activities, "spin"))
    assert by_thread == {lane["tid"]: lane["spin"] for lane in truth["lanes"]}, by_thread
    assert is_launched_first(got, activities["kernel"])
    for lane in truth["lanes"]:
        ran_us = sum(kernel["end"] - kernel["start"] for kernel in activities["kernel"]
                     if threads[kernel["correlationId"]] == lane["tid"]) / 1e3
        assert 0.9 * lane["event_us"] < ran_us <= lane["event_us"], (ran_us, lane)


def streams_overlap_on_the_device():
    _, activities, _ = load("streams")
    spans = sorted((kernel["start"], kernel["end"], kernel["streamId"])
                   for kernel in activities["kernel"])
    assert any(first[1] > second[0] and first[2] != second[2]
               for first, second in zip(spans, spans[1:]))


def own_clock_is_realtime():
    got, activities, truth = load("streams-realtime")
    assert len(activities["kernel"]) == truth["spin"]
    # A pair is read within 100 us.
    assert all(abs(real - own) < 100000 for _, own, real in got.clocks), got.clocks


def copies_have_their_bytes():
    _, activities, truth = load("copies")
    for kind, name in (1, "htod"), (2, "dtoh"), (8, "dtod"):
        copies = [copy for copy in activities["memcpy"] if copy["copyKind"] == kind]
        assert len(copies) == truth[name], (name, len(copies))
        assert sum(copy["bytes"] for copy in copies) == truth[f"{name}_bytes"]
    assert sum(each["bytes"] for each in activities["memset"]) == truth["memset_bytes"]


def a_graph_is_one_record_or_all_its_nodes():
    got, whole, truth = load("graph")
    assert len(whole["graph"]) == truth["graph_launches"] and not whole["kernel"]
    launches = {call[4] for call in got.launches()}
    assert {each["correlationId"] for each in whole["graph"]} <= launches
    got, nodes, truth = load("graph-nodes")
    assert len(kernels_of(nodes, "spin")) == truth["spin"] and not nodes["graph"]
    assert len(kernels_of(nodes, "empty")) == truth["empty"]
    assert len({kernel["graphNodeId"] for kernel in nodes["kernel"]}) == truth["nodes"]
    assert is_launched_first(got, nodes["kernel"])


def contexts_are_told_apart():
    _, activities, truth = load("contexts")
    by_context = collections.Counter(kernel["contextId"] for kernel in activities["kernel"])
    assert len(by_context) == truth["contexts"] and sum(by_context.values()) == truth["spin"]


def waits_are_told():
    _, activities, truth = load("sync")
    by_type = collections.Counter(each["type"] for each in activities["synchronization"])
    # Of an event, of a stream for an event, of a stream, of a context.
    assert by_type == {1: truth["event_sync"], 2: truth["stream_wait"], 3: truth["stream_sync"],
                       4: truth["context_sync"]}, by_type


def a_killed_program_keeps_its_launches_alone():
    got, activities, truth = load("killed")
    launched = len(got.launches())
    assert launched == truth["spin_done"] + truth["spin_unfinished"], launched
    assert not activities["kernel"]  # CUPTI had them all in a buffer that was not full


def numbers_of_calls_begin_anew_after_finalize():
    got, activities, truth = load("window-finalize")
    opened = sum(step["on"] for step in truth["steps"])
    assert len(activities["kernel"]) == 2001 * opened
    assert len({kernel["correlationId"] for kernel in activities["kernel"]}) == 2001
    assert len(got.launches()) == 2001 * opened
    assert sum(head[4] for head, _ in got.buffers) == opened - 1  # reported dropped: one a window


def torch_launches_match():
    got, activities, _ = load("torch")
    assert len(activities["kernel"]) == len(got.launches()) > 100
    assert is_launched_first(got, activities["kernel"])
    assert all(kernel["name"] for kernel in activities["kernel"])


CASES = [each_stream_has_its_kernels, streams_overlap_on_the_device, own_clock_is_realtime,
         copies_have_their_bytes, a_graph_is_one_record_or_all_its_nodes, contexts_are_told_apart,
         waits_are_told, a_killed_program_keeps_its_launches_alone,
         numbers_of_calls_begin_anew_after_finalize, torch_launches_match]


def main():
    failed = 0
    for case in CASES:
        try:
            case()
        except AssertionError as error:
            failed += 1
            print(f"FAIL {case.__name__}: {error}")
    print(f"{len(CASES) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
