#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports of GPU work, read by real readers and compared with the second reader of recordings: each
span is present once with its times on its stream, with an arrow from its launch, at the place and
time at which its thread launched it.

    test_gpu_exports.py ANNOT FAKE_CUPTI PROGRAM [KEEP_FOLDER]

Scenes of a real GPU are replayed. The readers are the Perfetto UI for both formats, and for the
Chrome format also the conventions of PyTorch's profiler. Exit status 0, 1, or 77 if the UI is not
available.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys

import replay
import spans

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "system"))
import perfetto_ui  # noqa: E402
from test_exports import use_test_python  # noqa: E402

ANNOT, FAKE, PROGRAM = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
KEEP = pathlib.Path(sys.argv[4]).resolve() if len(sys.argv) > 4 else replay.folder
SCENES = ["streams", "copies", "graph-nodes", "contexts", "sync"]
CATEGORIES = {"kernel": "kernel", "copy": "gpu_memcpy", "set": "gpu_memset", "graph": "kernel",
              "wait": "cuda_sync", "overhead": "overhead", "jit": "cuda_jit",
              "event": "cuda_event", "memory": "gpu_memory"}
# No message is not enough: this reader also counts lost events as "info".
TRACKS = """select t.name as queue, ifnull(p.name, '') as device, count(*) as n, sum(s.dur) as ns
    from slice s join track t on t.id = s.track_id left join track p on p.id = t.parent_id
    where extract_arg(s.arg_set_id, 'debug.domain') = 'CUDA' and s.dur >= 0 and t.name is not null
    group by 1, 2"""
THREADS = """select t.name as queue, p.name as device, count(*) as n, sum(s.dur) as ns
    from slice s join thread_track k on k.id = s.track_id join thread t using (utid)
    join process p using (upid) where s.category in ('kernel', 'gpu_memcpy', 'gpu_memset')
    group by 1, 2"""
# For the native format. In the other one a launch is also a slice of its thread.
FLOWS = """select a.ts as origin, b.ts as ts, b.dur as dur, h.tid as tid,
      extract_arg(b.arg_set_id, '{path}') as path, a.name as launch
    from flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in
    join thread_track k on k.id = a.track_id join thread h using (utid)"""
LOST = """select name, value from stats where value > 0 and (severity != 'info' or name in
    ('flow_end_without_start', 'tokenizer_skipped_packets', 'interned_data_tokenizer_errors'))"""


def run(*words, **settings):
    environment = {**os.environ, "ANNOT_CUPTI": str(FAKE), "FAKE_CUPTI": str(FAKE), **settings}
    done = subprocess.run([str(word) for word in words], env=environment, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, (words, done.stderr)


def record(scene, folder, **settings):
    out = folder / f"{scene}.annot"
    nodes = ["--gpu=nodes"] if scene == "graph-nodes" else []
    run(ANNOT, "record", "--force", "--sampling=none", "--gpu", *nodes, "-o", out, "--", PROGRAM,
        replay.file_of(scene), "none", **settings)
    return out


def export(out, ending):
    to = out.with_suffix(ending)
    run(ANNOT, "export", "--force", out, "-o", to)
    return to


def by_queue(recorded):
    """Without the threads' own activities, which are among their ranges."""
    found = collections.Counter(), collections.Counter()
    for span in (each for each in recorded if each.queue):
        found[0][span.queue] += 1
        found[1][span.queue] += span.end_ns - span.begin_ns
    return {queue: (found[0][queue], found[1][queue]) for queue in found[0]}


def launches_of(recorded, begin_ns):
    """Return the place and time of each launch and the times of its work, sorted."""
    return sorted((span.tid, span.origin_ns - begin_ns, span.begin_ns - begin_ns,
                   span.end_ns - span.begin_ns, "/".join(span.ranges))
                  for span in recorded if span.origin_ns is not None and span.queue)


def read_by_ui(trace, tracks, path):
    report = perfetto_ui.inspect(trace, sql=[tracks, FLOWS.format(path=path), LOST])
    assert not report.rows[2], (trace, report.rows[2])
    return report.rows[:2]


def shelved(rows):
    """Threads of additional rows are called "stream 7 (2)"."""
    found = collections.defaultdict(lambda: [0, 0])
    for row in rows:
        name, number, rest = row["queue"].rpartition(" (")
        whole = number and rest.rstrip(")").isdigit()
        entry = found[name if whole else row["queue"]]
        entry[0] += row["n"]
        entry[1] += row["ns"]
    return {queue: tuple(entry) for queue, entry in found.items()}


def check_flows(flows, launches, shift_ns, what):
    told = sorted((row["tid"], row["origin"] - shift_ns, row["ts"] - shift_ns, row["dur"],
                   row["path"] or "") for row in flows)
    assert told == launches, (what, len(told), len(launches),
                              [pair for pair in zip(told, launches) if pair[0] != pair[1]][:2])
    assert all(row["launch"] == "launch" for row in flows), what


def check_perfetto(out, recorded):
    """Times are CLOCK_MONOTONIC."""
    rows, flows = read_by_ui(export(out, ".pftrace"), TRACKS, "debug.launched in")
    assert shelved(rows) == by_queue(recorded), (out, rows, by_queue(recorded))
    on_device = {span.queue for span in recorded
                 if span.role in (*spans.LAUNCHED, "memory", "event")}
    assert {row["queue"] for row in rows if row["device"].startswith("GPU 0")} == on_device, rows
    check_flows(flows, launches_of(recorded, 0), 0, out)


def check_chrome_in_ui(out, recorded):
    trace = export(out, ".json")
    rows, flows = read_by_ui(trace, THREADS, "args.launched in")
    mine = [span for span in recorded if span.role in spans.LAUNCHED]
    assert shelved(rows) == by_queue(mine), (out, rows, by_queue(mine))
    assert all(row["device"].startswith("GPU 0") for row in rows), rows
    begin_ns = int(json.loads(trace.read_text())["otherData"]["begin_monotonic_ns"])
    check_flows(flows, launches_of(recorded, begin_ns), 0, out)


def check_launch(event, events, calls):
    """A reader that joins by call number finds exactly one launch, and at least one arrow."""
    number = event["args"].get("correlation")
    if "start_tid" not in event["args"]:
        return
    assert len(calls[number]) == 1, event
    call = calls[number][0]
    assert call["tid"] == event["args"]["start_tid"], (call, event)
    since_us = event["args"]["delay_ns"] / 1000
    assert abs(call["ts"] + since_us - event["ts"]) < 0.002, (call, event)
    ends = [each for each in events if each["ph"] == "f" and each["cat"] == "ac2g"
            and each["ts"] == event["ts"] and each["tid"] == event["tid"]]
    assert len(ends) == 1 and ends[0]["bp"] == "e", event


def annotations_of(events):
    """For each range of a thread, and each stream that it launched work on: the interval of that
    work, from a plain comparison of all pairs."""
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events
             if event["ph"] == "M" and event["name"] == "thread_name"}
    work = [(event["args"]["start_tid"], event["ts"] - event["args"]["delay_ns"] / 1000,
             names[event["pid"], event["tid"]].partition(" (")[0], event["ts"], event["dur"])
            for event in events if event["ph"] == "X" and "stream" in event.get("args", {})
            and "start_tid" in event["args"]]
    found = []
    for event in events:
        if event["ph"] != "X" or event.get("cat") not in ("user_annotation", "steps"):
            continue
        inside = collections.defaultdict(list)
        for tid, origin, stream, begin, length in work:
            if tid == event["tid"] and -.0005 < origin - event["ts"] < event["dur"] - .0005:
                inside[stream].append((begin, begin + length))
        for stream, times in inside.items():
            begin, end = min(times)[0], max(end for _, end in times)
            found.append((event["name"], f"{stream}: ranges", round(begin, 3),
                          round(end - begin, 3)))
    told = [(event["name"], names[event["pid"], event["tid"]].partition(" (")[0], event["ts"],
             event["dur"]) for event in events
            if event["ph"] == "X" and event.get("cat") == "gpu_user_annotation"]
    return sorted(told), sorted(found)


