#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`annot record --gpu` without a GPU: buffers of a real one are replayed into a program. Each
activity is in the recording once, with its queue, its times, and the thread and range that launched
it, and missing ones are counted.

    test_recording.py ANNOT FAKE_CUPTI PROGRAM

The recording is read by the second reader of recordings, not by annot.
"""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import replay
import spans
from replay import activities_of

ANNOT, FAKE, PROGRAM = (pathlib.Path(word).resolve() for word in sys.argv[1:])
ROLES = {"kernel": "kernel", "memcpy": "copy", "memset": "set", "graph": "graph",
         "synchronization": "wait", "overhead": "overhead"}
DEMANGLED = os.path.exists("/usr/include/libiberty/demangle.h")  # a feature of annot's build
OVERHEAD = (1 << 64) - 1
WAITS = 0xfffffffe


def record(scene, mode="none", *more, options=(), status=0, **settings):
    """Record a scene. Return (the program's output, the recording)."""
    out = replay.folder / "out.annot"
    environment = {**os.environ, "ANNOT_CUPTI": str(FAKE), "FAKE_CUPTI": str(FAKE), **settings}
    done = subprocess.run(
        [ANNOT, "record", "--force", "--sampling=none", "--gpu", *options, "-o", out, "--", PROGRAM,
         replay.file_of(scene), mode, *more],
        env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, (scene, mode, done)
    recorded = spans.read(out)
    recorded.program = json.loads(done.stdout) if done.stdout else {}
    recorded.said = done.stderr
    recorded.replayed = [span for span in recorded.spans
                         if "window" not in span.name and span.role in ROLES.values()]
    return recorded


def queue_of(each):
    if each["kind"] == "overhead":
        return OVERHEAD
    wait = each["kind"] == "synchronization"
    return each["contextId"] << 32 | (WAITS if wait else each["streamId"])


def check(recorded, activities):
    """Each activity is one span on its queue. Times differ by a single shift, to the nanosecond;
    two if the clocks were read one after the other."""
    got = sorted((span.begin_ns, span.end_ns, span.role, span.queue_id)
                 for span in recorded.replayed)
    wanted = sorted((each["start"], each["end"], ROLES[each["kind"]], queue_of(each))
                    for each in activities)
    assert len(got) == len(wanted), (len(got), len(wanted))
    mangled = [span.name for span in recorded.replayed if span.name.startswith("_Z")]
    assert not mangled or not DEMANGLED, mangled
    delta = got[0][0] - wanted[0][0]
    for one, other in zip(got, wanted):
        assert one[2:] == other[2:], (one, other)
        assert abs(one[0] - delta - other[0]) < 1000 and abs(one[1] - delta - other[1]) < 1000


def check_launches(recorded, got, activities):
    """Return the range and thread of the launches of each stream, in its order."""
    threads = {each["recorded_tid"]: each["tid"] for each in recorded.program["threads"]}
    launchers = {call[4]: threads[call[6]] for call in got.launches()}
    kinds = ("kernel", "graph")
    mine = sorted((span for span in recorded.replayed if span.role in kinds),
                  key=lambda span: (span.queue_id, span.begin_ns))
    theirs = sorted((each for each in activities if each["kind"] in kinds),
                    key=lambda each: (queue_of(each), each["start"]))
    for span, each in zip(mine, theirs):
        assert span.ranges == (f"launch {each['correlationId']}",), (span, each)
        assert span.tid == launchers[each["correlationId"]], (span, each)
        assert span.origin_ns <= span.begin_ns, span


def what_was_replayed_is_recorded():
    for scene in set(replay.SCENES) - {"window-finalize"}:
        recorded = record(scene)
        got, activities = activities_of(scene)
        check(recorded, activities)
        check_launches(recorded, got, activities)
        answered = sum(each["kind"] in ("kernel", "graph") for each in activities)
        if scene == "graph-nodes":
            answered = 10  # launches of three kernels each
        assert recorded.counts.get("launched", 0) == recorded.program["launches"], recorded.counts
        assert recorded.counts.get("told", 0) == answered, recorded.counts
        # Calls that copy were not followed when the scene was recorded.
        assert bool(recorded.notes) == (scene == "copies"), recorded.notes


def info_says_what_was_recorded():
    for scene in ("copies", "killed"):
        recorded = record(scene)
        done = subprocess.run([ANNOT, "info", "--json", replay.folder / "out.annot"], check=True,
                              capture_output=True)
        told, counts = json.loads(done.stdout)["gpu"], recorded.counts
        launched = counts.get("launched", 0)
        assert told["launched_count"] == launched, (told, counts)
        assert told["missing_count"] == max(0, launched - counts.get("told", 0)), told
        opened, shut = recorded.windows
        assert told["opened"]["count"] == len(opened) == 1, (told, opened)
        assert told["opened"]["max_ns"] == opened[0]["opened in [ns]"], (told, opened)
        assert told["shut"]["total_ns"] == sum(each["shut in [ns]"] for each in shut), (told, shut)
        assert [note["text"] for note in told["notes"]] == recorded.notes, (told, recorded.notes)
        assert re.fullmatch(r"1[1-9]\.\d+", told["cupti"]), told
        assert told["device_count"] == len(recorded.devices), (told, recorded.devices)
        text = subprocess.run([ANNOT, "info", replay.folder / "out.annot"], check=True,
                              capture_output=True, text=True).stdout
        assert f"CUPTI of CUDA {told['cupti']}" in text and "windows opened" in text, text
        missing = re.search(r"launched, but never reported +([\d,]+)\n", text)
        assert bool(missing) == (told["missing_count"] > 0) == (scene == "killed"), (text, told)


def devices_are_known_by_what_they_are():
    """The lanes of devices have the identity of their device in the machine."""
    one, two = (f"GPU-{digit * 8}-0000-0000-0000-000000000000" for digit in "12")
    part = "MIG-33333333-0000-0000-0000-000000000000"
    for gpus, wanted in ((f"{two}@2b {one}@1a", {0: [two, "", "0000:2b:00.0"],
                                                 1: [one, "", "0000:1a:00.0"]}),
                         (f"{part}/{one}@1a", {0: [part, one, "0000:1a:00.0"]})):
        recorded = record("streams", options=["--gpu=-counters"], FAKE_GPUS=gpus)
        known = {recorded.tracks[card["lane"] - 1]["id"]:
                 [recorded.text(card[key]) for key in ("uuid", "card", "place")]
                 for card in recorded.cards.values()}
        assert known == wanted, known
        queues = {recorded.tracks[track["parent"] - 1]["id"]
                  for track in recorded.tracks.values() if track["kind"] == 4 and track["parent"]}
        assert queues == set(wanted), queues


def late_and_reordered_is_the_same():
    for mode in "late", "reordered", "split":
        recorded = record("streams", mode)
        got, activities = activities_of("streams")
        check(recorded, activities)
        check_launches(recorded, got, activities)


def copies_have_bytes_and_kernels_a_shape():
    recorded = record("copies")
    _, activities = activities_of("copies")
    copied = collections.Counter(span.args["size [bytes]"] for span in recorded.replayed
                                 if span.role in ("copy", "set"))
    assert copied == collections.Counter(each["bytes"] for each in activities
                                         if each["kind"] in ("memcpy", "memset"))
    recorded = record("streams")
    kernel = next(span for span in recorded.replayed if span.name == "spin")
    shape = {"grid": "1,1,1", "block": "32,1,1", "registers": 16}
    assert shape.items() <= kernel.args.items(), kernel
    # In a process with so many names that there is no room for those of shapes.
    kernels = [span for span in record("streams", FAKE_NAMES="4000").replayed
               if span.role == "kernel"]
    assert len(kernels) == 40
    assert all(span.name == "spin" and shape.items() <= span.args.items() for span in kernels)
    mangled = [span.name for span in record("torch", FAKE_NAMES="4000").replayed
               if span.name.startswith("_Z")]
    assert not mangled or not DEMANGLED, mangled


def calls_lie_on_the_lanes_of_their_threads():
    recorded = record("streams", options=["--gpu=driver,-runtime"])
    got, _ = activities_of("streams")
    threads = {each["recorded_tid"]: each["tid"] for each in recorded.program["threads"]}
    calls = [span for span in recorded.spans if span.role == "call"]
    wanted = {each["correlationId"]: threads.get(each["threadId"]) for each in got.activities()
              if each["kind"] == "call"}
    assert len(calls) == len(wanted) == 224, len(calls)
    for span in calls:
        tid = wanted[span.args["correlation"]]
        assert span.tid == (tid or 0), (span, tid)
        assert (span.queue == "") == bool(tid), span  # its own lane, or a track for the thread
    launched = {span.args["correlation"] for span in recorded.spans if span.role == "kernel"}
    assert launched == {span.args["correlation"] for span in calls
                        if span.name == "cuLaunchKernel"}
    assert not any(sum(each["lost:"]) for each in recorded.processes.values())
    out = subprocess.run([ANNOT, "cat", "--json", replay.folder / "out.annot"],
                         capture_output=True, text=True, check=True).stdout
    begun = [row for row in map(json.loads, out.splitlines())
             if row["event"] == "begin" and row.get("category") == "call"]
    assert len(begun) == sum(span.queue == "" for span in calls), len(begun)


def queues_and_devices_are_named():
    recorded = record("torch", FAKE_NAME="6:0=main stream")
    names = {span.queue for span in recorded.spans if span.role == "kernel"}
    assert names == {"main stream (stream 7)"}, names
    (name, facts), = recorded.devices
    assert name == "GPU 0: Fake 0" and facts["compute capability"] == "9.0", recorded.devices


def missing_activities_are_known():
    recorded = record("killed", "none", "kill", status=-signal.SIGKILL)
    assert recorded.counts["launched"] == 11 and not recorded.counts.get("told"), recorded.counts
    said = "annot: MISSING: 11 activities of queues: launched, but never reported\n"
    assert said in recorded.said, recorded.said
    recorded = record("killed", "none", "kill", options=["--quiet"], status=-signal.SIGKILL)
    assert recorded.said == said, recorded.said
    assert "; nothing lost" in record("streams").said
    recorded = record("streams", "dropped")
    delivered = replay.delivered_of("streams")
    assert recorded.counts["dropped"] == len(delivered) // 3, recorded.counts
    assert recorded.counts["launched"] == 40 > recorded.counts["told"], recorded.counts
    recorded = record("streams", "zero")
    timed = [kind not in ("device", "context") for kind in delivered]
    assert recorded.counts["untimed"] == sum(timed[2::3]), recorded.counts
    assert recorded.counts["told"] == 40, recorded.counts


def times_that_cannot_be_are_counted():
    """Since cuptiFinalize forgets the registered clock, three of four windows have CUPTI's own
    clock."""
    recorded = record("window-finalize")
    _, activities = activities_of("window-finalize")
    assert recorded.counts["launched"] == 8004, recorded.counts
    # Launch numbers also restart: a late reader finds those of the next window. On a busy
    # machine more are late.
    assert 4000 < recorded.counts["told"] <= 8004, recorded.counts
    assert len(recorded.replayed) + recorded.counts["mistimed"] == len(activities)
    assert 2001 <= len(recorded.replayed) < 2100, len(recorded.replayed)


def nodes_have_the_launch_and_say_where_they_were_captured():
    recorded = record("graph-nodes", "capture", options=["--gpu=nodes"])
    got, activities = activities_of("graph-nodes")
    check_launches(recorded, got, activities)
    captures = collections.Counter(span.args["captured in"] for span in recorded.replayed
                                   if span.role == "kernel")
    assert captures == {"launch 11": 10, "launch 12": 10, "launch 13": 10}, captures
    assert recorded.counts["launched"] == recorded.counts["told"] == 10, recorded.counts


def stall_reasons_have_a_table():
    """The samples of fake_pc.c: in places 1 to 41 in each of two contexts, every fourth is in the
    second kernel."""
    out = replay.folder / "out.annot"
    recorded = record("contexts", options=["--gpu=pc,pc-period=12"], FAKE_PC="dropped")
    assert len([span for span in recorded.replayed if span.role == "kernel"]) == 10
    report = json.loads(subprocess.run([ANNOT, "report", "--json", out], capture_output=True,
                                       text=True, check=True).stdout)
    for row, places in zip(report["gpu_stalls"], (
            [at for at in range(1, 42) if at % 4], range(4, 41, 4)), strict=True):
        waits, idle = 2 * sum(places), 2 * sum(at // 2 for at in places)
        assert row["samples"] == waits + 2 * 5 * len(places), row
        name = "gemm(float*" if 1 in places else "copy(float*"
        assert row["kernel"].startswith(name) or not DEMANGLED, row
        assert [(part["reason"], part["samples"], part["not_issued"], part["place_count"])
                for part in row["parts"]] == [("long_scoreboard", waits, idle, len(places)),
                                              ("selected", 10 * len(places), 0, len(places))]
        assert row["top_pc"] == hex(16 * places[-1]) and row["top_samples"] == \
            2 * (places[-1] + 5), row
    text = subprocess.run([ANNOT, "report", "--all", out], capture_output=True, text=True,
                          check=True).stdout
    assert "samples that the device dropped: 600\n" in text, text
    rows = subprocess.run([ANNOT, "query", "--csv", out, "select sum(samples) from "
                           "report_gpu_stalls where row_part = 0"], capture_output=True, text=True,
                          check=True).stdout.split()
    assert rows[-1] == "2132", rows
    recorded = record("streams", options=["--gpu=pc"], FAKE_PC="privileges")
    assert len(recorded.notes) == 1 and "annot doctor" in recorded.notes[0], recorded.notes


def doctor_tells_what_is_known_of_a_version():
    for version, name, words, not_said in (
            (19, "12.0", ("graphs are recorded by their kernels", "one tool at a time"),
             "CUDA 13.4"),
            (130300, "13.3", ("before CUDA 13.4",), "one tool at a time"),
            (130500, "13.5", (), "before")):
        told = json.loads(subprocess.run(
            [ANNOT, "doctor", "--json"], capture_output=True, text=True,
            env={**os.environ, "ANNOT_CUPTI": str(FAKE),
                 "FAKE_CUPTI_VERSION": str(version)}).stdout)
        cupti, = (each for each in told["findings"] if each["name"] == "CUPTI")
        assert cupti["state"] == "ok" and cupti["facts"]["version"] == version, cupti
        assert f"of CUDA {name} ({version})" in cupti["text"] and not_said not in cupti["text"]
        assert all(each in cupti["text"] for each in words), cupti


def who_has_cupti_is_named():
    recorded = record("streams", FAKE_CUPTI_HOLDER="Kineto")
    assert not recorded.replayed
    assert recorded.notes == ["GPU: another tool uses CUPTI: CUPTI for Kineto"], recorded.notes
    assert f"annot: {recorded.notes[0]}\n" in recorded.said, recorded.said
    recorded = record("streams", options=["--verbose"], FAKE_CUPTI_HOLDER="Kineto")
    assert recorded.said.count("another tool") == 1, recorded.said


CASES = [what_was_replayed_is_recorded, info_says_what_was_recorded,
         calls_lie_on_the_lanes_of_their_threads,
         queues_and_devices_are_named, devices_are_known_by_what_they_are,
         late_and_reordered_is_the_same,
         copies_have_bytes_and_kernels_a_shape, missing_activities_are_known,
         times_that_cannot_be_are_counted,
         nodes_have_the_launch_and_say_where_they_were_captured, stall_reasons_have_a_table,
         doctor_tells_what_is_known_of_a_version, who_has_cupti_is_named]

if __name__ == "__main__":
    sys.exit(replay.run_cases(CASES))
