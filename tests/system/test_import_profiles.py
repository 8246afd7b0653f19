# SPDX-License-Identifier: MIT
"""Profiles of other tools as recordings: collapsed stacks, speedscope's, perf's, and pstats. As
test_import.py."""

import collections
import json
import marshal
import random
import subprocess

from harness import case, check, equal, main
from imports import CORPUS, MAKE, imported, query, written

# ---- Collapsed stacks -----------------------------------------------------------------------


def own_and_total(lines):
    """Sums by function of "name (file:line);... N" lines, by a simple reader."""
    own, total = collections.Counter(), collections.Counter()
    for line in lines:
        frames, weight = line.rsplit(" ", 1)
        names = [frame.split(" (")[0] for frame in frames.split(";")]
        own[names[-1]] += int(weight)
        for name in set(names):
            total[name] += int(weight)
    return own, total


@case
def functions_of_py_spy_are_those_of_its_file(home):
    source = CORPUS / "folded/py-spy.folded"
    path, said = imported(home, source)
    check("1 is taken as 10.0 ms" in said, said)
    own, total = own_and_total(source.read_text().splitlines())
    rows = query(home, path, "select function as name, sum(cpu_ns) as own from samples group by 1")
    equal({row["name"]: row["own"] for row in rows if row["own"]},
          {name: weight * 10**7 for name, weight in own.items()}, "own time of functions")
    count = query(home, path, "select sample_count as n from recording")
    equal(count, [{"n": sum(own.values())}], "samples")
    check("burn.py:4" in home.annot("report", path).ok().out.decode(), "where inner is")
    check(total["inner"] > 100, "the file is not what it was")


@case
def folded_files_of_other_systems_are_known(home):
    text = "# a\r\n// b\r\na;b 1\r\n 3\r\na;c 2\r\n"  # one stack is empty
    path, _ = imported(home, written(home, text, "x.txt"))
    rows = query(home, path, "select function as name, count(*) as n from samples group by 1")
    equal([tuple(row.values()) for row in rows], [(None, 3), ("b", 1), ("c", 2)], "samples")


# ---- Chrome ---------------------------------------------------------------------------------


@case
def samples_of_chrome_have_their_weights(home):
    samples = [{"cpu": 0, "tid": 7, "ts": at, "name": "cycles", "sf": frame, **more}
               for at, frame, more in [(10, 1, {}), (20, 2, {"weight": 3}), (30, 1, {"weight": 0}),
                                       (40, 2, {"weight": "x"}), (50, 1, {"weight": 2})]]
    document = {"traceEvents": [{"ph": "X", "name": "r", "pid": 1, "tid": 7, "ts": 0, "dur": 60}],
                "stackFrames": {"1": {"name": "a"}, "2": {"name": "b"}}, "samples": samples}
    path, said = imported(home, written(home, json.dumps(document)))
    rows = query(home, path, "select time_ns, cpu_ns, function from samples")
    equal([tuple(row.values()) for row in rows],
          [(10000, 10**7, "a"), (20000, 3 * 10**7, "b"), (50000, 2 * 10**7, "a")], "samples")
    check("a sample of weight 1 is taken as 10.0 ms" in said, said)
    check(said.rstrip().endswith(": 2"), f"two of the samples have no weight: {said}")


# ---- speedscope -----------------------------------------------------------------------------


@case
def samples_of_speedscope_are_those_of_its_file(home):
    source = CORPUS / "speedscope/py-spy.json"
    document = json.loads(source.read_text())
    frames, profile = document["shared"]["frames"], document["profiles"][0]
    wanted, now = [], 0
    for sample, weight in zip(profile["samples"], profile["weights"]):
        leaf = frames[sample[-1]]
        wanted.append((round(now * 1e9), round(weight * 1e9), leaf["name"], leaf["file"],
                       leaf["line"], len(sample)))
        now += weight
    path, said = imported(home, source)
    equal(said, "", "what was said")
    rows = query(home, path, "select time_ns, cpu_ns, function, file, line, (select count(*) from "
                             "stack_frames f where f.stack = s.stack) as depth from samples s")
    equal([tuple(row.values()) for row in rows], wanted, "samples")
    threads = query(home, path, "select name from threads")
    equal(threads, [{"name": profile["name"]}], "threads")


