# SPDX-License-Identifier: MIT
"""Files of other tools as recordings: what annot query says of them is what the files say, read
here by Python. Files are real ones of the tools (tests/fuzz/corpus/import), random ones, and
exports of annot itself; wrong ones and cut ones leave one line and no recording."""

import collections
import gzip
import json
import marshal
import os
import pathlib
import random
import subprocess

from harness import ANNOT, case, check, equal, main

MAKE = os.environ["ANNOT_MAKE_RECORDING"]
CORPUS = pathlib.Path(__file__).resolve().parents[1] / "fuzz/corpus/import"


def query(home, recording, sql):
    done = home.annot("query", "--json", recording, sql).ok()
    return [json.loads(line) for line in done.out.decode().splitlines()]


def imported(home, source, *options, name="x.annot"):
    """The recording, and what was said of it."""
    path = home.work / name
    done = home.annot("import", "--force", "-o", path, *options, source).ok()
    equal(done.out, b"", "standard output of an import")
    return path, done.err_text


def written(home, text, name="trace.json"):
    path = home.work / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# ---- Chrome traces --------------------------------------------------------------------------


def nanoseconds(micros):
    return round(micros * 1000)


@case
def calls_of_viztracer_are_those_of_its_file(home):
    source = CORPUS / "chrome/viztracer.json"
    events = [event for event in json.loads(source.read_text())["traceEvents"]
              if event["ph"] == "X"]
    path, said = imported(home, source)
    equal(said, "", "what was said")
    wanted = collections.Counter()
    for event in events:
        wanted[event["name"].split(" (")[0], nanoseconds(event["dur"])] += 1
    rows = query(home, path, "select name, duration_ns from ranges")
    equal(collections.Counter((row["name"], row["duration_ns"]) for row in rows), wanted,
          "durations of calls")
    calls = {row["name"]: row for row in query(home, path, "select * from calls")}
    leaf = [nanoseconds(event["dur"]) for event in events if event["name"].startswith("leaf ")]
    equal((calls["leaf"]["calls"], calls["leaf"]["total_ns"]), (len(leaf), sum(leaf)), "leaf")
    equal((calls["leaf"]["file"], calls["leaf"]["line"]), ("/srv/v.py", 2), "where leaf is")
    names = query(home, path, "select t.name as thread, p.label as process from threads t "
                              "join processes p on p.id = t.process")
    equal(names, [{"thread": "MainThread", "process": "MainProcess"}], "names")
    report = home.annot("report", path).ok().out.decode()
    check("/srv/v.py:2" in report, "the report does not have where leaf is")


@case
def work_of_gpus_is_tied_to_its_launch(home):
    path, said = imported(home, CORPUS / "chrome/torch.json", "--name-with", "Input Dims")
    check("GPU work without the call that launched it: 1" in said, said)
    queue = query(home, path, "select name, duration_ns, begin_ns - launched_ns as delay, "
                              "launch_path from ranges where kind = 'queue' order by begin_ns")
    mm = "train_step/aten::mm [[8,16],[16,4]]/cudaLaunchKernel"
    equal(queue, [{"name": "void gemm<float>(int)", "duration_ns": 20250, "delay": 80500,
                   "launch_path": mm},
                  {"name": "Memcpy HtoD (Pageable -> Device)", "duration_ns": 5000, "delay": None,
                   "launch_path": None}], "work of queues")
    lanes = query(home, path, "select path from lanes where kind = 'queue'")
    equal(lanes, [{"path": "GPU 0: NVIDIA H100 80GB HBM3/stream 7"}], "lanes")
    report = home.annot("report", "--all", path).ok().out.decode()
    check("64,1,1" in report and "aten::mm [[1,2],[2,4]]" in report, "shapes in the report")
    began = query(home, path, "select began_ns from recording")[0]["began_ns"]
    equal(int(began), 1700000000000850500, "when the trace began")


