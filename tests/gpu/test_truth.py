#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The numbers of `annot report` about GPUs, to the nanosecond: computed again from the data of the
second reader of recordings, in the simplest way.

    test_truth.py ANNOT TRUTH_PROGRAM [FAKE_CUPTI FAKE_PROGRAM]

With a replaying libcupti, the same is checked for the data of a real GPU.
"""

import collections
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "fake"))
import replay  # noqa: E402
import spans  # noqa: E402

ANNOT, PROGRAM, *FAKES = (pathlib.Path(word).resolve() for word in sys.argv[1:])
WORK = ("kernel", "copy", "set", "graph")
WAYS = {"HtoD": "to_device", "copy host to device": "to_device",
        "DtoH": "from_device", "copy device to host": "from_device"}


@dataclasses.dataclass
class Range:
    path: tuple
    begin_ns: int
    end_ns: int


def record(*command, options=(), **settings):
    """Return (the data of the second reader, the tables of the report)."""
    out = replay.folder / "truth.annot"
    subprocess.run([ANNOT, "record", "--force", "--sampling=none", *options, "-o", out, "--",
                    *command],
                   env={**os.environ, **settings}, check=True, capture_output=True, timeout=100)
    report = subprocess.run([ANNOT, "report", "--json", out], check=True, capture_output=True)
    return spans.read(out), json.loads(report.stdout)


def ranges_of(recorded):
    """Return all ranges that ended, of all threads."""
    found = []
    for times, stacks in recorded.open_ranges().values():
        open_at, before = [], ()
        for time, stack in zip(times, stacks):
            while len(open_at) > len(stack):
                found.append(Range(before[:len(open_at)], open_at.pop(), time))
            if len(stack) > len(before):
                open_at.append(time)
            before = stack
    return found


def union(intervals):
    merged = []
    for begin, end in sorted(each for each in intervals if each[0] < each[1]):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def within(merged, begin, end):
    return sum(max(0, min(end, b) - max(begin, a)) for a, b in merged)


def length(merged):
    return sum(end - begin for begin, end in merged)


def near(got, wanted):
    """Compare with the precision of a histogram."""
    return got is not None and abs(got - wanted) <= wanted / 64


def quantile(values, fraction):
    rank = max(1, -(-len(values) * round(fraction * 100) // 100))
    return sorted(values)[rank - 1]


def check_names(recorded, tables):
    by_name = collections.defaultdict(list)
    for span in recorded.spans:
        if not span.queue: # the thread's own activities are among its ranges
            continue
        if span.name.endswith(("window rests", "window goes on")): # instants, without a duration
            assert span.begin_ns == span.end_ns
            continue
        by_name[span.role, span.name, span.args.get("direction") or None].append(
            span.end_ns - span.begin_ns)
    rows = {("kernel", row["name"], None): row for row in tables["gpu_kernels"]
            if not row.get("rest")}
    rows |= {(row["kind"], row["name"], row.get("direction") or None): row
             for row in tables["gpu_operations"]}
    assert len(rows) == len(tables["gpu_kernels"]) + len(tables["gpu_operations"]) - 1, rows
    for key, times in by_name.items():
        row = rows[key if key[0] == "copy" else (*key[:2], None)]
        assert (row["count"], row["total_ns"]) == (len(times), sum(times)), (row, times)
        assert (row["min_ns"], row["max_ns"]) == (min(times), max(times)), row
        assert near(row["p50_ns"], quantile(times, 0.5)), row
        assert near(row["p95_ns"], quantile(times, 0.95)), row


def check_shapes(recorded, tables):
    shapes = collections.defaultdict(collections.Counter)
    for span in recorded.spans:
        if span.role == "kernel":
            shapes[span.name][tuple(span.args.get(key) for key in (
                "grid", "block", "registers", "shared memory [bytes]"))] += 1
    for row in tables["gpu_kernels"]:
        if row.get("rest"):
            continue
        count = shapes[row["name"]][row["grid"], row["block"], row["registers"],
                                    row["shared_bytes"]]
        assert count == max(shapes[row["name"]].values()), (row, shapes)
        assert row["shape_count"] == len(shapes[row["name"]]), (row, shapes)


def check_sources(tables, work):
    """Return the innermost range that launched most of the time of each name."""
    times = collections.defaultdict(collections.Counter)
    for span in work:
        if span.origin_ns is not None:
            role = "kernel" if span.role == "kernel" else "other"
            times[role, span.name]["/".join(span.ranges)] += span.end_ns - span.begin_ns
    rows = [("kernel", row) for row in tables["gpu_kernels"] if not row.get("rest")]
    rows += [("other", row) for row in tables["gpu_operations"]
             if row["kind"] in WORK and not row.get("direction")]
    for role, row in rows:
        told = times[role, row["name"]]
        assert "range" in row or not told, (row, told)
        assert not told or told[row["range"]] == row["range_ns"] == max(told.values()), (row, told)


def sums_by_path(work):
    """By path, including those below. () is work without a range."""
    sums = collections.defaultdict(lambda: collections.defaultdict(int))
    delays = collections.defaultdict(list)
    for span in work:
        time = span.end_ns - span.begin_ns
        for depth in range(len(span.ranges) + 1):
            one = sums[span.ranges[:depth]]
            innermost = depth == len(span.ranges)
            if depth == 0 and not innermost:
                continue
            one["launched"] += 1
            one["gpu_ns"] += time
            one["gpu_self_ns"] += time if innermost else 0
            if span.role == "copy":
                way = WAYS.get(span.args.get("direction") or span.name, "other_copied")
                one[way + "_bytes"] += span.args["size [bytes]"]
                one[way + "_ns"] += time
            if span.begin_ns >= span.origin_ns and not span.args.get("graph"):
                delays[span.ranges[:depth]].append(span.begin_ns - span.origin_ns)
    return sums, delays


def check_sums(row, sums, delays):
    for key in "launched", "gpu_ns", "gpu_self_ns", "to_device_bytes", "from_device_bytes", \
            "other_copied_bytes":
        assert row[key] == sums[key], (key, row, dict(sums))
    for way in "to_device", "from_device", "other_copied":
        pace = row.get(way + "_gb_per_s")
        if sums[way + "_bytes"]:
            exact = sums[way + "_bytes"] / sums[way + "_ns"]
            assert abs(pace - exact) <= exact / 1000, (row, dict(sums))
        else:
            assert pace is None, row
    if delays:
        assert near(row["delay_p50_ns"], quantile(delays, 0.5)), (row, delays)
        assert near(row["delay_p95_ns"], quantile(delays, 0.95)), (row, delays)


def watched_of(recorded, busy):
    """When a window was open, or work is known to have run. None: always."""
    edges = sorted((span.end_ns, span.name.endswith(("opens", "goes on")))
                   if not span.name.endswith("shuts") else (span.begin_ns, False)
                   for span in recorded.spans if "window" in span.name)
    if not edges:
        return None
    times, is_open = [], False
    for time, opens in edges:
        if opens != is_open:
            times.append(time)
        is_open = opens
    assert not is_open and len(times) % 2 == 0, edges
    return union([*zip(times[::2], times[1::2]), *map(tuple, busy)])


def asked_for(work):
    """When launched work had not ended."""
    return union((min(span.origin_ns, span.begin_ns)
                  if span.origin_ns is not None and not (span.args.get("graph") and
                                                         span.role != "graph")
                  else span.begin_ns, span.end_ns) for span in work)


def starved_in(begin, end, watched, asked):
    looked = [[begin, end]] if watched is None else [
        [max(begin, each[0]), min(end, each[1])] for each in watched if
        each[0] < end and begin < each[1]]
    return sum(until - since - within(asked, since, until) for since, until in looked)


def check_ranges(recorded, tables, work, busy):
    asked = asked_for(work)
    sums, delays = sums_by_path(span for span in work if span.origin_ns is not None)
    watched = watched_of(recorded, busy)
    open_ns, idle_ns, starved_ns = (collections.Counter() for _ in range(3))
    for each in ranges_of(recorded):
        begin, end = each.begin_ns, each.end_ns
        looked = end - begin if watched is None else within(watched, begin, end)
        open_ns[each.path] += looked
        idle_ns[each.path] += looked - within(busy, begin, end)
        starved_ns[each.path] += starved_in(begin, end, watched, asked)
    told = {}
    for row in tables["gpu_ranges"]:
        if row.get("rest") == "launch not known":
            unknown = [span for span in work if span.origin_ns is None]
            assert row["launched"] == len(unknown), row
            continue
        path = () if row.get("rest") else tuple(row["path"].split("/"))
        told[path] = row
        check_sums(row, sums[path], delays[path])
        assert path == () or row.get("idle_of_ns", 0) == open_ns[path], (row, open_ns[path])
        assert not open_ns[path] or row["idle_ns"] == idle_ns[path], (row, idle_ns[path])
        assert not open_ns[path] or row["starved_ns"] == starved_ns[path], (row, starved_ns[path])
    for path in sums:
        assert path in told or path == () and not sums[()], (path, told.keys())
    for path, row in told.items():
        inside = sum(each.get("idle_ns", 0) for other, each in told.items()
                     if other and other[:-1] == path and path)
        assert not path or row.get("idle_self_ns", 0) == row.get("idle_ns", 0) - inside, row


def check_queues(recorded, tables, work, busy):
    queues = collections.defaultdict(list)
    for span in work:
        queues[span.queue].append((span.begin_ns, span.end_ns))
    assert sum(row["kind"] == "device" for row in tables["gpu_queues"]) == 1
    watched = watched_of(recorded, busy)
    for row in tables["gpu_queues"]:
        merged = busy if row["kind"] == "device" else union(queues[row["queue"]])
        assert row["busy_ns"] == length(merged), row
        assert row["gap_count"] == len(merged) - 1, row
        assert row["longest_gap_ns"] == max(
            (after[0] - before[1] for before, after in zip(merged, merged[1:])), default=0), row
        assert watched is None or row["watched_ns"] == length(watched), row
        assert row["idle_ns"] == row["watched_ns"] - row["busy_ns"], row
        assert (row["kind"] == "queue") == ("starved_ns" not in row), row
        if watched is not None and row["kind"] == "device":
            starved = starved_in(watched[0][0], watched[-1][1], watched, asked_for(work))
            assert row["starved_ns"] == starved, (row, starved)


def check(recorded, tables):
    work = [span for span in recorded.spans if span.role in WORK]
    busy = union((span.begin_ns, span.end_ns) for span in work)
    check_names(recorded, tables)
    check_shapes(recorded, tables)
    check_sources(tables, work)
    check_ranges(recorded, tables, work, busy)
    check_queues(recorded, tables, work, busy)
    return work


def a_program_is_reported_as_it_was():
    recorded, tables = record(PROGRAM, "20")
    work = check(recorded, tables)
    # The program's own numbers.
    assert len(work) == 1 + 20 * (1 + 8 + 1 + 4 + 1) + 20, len(work)
    forward = next(row for row in tables["gpu_ranges"] if row["path"] == "step/forward")
    assert forward["gpu_ns"] == 20 * 1000 * (4 * 180 + 7 * 6 + 4 * 20), forward
    assert forward["gpu_self_ns"] == 0 and forward["launched"] == 160, forward
    load = next(row for row in tables["gpu_ranges"] if row["path"] == "step/data.load")
    assert load["to_device_bytes"] == 20 * (4 << 20), load
    assert load["idle_ns"] > 0.9 * load["total_ns"] - 20 * 120_000, load
    gemm = next(row for row in tables["gpu_kernels"] if "gemm" in row["name"])
    assert gemm["short_name"] == "ampere::gemm<…>" and gemm["shape_count"] == 2, gemm
    assert gemm["grid"] == "64,8,1", gemm
    assert gemm["range"] == "step/backward", gemm
    text = subprocess.run([ANNOT, "report", "--all", "--table", "gpu_kernels",
                           replay.folder / "truth.annot"], check=True, capture_output=True,
                          text=True, env={**os.environ, "COLUMNS": "200"}).stdout
    assert "launched from" in text and "step/backward" in text and "(outside)" in text, text


def the_headline_says_what_the_tables_say():
    record(PROGRAM, "10")
    text = subprocess.run([ANNOT, "report", replay.folder / "truth.annot"], check=True,
                          capture_output=True, text=True).stdout.replace("\n", " ")
    assert "GPU 0 was busy" in text and "ampere::gemm<…> took" in text, text
    assert "launched" in text and "passed in" in text and "had nothing to do" in text, text


def headline_of(events):
    """From a trace in the format of torch.profiler, in microseconds."""
    trace, out = replay.folder / "made.json", replay.folder / "made.annot"
    trace.write_text(json.dumps({"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, **event}
                                                 for event in events]}))
    subprocess.run([ANNOT, "import", "--force", "-o", out, trace], check=True, capture_output=True)
    return subprocess.run([ANNOT, "report", out], check=True, capture_output=True,
                          text=True).stdout.replace("\n", " ")


def the_headline_names_the_op_that_launched_and_not_the_call_of_cuda():
    events = []
    for number in range(10):
        at = 1000 * number
        events += [
            {"cat": "cpu_op", "name": "aten::addmm", "ts": at, "dur": 90},
            {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 10, "dur": 5,
             "args": {"correlation": number + 1}},
            {"cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 20, "dur": 600,
             "args": {"correlation": number + 1, "stream": 7, "device": 0}}]
    text = headline_of(events)
    assert "aten::addmm launched 100 % of it" in text, text
    assert "had nothing to do for 36 %." in text, text  # 9 times 390 us of 9.62 ms


def differences(*words):
    told = subprocess.run([ANNOT, "diff", "--json", *words], check=True,
                          capture_output=True)
    return json.loads(told.stdout)


def row_of(rows, name, metric):
    return next(row for row in rows if row["name"] == name and row["metric"] == metric)


def products_that_take_half_again_as_long_are_slower():
    sides = []
    for percent in ("100", "150"):
        sides.append([])
        for run in range(3):
            record(PROGRAM, "5", percent)
            path = replay.folder / f"truth{percent}.{run}.annot"
            (replay.folder / "truth.annot").replace(path)
            sides[-1].append(path)
    told = differences(*sides[0], "vs", *sides[1])
    # In nanoseconds: five steps of four products forward and four backward.
    usual = 5 * sum((180 + 7 * layer + 260 - 11 * layer) * 1000 for layer in range(4))
    longer = 5 * sum(((180 + 7 * layer) * 3 // 2 + (260 - 11 * layer) * 3 // 2) * 1000
                     for layer in range(4))
    gemm = row_of(told["gpu_kernels"], "ampere::gemm<…>", "total")
    assert (gemm["a"], gemm["b"]) == (usual, longer), gemm
    assert gemm["change"] > 0.49 and gemm["difference"] == longer - usual, gemm
    step = row_of(told["gpu_ranges"], "step", "gpu")
    assert step["difference"] == longer - usual, step
    copy = row_of(told["gpu_operations"], "copy host to device", "total")
    assert copy["difference"] == 0, copy
    busy = row_of(told["runs"], "GPU busy [%]", "value")
    shares = []
    for path in sides[0]:
        report = subprocess.run([ANNOT, "report", "--json", path], check=True, capture_output=True)
        device, = (row for row in json.loads(report.stdout)["gpu_queues"]
                   if row["kind"] == "device")
        shares.append(100 * device["busy_ns"] / device["watched_ns"])
    assert busy["a"] == sorted(shares)[1] > 0, (busy, shares)
    one = differences(sides[0][0], sides[1][0])  # one of each: by batches of single kernels
    each = row_of(one["gpu_kernels"], "ampere::gemm<…>", "each")
    assert each["verdict"] == "slower" and each["change"] > 0.4, each
    # Not the first screen: on a busy machine, waits of the host differ more.
    text = subprocess.run([ANNOT, "diff", "--all", sides[0][0], sides[1][0]], check=True,
                          capture_output=True, text=True).stdout
    total = r"^ampere::gemm<…> +total +8\.68 ms +13\.0 ms +\+50 % "
    assert re.search(total, text, re.M), text


def what_a_gpu_did_is_reported_as_it_was():
    for scene in ("streams", "copies", "graph", "graph-nodes", "sync"):
        options = ("--gpu=nodes",) if scene == "graph-nodes" else ("--gpu",)
        fake, program = FAKES
        recorded, tables = record(program, replay.file_of(scene), "none", options=options,
                                  ANNOT_CUPTI=str(fake), FAKE_CUPTI=str(fake))
        assert check(recorded, tables), scene


if __name__ == "__main__":
    sys.exit(replay.run_cases([a_program_is_reported_as_it_was,
                               the_headline_says_what_the_tables_say,
                               the_headline_names_the_op_that_launched_and_not_the_call_of_cuda,
                               products_that_take_half_again_as_long_are_slower,
                               *([what_a_gpu_did_is_reported_as_it_was] if FAKES else [])]))
