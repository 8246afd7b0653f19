#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What libannot-gpu tells is what CUPTI delivered: recorded buffers of a real GPU, replayed as they
came, late, split, in reverse order, with losses and lies; each kernel knows its launch.

    test_replayed.py FAKE_CUPTI PROGRAM LIBRARY NEXT_TOOL HEADERS

LIBRARY is libannot-gpu with tell_print.c in place of annot."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import time

from replay import (KINDS, LAUNCHED, SCENES, activities_of, delivered_of, file_of, folder,
                    run_cases)

FAKE, PROGRAM, LIBRARY, NEXT, HEADERS = (pathlib.Path(word).resolve() for word in sys.argv[1:])


class Run:
    """One run of the program: what it printed, the spans, counts and notes that were told."""

    def __init__(self, scene, mode="none", *more, status=0, **settings):
        out = folder / "told"
        out.write_text("")
        environment = {"ANNOT_GPU": "on", "ANNOT_GPU_TELL": str(out), "ANNOT_CUPTI": str(FAKE),
                       "FAKE_CUPTI": str(FAKE), "CUDA_INJECTION64_PATH": str(LIBRARY), **settings}
        words = [PROGRAM, file_of(scene), mode, *more]
        done = subprocess.run(words, capture_output=True, text=True,
                              env={**os.environ, **environment}, timeout=60)
        assert done.returncode == status, (scene, mode, done)
        told = [json.loads(line) for line in out.read_text().splitlines()]
        self.errors = done.stderr
        self.program = json.loads(done.stdout) if done.stdout else {}
        spans = [line for line in told if "begin" in line]
        self.windows = [span for span in spans if "window" in span["name"]]
        self.all = [span for span in spans if "window" not in span["name"]]
        self.spans = [span for span in self.all if span["kind"] <= 6]
        self.queues = {(line["context"], line["stream"]): line["queue"]
                       for line in told if "queue" in line}
        self.facts = [line for line in told if "fact" in line]
        self.anchors = [line["anchor"] for line in told if "anchor" in line]
        self.counts = ([line["counts"] for line in told if "counts" in line] or [{}])[-1]
        self.notes = [line["note"] for line in told if "note" in line]
        self.switches = [line for line in told if "switch" in line]


def key_of_activity(each, delta):
    return (each["start"] + delta, each["end"] + delta, KINDS[each["kind"]],
            each.get("contextId", 0), each.get("streamId", 0),
            each.get("bytes", 0))


def key_of_span(span):
    return (*(span[name] for name in ("begin", "end", "kind", "context", "stream")),
            span["values"].get("size [bytes]", 0))


def check_spans(run, activities):
    """Each activity is one span, with its times to the nanosecond."""
    assert len(run.spans) == len(activities), (len(run.spans), len(activities))
    delta = min(span["begin"] for span in run.spans) - min(each["start"] for each in activities)
    assert (sorted(map(key_of_span, run.spans)) ==
            sorted(key_of_activity(each, delta) for each in activities))
    return delta


def check_launches(run, got, activities, delta):
    """Each kernel and graph was launched by the thread that launched it, before it began."""
    threads = {thread["recorded_tid"]: thread["tid"] for thread in run.program["threads"]}
    launchers = {call[4]: threads[call[6]] for call in got.launches()}
    spans = {key_of_span(span): span for span in run.spans}
    for each in activities:
        span = spans[key_of_activity(each, delta)]
        if each["kind"] in ("kernel", "graph"):
            assert span["thread"] == launchers[each["correlationId"]], (span, each)
            assert 0 < span["launch"] <= span["begin"], span


def check_counts(run, activities, **expected):
    launched = [each for each in activities if each["kind"] in LAUNCHED]
    orphans = [each for each in launched if each["kind"] in ("memcpy", "memset")]
    default = {"launches": run.program["launches"], "activities": len(launched), "dropped": 0,
               "untimed": 0, "violating": 0, "orphans": len(orphans), "unknown": 0}
    for name, value in {**default, **expected}.items():
        assert run.counts[name] == value, (name, value, run.counts)


