#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libannot-gpu reports exactly the data that CUPTI delivered: recorded buffers of a real GPU,
replayed unchanged, late, split, in reverse order, with losses and wrong data. Each kernel has its
launch.

    test_replayed.py FAKE_CUPTI PROGRAM LIBRARY NEXT_TOOL HEADERS

LIBRARY is libannot-gpu with tell_print.c instead of annot.
"""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from replay import (KINDS, LAUNCHED, SCENES, activities_of, delivered_of, file_of, folder,
                    run_cases)

FAKE, PROGRAM, LIBRARY, NEXT, HEADERS = (pathlib.Path(word).resolve() for word in sys.argv[1:])


class Run:
    """One run of the program: its output, and the reported spans, counts and notes."""

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
        self.windows = [span for span in spans
                        if span["name"] in ("overhead: window opens", "overhead: window shuts")]
        self.all = [span for span in spans if "window" not in span["name"]]
        self.spans = [span for span in self.all if span["kind"] <= 6]
        self.queues = {(line["context"], line["stream"]): line["queue"]
                       for line in told if "queue" in line}
        self.facts = [line for line in told if "fact" in line]
        self.anchors = [line["anchor"] for line in told if "anchor" in line]
        self.counts = ([line["counts"] for line in told if "counts" in line] or [{}])[-1]
        self.notes = [line["note"] for line in told if "note" in line]
        self.places = [line for line in told if "pc" in line]
        self.sums = [line["sums"] for line in told if "sums" in line]
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
    keys = ("grid", "block", "registers", "shared memory [bytes]")
    assert {(span["name"], *(span["label"][key] for key in keys))
            for span in run.spans if span["kind"] == 1} == shapes
    # If the table of names has no room for shapes, each span has its own.
    full = Run("streams", ANNOT_GPU_TELL_FULL="1")
    assert {(span["name"], *(span["values"][key] for key in keys))
            for span in full.spans if span["kind"] == 1} == shapes
    assert all(span["values"]["occupancy [%]"] == 50 and not span["label"]
               for span in full.spans if span["kind"] == 1)


def the_way_of_delivery_changes_nothing():
    for mode in "late", "split", "reordered", "late,split", "reordered,split", "exit":
        for scene in ("streams", "graph") if "split" in mode else ("streams", "window-finalize"):
            run = Run(scene, mode, FAKE_LAG_MS="3000")
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
    run = Run("window-finalize", "split")  # 8,000 buffers at once: more than exist
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
    # The three of a launch have it as their origin, and each has the place of its capture.
    origins = collections.Counter(span["launch"] for span in kernels)
    assert sorted(origins.values()) == [3] * 10, origins
    captures = collections.Counter(span["label"]["captured in"] for span in kernels)
    assert captures == {"capture 0": 10, "capture 1": 10, "capture 2": 10}, captures
    run = Run("graph-nodes", ANNOT_GPU="nodes")  # captured before
    kernels = [span for span in run.spans if span["kind"] == 1]
    origins = collections.Counter(span["launch"] for span in kernels)
    assert sorted(origins.values()) == [3] * 10, origins
    assert not any("captured in" in span["label"] for span in kernels), kernels[0]


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
    assert run.program["launches"] >= 20  # calls are followed until their work has come
    assert len(run.spans) < len(Run("streams").spans)


def a_forked_child_ends_at_once():
    began = time.monotonic()
    Run("streams")
    once = time.monotonic()
    run = Run("streams", "none", "fork")
    _, activities = activities_of("streams")
    check_spans(run, activities)
    assert time.monotonic() - once < 2 * (once - began) + 5


def rubbish_breaks_nothing():
    for mode in "garbage", "twice", "garbage,split", "twice,late":
        run = Run("streams", mode)
        _, activities = activities_of("streams")
        told = len(run.spans) + run.counts["untimed"]
        assert told == len(activities), (mode, told)
        assert bool(run.counts["unknown"]) == ("twice" in mode), (mode, run.counts)


def what_cannot_be_read_is_counted():
    """After a record that CUPTI cannot step over, the rest of its buffer is unknown. A buffer
    returned after one of several subscribers has left must not be read."""
    _, activities = activities_of("streams")
    run = Run("streams", "foreign,split")
    assert len(run.spans) == sum(each["place"] % 3 != 2 for each in activities), run.counts
    assert run.counts["unknown"] == len(delivered_of("streams")) // 3, run.counts
    run = Run("streams", "foreign")
    assert len(run.spans) < len(activities) and run.counts["unknown"] > 0, run.counts
    run = Run("streams", "behind", FAKE_CUPTI_HOLDER="Kineto", FAKE_CUPTI_SHARES="1",
              FAKE_CUPTI_VERSION="130500")
    assert not run.spans and run.counts["unknown"] == 1, run.counts


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


def streams_have_names():
    run = Run("streams")
    assert set(run.queues.values()) == {f"stream {number}" for _, number in run.queues}, run.queues
    torch = Run("torch").queues
    assert torch[1, 7] == "default stream 7", torch
    contexts = Run("contexts").queues
    assert set(contexts.values()) == {"stream 20 of context 2",
                                      "stream 28 of context 3"}, contexts
    # By nvtxNameCuStreamA, nvtxNameCudaStreamA, nvtxNameCuContextA, and that of the default stream.
    for kind in 3, 6:
        run = Run("streams", FAKE_NAME=f"{kind}:14=loader")
        assert run.queues[1, 14] == "loader (stream 14)", run.queues
        assert run.queues[1, 15] == "stream 15", run.queues
    run = Run("contexts", FAKE_NAME="2:1002=worker")
    assert run.queues[2, 20] == "stream 20 of worker", run.queues


def a_device_is_told_of_once():
    for scene in "streams", "window-finalize":  # with a record of CUPTI, and without
        device, = Run(scene).facts
        assert device["fact"] == "device" and device["of"] == "GPU 0: Fake 0", device
        assert device["values"] == {
            "device": 0, "compute capability": "9.0", "multiprocessors": 132,
            "device memory [bytes]": 85017493504, "PCI": "0000:1a:00.0",
            "UUID": "GPU-9aa78c1e-50cc-2bf1-978b-f359909874d6"}, device


def devices_are_told_by_uuid():
    """In any order, from CUPTI's record and from the driver; for instances also the GPU."""
    one, two = (f"GPU-{digit * 8}-0000-0000-0000-000000000000" for digit in "12")
    part = two.replace("GPU", "MIG").replace("2", "3")
    told = {device["values"]["device"]: device["values"]
            for device in Run("streams", FAKE_GPUS=f"{two}@2b {one}@1a").facts}
    assert [(told[i]["UUID"], told[i]["PCI"]) for i in (0, 1)] == [
        (two, "0000:2b:00.0"), (one, "0000:1a:00.0")], told
    for scene in "streams", "window-finalize":
        device, = Run(scene, FAKE_GPUS=f"{part}/{two}@2b").facts
        assert device["values"]["UUID"] == part, device
        assert device["values"]["UUID of the whole GPU"] == two, device
    device, = Run("streams", "hidden", FAKE_GPUS=f"{one}@1a").facts
    assert device["values"]["UUID"] == one, device


