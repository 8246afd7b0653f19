# SPDX-License-Identifier: MIT
"""Files of other tools as recordings: annot query agrees with the files, read here by Python. Files
are real ones of the tools (tests/fuzz/corpus/import), random ones, and exports of annot itself;
wrong ones and cut ones leave one line and no recording."""

import collections
import gzip
import json
import marshal
import os
import random
import subprocess

from harness import ANNOT, case, check, equal, main
from imports import CORPUS, MAKE, imported, query, refuses, written


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
    equal((calls["leaf"]["call_count"], calls["leaf"]["total_ns"]), (len(leaf), sum(leaf)), "leaf")
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
    lanes = query(home, path, "select path from tracks where kind = 'queue'")
    equal(lanes, [{"path": "GPU 0: NVIDIA H100 80GB HBM3/stream 7"}], "lanes")
    report = home.annot("report", "--all", path).ok().out.decode()
    check("64,1,1" in report and "aten::mm [[1,2],[2,4]]" in report, "shapes in the report")
    began = query(home, path, "select begin_realtime_ns from recording")[0]["begin_realtime_ns"]
    equal(int(began), 1700000000000850500, "when the trace began")


@case
def streams_of_xla_are_queues(home):
    path, said = imported(home, CORPUS / "chrome/xla.json")
    equal(said, "", "what was said")
    rows = query(home, path, "select name, duration_ns, begin_ns - launched_ns as delay, "
                             "launch_path from ranges where kind = 'queue' order by begin_ns")
    step = "PjitFunction(step)"
    equal([tuple(row.values()) for row in rows],
          [("MemcpyH2D", 2000, 5000, f"{step}/cuMemcpyHtoDAsync_v2"),
           ("loop_add_fusion", 8250, 9625, f"{step}/cuLaunchKernel")], "work of the stream")
    equal(query(home, path, "select path from tracks where kind = 'queue'"),
          [{"path": "GPU 0/Stream #13(Compute,MemcpyH2D)"}], "lanes")
    threads = query(home, path, "select p.label as process, t.name as thread from threads t "
                                "join processes p on p.id = t.process order by 1")
    equal([tuple(row.values()) for row in threads],
          [("/device:GPU:0", "XLA Ops"), ("/host:CPU", "python")], "threads")
    report = home.annot("report", "--all", path).ok().out.decode()
    check("128,1,1" in report and "4.0 KiB" in report, report)


@case
def waits_and_overhead_of_gpus_are_no_threads(home):
    place = {"ph": "X", "pid": 0, "ts": 10, "dur": 4}
    events = [
        dict(ph="X", pid=7, tid=7, ts=5, dur=20, name="cudaEventSynchronize", cat="cuda_runtime",
             args={"correlation": 3}),
        dict(place, cat="cuda_sync", tid=-1, name="Event Sync",
             args={"stream": -1, "device": 0, "context": 1, "correlation": 3}),
        dict(place, cat="cuda_sync", tid=24, name="Stream Wait Event",
             args={"stream": 24, "device": 0, "context": 1, "correlation": 4}),
        dict(place, cat="overhead", pid=-1, tid=0, name="Lazy Function Loading"),
    ]
    path, said = imported(home, written(home, json.dumps(events)))
    equal(said, "", "what was said")
    rows = query(home, path, "select r.name, l.path from ranges r join tracks l on l.id = r.track "
                             "where r.kind = 'queue' order by 1")
    equal([tuple(row.values()) for row in rows],
          [("Event Sync", "waits"), ("Lazy Function Loading", "overhead"),
           ("Stream Wait Event", "GPU 0/stream 24")], "lanes")
    equal(query(home, path, "select tid from threads"), [{"tid": 7}], "threads")


