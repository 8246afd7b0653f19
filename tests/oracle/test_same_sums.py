#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random recordings: every reader and exporter returns the same sums, and those of any --from and
--to equal those of the whole recording, cut.

    test_same_sums.py ANNOT ORACLE_LOAD [RECORDINGS [SEED]]

Compared for each process, lane and name: count, total time, self time (of ranges on threads by
path); marks, counters and flows; samples and stretches of each thread. Readers: annot cat, annot
report, annot query (if built), pyannot.read (if built, only whole recordings), the Chrome and
Perfetto exports through the test's readers, folded stacks. The same holds for a process, a thread
and, except in the report, ranges of a name. The test itself cuts the output of annot cat. Merging
two recordings of different hosts and times keeps the content of both. Last, each sum is falsified,
and each must be detected.
"""

import collections
import functools
import importlib.util
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import random_recording

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "system"))
import traces

STEPS, CUTS = 1500, 4
FLOWS = ("flow_begin", "flow_step", "flow_end")


def without_domain(path):
    return path.replace("domain:", "")


class Sums(dict):
    """{(kind, pid, tid or 0, name or path): [count, total, self]}."""

    def add(self, kind, place, name, *numbers):
        sums = self.setdefault((kind, *place, name), [0] * (1 + len(numbers)))
        for i, number in enumerate((1, *numbers)):
            sums[i] += number


# ---- annot cat -----------------------------------------------------------------------------------

def cat_lines(annot, path, *options):
    out = run(annot, "cat", "--json", "--complete", "--samples", *options, path)
    return [json.loads(line) for line in out.splitlines()]


def clipped(begin, end, first, last):
    """The part of [begin, end] that lies in [first, last), or None."""
    if begin >= last or (end <= first and begin < first):
        return None
    return max(begin, first), min(end, last)


def add_stretch(sums, line, first, last):
    """A stretch is first blocked, then ready."""
    begin, end = line["time_ns"], line["time_ns"] + line["duration_ns"]
    ready = end - line.get("runnable_ns", 0)
    part = clipped(begin, end, first, last)
    if part:
        blocked = max(min(part[1], ready) - part[0], 0)
        sums.add("off", (line["pid"], line["tid"]), "", part[1] - part[0] - blocked, blocked)


def add_ranges(sums, ranges, first, last):
    """Adds cut durations; subtracts a range's children from its self time."""
    lanes = collections.defaultdict(list)
    for line in ranges:
        part = clipped(line["time_ns"], line["time_ns"] + line["duration_ns"], first, last)
        place = (line["pid"], line["tid"])
        if part and line["kind"] != "pushed":
            sums.add(line["kind"], (place[0], 0), line["name"], part[1] - part[0])
        elif part:
            lanes[place].append((line, part[1] - part[0]))
    for place, lane in lanes.items():
        inside = collections.Counter()  # by depth: time of the children of the next range
        for line, length in lane:  # in order of their ends
            own = length - inside.pop(line["depth"] + 1, 0)
            inside[line["depth"]] += length
            sums.add("pushed", place, without_domain(line["path"]), length, own)


def cat_sums(lines, first=float("-inf"), last=float("inf")):
    sums = Sums()
    add_ranges(sums, [line for line in lines if line["event"] == "range"], first, last)
    for line in lines:
        kind, place = line["event"], (line["pid"], line.get("tid"))
        if kind == "off_cpu":
            add_stretch(sums, line, first, last)
        if not first <= line["time_ns"] < last:
            continue
        if kind == "sample":
            sums.add("cpu", place, "", line["cpu_ns"])
        elif kind == "counter":
            sums.add("counter", (place[0], 0), line["name"], line["value"])
        elif kind == "mark" or kind in FLOWS:
            sums.add("flow" if kind in FLOWS else "mark", (place[0], 0), line.get("name", ""))
    return sums


# ---- annot report --------------------------------------------------------------------------------

