#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""HolisticTraceAnalysis reads the Chrome exports of ranks, and its breakdowns equal SQL results
from the recordings: temporal, kernels, idle time, bandwidth of copies. Its breakdown of annotations
equals the sums over the launches of the ranges.

    test_hta.py ANNOT FAKE_CUPTI PROGRAM

It is looked for in the Python in ANNOT_HTA_PYTHON, else in build/hta, where tests/gpu/hta installs
it. Exit status 0, 1, or 77 if it is not available. It counts whole microseconds: begins are rounded
up, ends down.
"""

import collections
import json
import math
import os
import pathlib
import subprocess
import sys

import replay

ANNOT, FAKE, PROGRAM = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
PYTHON = os.environ.get("ANNOT_HTA_PYTHON",
                        pathlib.Path(__file__).resolve().parents[3] / "build/hta/bin/python")
SCENES = ["torch", "copies", "streams", "contexts", "graph-nodes"]  # by rank
DELAY_US = 30  # HTA attributes shorter gaps to the GPU

ASK = """
import json, sys, warnings
warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis
def rows(frame):
    frame = frame.reset_index() if frame.index.names != [None] else frame
    frame.columns = [" ".join(part for part in column if part) if isinstance(column, tuple)
                     else column for column in frame.columns]
    return json.loads(frame.to_json(orient="records", double_precision=12))
all_of_it = TraceAnalysis(trace_dir=sys.argv[1])
ranks = sorted(all_of_it.t.traces)
print(json.dumps({
    "ranks": ranks,
    "begins": [float(all_of_it.t.traces[rank].query("stream >= 0")["ts"].min()) for rank in ranks],
    "temporal": rows(all_of_it.get_temporal_breakdown(visualize=False)),
    "kernels": rows(all_of_it.get_gpu_kernel_breakdown(
        visualize=False, include_memory_kernels=True, num_kernels=1000, duration_ratio=1.0)[1]),
    "idle": [row for rank in ranks for row in rows(all_of_it.get_idle_time_breakdown(
        ranks=[rank], visualize=False, consecutive_kernel_delay=int(sys.argv[2]))[0])],
    "annotations": rows(all_of_it.get_gpu_user_annotation_breakdown(
        visualize=False, num_kernels=1000, duration_ratio=1.0)),
    "bandwidth": rows(all_of_it.get_memory_bw_summary(ranks=ranks))}))
