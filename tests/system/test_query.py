#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`annot query` against the second reader of recordings (query_truth.py): the same rows, sums,
counts and joins, for every part of a query that is passed on to the reading; and the limits of SQL.
"""

import collections
import csv
import functools
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import time

from harness import ANNOT, PROGRAMS, Failed, Skip, case, check, equal, main
from query_truth import Truth

PROGRAM = """
import asyncio, multiprocessing, threading, time
import pyannot
lock = threading.Lock()
def spin(n):
    return sum(i * i for i in range(n))
def request(number):
    with pyannot.annotate("request", domain="web", number=number):
        with pyannot.annotate("parse", category="cpu"):
            spin(20000 + 1000 * number)
        with lock:
            time.sleep(0.002)
        pyannot.mark("answered", domain="web")
        pyannot.counter("answers", number)
def job(n):
    with pyannot.annotate("job"):
        return spin(30000)
async def task(n):
    with pyannot.annotate("step"):
        spin(5000)
    await asyncio.sleep(0.001 * n)
async def tasks():
    await asyncio.gather(*(task(n) for n in range(8)))
if __name__ == "__main__":
    threads = [threading.Thread(target=lambda: [request(i) for i in range(12)]) for _ in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    with multiprocessing.Pool(2) as pool:
        pool.map(job, range(12))
    asyncio.run(tasks())
    handle = pyannot.start("over")
    spin(10000)
    pyannot.end(handle)
    open_for_ever = pyannot.annotate("never ended")
    open_for_ever.__enter__()
"""


def ask(path, sql, *options, status=0):
    done = subprocess.run([ANNOT, "query", "--json", *options, str(path), sql],
                          capture_output=True, text=True, timeout=120, check=False)
    equal(done.returncode, status, f"the exit status of {sql!r}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def fails(path, sql, *words, options=(), status=1):
    done = subprocess.run([ANNOT, "query", *options, str(path), sql], capture_output=True,
                          text=True, timeout=120, check=False)
    equal(done.returncode, status, f"the exit status of {sql!r}")
    for word in words:
        check(word in done.stderr, f"{sql!r} does not say {word!r}: {done.stderr}")
    check(len(words) > 1 or done.stderr.count("annot query: ") >= 1, "no message")


@functools.cache
def python_recording():
    """Of threads, a pool, tasks, every kind of event: recorded once for all cases."""
    folder = pathlib.Path(os.environ.get("TMPDIR", "/tmp"), f"annot-query-{os.getpid()}")
    folder.mkdir(exist_ok=True)
    script = folder / "program.py"
    script.write_text(PROGRAM)
    path = folder / "program.annot"
    environment = {name: value for name, value in os.environ.items() if name != "ANNOT_PYTHON"}
    done = subprocess.run([ANNOT, "record", "--force", "--quiet", "-o", str(path), "--",
                           sys.executable, str(script)], capture_output=True, text=True,
                          timeout=120, check=False,
                          env=dict(environment, ANNOT_DIR=str(folder / "annot")))
    if "No module named 'pyannot'" in done.stderr:
        raise Skip("built without Python")
    equal(done.returncode, 0, f"the exit status of the recording: {done.stderr}")
    return path, Truth(path)


def make(home, kind, *numbers):
    path = home.work / f"{kind}.annot"
    home.run(PROGRAMS / "make_trace", kind, path, *map(str, numbers)).ok()
    return path


def made(home, kind, *numbers):
    path = make(home, kind, *numbers)
    return path, Truth(path)


def c_recording(home, program, *arguments):
    path = home.work / f"{program}.annot"
    done = home.run(ANNOT, "record", "--quiet", "-o", path, "--", PROGRAMS / program, *arguments)
    check(path.exists(), done.err_text)
    return path, Truth(path)


def comparable(rows, columns):
    return collections.Counter(tuple(row.get(column) for column in columns) for row in rows)


COLUMNS = {
    "ranges": "name domain category process thread pid tid kind depth begin_ns end_ns duration_ns "
              "self_ns unfinished end_lost level",
    "marks": "name domain category process thread pid tid time_ns level",
    "counters": "name domain category process thread pid tid time_ns",
    "flows": "name domain process thread time_ns flow kind",
    "losses": "process thread begin_ns end_ns lost_count",
    "samples": "sample_set process thread pid time_ns cpu cpu_ns runnable_ns blocked_ns stack "
               "function line in_kernel holds_gil",
    "waits": "process thread pid begin_ns end_ns runnable_ns blocked_ns reason function",
}


def same_rows(path, truth):
    for table, names in COLUMNS.items():
        columns = names.split()
        found = ask(path, f"SELECT {', '.join(columns)} FROM {table}")
        got, wanted = comparable(found, columns), comparable(truth.rows[table], columns)
        differing = list((got - wanted).items())[:2], list((wanted - got).items())[:2]
        check(got == wanted, f"{table} of {path}: {differing}")


def grouped(rows, keys, value):
    sums = collections.defaultdict(lambda: [0, 0])
    for row in rows:
        entry = sums[tuple(row[key] for key in keys)]
        entry[0] += 1
        entry[1] += row[value]
    return {key: tuple(entry) for key, entry in sums.items()}


def same_sums(path, truth):
    for table, value in (("ranges", "duration_ns"), ("ranges", "self_ns"), ("samples", "cpu_ns"),
                         ("waits", "blocked_ns")):
        for keys in (["process"], ["thread"], ["process", "thread"],
                     *([["domain"], ["name", "kind"]] if table == "ranges" else [])):
            names = ", ".join(keys)
            rows = ask(path, f"SELECT {names}, count(*) AS n, sum({value}) AS total FROM {table} "
                             f"GROUP BY {names}")
            got = {tuple(row[key] for key in keys): (row["n"], row["total"]) for row in rows}
            equal(got, grouped(truth.rows[table], keys, value), f"{value} of {table} by {names}")


def same_joins(path, truth):
    """Ranges with the samples of their thread while they were open; both with their processes."""
    ranges = sorted(truth.rows["ranges"], key=lambda row: -row["duration_ns"])[:5]
    by_thread = collections.defaultdict(list)
    for sample in truth.rows["samples"]:
        if sample["sample_set"] == "cpu":
            by_thread[sample["thread"]].append(sample)
    wanted = collections.Counter()
    for row in ranges:
        for sample in by_thread[row["thread"]]:
            if row["begin_ns"] <= sample["time_ns"] < row["end_ns"]:
                wanted[row["name"], row["begin_ns"], sample["function"]] += 1
    longest = ranges[-1]["duration_ns"] if ranges else 0
    if sum(row["duration_ns"] >= longest for row in truth.rows["ranges"]) != len(ranges):
        return  # several are as long as the last of these
    rows = ask(path, f"""
        WITH slow AS MATERIALIZED (SELECT name, thread, begin_ns, end_ns FROM ranges
                                   WHERE duration_ns >= {longest})
        SELECT slow.name AS name, slow.begin_ns AS begin_ns, function, count(*) AS n
        FROM slow CROSS JOIN samples s
        ON s.thread = slow.thread AND time_ns >= slow.begin_ns AND time_ns < slow.end_ns
        WHERE sample_set = 'cpu' GROUP BY 1, 2, 3""")
    got = {(row["name"], row["begin_ns"], row["function"]): row["n"] for row in rows}
    equal(got, dict(wanted), "samples in ranges")
    rows = ask(path, "SELECT p.pid AS pid, t.tid AS tid, count(*) AS n FROM ranges r "
                     "JOIN threads t ON t.id = r.thread JOIN processes p ON p.id = t.process "
                     "GROUP BY 1, 2")
    got = {(row["pid"], row["tid"]): row["n"] for row in rows}
    wanted = collections.Counter()
    for row in truth.rows["ranges"]:
        wanted[row["pid"], row["tid"]] += 1
    equal(got, dict(wanted), "ranges of threads")


def conditions(rows, begin, rng):
    """A condition in SQL, and the same in Python, of the kinds that are passed on to the reading
    and those that are not."""
    row = rng.choice(rows)
    name = (row.get("name") or "").replace("'", "''")
    at, other = (rng.choice(rows)[begin] for _ in range(2))
    low, high = min(at, other), max(at, other)
    has_end = "end_ns" in row
    yield f"thread = {row['thread']}", lambda r: r["thread"] == row["thread"]
    yield f"process = {row['process']}", lambda r: r["process"] == row["process"]
    yield f"{begin} >= {low}", lambda r: r[begin] >= low
    yield f"{begin} > {low} AND {begin} <= {high}", lambda r: low < r[begin] <= high
    yield f"{begin} BETWEEN {low} AND {high} AND thread = {row['thread']}", \
        lambda r: low <= r[begin] <= high and r["thread"] == row["thread"]
    yield f"{begin} < {low} OR {begin} >= {high}", lambda r: r[begin] < low or r[begin] >= high
    yield f"{begin} >= {low + 0.5} AND {begin} < {high + 0.5}", \
        lambda r: low < r[begin] <= high
    yield f"{begin} < {low} + NULL", lambda r: False
    yield f"thread = {row['thread']} OR process = {row['process']} OR {begin} = {low}", \
        lambda r: r["thread"] == row["thread"] or r["process"] == row["process"] or r[begin] == low
    yield f"thread IN ({row['thread']}, {rows[0]['thread']}, 12345)", \
        lambda r: r["thread"] in (row["thread"], rows[0]["thread"])
    if name:
        yield f"name = '{name}'", lambda r: r["name"] == row["name"]
        yield f"name = '{name}' COLLATE NOCASE", \
            lambda r: (r["name"] or "").lower() == row["name"].lower()
        yield f"name = '{name}' OR thread = {row['thread']}", \
            lambda r: r["name"] == row["name"] or r["thread"] == row["thread"]
        yield f"name IN ('{name}', 'no such name')", lambda r: r["name"] == row["name"]
    if has_end:
        yield f"end_ns <= {high}", lambda r: r["end_ns"] <= high
        yield f"end_ns < {high} AND {begin} >= {low}", \
            lambda r: r["end_ns"] < high and r[begin] >= low
        yield f"{begin} <= {at} AND end_ns > {at}", lambda r: r[begin] <= at < r["end_ns"]


def same_selections(path, truth, seed):
    rng = random.Random(seed)
    for table, names in COLUMNS.items():
        rows = truth.rows[table]
        columns = names.split()
        begin = "begin_ns" if "begin_ns" in columns else "time_ns"
        if not rows:
            continue
        asked = list(conditions(rows, begin, rng))
        sql = ";".join(f"SELECT {number} AS number, {', '.join(columns)} FROM {table} WHERE "
                       f"{condition}" for number, (condition, _) in enumerate(asked))
        found = collections.defaultdict(list)
        for row in ask(path, sql):
            found[row["number"]].append(row)
        for number, (condition, meant) in enumerate(asked):
            got = comparable(found[number], columns)
            wanted = comparable(filter(meant, rows), columns)
            check(got == wanted, f"{table} WHERE {condition}: {got.total()} rows, not "
                                 f"{wanted.total()}")


def all_the_same(path, truth, seed):
    same_rows(path, truth)
    same_sums(path, truth)
    same_joins(path, truth)
    same_selections(path, truth, seed)


@case
def python_programs(home):
    path, truth = python_recording()
    check({"pushed", "overlapping", "track"} <= {row["kind"] for row in truth.rows["ranges"]},
          "a kind of ranges is missing")
    check(any(row["unfinished"] for row in truth.rows["ranges"]), "every range was ended")
    check(truth.rows["marks"] and truth.rows["counters"] and truth.rows["flows"], "no points")
    for seed in range(3):
        all_the_same(path, truth, seed)


@case
def programs_in_c(home):
    for command in (["emit_kinds", "kinds"], ["emit_cxx"], ["emit_names"]):
        path, truth = c_recording(home, *command)
        if truth.rows["ranges"]:
            all_the_same(path, truth, 1)


@case
def made_recordings(home):
    path, truth = made(home, "random", 8000, 1000)
    check(len(truth.rows["ranges"]) > 7500, "too few ranges")
    for seed in range(2):
        all_the_same(path, truth, seed)


@case
def large_ones_are_sought(home):
    """Conditions on times make the reader begin at a checkpoint. Rows stay the same."""
    path = make(home, "random", 1000000, 20000)
    sums = "count(*) AS n, sum(duration_ns % 1000 * depth) AS d, sum(self_ns) AS s FROM ranges"
    last = ask(path, "SELECT max(begin_ns) AS last FROM ranges")[0]["last"]
    for part in (0.5, 0.9, 0.99):
        since = int(last * part)
        for condition in ("{0}begin_ns >= {1}", "{0}begin_ns > {1} AND {0}end_ns <= {1} + 1000000",
                          "{0}end_ns < {1}", "{0}begin_ns >= {1} AND {0}begin_ns <= {1} + 9999"):
            sought, plain = (f"SELECT {sums} WHERE {condition.format(sign, since)}"
                             for sign in ("", "+"))  # SQLite passes on no expressions
            equal(ask(path, sought), ask(path, plain), condition.format("", since))
        paths = "SELECT path, count(*) AS n FROM samples WHERE {0}time_ns >= {1} GROUP BY path"
        equal(ask(path, paths.format("", since)), ask(path, paths.format("+", since)), "paths")
    begin = time.monotonic()
    ask(path, f"SELECT count(*) FROM ranges WHERE begin_ns >= {int(last * 0.99)}")
    sought = time.monotonic() - begin
    ask(path, f"SELECT count(*) FROM ranges WHERE +begin_ns >= {int(last * 0.99)}")
    check(sought < (time.monotonic() - begin) / 2, f"a hundredth takes {sought:.2f} s")


ORDERS = {
    "ranges": (("name", "domain", "category", "process", "thread", "pid", "tid", "kind", "level",
                "observer", "role"),
               ("duration_ns", "self_ns", "depth", "begin_ns", "blocked_ns", "unfinished")),
    "samples": (("process", "thread", "pid", "tid", "reason", "stack", "function", "file", "line",
                 "owner", "own_function", "own_line", "cpu"),
                ("cpu_ns", "time_ns", "duration_ns", "path", "sample_set", "in_kernel")),
    "waits": (("reason", "thread", "function"), ("blocked_ns", "begin_ns", "unfinished")),
}


def sorts(path, sql):
    plan = ask(path, "EXPLAIN QUERY PLAN " + sql)
    return any("TEMP B-TREE" in row["detail"] for row in plan)


@case
def groups_without_sqlites_sorter(home):
    """Groups read in order equal those that SQLite sorts itself, which an expression (+name)
    forces; in memory and through a temporary file."""
    rng = random.Random(5)
    for path in (make(home, "random", 100_000, 30_000), python_recording()[0]):
        for table, (keys, values) in ORDERS.items():
            for _ in range(6):
                chosen = rng.sample(keys, rng.randint(1, 3))
                down = [rng.choice(("", " DESC")) for _ in chosen]
                sums = ", ".join(f"sum({value}), max({value})" for value in rng.sample(values, 2))
                sql = (f"SELECT {', '.join(chosen)}, count(*), {sums} FROM {table} "
                       "GROUP BY {0} ORDER BY {1}")
                fast, slow = (sql.format(
                    ", ".join(sign + key for key in chosen),
                    ", ".join(sign + key + way for key, way in zip(chosen, down)))
                    for sign in ("", "+"))
                options = rng.choice(((), ("--memory-limit", "8M")))
                equal(ask(path, fast, *options), ask(path, slow), fast)
                plain = fast[:fast.index(" ORDER BY")]
                check(not sorts(path, plain), f"SQLite sorts: {plain}")
                check(sorts(path, slow), f"nobody sorts: {slow}")
    check(sorts(path, "SELECT path, count(*) FROM ranges GROUP BY path"), "paths are in no order")


@case
def the_report_is_a_table(home):
    path, _ = python_recording()
    report = json.loads(subprocess.run([ANNOT, "report", "--json", "--lines", str(path)],
                                       capture_output=True, check=True).stdout)
    schema = subprocess.run([ANNOT, "query", "--schema"], capture_output=True, text=True,
                            check=True).stdout
    for name, rows in report.items():
        check(f"report_{name}\n" in schema, f"report_{name} is not in the schema")
        found = ask(path, f"SELECT * FROM report_{name} WHERE row_part = 0")
        rows = [rows] if isinstance(rows, dict) else rows
        equal(len(found), len(rows), f"rows of report_{name}")
        for got, wanted in zip(found, rows):
            shown = {key: value for key, value in wanted.items() if key not in ("parts", "rest")}
            equal({key: got[key] for key in shown}, shown, f"a row of report_{name}")
    for line in schema.splitlines():
        if line.startswith("  report_"):
            check(line.strip()[7:] in report, f"{line} is not in the report")


@case
def options_select_as_elsewhere(home):
    """The command's options select in all tables, as in annot cat."""
    path, truth = python_recording()
    thread = truth.rows["ranges"][0]["thread"]
    tid = truth.threads[thread]["tid"]
    for options in (["--from", "50ms"], ["--to", "100ms"], ["--from", "40ms", "--to", "120ms"],
                    ["--range", "request"], ["--thread", str(tid)]):
        lines = subprocess.run([ANNOT, "cat", "--json", "--complete", *options, str(path)],
                               capture_output=True, check=True, text=True).stdout.splitlines()
        cat = [row for row in map(json.loads, lines) if row["event"] == "range"]
        wanted = collections.Counter((row["name"], row["time_ns"], row["duration_ns"], row["path"])
                                     for row in cat)
        found = ask(path, "SELECT name, begin_ns, duration_ns, path FROM ranges", *options)
        equal(comparable(found, ["name", "begin_ns", "duration_ns", "path"]), wanted,
              f"ranges with {options}")


@case
def frames_and_paths(home):
    path, truth = python_recording()
    rows = ask(path, "SELECT s.stack AS stack, f.depth AS depth, f.frame AS frame, f.function AS "
                     "function, f.inside AS inside FROM (SELECT DISTINCT stack FROM samples WHERE "
                     "stack) s JOIN stack_frames f ON f.stack = s.stack ORDER BY 1, 2")
    got = collections.defaultdict(list)
    for row in rows:
        equal(row["depth"], len(got[row["stack"]]), "the depth of a frame")
        got[row["stack"]].append(row["frame"])
    for stack, frames in got.items():
        wanted, at = [], stack
        while at:
            wanted.append(truth.stacks[at]["what"])
            at = truth.stacks[at]["parent"]
        equal(frames, wanted[::-1], f"the frames of stack {stack}")
    equal({row["stack"] for row in truth.rows["samples"]} - {None}, set(got), "stacks")
    args = ask(path, "SELECT name, args, path, parent FROM ranges WHERE name = 'request'")
    equal(sorted(json.loads(row["args"])["number"] for row in args), sorted(list(range(12)) * 3),
          "arguments")
    parents = {row["parent"] for row in ask(path, "SELECT parent FROM ranges WHERE name='parse'")}
    equal(parents, {"web:request"}, "the path around parse")
    inside = ask(path, "SELECT count(*) AS n FROM ranges WHERE inside(path, 'web:req*')")
    equal(inside[0]["n"], 72, "ranges inside of requests")


@case
def sql_reads_and_nothing_else(home):
    path = make(home, "random", 100, 10)
    before = path.read_bytes()
    other = home.work / "other.db"
    for sql in ("INSERT INTO ranges VALUES (1)", "UPDATE ranges SET name = 1", "DELETE FROM marks",
                f"ATTACH '{other}' AS other", f"VACUUM INTO '{other}'", "CREATE TABLE t (a)",
                "CREATE TEMP TABLE t (a)", "CREATE VIRTUAL TABLE t USING fts5(a)",
                "CREATE TEMP VIEW v AS SELECT 1", "PRAGMA writable_schema = 1", "BEGIN",
                "PRAGMA temp_store_directory = '/'", "SAVEPOINT s", "DROP TABLE ranges",
                "SELECT load_extension('libc.so.6')", "REINDEX", "ANALYZE"):
        done = subprocess.run([ANNOT, "query", str(path), sql], capture_output=True, text=True,
                              check=False, timeout=60)
        check(done.returncode == 1 or (sql in ("REINDEX", "ANALYZE") and not done.stdout),
              f"{sql} is allowed: {done.stdout}")
    equal(path.read_bytes(), before, "the recording")
    check(not other.exists(), "SQL wrote a file")
    rows = ask(path, "PRAGMA table_info(ranges)")
    equal(rows[0]["name"], "name", "the first column of ranges")


@case
def wrong_sql_is_one_line(home):
    path = make(home, "random", 100, 10)
    fails(path, "SELEC 1", "syntax error")
    fails(path, "SELECT * FROM rangs", "no such table: rangs", "did you mean ranges?")
    fails(path, "SELECT foo FROM ranges", "no such column: foo", "--schema")
    fails(path, "SELECT quantile(duration_ns, 2) FROM ranges", "a part from 0 to 1")
    fails(path, "SELECT count(*) FROM ranges; SELECT", "incomplete input")
    fails(path, "SELECT 1", "use only one", options=("--csv", "--json"), status=2)
    fails(path, "SELECT hex(randomblob(50000000))", "more than 256 MiB")
    fails(path, "SELECT 1", "tells no format", options=("-o", "x"), status=2)
    fails("/dev/null", "SELECT 1", "/dev/null")
    fails(home.work / "none.annot", "SELECT 1", "none.annot")


@case
def results_in_every_form(home):
    path = make(home, "random", 3000, 10)
    sql = "SELECT name, count(*) AS n, sum(duration_ns) AS total_ns FROM ranges GROUP BY 1"
    rows = ask(path, sql)
    printed = home.run(ANNOT, "query", "--csv", path, sql).ok()

    found = list(csv.DictReader(printed.out.decode().splitlines()))
    equal([(row["name"], int(row["n"]), int(row["total_ns"])) for row in found],
          [(row["name"], row["n"], row["total_ns"]) for row in rows], "rows of CSV")
    home.run(ANNOT, "query", "-o", "x.csv", path, sql).ok()
    equal((home.work / "x.csv").read_text(), printed.out.decode(), "the file of CSV")
    home.run(ANNOT, "query", "-o", "x.csv", path, sql).complains(1, "exists already")
    (home.work / "q.sql").write_text("-- all\n" + sql + ";\nSELECT 1 AS one;\n")
    text = home.run(ANNOT, "query", "-f", "q.sql", path).ok().out.decode()
    check("total" in text and "one" in text, text)
    typed = home.run(ANNOT, "query", path, "-", stdin=sql.encode()).ok().out.decode()
    equal(typed, text.split("\n\n")[0] + "\n", "what standard input asked for")


@case
def it_ends_when_it_is_told_to(home):
    path = make(home, "random", 20000, 10)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    for sql in (endless, "SELECT count(*) FROM ranges a, ranges b, ranges c"):
        with subprocess.Popen([ANNOT, "query", str(path), sql], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            equal(process.wait(timeout=10), 130, "the exit status of a query that is interrupted")
    done = subprocess.run(f"{ANNOT} query --csv {path} 'SELECT * FROM ranges, marks' | head -n 3",
                          shell=True, capture_output=True, text=True, check=True, timeout=60)
    equal(done.stdout.count("\n"), 3, "lines of head")
    equal(done.stderr, "", "what a query says whose reader has enough")


@case
def memory_is_bounded(home):
    """Sorts beyond the memory limit go on in files; rows are not all kept."""
    path = make(home, "random", 600000, 10)
    for sql in ("SELECT name, begin_ns, path FROM ranges ORDER BY duration_ns, path",
                "SELECT count(*), max(path) FROM ranges"):
        script = ("import os, sys; null = os.open(os.devnull, os.O_WRONLY);"
                  "pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ,"
                  "file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)]);"
                  "_, status, usage = os.wait4(pid, 0); print(status, usage.ru_maxrss)")
        out = subprocess.run([sys.executable, "-S", "-E", "-c", script, ANNOT, "query", "--csv",
                              str(path), sql], capture_output=True, text=True, check=True).stdout
        status, kib = map(int, out.split())
        equal(status, 0, sql)
        check(kib < 160 * 1024, f"{kib} KiB for {sql}")


@case
def damage_is_told(home):
    path = make(home, "random", 100000, 100)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xff
    path.write_bytes(data)
    for sql in ("SELECT count(*) FROM ranges", "SELECT (SELECT count(*) FROM ranges), "
                                               "(SELECT count(*) FROM ranges, processes)"):
        fails(path, sql, "damaged at byte")
    path.write_bytes(data[:len(data) // 3])
    fails(path, "SELECT count(*) FROM ranges", "the recording was cut")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    assert Failed
    main()