@case
def every_kind_of_event_is_kept_or_counted(home):
    path, said = imported(home, CORPUS / "chrome/phases.json")
    for words in ("impossible times: 2", "not have: 1", "without a begin: 1", "unfinished: 1",
                  "nest on their thread"):
        check(words in said, f"{words!r} is not in {said}")
    ranges = query(home, path, "select name, duration_ns, kind, depth, args from ranges "
                               "order by begin_ns, depth, name")
    told = [(row["name"], row["duration_ns"], row["kind"], row["depth"]) for row in ranges]
    equal(told, [("a", 10000, "pushed", 0), ("outer", 8000, "pushed", 0),
                 ("inner", 0, "pushed", 1), ("r", 4000, "overlapping", 0),
                 ("u", 6000, "overlapping", 0), ("s", 1000, "overlapping", 0),
                 ("b", 10000, "overlapping", 0), ("open", 0, "pushed", 0)], "ranges")
    equal(json.loads(ranges[1]["args"]), {"k": 1.5, "result": "ok"}, "values of begin and end")
    counters = query(home, path, "select name, value from counters order by name")
    equal([tuple(row.values()) for row in counters],
          [("heap", 3), ("memory/heap", 2.5), ("memory/rss", 10), ("queue", 3)], "counters")
    marks = query(home, path, "select name, args from marks where name like 'mark%'")
    equal(marks[0]["name"], "mark \u00e9\U0001f600", "a name")
    equal(json.loads(marks[0]["args"]), {"list": '[1,{"a":null}]', "on": True, "off": False},
          "values")
    flows = query(home, path, "select count(*) as n, count(distinct flow) as ids from flows")
    equal(flows, [{"n": 3, "ids": 1}], "flows")


def random_tree(random_, begin, end, depth, events):
    """Ranges that nest in [begin, end), with every way of writing them."""
    while depth < 6 and end - begin > 10 and random_.random() < 0.8:
        first = random_.randrange(begin, end - 5)
        last = random_.randrange(first, end)
        name = f"f{random_.randrange(5)}"
        inner = []
        random_tree(random_, first, last, depth + 1, inner)
        if random_.random() < 0.5:
            own = [dict(ph="X", name=name, ts=first / 1000, dur=(last - first) / 1000)]
            events += own + inner if random_.random() < 0.5 else inner + own
        else:
            events.append(dict(ph="B", name=name, ts=first / 1000))
            events += inner
            events.append(dict(ph="E", ts=last / 1000))
        begin = last


def ranges_of(events):
    """What a simple reader makes of them: (thread, name, begin, end)."""
    found, open_ = collections.Counter(), collections.defaultdict(list)
    for event in events:
        key = event["pid"], event["tid"]
        if event["ph"] == "X":
            begin = nanoseconds(event["ts"])
            found[(*key, event["name"], begin, begin + nanoseconds(event["dur"]))] += 1
        elif event["ph"] == "B":
            open_[key].append((event["name"], nanoseconds(event["ts"])))
        elif event["ph"] == "E":
            name, begin = open_[key].pop()
            found[(*key, name, begin, nanoseconds(event["ts"]))] += 1
    return found