def report_sums(annot, path, *options):
    by = {word: json.loads(run(annot, "report", "--json", "--all", "--by", word, *options, path))
          for word in ("thread", "process")}
    sums = Sums()
    for row in by["thread"]["ranges"]:
        if row.get("count"):
            key = ("pushed", row["pid"], row["tid"], without_domain(row["path"]))
            had = sums.get(key, [0, 0, 0])  # same name in two domains
            sums[key] = [a + row[b] for a, b in zip(had, ("count", "total_ns", "self_ns"),
                                                   strict=True)]
    for kind, table in (("overlapping", "overlapping_ranges"), ("track", "track_ranges")):
        for row in by["process"][table]:
            if row.get("count"):
                had = sums.setdefault((kind, row["pid"], 0, row["path"].split("/")[-1]), [0, 0])
                had[0] += row["count"]
                had[1] += row["total_ns"]
    for row in by["process"]["marks"]:
        sums["mark", row["pid"], 0, row["name"]] = [row["count"]]
    for row in by["process"]["counters"]:
        sums["counter", row["pid"], 0, row["name"]] = [row["count"], row["value_sum"]]
    for row in by["thread"]["threads"]:
        if row["sample_count"]:
            sums["cpu", row["pid"], row["tid"], ""] = [row["sample_count"], row["cpu_ns"]]
        if row["runnable_ns"] or row["blocked_ns"]:
            sums["off", row["pid"], row["tid"], ""] = [row["runnable_ns"], row["blocked_ns"]]
    return sums


# ---- Exports -------------------------------------------------------------------------------------

def add_point(sums, pid, name):
    kind = {"m": "mark", "f": "flow"}.get(name[0])
    if kind:
        sums.add(kind, (pid, 0), name)


class Perfetto(traces.Perfetto):
    """Adds nested tracks, points of flows, samples."""

    def __init__(self):
        super().__init__()
        self.sums, self.samples = Sums(), 0

    def pid(self, track):
        while "pid" not in track:
            track = self.tracks[track["parent"]]
        return track["pid"]

    def packet(self, data):
        super().packet(data)
        for number, value in traces.fields(data):
            assert number != 8 or value < 2**63, "a viewer drops what has a negative time"
            if number == 54:
                self.samples += sum(field == 1 for field, _ in traces.fields(value))

    def counter(self, uuid, time, value):
        self.sums.add("counter", (self.pid(self.tracks[uuid]), 0), self.tracks[uuid]["name"],
                      int(value))

    def finish(self):
        for uuid, events in self.slices.items():
            track = self.tracks[uuid]
            parent = self.tracks.get(track["parent"], {})
            row = track["name"].rpartition(": ")[2]
            thread = track.get("thread") or (row == "ranges" and parent.get("thread"))
            of_samples = row in ("run state", "stacks") and "thread" in parent
            if track["name"] != "lost" and not of_samples and not track.get("session"):
                self.finish_lane(thread, track, sorted(events, key=lambda row: row[:2]))
        return self.sums

    def finish_lane(self, thread, track, events):
        stack = []  # begin, name, time inside
        for time, _, kind, name, _ in events:
            if kind == 1:
                stack.append([time, name, 0])
            elif kind == 2:
                begin, name, inside = stack.pop()
                path = "/".join([entry[1] for entry in stack] + [name])
                if stack:
                    stack[-1][2] += time - begin
                if thread:
                    self.sums.add("pushed", thread, path, time - begin, time - begin - inside)
                else:
                    self.sums.add("track" if name[0] == "s" else "overlapping",
                                  (self.pid(track), 0), name, time - begin)
            else:
                add_point(self.sums, thread[0] if thread else self.pid(track), name)


def perfetto_sums(annot, path, *options):
    reader = Perfetto()
    for _, packet in traces.fields(run(annot, "export", "-f", "perfetto", *options, path, "-o",
                                       "-")):
        reader.packet(packet)
    return reader.finish(), reader.samples


def chrome_pushed(sums, place, slices):
    """Nests slices by time and, if equal, by their place in the file."""
    stack = []  # end, path, own sums
    order = sorted(range(len(slices)), key=lambda i: (slices[i][0], -slices[i][1], i))
    for begin, duration, name in (slices[i] for i in order):
        while stack and stack[-1][0] <= begin and (duration or stack[-1][0] < begin):
            stack.pop()
        path = (stack[-1][1] + "/" if stack else "") + name
        sums.add("pushed", place, path, duration, duration)
        if stack:
            sums["pushed", *place, stack[-1][1]][2] -= duration
        stack.append((begin + duration, path))