def kernels_have_their_occupancy():
    """As cudaOccupancyMaxActiveBlocksPerMultiprocessor returns it on an H100: 32 blocks of one warp
    each; PyTorch's kernels limited by registers, by shared memory, and not limited."""
    label = next(span["label"] for span in Run("streams").spans if span["kind"] == 1)
    assert label["occupancy [%]"] == 50, label
    found = {(span["label"]["block"], span["label"]["registers"],
              span["label"]["shared memory [bytes]"]): span["label"]["occupancy [%]"]
             for span in Run("torch").spans if span["kind"] == 1}
    assert found["256,1,1", 44, 0] == 62.5, found
    assert found["128,1,1", 74, 20480] == 37.5, found
    assert all(0 < value <= 100 for value in found.values()), found


def calls_lie_with_their_threads():
    run = Run("streams", ANNOT_GPU_KINDS="driver")
    got, activities = activities_of("streams")
    calls = [span for span in run.all if span["kind"] == 7]
    recorded = [each for each in got.activities() if each["kind"] == "call"]
    assert len(calls) == len(recorded) == 224
    delta = check_spans(run, activities)
    threads = {thread["recorded_tid"]: thread["tid"] for thread in run.program["threads"]}
    wanted = sorted((each["start"] + delta, each["end"] + delta, each["correlationId"],
                     threads.get(each["threadId"], each["threadId"])) for each in recorded)
    assert wanted == sorted((span["begin"], span["end"], span["values"]["correlation"],
                             span["caller"]) for span in calls)
    known = set(threads.values())
    for span in calls:
        assert span["thread"] == (span["caller"] if span["caller"] in known else 0), span
    launches = [span for span in calls if span["name"] == "cuLaunchKernel"]
    assert ({span["values"]["correlation"] for span in launches} ==
            {span["values"]["correlation"] for span in run.spans if span["kind"] == 1})
    for name, exact in (("cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2_ptsz"),
                        ("cuMemAlloc", "cuMemAlloc_v2")):
        for span in calls:
            assert span["name"] != exact
            assert span["name"] != name or span["label"] == {"function": exact}, span
    assert not [span for span in Run("streams").all if span["kind"] == 7]
    assert not [span for span in Run("streams", ANNOT_GPU_KINDS="off").all if span["kind"] == 7]