@case
def random_traces_keep_every_range(home):
    for seed in range(12):
        random_ = random.Random(seed)
        lists = []
        for number in range(random_.randrange(1, 5)):
            events = []
            random_tree(random_, 0, random_.choice([300, 5000, 10**7]), 0, events)
            lists.append([dict(event, pid=1 + number // 2, tid=10 + number) for event in events])
        merged = []
        while any(lists):
            merged.append(random_.choice([one for one in lists if one]).pop(0))
        wanted = ranges_of(merged)
        text = json.dumps({"traceEvents": merged}, indent=random_.choice([None, 1]))
        path, said = imported(home, written(home, text))
        equal(said if merged else "", "", f"what was said of seed {seed}")
        rows = query(home, path, "select pid, tid, name, begin_ns, end_ns from ranges")
        first = min((key[3] for key in wanted), default=0)
        got = collections.Counter((row["pid"], row["tid"], row["name"], row["begin_ns"] + first,
                                   row["end_ns"] + first) for row in rows)
        equal(got, wanted, f"ranges of seed {seed}")


@case
def equal_ranges_nest_as_they_began(home):
    events = [dict(ph="B", name=name, pid=1, tid=1, ts=5) for name in "abc"]
    events += [dict(ph="E", pid=1, tid=1, ts=9) for _ in "abc"]
    path, _ = imported(home, written(home, json.dumps(events)))
    rows = query(home, path, "select path from ranges order by depth")
    equal([row["path"] for row in rows], ["a", "a/b", "a/b/c"], "paths")


@case
def exports_of_annot_come_back(home):
    for shape in ("pipeline", "calls", "names"):
        first = home.work / f"{shape}.annot"
        subprocess.run([MAKE, shape, first], check=True)
        exported = home.work / f"{shape}.json"
        home.annot("export", "--force", "--no-flame-chart", "-o", exported, first).ok()
        second, _ = imported(home, exported)
        sql = ("select coalesce(name, '(unnamed)') as name, duration_ns, observer, file, line, "
               "count(*) as n from ranges "
               "where kind != 'queue' and unfinished = 0 group by 1, 2, 3, 4, 5 order by 1, 2")
        equal(query(home, second, sql), query(home, first, sql), f"ranges of {shape}")
        sql = "select name, value, count(*) as n from counters group by 1, 2 order by 1, 2"
        equal(query(home, second, sql), query(home, first, sql), f"counters of {shape}")


@case
def compressed_files_are_the_same(home):
    plain = (CORPUS / "chrome/viztracer.json").read_bytes()
    half = len(plain) // 2
    packed = subprocess.run(["zstd", "-q", "-c"], input=plain, stdout=subprocess.PIPE, check=True)
    sources = {"a.json": plain, "b.json.gz": gzip.compress(plain),
               "c.json.gz": gzip.compress(plain[:half]) + gzip.compress(plain[half:]),
               "d.json.zst": packed.stdout}
    sql = "select name, begin_ns, end_ns from ranges order by 2, 3"
    wanted = None
    for name, content in sources.items():
        path, _ = imported(home, written(home, content, name))
        wanted = wanted or query(home, path, sql)
        equal(query(home, path, sql), wanted, name)
    home.annot("import", "-o", "in.annot", "-", stdin=gzip.compress(plain)).ok()
    equal(query(home, home.work / "in.annot", sql), wanted, "standard input")
    done = home.annot("import", "b.json.gz").ok()
    check("wrote b.annot" in done.err_text, done.err_text)


# ---- Collapsed stacks -----------------------------------------------------------------------


def own_and_total(lines):
    """By function: what a simple reader makes of "name (file:line);... N"."""
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
def random_stacks_come_back(home):
    for seed in range(6):
        random_ = random.Random(seed)
        names = ["main", "read", "a b", "x::y<int>(char)", "\u00e9\U0001f600", "[unknown]", "k_[k]"]
        stacks = collections.Counter()
        for _ in range(random_.randrange(1, 200)):
            frames = [random_.choice(names) for _ in range(random_.randrange(1, 9))]
            stacks[";".join(frames)] += random_.randrange(1, 1000)
        lines = [f"{stack} {weight}" for stack, weight in stacks.items()]
        random_.shuffle(lines)
        options = ("--unit", "1us", "--from-format", "folded")
        path, _ = imported(home, written(home, "\n".join(lines) + "\n", "x.folded"), *options)
        out = home.annot("export", "-f", "folded", "-o", "-", path).ok().out.decode()
        equal(sorted(out.splitlines()), sorted(lines), f"stacks of seed {seed}")


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
    got = [(row["time_ns"] + wanted[0][0], row["tid"], row["cpu_ns"],
            row["names"].split(";")[::-1]) for row in rows]
    equal(got, wanted, "samples")


@case
def fields_of_perf_are_told_apart(home):
    path, said = imported(home, CORPUS / "perf/fields.txt")
    check("250 us" in said and "need, or with impossible times: 1" in said, said)
    rows = query(home, path, "select pid, tid, processor, sample_set, sample_values, function, "
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


# ---- pstats ---------------------------------------------------------------------------------


def called(home, path):
    rows = query(home, path, "select file, line, name, calls, own_ns, total_ns from calls")
    return {(row["file"] or "~", row["line"] or 0, row["name"]):
            (row["calls"], row["own_ns"], row["total_ns"]) for row in rows}


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
    rows = query(home, path, "select caller, callee, calls, own_ns from call_edges")
    equal({(row["caller"], row["callee"]): (row["calls"], row["own_ns"]) for row in rows}, pairs,
          "pairs")


def random_stats(random_):
    """Of a tree of calls in which functions call only later ones."""
    stats = {}

    def call(number, caller, depth):
        key = f"/srv/{number % 3}.py", number, f"f{number}"
        own = total = random_.randrange(0, 10**6) / 1e9
        while depth < 5 and random_.random() < 0.6:
            total += call(random_.randrange(number + 1, number + 4), key, depth + 1)
        value = stats.setdefault(key, [0, 0, 0, 0, {}])
        sums = [value]
        if caller:
            sums.append(value[4].setdefault(caller, [0, 0, 0, 0]))
        for each in sums:
            each[:4] = each[0] + 1, each[1] + 1, each[2] + own, each[3] + total
        return total

    for _ in range(3):
        call(1, None, 0)
    return {key: (*value[:4], {caller: tuple(edge) for caller, edge in value[4].items()})
            for key, value in stats.items()}


@case
def random_statistics_keep_calls_and_times(home):
    for seed in range(10):
        stats = random_stats(random.Random(seed))
        content = marshal.dumps(stats, seed % 5)
        path, _ = imported(home, written(home, content, "x.pstats"))
        equal_calls(called(home, path), stats, f"seed {seed}")


@case
def statistics_of_annot_come_back(home):
    first = home.work / "called.annot"
    subprocess.run([MAKE, "called-sums", first], check=True)
    home.annot("export", "--force", "-f", "pstats", "-o", "called.pstats", first).ok()
    second, _ = imported(home, home.work / "called.pstats")
    got, wanted = called(home, second), called(home, first)
    equal({key[2]: value[:2] for key, value in got.items()},
          {key[2]: value[:2] for key, value in wanted.items()}, "calls and own times")


# ---- On one timeline ------------------------------------------------------------------------


@case
def traces_are_merged_by_ranges_that_both_have(home):
    paths = []
    for name, shift, jitter in (("a", 2_000_000, 0), ("b", 5_000_000.25, 0.125)):
        events = [dict(ph="X", name="step", pid=1, tid=1, ts=1000 * i + shift + jitter * (i % 2),
                       dur=500) for i in range(1, 8)]
        events.append(dict(ph="X", name="only " + name, pid=1, tid=2, ts=2000 + shift, dur=1))
        paths.append(imported(home, written(home, json.dumps(events), name + ".json"),
                              name=name + ".annot")[0])
    home.annot("merge", "-o", "both.annot", *paths).complains(1, "another host", "--match")
    home.annot("merge", "-o", "both.annot", "--match", "only a", *paths).complains(1, "matched")
    sql = "select begin_ns from ranges where name like 'only%' order by name"
    for options in (("--match", "step"), ("--offset", f"{paths[1]}=-3000000250+-125"),
                    ("--offset", "b.json=-3000000250+-125")):
        home.annot("merge", "--force", "-o", "both.annot", *options, *paths).ok()
        rows = query(home, home.work / "both.annot", sql)
        apart = abs(rows[0]["begin_ns"] - rows[1]["begin_ns"])
        check(apart <= 125, f"{options}: {rows}")
        check("125 ns" in home.info(home.work / "both.annot"), "the error is not in annot info")


# ---- What is wrong --------------------------------------------------------------------------


def refuses(home, content, *words, options=(), name="wrong.json", status=1):
    source = written(home, content, name)
    output = home.work / "wrong.annot"
    done = home.annot("import", *options, "-o", output, source)
    equal(done.status, status, f"status for {content[:40]!r}: {done.err_text}")
    lines = done.err_text.splitlines()
    check(1 <= len(lines) <= 2, f"lines {lines}")
    for word in words:
        check(word in lines[0] + lines[-1], f"{word!r} is not in {lines}")
    left = [entry for entry in os.listdir(home.work) if "wrong.annot" in entry]
    equal(left, [], f"files left for {content[:40]!r}")


@case
def cut_and_wrong_files_leave_nothing(home):
    whole = (CORPUS / "chrome/torch.json").read_bytes()
    for length in range(40, len(whole) - 3, 371):
        refuses(home, whole[:length], options=("--from-format", "chrome"))
    refuses(home, whole[:2000], "ends in the middle", "at byte")
    refuses(home, gzip.compress(whole)[:-9], "cut or damaged", name="wrong.json.gz")
    refuses(home, b"", "not known")
    refuses(home, b"\x7fELF\x02\x01\x01", "not known")
    refuses(home, b'{"name": "x"}', "not known")
    refuses(home, b'{"a": [1, 2]}', "traceEvents", options=("--from-format", "chrome"))
    refuses(home, b'[{"ph": "X"} {}]', "comma", options=("--from-format", "chrome"))
    refuses(home, b"[" * 1000, "nested", options=("--from-format", "chrome"))
    whole = (CORPUS / "speedscope/evented.json").read_bytes()
    for length in range(80, len(whole) - 3, 171):
        refuses(home, whole[:length])
    refuses(home, b"{}", "no profiles", options=("--from-format", "speedscope"))
    refuses(home, b"[]", "no profiles", options=("--from-format", "speedscope"))
    whole = (CORPUS / "pstats/cprofile.pstats").read_bytes()
    for length in range(3, len(whole) - 1, 97):
        refuses(home, whole[:length], "pstats")
    for value in ([], 7, {("a", 1, "b"): 3}, {1: 2}, compile("1", "x", "exec")):
        refuses(home, marshal.dumps(value), "pstats", options=("--from-format", "pstats"))
    refuses(home, b"main;read\n", "no line begins", options=("--from-format", "perf"))
    refuses(home, b"main;read\n", "no line is", options=("--from-format", "folded"))
    refuses(home, whole, "no format xyz", options=("--from-format", "xyz"), status=2)
    done = home.annot("import", "-o", "wrong.annot", "missing.json")
    done.ok(1)
    check("No such file" in done.err_text, done.err_text)


@case
def an_array_may_end_without_its_bracket(home):
    whole = (CORPUS / "chrome/phases.json").read_bytes().rstrip()
    sql = "select count(*) as n from ranges"
    path, _ = imported(home, written(home, whole.rstrip(b"]")))
    equal(query(home, path, sql), [{"n": 8}], "ranges")
    path, _ = imported(home, written(home, whole.rstrip(b"]").rstrip() + b",\n"))
    equal(query(home, path, sql), [{"n": 8}], "ranges")


@case
def an_output_is_replaced_only_if_asked(home):
    source = CORPUS / "chrome/viztracer.json"
    output = written(home, "mine", "out.annot")
    home.annot("import", "-o", output, source).complains(1, "exists already", "--force")
    equal(output.read_text(), "mine", "the file")
    home.annot("import", "--force", "-o", output, source).ok()
    home.annot("info", output).ok()
    home.annot("import", "-o", home.work / "none/out.annot", source).ok(1)
    home.annot("import", "-o", "x.json", source).ok(2)


@case
def hostile_texts_are_names(home):
    texts = ['"', "\\", "\x00a", "\x1b[2J", "\ud800", "a" * (1 << 20), "", "\u202e", "\n"]
    events = [dict(ph="X", name=text, cat=text, pid=text, tid=text, ts=number, dur=0.5,
                   args={text: text}) for number, text in enumerate(texts)]
    path, _ = imported(home, written(home, json.dumps(events)))
    rows = query(home, path, "select name, length(name) as n from ranges order by begin_ns")
    equal(len(rows), len(texts), "ranges")
    equal(rows[5]["n"], 1 << 20, "the length of the long name")
    for command in ("report", "info", "cat"):
        out = home.annot(command, path).ok().out
        check(b"\x1b[2J" not in out and b"\x00" not in out, f"annot {command} prints it raw")


if __name__ == "__main__":
    check(os.path.exists(ANNOT), "annot is not built")
    main()
