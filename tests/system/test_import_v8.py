#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU profiles of V8 as recordings: own times of functions agree with Chrome's developer tools,
where a sample lasts until the next one. As test_import.py."""

import collections
import json
import random
import shutil
import subprocess

from harness import Skip, case, check, equal, main
from imports import imported, query, refuses, written

PROGRAM = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function spin() { let sum = 0; for (let i = 0; i < 8; i++) sum += fib(22); return sum; }
spin(); setTimeout(spin, 60);
"""


def place(node):
    frame = node["callFrame"]
    return frame["functionName"] or "(anonymous)", frame.get("url", "")


def own_times(profile):
    """By function, microseconds; straight from the file."""
    nodes = {node["id"]: node for node in profile["nodes"]}
    time_us, told = profile["startTime"], []
    for delta, sample in zip(profile["timeDeltas"], profile["samples"]):
        time_us += delta
        told.append((time_us, sample))
    told.sort(key=lambda one: one[0])
    own = collections.Counter()
    for (begin_us, sample), (end_us, _) in zip(told, [*told[1:], (profile["endTime"], None)]):
        own[place(nodes[sample])] += max(end_us - begin_us, 0)
    return {key: value for key, value in own.items() if value}


def own_times_in(home, path):
    rows = query(home, path, "select function, coalesce(file, '') as file, "
                             "sum(cpu_ns) + sum(blocked_ns) as ns from samples group by 1, 2")
    return {(row["function"], row["file"]): row["ns"] / 1000 for row in rows if row["ns"]}


def totals_of(profile):
    """Samples with the function on their stack, by its name; those of "(idle)" become one wait."""
    nodes = {node["id"]: node for node in profile["nodes"]}
    parents = {child: node["id"] for node in profile["nodes"] for child in node.get("children", [])}
    totals = collections.Counter()
    for sample in profile["samples"]:
        names = set()
        while sample:
            names.add(place(nodes[sample])[0])
            sample = parents.get(sample)
        totals.update(names - {"(root)", "(idle)"})
    return totals


def totals_in(home, path):
    frames = collections.defaultdict(set)
    for row in query(home, path, "select stack, function from stack_frames"):
        frames[row["stack"]].add(row["function"])
    totals = collections.Counter()
    for row in query(home, path, "select stack, count(*) as n from samples group by 1"):
        for name in frames[row["stack"]] - {"(idle)"}:
            totals[name] += row["n"]
    return totals


def made_profile(random_, count=400):
    """A tree, with times that go back now and then, and ticks of lines."""
    names = ["(root)", "(program)", "(idle)", "(garbage collector)", "", "load", "parse", "load"]
    nodes = [dict(id=i + 1, hitCount=0, callFrame=dict(
        functionName=name, scriptId="1", url="file:///a.js" if i > 3 else "",
        lineNumber=10 * i if i > 3 else -1, columnNumber=4)) for i, name in enumerate(names)]
    for i in range(1, len(nodes)):
        above = nodes[random_.randrange(4, i)] if i > 4 else nodes[0]
        above.setdefault("children", []).append(i + 1)
    samples = [random_.randrange(2, len(nodes) + 1) for _ in range(count)]
    deltas = [random_.choice([0, 1, 125, 1000, -60]) + 60 for _ in range(count)]
    deltas = [delta if random_.random() < 0.95 else -30 for delta in deltas]
    ticks = collections.defaultdict(collections.Counter)
    for sample in samples:
        if sample > 4:
            ticks[sample][10 * sample + random_.randrange(3)] += 1
    for node in nodes:
        if ticks[node["id"]]:
            node["positionTicks"] = [dict(line=line, ticks=n)
                                     for line, n in ticks[node["id"]].items()]
    begin = 5_000_000
    return dict(nodes=nodes, startTime=begin, endTime=begin + sum(deltas) + 777, samples=samples,
                timeDeltas=deltas), ticks