def copies_have_direction_and_memory():
    run = Run("copies")
    labels = {span["name"]: span["label"] for span in run.spans if span["kind"] == 2}
    assert labels["copy host to device"] == {"direction": "HtoD", "source": "pinned",
                                             "destination": "device"}, labels
    assert labels["copy device to host"]["direction"] == "DtoH", labels
    memory = [span for span in run.all if span["kind"] == 9]
    assert [span["name"] for span in memory] == ["take memory"] * 3 + ["give memory back"] * 3
    size = 8 << 20
    assert ([(span["label"]["memory"], span["values"]["size [bytes]"],
              span["values"]["held [bytes]"]) for span in memory] ==
            [("pinned", size, size), ("device", size, size), ("device", size, 2 * size),
             ("device", size, size), ("device", size, 0), ("pinned", size, 0)]), memory
    jit = [span for span in Run("jit").all if span["kind"] == 8]
    assert {span["name"] for span in jit} == {"jit: load from cache"}, jit
    assert ({span["name"] for span in Run("streams").all if span["kind"] == 8} >
            {"jit: compile", "jit: store in cache"})
    for span in Run("graph").spans:
        assert span["kind"] != 4 or span["label"]["graph"] > 0, span


def events_have_the_time_of_their_call():
    run = Run("streams", ANNOT_GPU_KINDS="events")  # no call that records one was followed
    assert not [span for span in run.all if span["kind"] == 10]
    run = Run("streams", "events", ANNOT_GPU_KINDS="events")
    events = [span for span in run.all if span["kind"] == 10]
    assert len(events) == 80, len(events)
    for span in events:
        assert span["begin"] == span["end"] == span["launch"] > 0 and span["clock"] == 1, span


def calls_of_the_runtime_have_their_names():
    run = Run("streams", "runtime")
    calls = [span for span in run.all if span["kind"] == 7]
    assert len(calls) == 224
    assert ({(span["name"], *span["label"].items()) for span in calls} ==
            {("cudaLaunchKernel", ("function", "cudaLaunchKernel_v7000"))})


def unified_memory_moves():
    run = Run("streams", "unified", ANNOT_GPU_KINDS="unified")
    moved = [(span["name"], span["end"] - span["begin"], span["values"].get("size [bytes]"),
              span["label"].get("direction")) for span in run.all if span["kind"] == 11]
    assert moved == [("unified memory to device", 1000, 4096, "HtoD"),
                     ("unified memory to host", 1000, 8192, "DtoH"),
                     ("page fault of the host", 0, None, None),
                     ("page faults of the device", 0, None, None)], moved