@case
def every_kind_of_event_is_kept_or_counted(home):
    path, said = imported(home, CORPUS / "chrome/phases.json")
    for words in ("impossible times: 2", "(phases v, V): 1", "without a begin: 1", "unfinished: 1",
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


@case
def events_may_be_bound_to_a_flow(home):
    path, said = imported(home, CORPUS / "chrome/bound.json")
    equal(said, "", "what was said")
    rows = query(home, path, "select flow, time_ns, tid, kind from flows order by time_ns")
    equal(len({row["flow"] for row in rows}), 1, "flows")
    equal([tuple(row.values())[1:] for row in rows],
          [(0, 1, "begin"), (2000, 2, "step"), (4000, 3, "end")], "points")


@case
def samples_of_chrome_traces_have_their_stacks(home):
    path, said = imported(home, CORPUS / "chrome/samples.json", "--unit", "2ms")
    for words in ("taken as 2.00 ms", "or of no profile (phase P): 1", "no samples: 1",
                  "impossible times: 1", "more than 1,024: 1"):
        check(words in said, f"{words!r} is not in {said}")
    rows = query(home, path, "select s.time_ns, s.pid, s.tid, s.cpu_ns, (select group_concat("
                             "name, ';') from (select f.function as name from stack_frames sf "
                             "join frames f on f.id = sf.frame where sf.stack = s.stack order by "
                             "sf.depth desc)) as names from samples s order by 1")
    equal([(*tuple(row.values())[:4], sorted((row["names"] or "").split(";"))) for row in rows],
          [(0, 1, 2, 2000000, ["load", "main"]), (10000, 1, 2, 2000000, ["main"]),
           (20000, 1, 2, 2000000, ["outer", "read"]), (30000, 1, 2, 2000000, ["load", "main"]),
           (40000, 9, 9, 2000000, [""]), (50000, 9, 9, 2000000, ["ring"] * 1024)], "samples")
    rows = query(home, path, "select distinct function from samples where time_ns in (0, 20000) "
                             "order by time_ns")
    equal([row["function"] for row in rows], ["load", "read"], "leaves")


@case
def pairs_may_end_in_another_process(home):
    def pair(pid, ph, ts, id_="1", name="E"):
        return dict(ph=ph, pid=pid, tid=pid, ts=ts, id=id_, cat="c", name=name)

    events = [pair(2, "S", 500), pair(3, "F", 700),  # of one range
              pair(2, "b", 800), pair(3, "b", 810), pair(2, "e", 820), pair(3, "e", 850)]
    path, said = imported(home, written(home, json.dumps(events)))
    equal(said, "", "what was said")
    rows = query(home, path, "select pid, begin_ns, duration_ns from ranges order by begin_ns")
    equal([tuple(row.values()) for row in rows],
          [(2, 0, 200000), (2, 300000, 20000), (3, 310000, 40000)], "ranges")


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
    """The ranges by a simple reader: (thread, name, begin, end)."""
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
def names_of_any_bytes_come_back(home):
    """More than before: run states come back as ranges of separate threads, names of lines of
    tracks as marks."""
    first = home.work / "hostile.annot"
    subprocess.run([MAKE, "hostile", first], check=True)
    for extension in ("json", "pftrace"):
        exported = home.work / f"hostile.{extension}"
        home.annot("export", "--force", "--no-flame-chart", "-o", exported, first).ok()
        second, _ = imported(home, exported)
        for table, name, value in (("ranges", "name", "duration_ns"), ("marks", "name", "1"),
                                   ("counters", "name", "value")):
            sql = f"select {name} as name, {value} as v from {table} group by 1, 2"
            got = query(home, second, sql)
            lost = [(row["name"][:99], row["v"]) for row in query(home, first, sql)
                    if row not in got]
            equal(lost, [], f"{table} that are lost in {extension}")


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


# ---- Wrong files -----------------------------------------------------------------------------


@case
def wrong_files_leave_nothing(home):
    whole = (CORPUS / "chrome/torch.json").read_bytes()
    for length in (40, 400):
        refuses(home, whole[:length], "ends in the middle", "at byte",
                options=("--from-format", "chrome"))
    refuses(home, gzip.compress(whole)[:12], "cut or damaged", name="wrong.json.gz")
    refuses(home, b"", "not known")
    refuses(home, b"\x7fELF\x02\x01\x01", "not known")
    refuses(home, b'{"name": "x"}', "not known")
    refuses(home, b'{"a": [1, 2]}', "traceEvents", options=("--from-format", "chrome"))
    refuses(home, b'[{"ph": "X"} {}]', "comma", options=("--from-format", "chrome"))
    refuses(home, b"[" * 1000, "nested", options=("--from-format", "chrome"))
    refuses(home, b"{}", "no profiles", options=("--from-format", "speedscope"))
    refuses(home, b"[]", "no profiles", options=("--from-format", "speedscope"))
    whole = (CORPUS / "pstats/cprofile.pstats").read_bytes()
    refuses(home, whole[:40], "ends in the middle")
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
def long_names_are_whole_or_counted(home):
    name, series, long = "c" * 5000, "s" * 5000, "x" * ((1 << 20) + 1)
    place = {"pid": 1, "tid": 1, "ts": 1}
    events = [dict(place, ph="C", name=name, args={series: 1, "t": 2}),
              dict(place, ph="X", name=long, dur=1)]
    path, said = imported(home, written(home, json.dumps(events)))
    check("ends of texts behind 1 MiB: 1" in said, said)
    equal({row["name"] for row in query(home, path, "select name from counters")},
          {f"{name}/{series}", f"{name}/t"}, "counters")
    equal(query(home, path, "select length(name) as n from ranges"), [{"n": 1 << 20}], "the range")


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