@case
def begins_and_ends_of_speedscope_are_ranges(home):
    path, said = imported(home, CORPUS / "speedscope/evented.json")
    check("without a begin: 1" in said and "unfinished: 1" in said and "10.0 ms" in said, said)
    rows = query(home, path, "select coalesce(name, '') as name, duration_ns, depth, observer, "
                             "file from ranges where not unfinished order by begin_ns")
    equal([tuple(row.values()) for row in rows],
          [("main", 100000, 0, "program", None), ("read", 19500, 1, "python calls", "/srv/a.py"),
           ("mark", 0, 1, "program", None)], "ranges")
    rows = query(home, path, "select sample_set as name, cpu_ns, sample_values from samples "
                             "order by thread, time_ns")
    equal([(row["name"], row["cpu_ns"], json.loads(row["sample_values"])) for row in rows],
          [("memory", 0, {"alloc-bytes": 10}), ("memory", 0, {"alloc-bytes": 20}),
           ("cpu", 10**7, {"cpu": 10**7}), ("cpu", 2 * 10**7, {"cpu": 2 * 10**7}),
           ("cpu", 15 * 10**6, {"cpu": 15 * 10**6})], "samples")


@case
def speedscope_exports_of_annot_come_back(home):
    for shape in ("sampled", "hostile"):
        first = home.work / f"{shape}.annot"
        subprocess.run([MAKE, shape, first], check=True)
        home.annot("export", "--force", "-f", "speedscope", "-o", "out.json", first).ok()
        second, _ = imported(home, home.work / "out.json")
        # Domains are a part of names there, of which a megabyte is read.
        name = "substr(coalesce(domain || ':', '') || name, 1, 1 << 20) as name"
        for sql in (f"select {name}, duration_ns from ranges order by 1, 2",
                    "select sum(cpu_ns) as cpu from samples where sample_set = 'cpu'",
                    "select sum(blocked_ns + runnable_ns) as waited from samples "
                    "where sample_set = 'off-cpu'"):
            equal(query(home, second, sql), query(home, first, sql), f"{sql} of {shape}")


@case
def a_speedscope_file_may_have_no_profiles(home):
    first = home.work / "nothing.annot"
    subprocess.run([MAKE, "nothing", first], check=True)
    home.annot("export", "--force", "-f", "speedscope", "-o", "out.json", first).ok()
    equal(json.loads((home.work / "out.json").read_text())["profiles"], [], "profiles")
    second, said = imported(home, home.work / "out.json")
    check("has no events" in said, said)
    equal(query(home, second, "select event_count, sample_count, complete from recording"),
          [{"event_count": 0, "sample_count": 0, "complete": 1}], "the recording")


@case
def allocations_of_memray_are_no_time(home):
    document = {"$schema": "https://www.speedscope.app/file-format-schema.json",
                "shared": {"frames": [{"name": "make", "file": "/srv/a.py", "line": 3}]},
                "profiles": [{"type": "sampled", "name": name, "unit": unit, "startValue": 0,
                              "endValue": 7, "samples": [[0], [0]], "weights": [5, 2]}
                             for name, unit in (("Memory", "bytes"), ("Allocations", "none"))],
                "exporter": "memray@1.20.0"}
    path, said = imported(home, written(home, json.dumps(document)))
    equal(said, "", "what was said")
    rows = query(home, path, "select sample_set as name, cpu_ns, sample_values as v from samples "
                             "order by 1, 3")
    equal([(row["name"], row["cpu_ns"], json.loads(row["v"])) for row in rows],
          [("allocations", 0, {"alloc-objects": 2}), ("allocations", 0, {"alloc-objects": 5}),
           ("memory", 0, {"alloc-bytes": 2}), ("memory", 0, {"alloc-bytes": 5})], "samples")
    flame = home.annot("flame", "--value", "allocations", "-o", "-", path).ok().out
    check(b"make" in flame, "the flame graph of allocations is empty")


# ---- perf -----------------------------------------------------------------------------------