@case
def own_times_of_profiles_are_those_of_the_file(home):
    for seed in range(8):
        profile, ticks = made_profile(random.Random(seed))
        text = json.dumps(profile, sort_keys=seed % 2 == 1)
        path, said = imported(home, written(home, text, "x.cpuprofile"))
        check("until the next one" in said, said)
        equal(own_times_in(home, path), own_times(profile), f"own times of seed {seed}")
        equal(totals_in(home, path), totals_of(profile), f"samples of seed {seed}")
        rows = query(home, path, "select line, count(*) as n from samples "
                                 "where file is not null group by 1")
        lines = collections.Counter()
        for counts in ticks.values():
            lines.update(counts)
        equal({row["line"]: row["n"] for row in rows}, dict(lines), f"lines of seed {seed}")


def trace_of(profile, sort_keys, cut=37):
    """As Chrome's tracing has it: in pieces, from a thread of the profiler."""
    parents = {child: node["id"] for node in profile["nodes"] for child in node.get("children", [])}
    nodes = [dict(id=node["id"], callFrame=node["callFrame"],
                  **({"parent": parents[node["id"]]} if node["id"] in parents else {}))
             for node in profile["nodes"]]
    common = dict(ph="P", cat="disabled-by-default-v8.cpu_profiler", pid=7, id="0x1")
    events = [dict(common, tid=8, name="Profile", ts=1, args=dict(
        data=dict(startTime=profile["startTime"]))),
              dict(ph="X", pid=7, tid=8, name="run", ts=profile["startTime"], dur=5,
                   args=dict(data=dict(startTime=3, url="u", lines=[1])))]
    for at in range(0, len(profile["samples"]), cut):
        data = dict(cpuProfile=dict(samples=profile["samples"][at:at + cut]),
                    timeDeltas=profile["timeDeltas"][at:at + cut])
        if at == 0:
            data["cpuProfile"]["nodes"] = nodes
        events.append(dict(common, tid=9, name="ProfileChunk", ts=2 + at, args=dict(data=data)))
    events.append(dict(common, tid=9, name="ProfileChunk", ts=3,
                       args=dict(data=dict(endTime=profile["endTime"]))))
    return json.dumps(dict(traceEvents=events), sort_keys=sort_keys)


@case
def profiles_in_traces_are_those_of_files(home):
    for sort_keys in (False, True):
        profile, _ = made_profile(random.Random(3))
        path, _ = imported(home, written(home, trace_of(profile, sort_keys)))
        equal(own_times_in(home, path), own_times(profile), "own times")
        rows = query(home, path, "select distinct tid from samples")
        equal([row["tid"] for row in rows], [8], "the thread that is profiled")
        args = query(home, path, "select args from ranges")[0]["args"]
        equal(json.loads(json.loads(args)["data"]), {"startTime": 3, "url": "u", "lines": [1]},
              "the values of another event")


@case
def a_thread_has_one_profile_at_a_time(home):
    profile, _ = made_profile(random.Random(4))
    events = json.loads(trace_of(profile, False))["traceEvents"]
    again = [dict(event, id="0x2") for event in events if event["ph"] == "P"]
    path, said = imported(home, written(home, json.dumps(events + again)))
    equal(own_times_in(home, path), own_times(profile), "own times")
    check(f"overlap another one of their thread: {len(profile['samples'])}" in said, said)


@case
def what_node_writes_is_read(home):
    node = shutil.which("node")
    if not node:
        raise Skip("node is missing")
    source = written(home, PROGRAM, "a.js")
    subprocess.run([node, "--cpu-prof", "--cpu-prof-name=a.cpuprofile", source], cwd=home.work,
                   check=True)
    profile = json.loads((home.work / "a.cpuprofile").read_text())
    path, _ = imported(home, home.work / "a.cpuprofile")
    equal(own_times_in(home, path), own_times(profile), "own times")
    equal(totals_in(home, path), totals_of(profile), "samples")
    check("fib" in home.annot("report", path).ok().out.decode(), "the program's functions")


@case
def wrong_profiles_are_refused(home):
    profile, _ = made_profile(random.Random(1), 20)
    text = json.dumps(profile)
    for length in range(1000, len(text) - 2, 397):
        refuses(home, text[:length], options=("--from-format", "v8"))
    refuses(home, "{}", "no samples of V8", options=("--from-format", "v8"))
    profile["samples"][3:5] = [99, "x"]  # an unknown node
    _, said = imported(home, written(home, json.dumps(profile), "x.cpuprofile"))
    check("left out: events without what they need" in said, said)


if __name__ == "__main__":
    main()