def chrome_async(sums, event, open_ranges):
    key = (event["pid"], event["cat"], event["id2"]["local"])
    time = traces.nanoseconds(event["ts"])
    if event["ph"] == "b":
        open_ranges.setdefault(key, []).append((time, event["name"]))
        return
    begin, name = open_ranges[key].pop()
    sums.add("track" if name[0] == "s" else "overlapping", (event["pid"], 0), name, time - begin)


def chrome_sums(annot, path, *options):
    document = json.loads(run(annot, "export", "-f", "chrome", *options, path, "-o", "-"),
                          parse_float=str)
    sums, complete, open_ranges = Sums(), collections.defaultdict(list), {}
    rows = {(event["pid"], event["tid"]) for event in document["traceEvents"]
            if event.get("name") == "thread_name" and
            event["args"]["name"].endswith((": run state", ": stacks"))}  # of samples
    for event in document["traceEvents"]:
        phase, pid = event["ph"], event["pid"]
        if (pid, event["tid"]) in rows:
            continue
        if phase in "be":
            chrome_async(sums, event, open_ranges)
        elif phase == "X" and not event["name"].startswith("lost "):
            complete[pid, event["tid"]].append(
                (traces.nanoseconds(event["ts"]), traces.nanoseconds(event["dur"]), event["name"]))
        elif phase in "in" and "note" not in event.get("args", {}):
            add_point(sums, pid, event["name"])
        elif phase == "C":
            sums.add("counter", (pid, 0), event["name"], int(event["args"]["value"]))
    for place, slices in complete.items():
        chrome_pushed(sums, place, slices)
    return sums


def folded_sums(annot, path, *options):
    """Sums in microseconds; the recording's samples are whole microseconds."""
    out = run(annot, "export", "-f", "folded", *options, path, "-o", "-").decode()
    return 1000 * sum(int(line.rpartition(" ")[2]) for line in out.splitlines())


# ---- annot query ---------------------------------------------------------------------------------

QUERIES = {
    "pushed": "pid, tid, path, count(*), sum(duration_ns), sum(self_ns) from ranges "
              "where kind = 'pushed' group by 1, 2, 3",
    "overlapping": "pid, 0, name, count(*), sum(duration_ns) from ranges "
                   "where kind = 'overlapping' group by 1, 3",
    "track": "pid, 0, name, count(*), sum(duration_ns) from ranges where kind = 'track' "
             "group by 1, 3",
    "mark": "pid, 0, name, count(*) from marks group by 1, 3",
    "counter": "pid, 0, name, count(*), sum(value) from counters group by 1, 3",
    "flow": "pid, 0, coalesce(name, ''), count(*) from flows group by 1, 3",
    "cpu": "pid, tid, '', count(*), sum(cpu_ns) from samples where sample_set = 'cpu' "
           "group by 1, 2",
}


def query_sums(annot, path, *options):
    sums = Sums()
    for kind, sql in QUERIES.items():
        out = run(annot, "query", "--json", *options, path, "select " + sql)
        for line in out.splitlines():
            pid, tid, name, *numbers = json.loads(line).values()
            key = (kind, pid, tid, without_domain(name))
            sums[key] = [a + b for a, b in zip(sums.get(key, [0] * 3), numbers)]
    return sums


# ---- pyannot.read --------------------------------------------------------------------------------

def python_sums(path):
    import pyannot
    recording, sums = pyannot.read(path), Sums()
    for row in recording.ranges:
        place, length = (row.thread.process.pid, row.thread.tid), row.end_ns - row.begin_ns
        if row.kind == "pushed":
            sums.add("pushed", place, without_domain("/".join(row.path)), length, row.self_ns)
        else:
            sums.add(row.kind, (place[0], 0), row.name, length)
    return sums


# ---- The comparison ------------------------------------------------------------------------------