@case
def samples_of_perf_are_those_of_its_text(home):
    source = CORPUS / "perf/cpu-clock.txt"
    wanted = []
    for block in source.read_text().strip().split("\n\n"):
        head, *frames = block.splitlines()
        _, tid, time, period, _ = head.split()
        functions = [frame.split(None, 1)[1].rsplit(" (", 1)[0].split("+0x")[0] for frame in frames]
        wanted.append((round(float(time[:-1]) * 1e9), int(tid), int(period), functions))
    path, said = imported(home, source)
    equal(said, "", "what was said")
    rows = query(home, path, "select s.time_ns, s.tid, s.cpu_ns, (select group_concat(name, ';') "
                             "from (select f.function as name from stack_frames sf join frames f "
                             "on f.id = sf.frame where sf.stack = s.stack order by sf.depth)) as "
                             "names from samples s order by 1")
    begin_ns = wanted[0][0] - wanted[0][2]  # of the first one's period
    got = [(row["time_ns"] + begin_ns, row["tid"], row["cpu_ns"],
            row["names"].split(";")[::-1]) for row in rows]
    equal(got, wanted, "samples")


@case
def fields_of_perf_are_told_apart(home):
    path, said = imported(home, CORPUS / "perf/fields.txt")
    check("250 us" in said and "need, or with impossible times: 1" in said, said)
    rows = query(home, path, "select pid, tid, cpu, sample_set, sample_values, function, "
                             "file from samples order by time_ns")
    equal([tuple(row.values()) for row in rows],
          [(100, 101, 3, "cpu", '{"cpu":250000}', "operator new(unsigned long)", None),
           (100, 100, 0, "page-faults", '{"samples":1}', "elf_load", None),
           (100, 100, 1, "sched:sched_switch", '{"samples":1}', "nf_hook", None),
           (100, 100, 1, "instructions", '{"instructions":1}', None, None),
           (0, 0, 0, "cpu", '{"cpu":250000}', None, None)], "samples")
    kinds = query(home, path, "select function, kind, module, file from frames order by id")
    equal({row["function"]: (row["kind"], row["module"], row["file"]) for row in kinds},
          {"[unknown]": ("native", None, None), "leaf": ("python", None, "/srv/app.py"),
           "std::vector<int, std::allocator<int> >::push_back(int)": ("native", None, None),
           "operator new(unsigned long)": ("native", "/usr/lib/libstdc++.so.6", None),
           "elf_load": ("kernel", None, None), "nf_hook": ("kernel", None, None),
           "schedule": ("kernel", None, None)}, "frames")


@case
def modules_of_perf_may_be_deleted(home):
    text = ("app 7 1.000000: 1000 cpu-clock: \n\t 1f2 run(int)+0x4 (/srv/app (deleted))\n"
            "\t 2f2 main ([unknown])\n")
    path, _ = imported(home, written(home, text, "perf.txt"))
    rows = query(home, path, "select function, module from frames order by id")
    equal([tuple(row.values()) for row in rows],
          [("run(int)", "/srv/app (deleted)"), ("main", None)], "frames")


# ---- pstats ---------------------------------------------------------------------------------


def called(home, path):
    rows = query(home, path, "select file, line, name, call_count, own_ns, total_ns from calls")
    return {(row["file"] or "~", row["line"] or 0, row["name"]):
            (row["call_count"], row["own_ns"], row["total_ns"]) for row in rows}


def equal_calls(got, stats, what):
    """Calls and own times to the nanosecond; total times but for the rounding of their parts."""
    equal(set(got), set(stats), f"functions of {what}")
    for key, (_, calls, own, total, _) in stats.items():
        equal(got[key][:2], (calls, round(own * 1e9)), f"{key} of {what}")
        near = abs(got[key][2] - total * 1e9) <= 100 + total * 1e6
        check(near, f"total time of {key} of {what} is {got[key][2]}, not {total * 1e9}")


@case
def functions_of_cprofile_are_those_of_its_file(home):
    source = CORPUS / "pstats/cprofile.pstats"
    path, said = imported(home, source)
    check("callers but no stacks" in said, said)
    stats = marshal.loads(source.read_bytes())
    equal_calls(called(home, path), stats, "cProfile")
    pairs = {(caller[2], key[2]): (edge[0], round(edge[2] * 1e9))
             for key, value in stats.items() for caller, edge in value[4].items()}
    rows = query(home, path, "select caller, callee, call_count, own_ns from call_edges")
    equal({(row["caller"], row["callee"]): (row["call_count"], row["own_ns"]) for row in rows},
          pairs, "pairs")