def check_conventions(out, recorded):
    document = json.loads(export(out, ".json").read_text())
    events = document["traceEvents"]
    assert document["schemaVersion"] == 1
    assert [each["id"] for each in document["deviceProperties"]] == [0]
    calls = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X" and event.get("cat") == "cuda_runtime":
            calls[event["args"]["correlation"]].append(event)
    told, found = annotations_of(events)
    assert told == found, (out, len(told), len(found),
                                    [pair for pair in zip(told, found) if pair[0] != pair[1]][:2])
    told = collections.Counter(event["cat"] for event in events
                               if event["ph"] == "X" and event.get("cat") in CATEGORIES.values())
    assert told == collections.Counter(CATEGORIES[span.role] for span in recorded), told
    for event in events:
        args = event.get("args", {})
        if event["ph"] != "X" or "stream" not in args:
            continue
        assert event["pid"] == args["device"] == 0, event
        assert event["tid"] in (args["stream"], *range(10000000, 10000100)), event
        assert isinstance(args["context"], int), event
        check_launch(event, events, calls)
        if event["cat"] == "kernel" and "graph" not in event["name"]:
            assert len(args["grid"]) == len(args["block"]) == 3, event
            assert args["registers per thread"] > 0, event
        if event["cat"] == "gpu_memcpy":
            assert event["name"][:11] in ("Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD"), event
            rate = args["bytes"] / event["dur"] / 1000
            assert abs(args["memory bandwidth (GB/s)"] - rate) < 0.001 * rate, event


def is_rank_there():
    """Of the launcher, or as requested, with the blank that readers look for."""
    out = record("streams", KEEP, RANK="3", WORLD_SIZE="8")
    assert '\n"rank": 3,\n"world_size": 8\n' in export(out, ".json").read_text()
    to = KEEP / "asked.json"
    run(ANNOT, "export", "--force", out, "-o", to, "--rank", "1", "--world-size", "2")
    asked = json.loads(to.read_text())
    assert asked["distributedInfo"] == {"rank": 1, "world_size": 2}
    # Times count from the start of the day, the same for each rank.
    begin_ns = int(asked["otherData"]["begin_realtime_ns"])
    assert asked["baseTimeNanoseconds"] == begin_ns // 86_400_000_000_000 * 86_400_000_000_000
    window, = (event for event in asked["traceEvents"] if event["name"] == "GPU window opened")
    age_ns = asked["baseTimeNanoseconds"] + window["ts"] * 1000 - begin_ns
    assert 0 <= age_ns < 10e9, age_ns


def main():
    use_test_python()
    KEEP.mkdir(parents=True, exist_ok=True)
    try:
        outs = [record(scene, KEEP, **({"RANK": "0"} if scene == "streams" else {}))
                for scene in SCENES]
        for out in outs:
            recorded = spans.read(out).spans
            assert recorded, out
            check_conventions(out, recorded)
            print(f"ok {out.stem}: {len(recorded)} spans")
        is_rank_there()
        for out in outs:
            recorded = spans.read(out).spans
            check_perfetto(out, recorded)
            check_chrome_in_ui(out, recorded)
            print(f"ok {out.stem} in the UI")
    except perfetto_ui.NoVerdict as error:
        print(f"skipped: {error}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