def run(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout


KINDS = {  # kinds of each reader, and the count of numbers
    "report": {"pushed": 3, "overlapping": 2, "track": 2, "mark": 1, "counter": 2, "cpu": 2},
    "perfetto": {"pushed": 3, "overlapping": 2, "track": 2, "mark": 1, "counter": 2, "flow": 1,
                 },
    "chrome": {"pushed": 3, "overlapping": 2, "track": 2, "mark": 1, "counter": 2, "flow": 1},
    "query": {"pushed": 3, "overlapping": 2, "track": 2, "mark": 1, "counter": 2, "flow": 1,
              "cpu": 2},
    "python": {"pushed": 3, "overlapping": 2, "track": 2},
    "cut": {"pushed": 3, "overlapping": 2, "track": 2, "mark": 1, "counter": 2, "flow": 1,
            "cpu": 2, "off": 3},
}


def differences(reader, told, expected):
    """Lines that describe the differences."""
    kinds = KINDS[reader]
    found = []
    for key in sorted(set(told) | set(expected), key=repr):
        if key[0] in kinds:
            numbers = [sums.get(key, [0] * 3)[:kinds[key[0]]] for sums in (told, expected)]
            if numbers[0] != numbers[1] and any(numbers[0] + numbers[1]):
                found.append(f"{reader}: {key} has {numbers[0]}, not {numbers[1]}")
    return found


def off_differences(told, expected):
    """Compares only a report's two times of stretches."""
    both = [{key: value[-2:] for key, value in sums.items() if key[0] == "off"}
            for sums in (told, expected)]
    both = [{key: value for key, value in sums.items() if any(value)} for sums in both]
    return [] if both[0] == both[1] else [f"report: stretches {both[0]}, not {both[1]}"]


def check_all(annot, path, expected, options, with_python):
    perfetto, samples = perfetto_sums(annot, path, *options)
    told = {"perfetto": perfetto, "chrome": chrome_sums(annot, path, *options)}
    found = []
    if "--range" not in options:  # a report of a range only has calls, functions and waits
        told["report"] = report_sums(annot, path, *options)
        found = off_differences(told["report"], expected)
    if has_query(annot):
        told["query"] = query_sums(annot, path, *options)
    if with_python:
        told["python"] = python_sums(path)
    for reader, sums in told.items():
        found += differences(reader, sums, expected)
    cpu_ns = sum(value[1] for key, value in expected.items() if key[0] == "cpu")
    sampled = sum(value[0] for key, value in expected.items() if key[0] == "cpu")
    # Rows have one weight, the mean; each thread keeps a remainder below one.
    threads = len({key[1] for key in expected if key[0] == "cpu"})
    if abs(samples - sampled) > threads + 1:
        found.append(f"perfetto: {samples} samples, not {sampled}")
    folded = folded_sums(annot, path, *options)
    if folded != cpu_ns:
        found.append(f"folded: {folded} ns, not {cpu_ns}")
    return found, told


def falsified(told):
    """Yields each sum of each reader, increased by one until the next step."""
    for reader, sums in told.items():
        for key, numbers in sums.items():
            for i in range(KINDS[reader].get(key[0], 0)):
                numbers[i] += 1
                yield reader, key, i
                numbers[i] -= 1


def check_falsified(told, expected):
    return [f"{reader}: {key} with another number {i} goes unnoticed"
            for reader, key, i in falsified(told)
            if not differences(reader, told[reader], expected)]


def cuts(chance, lines, last_ns):
    """Random times; some equal times of events."""
    times = [line["time_ns"] for line in lines]
    for i in range(CUTS):
        pair = sorted(chance.choice(times) if (i + k) % 2 else chance.randrange(last_ns)
                      for k in range(2))
        if pair[0] < pair[1]:
            yield pair


def check_cuts(annot, path, lines, chance, last_ns):
    found = []
    for first, last in cuts(chance, lines, last_ns):
        options = ("--from", f"{first / 1e9:.9f}s", "--to", f"{last / 1e9:.9f}s")
        expected = cat_sums(lines, first, last)
        part = differences("cut", cat_sums(cat_lines(annot, path, *options)), expected)
        part += check_all(annot, path, expected, options, False)[0]
        found += [f"{' '.join(options)}: {line}" for line in part]
    return found


def check_choices(annot, path, lines, chance):
    """Checks selections of one process, one thread, and ranges of a name."""
    whole = [line for line in lines if line.get("tid")]
    pid, tid = chance.choice(whole)["pid"], chance.choice(whole)["tid"]
    name = chance.choice("ros") + str(chance.randrange(4))
    found = []
    for options, key, wanted in ((("--process", str(pid)), "pid", pid),
                                 (("--thread", str(tid)), "tid", tid),
                                 (("--range", name), None, None)):
        told = cat_lines(annot, path, *options)
        chosen = [line for line in lines if line.get(key) == wanted] if key else told
        expected = cat_sums(chosen)
        part = differences("cut", cat_sums(told), expected)
        part += check_all(annot, path, expected, options, False)[0]
        found += [f"{' '.join(options)}: {line}" for line in part]
    return found


def of_host(text, name, pids, shift_ns):
    """The text with other process ids and a clock that is ahead by `shift_ns`."""
    def replace(pattern, change):
        return re.sub(rf"\b({pattern})=(\d+)", lambda m: f"{m[1]}={int(m[2]) + change}", text)

    text = text.replace("string 1 host", f"string 1 {name}")
    text = replace("pid|ns_pid|tid", pids)
    return replace("begin_ns|end_ns|start_ns|fork_ns|first_ns|last_ns", shift_ns)


def states_of_ranges(annot, path):
    """{(pid, tid, path): time running, ready, blocked}."""
    rows = json.loads(run(annot, "report", "--json", "--all", "--by", "thread", path))["ranges"]
    return {(row["pid"], row["tid"], row["path"]):
            [row[f"{state}_ns"] for state in ("running", "runnable", "blocked")]
            for row in rows if row.get("count")}


def check_merge(annot, oracle_load, seed, place):
    """The second recording begins a little earlier or later, so one outlasts the other. It may
    begin before the clock of the first host, which then booted recently."""
    chance, variant = random.Random(seed), seed // 4
    shift_ns, gap_ns = chance.choice((7, 10**9, -4 * 10**12)), (-30000, 50000, 0)[variant % 3]
    first_ns = (20000 - random_recording.BEGIN_NS, 0)[variant % 2]
    paths = [place / f"{name}-{seed}.annot" for name in ("first", "second", "merged")]
    lines, last_ns = [], 0
    for i, begin_ns in enumerate((max(-gap_ns, 0), max(gap_ns, 0))):
        text, length_ns = random_recording.make(seed + i * 1000, STEPS)
        text = of_host(text, ("host", "other")[i], 1000 * i, (first_ns, shift_ns)[i])
        subprocess.run([oracle_load, paths[i]], input=text.encode(), check=True)
        lines += [{**line, "time_ns": line["time_ns"] + begin_ns}
                  for line in cat_lines(annot, paths[i])]
        last_ns = max(last_ns, begin_ns + length_ns)
    run(annot, "merge", "-o", paths[2], "--offset", f"other={first_ns - shift_ns + gap_ns}+-1",
        *paths[:2])
    whole = cat_sums(lines)
    found = differences("cut", cat_sums(cat_lines(annot, paths[2])), whole)
    found += check_all(annot, paths[2], whole, (), has_pyannot())[0]
    states = [states_of_ranges(annot, path) for path in paths]
    if states[2] != {**states[0], **states[1]}:
        found.append("ranges ran, or were blocked, for other times")
    found += check_cuts(annot, paths[2], lines, chance, last_ns)
    return [f"seed {seed}, merged: {line}" for line in found]


def check_recording(annot, oracle_load, seed, place):
    path, chance = place / f"{seed}.annot", random.Random(seed)
    text, last_ns = random_recording.make(seed, STEPS)
    subprocess.run([oracle_load, path], input=text.encode(), check=True)
    lines = cat_lines(annot, path)
    whole = cat_sums(lines)
    found, told = check_all(annot, path, whole, (), has_pyannot())
    if seed % 8 == 0:
        found += check_falsified(told, whole)
    found += check_cuts(annot, path, lines, chance, last_ns)
    found += check_choices(annot, path, lines, chance)
    return [f"seed {seed}: {line}" for line in found]


@functools.cache
def has_query(annot):
    return subprocess.run([annot, "query", "--schema"], capture_output=True,
                          check=False).returncode == 0


def has_pyannot():
    return importlib.util.find_spec("pyannot") is not None


def main():
    annot, oracle_load = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        for seed in range(first, first + count):
            found = check_recording(annot, oracle_load, seed, pathlib.Path(place))
            if seed % 4 == 0:
                found += check_merge(annot, oracle_load, seed, pathlib.Path(place))
            failed += bool(found)
            print("\n".join(found[:20] or [f"seed {seed}: the same, and {CUTS} cuts"]))
    print(f"{count - failed} passed, {failed} failed, 0 skipped"
          f"{'' if has_pyannot() else ' (without pyannot.read)'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