STALLED = "smsp__pcsamp_warps_issue_stalled_"


def stalls(places):
    """The samples of fake_pc.c, by the numbers of their places."""
    return [(16 * at, "_Z4copyPfS_i" if at % 4 == 0 else "_Z4gemmPfS_S_i",
             {STALLED + reason: count for reason, count in
              (("selected", 5), ("long_scoreboard", at), ("long_scoreboard_not_issued", at // 2))
              if count > 0}) for at in places]


def warps_are_sampled():
    """Both the samples before a context was disabled, and those that disabling returned."""
    for scene, contexts in (("streams", 1), ("contexts", 2)):
        run = Run(scene, ANNOT_GPU_KINDS="pc=12")
        got = [(place["pc"], place["function"], place["stalls"]) for place in run.places]
        wanted = contexts * stalls(range(1, 42))
        assert sorted(got, key=str) == sorted(wanted, key=str), (scene, len(got))
        assert run.places[0]["cubin"] == 0xc0ffee and not run.notes, run.notes
        assert [sum(each) for each in zip(*run.sums)] == [1066 * contexts, 0, 0, 0], run.sums
        assert sum(span["kind"] == 1 for span in run.spans) == {1: 40, 2: 10}[contexts]
    for words, places in (("old", 41), ("unloads", 41), ("gone", 82)):
        run = Run("streams", ANNOT_GPU_KINDS="pc", FAKE_PC=words,
                  FAKE_CUPTI_VERSION="21" if words == "old" else "130000")
        assert len(run.places) == places, (words, len(run.places))


def samples_that_are_missing_are_counted():
    run = Run("streams", ANNOT_GPU_KINDS="pc", FAKE_PC="dropped")
    assert [sum(each) for each in zip(*run.sums)] == [1366, 300, 21, 0], run.sums
    run = Run("streams", ANNOT_GPU_KINDS="pc", FAKE_PC="full")
    assert not run.places and run.sums and run.sums[-1][3] == 1, run.sums
    run = Run("streams", ANNOT_GPU_KINDS="pc", FAKE_PC="lies")
    unnamed = sum(place["function"] == "" for place in run.places)
    assert (len(run.places), unnamed) == (41 - 3, 4) and "6 records" in run.notes[0], run.notes


def who_may_not_sample_is_told_and_records():
    old = FAKE.with_name("libcupti-fake-old.so")
    for settings, text in (({"FAKE_PC": "privileges"}, "only administrators"),
                           ({"FAKE_PC": "unsupported"}, "CUPTI_ERROR_NOT_SUPPORTED"),
                           ({"FAKE_PC": "attribute"}, "PC sampling: "),
                           ({"ANNOT_CUPTI": str(old), "FAKE_CUPTI": str(old)}, "this libcupti"),
                           ({"FAKE_CUPTI_HOLDER": "Kineto", "FAKE_CUPTI_SHARES": "1",
                             "FAKE_CUPTI_VERSION": "130500"}, "another tool")):
        run = Run("streams", ANNOT_GPU_KINDS="pc", **settings)
        assert not run.places and not run.sums, (settings, run.sums)
        said = [note for note in run.notes if "without stall reasons" in note]
        assert len(said) == 1 and text in said[0], run.notes
        assert sum(span["kind"] == 1 for span in run.spans) == 40, (settings, run.counts)
        assert run.counts["answered"] == run.counts["launches"] == 40, run.counts


def beside_another_tool():
    beside = {"FAKE_CUPTI_HOLDER": "Kineto", "FAKE_CUPTI_SHARES": "1",
              "FAKE_CUPTI_VERSION": "130500"}
    _, activities = activities_of("streams")
    run = Run("streams", **beside)
    delta = check_spans(run, activities)
    got, _ = activities_of("streams")
    check_launches(run, got, activities, delta)
    check_counts(run, activities)
    assert not run.anchors and not run.notes, run.notes
    # Without its own clock: CUPTI's, with anchors to convert it.
    run = Run("streams", FAKE_CUPTI_CLOCKLESS="1", **beside)
    assert len(run.spans) == len(activities) and len(run.anchors) >= 2
    behind = [cupti - ours for cupti, ours, error in run.anchors]
    assert max(behind) - min(behind) < 1e6
    assert {span["clock"] for span in run.spans} == {2}
    for span in run.spans:
        assert not span["launch"] or span["launch"] <= span["begin"] - min(behind) + 1e6, span
    # Graphs are recorded as the first subscriber wanted.
    assert not [span for span in Run("graph", **beside).spans if span["kind"] == 4]
    run = Run("graph", FAKE_CUPTI_GRAPHS="1", **beside)
    assert sum(span["kind"] == 4 for span in run.spans) == 10
    # Before 13.3, and if that tool does not share, it stays the only one.
    for settings in {**beside, "FAKE_CUPTI_VERSION": "130200"}, {"FAKE_CUPTI_HOLDER": "Kineto",
                                                                "FAKE_CUPTI_VERSION": "130500"}:
        run = Run("streams", **settings)
        assert not run.spans and "CUPTI for Kineto" in run.notes[0], run.notes


def a_clock_that_was_forgotten_is_registered_again():
    """Another tool called cuptiFinalize between two windows: times and names are right in both
    windows. Without that call, the clock is not registered twice."""
    switch = folder / "recorded"
    for settings in {"FAKE_CUPTI_FORGETS": "1"}, {}:
        switch.write_text("")
        run = Run("streams", "pause", ANNOT_GPU_TELL_SWITCH=str(switch), **settings)
        assert len(run.windows) == 4, run.windows
        kernels = [span for span in run.spans if span["kind"] == 1]
        assert len(kernels) > 20 and run.counts["violating"] == 0, run.counts
        for span in kernels:
            assert span["begin"] - span["launch"] < 10e9, (settings, span)
        # The names of the first window's kernels may have been overwritten.
        switch.write_text("")
        run = Run("streams", "pause,ranges", ANNOT_GPU_TELL_SWITCH=str(switch), **settings)
        names = {span["name"] for span in run.spans if span["kind"] == 1}
        assert names == ({"spin", "spix"} if settings else {"spin"}), names


def what_may_not_be_refused_ends():
    run = Run("streams", "overrun", FAKE_CUPTI_VERSION="26")
    assert any("buffers too many" in note for note in run.notes), run.notes


def one_that_is_older_than_the_driver_is_found():
    """It is found where the linker looks, for the driver's CUDA 13.0. No other part of CUDA is
    loaded."""
    for name in "libcupti.so.13", "libcupti.so.12":
        place = folder / name.replace(".", "-")
        place.mkdir()
        shutil.copy(FAKE, place / name)
        run = Run("streams", ANNOT_CUPTI="", FAKE_CUPTI=str(place / name),
                  LD_LIBRARY_PATH=f"{place}:{os.environ.get('LD_LIBRARY_PATH', '')}")
        assert len(run.spans) == len(activities_of("streams")[1]), (name, run.notes)


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
         rubbish_breaks_nothing, what_cannot_be_read_is_counted, who_has_cupti_keeps_it,
         a_tool_before_us_comes_first, nothing_happens_unless_asked, what_cannot_be_used_is_said,
         streams_have_names, a_device_is_told_of_once, devices_are_told_by_uuid,
         kernels_have_their_occupancy,
         calls_lie_with_their_threads, copies_have_direction_and_memory,
         events_have_the_time_of_their_call, calls_of_the_runtime_have_their_names,
         unified_memory_moves, warps_are_sampled, samples_that_are_missing_are_counted,
         who_may_not_sample_is_told_and_records, beside_another_tool,
         a_clock_that_was_forgotten_is_registered_again, what_may_not_be_refused_ends,
         one_that_is_older_than_the_driver_is_found, the_real_one_fails_without_a_gpu]

if __name__ == "__main__":
    sys.exit(run_cases(CASES))