"""
SQL = """select r.name as name, r.category as category, r.begin_ns as begin_ns, r.end_ns as end_ns,
    r.args as args, l.track_id as stream from ranges r join tracks l on l.id = r.track
    where r.observer = 'cupti' and r.category in ('kernel', 'copy', 'set', 'graph')"""


def has_hta():
    if not pathlib.Path(PYTHON).exists():
        return False
    return subprocess.run([PYTHON, "-c", "import hta"], capture_output=True).returncode == 0


def make_rank(rank, scene, folder):
    """Record and export a scene. Return the recording, and the launch data that only the export has
    (no column in SQL)."""
    out, to = replay.folder / f"rank{rank}.annot", folder / f"rank{rank}.json"
    environment = {**os.environ, "ANNOT_CUPTI": str(FAKE), "FAKE_CUPTI": str(FAKE),
                   "RANK": str(rank), "WORLD_SIZE": str(len(SCENES))}
    for words in ["record", "--force", "--sampling=none", "--gpu", "-o", out, "--", PROGRAM,
                  replay.file_of(scene), "none"], ["export", "--force", out, "-o", to]:
        subprocess.run([ANNOT, *words], env=environment, check=True, capture_output=True,
                       timeout=120)
    return out, to


class Span:
    def __init__(self, row, shift_ns, origins):
        begin_ns, end_ns = row["begin_ns"] + shift_ns, row["end_ns"] + shift_ns
        self.begin, self.end = math.ceil(begin_ns / 1000), math.floor(end_ns / 1000)
        self.length = self.end - self.begin
        self.stream = int(row["stream"], 16) & 0xffffffff
        words = {"host to device": "HtoD", "device to host": "DtoH", "device to device": "DtoD"}
        self.is_compute = row["category"] in ("kernel", "graph")
        args = json.loads(row["args"] or "{}")
        if row["category"] == "copy":
            way = args.get("direction") or words[row["name"].removeprefix("copy ")]
            ends = [args[key].capitalize() for key in ("source", "destination") if key in args]
            self.name = f"Memcpy {way}" + (f" ({' -> '.join(ends)})" if len(ends) == 2 else "")
        elif row["category"] == "set":
            memory = args.get("memory", "").capitalize()
            self.name = "Memset" + (f" ({memory})" if memory else "")
        else:
            self.name = row["name"]
        self.kind = self.name[:11] if self.name.startswith("Memcpy") else "Memset"
        # CPU and GPU have the same values for a launch, so the launch is found by its place.
        self.origin = origins.get((self.stream, begin_ns))
        size = args.get("size [bytes]")
        length_ns = end_ns - begin_ns
        self.bandwidth = size / length_ns if size and length_ns else None


def spans_of(recording, trace):
    text = subprocess.run([ANNOT, "query", "--json", recording, SQL], check=True, text=True,
                          capture_output=True).stdout
    rows = [json.loads(line) for line in text.splitlines()]
    events = [event for event in json.loads(trace.read_text())["traceEvents"]
              if event["ph"] == "X" and "stream" in event.get("args", {})]
    shift_ns = round(min(event["ts"] for event in events) * 1000) - min(
        row["begin_ns"] for row in rows)
    origins = {(event["args"]["stream"], round(event["ts"] * 1000)):
               math.ceil((round(event["ts"] * 1000) - event["args"]["delay_ns"]) / 1000)
               for event in events if "delay_ns" in event["args"]}
    return [Span(row, shift_ns, origins) for row in rows]


def union(spans):
    """A span shorter than its rounding has a length of -1, and counts as such where it is alone."""
    total, begin, until = 0, None, None
    for span in sorted(spans, key=lambda each: each.begin):
        if until is None or span.begin > until:
            total += until - begin if until is not None else 0
            begin, until = span.begin, span.end
        until = max(until, span.end)
    return total + (until - begin if until is not None else 0)


def temporal_of(spans):
    whole = max(span.end for span in spans) - min(span.begin for span in spans)
    idle = whole - union(spans)
    compute = union([span for span in spans if span.is_compute])
    return idle, compute, whole - compute - idle, whole


def idle_of(spans):
    """Return the gaps before spans, by stream and category."""
    found = collections.Counter()
    for stream in {span.stream for span in spans}:
        last = None
        for span in sorted((span for span in spans if span.stream == stream),
                           key=lambda each: each.begin):
            if last is not None:
                gap = span.begin - last
                waits = span.origin is not None and span.origin > last
                kind = "host_wait" if waits else "kernel_wait" if gap < DELAY_US else "other"
                found[stream, kind] += gap
            last = span.end
    return {key: gap for key, gap in found.items() if gap}


def kernels_of(spans):
    found = collections.defaultdict(list)
    for span in spans:
        found[span.name].append(span.length)
    return {name: (sum(lengths), max(lengths), min(lengths)) for name, lengths in found.items()}


def bandwidth_of(spans):
    """Return number, mean and maximum. For names with spans too short for HTA to see, only the
    maximum: it adds begins and subtracts ends, which have no order for these."""
    found = collections.defaultdict(list)
    for span in spans:
        if span.bandwidth:
            found[span.kind].append(span.bandwidth)
    short = {span.kind for span in spans if span.length < 1}
    return {name: (max(rates), *(() if name in short else (len(rates), sum(rates) / len(rates))))
            for name, rates in found.items()}


def annotations_of(trace):
    """For each range, its work on a stream is one annotation, from the first begin to the last end:
    computed from the launches only, not from the rows of annotations. As sum, longest, shortest."""
    events = [event for event in json.loads(trace.read_text())["traceEvents"]
              if event["ph"] == "X"]
    found = collections.defaultdict(list)
    for around in events:
        if around.get("cat") != "user_annotation":
            continue
        streams = collections.defaultdict(list)
        for event in events:
            args = event.get("args", {})
            if "stream" not in args or args.get("start_tid") != around["tid"]:
                continue
            begin_ns = round(event["ts"] * 1000)
            launched_us = (begin_ns - args["delay_ns"]) / 1000
            if around["ts"] <= launched_us < around["ts"] + around["dur"]:
                streams[event["pid"], args["stream"]].append(
                    (begin_ns, begin_ns + round(event["dur"] * 1000)))
        for spans in streams.values():
            found[around["name"]].append(math.floor(max(end for _, end in spans) / 1000) -
                                         math.ceil(min(begin for begin, _ in spans) / 1000))
    return {name: (sum(lengths), max(lengths), min(lengths)) for name, lengths in found.items()}


def column(row, name):
    """Units are in the names of columns, and differ between versions."""
    return next(row[key] for key in row if key.split("(")[0].strip() == name)


def own(rows, rank):
    return [row for row in rows if row["rank"] == rank]


def begin_of(recording):
    """Return when the GPU began, in microseconds of wall-clock time."""
    info = json.loads(subprocess.run([ANNOT, "info", "--json", recording], check=True,
                                     capture_output=True).stdout)
    text = subprocess.run([ANNOT, "query", "--json", recording,
                           f"select min(begin_ns) as first from ({SQL})"], check=True, text=True,
                          capture_output=True).stdout
    return (int(info["begin_realtime_ns"]) + json.loads(text)["first"]) / 1000


def check_alignment(told, recordings):
    """Ranks that were recorded one after the other are shown one after the other."""
    wanted = [begin_of(recording) for recording in recordings]
    for got_us, wanted_us in zip(told["begins"], wanted):
        apart_us = (got_us - told["begins"][0]) - (wanted_us - wanted[0])
        assert abs(apart_us) < 5, (told["begins"], wanted)


def check_rank(told, rank, spans, trace):
    row = own(told["temporal"], rank)[0]
    mine = tuple(column(row, name) for name in ("idle_time", "compute_time", "non_compute_time",
                                                "kernel_time"))
    assert mine == temporal_of(spans), (rank, mine, temporal_of(spans))
    kernels = {row["name"]: (column(row, "sum"), column(row, "max"), column(row, "min"))
               for row in own(told["kernels"], rank)}
    assert kernels == kernels_of(spans), (rank, kernels, kernels_of(spans))
    annotations = {row["name"]: (column(row, "sum"), column(row, "max"), column(row, "min"))
                   for row in own(told["annotations"], rank)}
    assert annotations == annotations_of(trace), (rank, annotations, annotations_of(trace))
    idle = {(row["stream"], row["idle_category"]): row["idle_time"]
            for row in own(told["idle"], rank) if row["idle_time"]}
    assert idle == idle_of(spans), (rank, idle, idle_of(spans))
    rates = {row["name"]: (row["memory_bw_gbps max"], row["memory_bw_gbps count"],
                           row["memory_bw_gbps mean"]) for row in own(told["bandwidth"], rank)}
    expected = bandwidth_of(spans)
    assert rates.keys() == expected.keys(), (rank, rates, expected)
    for name, rate in rates.items():
        assert all(abs(one - other) <= 1e-6 * other
                   for one, other in zip(rate, expected[name])), (rank, name, rate, expected[name])


def main():
    if not has_hta():
        print(f"skipped: no HolisticTraceAnalysis in {PYTHON}")
        return 77
    folder = replay.folder / "ranks"
    folder.mkdir()
    made = [make_rank(rank, scene, folder) for rank, scene in enumerate(SCENES)]
    done = subprocess.run([PYTHON, "-c", ASK, folder, str(DELAY_US)], text=True,
                          capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["ranks"] == list(range(len(SCENES))), told["ranks"]
    check_alignment(told, [recording for recording, _ in made])
    for rank, files in enumerate(made):
        spans = spans_of(*files)
        check_rank(told, rank, spans, files[1])
        print(f"ok rank {rank}, {SCENES[rank]}: {len(spans)} spans, "
              f"{len(annotations_of(files[1]))} ranges")
    return 0


if __name__ == "__main__":
    sys.exit(main())