class Profiled:
    """The sums that cProfile has of calls: total times are those of the outermost ones."""

    def __init__(self):
        self.sums = collections.defaultdict(lambda: [0, 0, 0, 0, 0])  # the last: how many are open
        self.callers = collections.defaultdict(set)

    def call(self, key, caller, body):
        sums = [self.sums[key]]
        if caller:
            self.callers[key].add(caller)
            sums.append(self.sums[caller, key])
        for each in sums:
            each[4] += 1
        own, below = body()
        for each in sums:
            each[4] -= 1
            each[0] += each[4] == 0
            each[1] += 1
            each[2] += own
            each[3] += (own + below) if each[4] == 0 else 0
        return own + below

    def stats(self):
        def seconds(key):
            primitive, calls, own, total, _ = self.sums[key]
            return primitive, calls, own / 1e9, total / 1e9

        def pairs(key):
            for caller in self.callers[key]:
                primitive, calls, own, total = seconds((caller, key))
                yield caller, (calls, primitive, own, total)

        functions = [key for key in self.sums if len(key) == 3]
        return {key: (*seconds(key), dict(pairs(key))) for key in functions}


def recursive_stats(random_, calls):
    """Of random calls: `calls` lists the callees of each function, and main is called once."""
    profiled = Profiled()

    def run(name, caller, depth):
        key = "/srv/r.py", 1, name

        def body():
            below = 0
            for callee in calls.get(name, ""):
                for _ in range(random_.randrange(2 if depth else 6)):
                    below += run(callee, key, depth + 1) if depth < 12 else 0
            return random_.randrange(10**6), below

        return profiled.call(key, caller, body)

    run("main", None, 0)
    return profiled.stats()


@case
def callers_may_have_counts_only(home):
    """As the module profile has them; yappi swaps its two counts of calls."""
    main, run, walk = (("/srv/p.py", 1, name) for name in ("main", "run", "walk"))
    stats = {main: (1, 1, 0.001, 0.111, {}), run: (1, 1, 0.01, 0.11, {main: 1}),
             walk: (2000, 2, 0.1, 0.1, {run: 2, walk: 1998})}
    path, _ = imported(home, written(home, marshal.dumps(stats), "x.pstats"))
    stats[walk] = (2, 2000, *stats[walk][2:])
    equal_calls(called(home, path), stats, "profile")


@case
def total_times_of_recursion_are_those_of_the_file(home):
    graphs = {
        "itself": {"main": "ab", "a": "ac", "b": "ac", "c": ""},
        "each other": {"main": "ab", "a": "vc", "b": "v", "v": "gxv", "g": "vx", "x": "y"},
        "entered at both": {"main": "ab", "a": "vx", "b": "g", "v": "gx", "g": "vx", "x": "y"},
    }
    for what, graph in graphs.items():
        for seed in range(6):
            stats = recursive_stats(random.Random(seed), graph)
            path, said = imported(home, written(home, marshal.dumps(stats), "x.pstats"))
            got = called(home, path)
            check("as well" not in said or what == "entered at both", f"{what}: {said}")
            for key in [key for key in stats if "as well" in said and key[2] in "vg"]:
                stats[key] = (*stats[key][:3], got[key][2] / 1e9, stats[key][4])
            equal_calls(got, stats, f"{what}, seed {seed}")


@case
def statistics_of_annot_come_back(home):
    first = home.work / "called.annot"
    subprocess.run([MAKE, "called-sums", first], check=True)
    home.annot("export", "--force", "-f", "pstats", "-o", "called.pstats", first).ok()
    second, _ = imported(home, home.work / "called.pstats")
    got, wanted = called(home, second), called(home, first)
    equal({key[2]: value[:2] for key, value in got.items()},
          {key[2]: value[:2] for key, value in wanted.items()}, "calls and own times")


if __name__ == "__main__":
    main()