def everything_is_told_as_it_was():
    for scene in SCENES:
        run = Run(scene)
        got, activities = activities_of(scene)
        delta = check_spans(run, activities)
        check_launches(run, got, activities, delta)
        check_counts(run, activities)
        assert not run.notes, run.notes


def kernels_have_their_shape():
    run = Run("streams")
    _, activities = activities_of("streams")
    shapes = {(each["name"], f"{each['gridX']},{each['gridY']},{each['gridZ']}",
               f"{each['blockX']},{each['blockY']},{each['blockZ']}", each["registersPerThread"],
               each["staticSharedMemory"] + each["dynamicSharedMemory"])
              for each in activities if each["kind"] == "kernel"}
    assert {(span["name"], *(span["label"][key] for key in
                             ("grid", "block", "registers", "shared memory [bytes]")))
            for span in run.spans if span["kind"] == 1} == shapes


def the_way_of_delivery_changes_nothing():
    for mode in "late", "split", "reordered", "late,split", "reordered,split", "exit":
        for scene in ("streams", "graph") if "split" in mode else ("streams", "window-finalize"):
            run = Run(scene, mode)
            got, activities = activities_of(scene)
            delta = check_spans(run, activities)
            check_launches(run, got, activities, delta)
            check_counts(run, activities)


def what_is_lost_is_counted():
    run = Run("streams", "dropped")
    _, activities = activities_of("streams")
    kept = [each for each in activities if each["place"] % 3 != 2]
    check_spans(run, kept)
    check_counts(run, kept, dropped=len(delivered_of("streams")) // 3)
    run = Run("streams", "starved")
    assert not run.spans
    assert run.counts["dropped"] == len(delivered_of("streams")), run.counts
    assert run.counts["answered"] == 0, run.counts
    run = Run("window-finalize", "split")  # 8,000 buffers at once: more than there are
    _, activities = activities_of("window-finalize")
    assert len(run.all) + run.counts["dropped"] == len(activities), run.counts


def records_without_times_are_counted():
    run = Run("streams", "zero")
    _, activities = activities_of("streams")
    kept = [each for each in activities if each["place"] % 3 != 2]
    check_spans(run, kept)
    timed = [kind not in ("device", "context") for kind in delivered_of("streams")]
    check_counts(run, activities, untimed=sum(timed[2::3]))
    assert run.counts["answered"] == run.counts["launches"]


def what_began_before_its_launch_is_counted():
    run = Run("streams", "early")
    _, activities = activities_of("streams")
    early = [each for each in activities
             if each["place"] % 3 == 2 and each["kind"] == "kernel"]
    assert len(run.spans) == len(activities)
    check_counts(run, activities, violating=len(early))


def a_graph_is_one_or_its_nodes():
    run = Run("graph", "capture")
    assert run.counts["launches"] == run.counts["answered"] == 10, run.counts
    assert sum(span["kind"] == 4 for span in run.spans) == 10
    run = Run("graph-nodes", "capture", ANNOT_GPU="nodes")
    assert run.counts["launches"] == run.counts["answered"] == 10, run.counts
    kernels = [span for span in run.spans if span["kind"] == 1]
    assert len(kernels) == run.counts["activities"] == 30
    # Ten kernels have the origin of each of the three captures: they keep it over the launches.
    origins = collections.Counter(span["launch"] for span in kernels)
    assert sorted(origins.values()) == [10, 10, 10], origins
    run = Run("graph-nodes", ANNOT_GPU="nodes")  # captured before: the origin is the launch
    origins = collections.Counter(span["launch"] for span in run.spans if span["kind"] == 1)
    assert sorted(origins.values()) == [3] * 10, origins


def a_window_is_told():
    run = Run("streams")
    opens, shuts = run.windows
    assert opens["name"].endswith("opens") and shuts["name"].endswith("shuts")
    assert opens["end"] <= shuts["begin"], run.windows
    assert [each["switch"] for each in run.switches] == ["opened", "shut"], run.switches
    assert run.switches[0]["ns"] == opens["end"] - opens["begin"]
    assert run.switches[1]["launches"] == run.counts["launches"]


def the_profiler_calls_open_and_shut():
    run = Run("streams", "profiler", ANNOT_GPU="profiler")
    assert run.counts["launches"] == run.counts["answered"] == 20, run.counts
    assert run.program["launches"] >= 20  # calls are followed until what was launched has come
    assert len(run.spans) < len(Run("streams").spans)


def a_forked_child_ends_at_once():
    began = time.monotonic()
    Run("streams")
    once = time.monotonic()
    run = Run("streams", "none", "fork")
    _, activities = activities_of("streams")
    check_spans(run, activities)
    assert time.monotonic() - once < once - began + 1.5


def rubbish_breaks_nothing():
    for mode in "garbage", "twice", "garbage,split", "twice,late":
        run = Run("streams", mode)
        _, activities = activities_of("streams")
        told = len(run.spans) + run.counts["untimed"]
        assert told == len(activities), (mode, told)
        assert bool(run.counts["unknown"]) == ("twice" in mode), (mode, run.counts)


def who_has_cupti_keeps_it():
    run = Run("streams", FAKE_CUPTI_HOLDER="Kineto")
    assert run.notes == ["another tool uses CUPTI: CUPTI for Kineto"], run.notes
    assert not run.spans and not run.program["launches"]


def a_tool_before_us_comes_first():
    run = Run("streams", ANNOT_CUDA_NEXT=str(NEXT))
    assert "next_tool" in run.errors and len(run.spans) > 40
    run = Run("streams", ANNOT_CUDA_NEXT=str(NEXT), NEXT_TOOL_HOLDS="1")
    assert "next_tool" in run.errors and not run.spans
    assert run.notes == ["another tool uses CUPTI: CUPTI for next_tool"], run.notes
    run = Run("streams", ANNOT_CUDA_NEXT="/nowhere.so")
    assert run.notes and len(run.spans) > 40


def nothing_happens_unless_asked():
    for settings in {"ANNOT_GPU": ""}, {"ANNOT_GPU": "none"}, {"ANNOT_GPU_TELL_OFF": "1"}:
        run = Run("streams", **settings)
        assert not run.spans and not run.notes and not run.counts, settings
        assert run.program["launches"] == 0  # no callback was enabled


def what_cannot_be_used_is_said():
    for settings, text in (({"FAKE_CUPTI_VERSION": "18"}, "CUDA 12.0 or later"),
                           ({"ANNOT_CUPTI": "/nowhere.so"}, "no libcupti"),
                           ({"ANNOT_CUPTI": str(NEXT)}, "has no cuptiGetVersion")):
        run = Run("streams", **settings)
        assert not run.spans and len(run.notes) == 1 and text in run.notes[0], run.notes


def the_real_one_fails_without_a_gpu():
    real = sorted((HEADERS.parent / "lib").glob("libcupti.so*"))
    if not real or pathlib.Path("/dev/nvidia0").exists():
        return
    run = Run("streams", ANNOT_CUPTI=str(real[0]), FAKE_CUPTI="")
    assert not run.spans and len(run.notes) == 1 and "999" in run.notes[0], run.notes


CASES = [everything_is_told_as_it_was, kernels_have_their_shape,
         the_way_of_delivery_changes_nothing, what_is_lost_is_counted,
         records_without_times_are_counted, what_began_before_its_launch_is_counted,
         a_graph_is_one_or_its_nodes, a_window_is_told,
         the_profiler_calls_open_and_shut, a_forked_child_ends_at_once,
         rubbish_breaks_nothing, who_has_cupti_keeps_it,
         a_tool_before_us_comes_first, nothing_happens_unless_asked, what_cannot_be_used_is_said,
         the_real_one_fails_without_a_gpu]

if __name__ == "__main__":
    sys.exit(run_cases(CASES))
