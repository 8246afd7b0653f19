# SPDX-License-Identifier: MIT
"""Databases of Nsight Systems as recordings. As test_import.py."""

import contextlib
import gzip
import json
import sqlite3
import subprocess

from harness import case, check, equal, main
import nsys_made
from imports import MAKE, imported, query, refuses, written


@case
def databases_of_nsight_systems_are_read(home):
    source = home.work / "report.sqlite"
    nsys_made.make(source)
    path, said = imported(home, source)
    equal(said, "", "what was said")
    rows = query(home, path, "select name, domain, category, thread, begin_ns, duration_ns, path "
                             "from ranges where kind != 'queue' order by begin_ns, duration_ns")
    wanted = []
    for step in range(3):
        at = 10000 * step
        wanted += [("step", "lib", None, 0, at, 8000, "lib:step"),
                   ("cudaLaunchKernel", None, None, 0, at + 100, 200,
                    "lib:step/cudaLaunchKernel"),
                   ("cudaMemcpyAsync", None, None, 0, at + 500, 200,
                    "lib:step/cudaMemcpyAsync")]
    wanted += [("fetch", None, None, 1, 500, 1000, "fetch"),
               ("poll", None, "operating system", 1, 1000, 400, "poll")]
    equal(sorted((tuple(row.values()) for row in rows), key=str), sorted(wanted, key=str),
          "ranges")
    work = query(home, path, "select name, begin_ns - launched_ns as delay, duration_ns, "
                             "launch_path from ranges where kind = 'queue' order by begin_ns")
    equal([tuple(row.values()) for row in work],
          [("gemm<float>(int)", 900, 3000, "lib:step/cudaLaunchKernel"),
           ("Memcpy HtoD", 3500, 1000, "lib:step/cudaMemcpyAsync")] * 3, "work of the queue")
    equal(query(home, path, "select path from tracks where kind = 'queue'"),
          [{"path": "GPU 0: NVIDIA H100/stream 7"}], "lanes")
    report = home.annot("report", "--all", path).ok().out.decode()
    check("64,8,1" in report and "12.0 KiB" in report, report)


@case
def samples_and_values_of_nsight_systems_are_read(home):
    source = home.work / "report.sqlite"
    nsys_made.make_more(source)
    path, said = imported(home, source)
    check("samples stand for 1.00 ms of CPU time each" in said and "no numbers: 1" in said, said)
    rows = query(home, path, "select time_ns, cpu_ns, path, function, (select count(*) from "
                             "stack_frames f where f.stack = s.stack) as depth from samples s "
                             "order by 1")
    equal([tuple(row.values()) for row in rows],
          [(1000, 1000000, "read", "read", 3), (2000, 1000000, "read", "vfs_read", 2),
           (3000, 1000000, "read", None, 0)], "samples")
    rows = query(home, path, "select name, category, payload, args from ranges")
    equal([(*tuple(row.values())[:3], json.loads(row["args"])) for row in rows],
          [("read", "input", 7, {"rows": 3, "name": 'a"b', "shape": "[2,4]", "ratio": 0.5,
                                 "last": True})], "ranges")
    done = home.annot("import", "--force", "--unit", "2ms", "-o", "unit.annot", source).ok()
    check("2.00 ms" in done.err_text, done.err_text)


@case
def waits_memory_and_overhead_of_nsight_systems_are_read(home):
    source = home.work / "report.sqlite"
    nsys_made.make_usage(source)
    path, said = imported(home, source)
    for words in ("waits have no stacks", "waits without an end: 2", "not have: 1"):
        check(words in said, f"{words!r} is not in {said}")
    check("without the call" not in said, said)
    rows = query(home, path, "select tid, time_ns, end_ns, blocked_ns, runnable_ns, reason, path "
                             "from samples where sample_set = 'off-cpu' order by time_ns")
    equal([tuple(row.values()) for row in rows],
          [(4000, 1000, 4000, 3000, 0, "unknown", "step"),
           (4001, 5000, 5500, 0, 500, "preempted", None)], "waits")
    rows = query(home, path, "select r.name, r.begin_ns, r.duration_ns, l.path as lane, "
                             "r.launch_path, r.args from ranges r join tracks l on l.id = r.track "
                             "where r.kind = 'queue' order by r.begin_ns")
    memory, size = "GPU 0: NVIDIA H100/memory", 1 << 20
    equal([(*tuple(row.values())[:5], json.loads(row["args"] or "{}")) for row in rows],
          [("CUDA profiling initialization", 1000, 500, "overhead", None, {}),
           ("take memory", 10000, 0, memory, "step/cudaMalloc",
            {"memory": "device", "size [bytes]": size, "held [bytes]": size, "address": 4096}),
           ("take memory", 12000, 0, memory, None,
            {"memory": "device static", "size [bytes]": 4096, "held [bytes]": 4096,
             "address": 8192, "variable": "table"}),
           ("give memory back", 13000, 0, memory, None,
            {"memory": "device", "size [bytes]": size, "held [bytes]": 0, "address": 4096})],
          "queues")
    with contextlib.closing(sqlite3.connect(source)) as database:
        for column in ("threadState", "threadBlock"):
            database.execute(f"ALTER TABLE SCHED_EVENTS DROP COLUMN {column}")
        database.commit()
    path, _ = imported(home, source)
    rows = query(home, path, "select blocked_ns, runnable_ns from samples order by time_ns")
    equal([tuple(row.values()) for row in rows], [(3000, 0), (500, 0)], "waits without states")


@case
def waits_of_exports_come_back_once(home):
    first = home.work / "sampled.annot"
    subprocess.run([MAKE, "sampled", first], check=True)
    home.annot("export", "--force", "-o", "out.sqlite", first).ok()
    second, _ = imported(home, home.work / "out.sqlite")
    sql = "select sum(blocked_ns) as ns from samples where sample_set = 'off-cpu'"
    equal(query(home, second, sql), query(home, first, sql), "waits")


@case
def tables_that_are_not_read_are_named(home):
    source = home.work / "report.sqlite"
    nsys_made.make(source)
    with contextlib.closing(sqlite3.connect(source)) as database:
        for name, rows in (("GPU_METRICS", 1234), ('WEIRD "TABLE"', 2), ("EMPTY", 0),
                           ("ENUM_NSYS_EVENT_TYPE", 5), ("TARGET_INFO_SYSTEM_ENV", 6)):
            name = name.replace('"', '""')
            database.execute(f'create table "{name}" (value)')
            database.executemany(f'insert into "{name}" values (?)', [(i,) for i in range(rows)])
        database.commit()
    said = imported(home, source)[1]
    equal(said.splitlines(), ["annot import: left out: rows of table GPU_METRICS: 1,234",
                              'annot import: left out: rows of table WEIRD "TABLE": 2'], "said")
    with contextlib.closing(sqlite3.connect(source)) as database:
        for i in range(30):
            database.execute(f"create table more_{i:02} as select 1 as value")
        database.commit()
    check("left out: 12 tables more" in imported(home, source)[1], "how many more")


@case
def tables_of_other_versions_lack_columns(home):
    source = home.work / "report.sqlite"
    nsys_made.make(source)
    with contextlib.closing(sqlite3.connect(source)) as database:
        for table, column in (("NVTX_EVENTS", "endGlobalTid"), ("NVTX_EVENTS", "domainId"),
                              ("CUPTI_ACTIVITY_KIND_KERNEL", "registersPerThread"),
                              ("CUPTI_ACTIVITY_KIND_MEMCPY", "correlationId")):
            database.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        for table in ("OSRT_API", "TARGET_INFO_GPU", "ThreadNames"):
            database.execute(f"DROP TABLE {table}")
        database.commit()
    path, said = imported(home, source)
    check("GPU work without the call that launched it: 3" in said, said)
    equal(query(home, path, "select kind, count(*) as n from ranges group by 1 order by 1"),
          [{"kind": "overlapping", "n": 1}, {"kind": "pushed", "n": 9},
           {"kind": "queue", "n": 6}],
          "ranges by kind")


@case
def databases_that_are_wrong_leave_nothing(home):
    source = home.work / "report.sqlite"
    nsys_made.make(source)
    whole = source.read_bytes()
    for length in range(100, len(whole), 3001):
        done = home.annot("import", "--force", "-o", "cut.annot",
                          written(home, whole[:length], "cut.sqlite"))
        check((done.status == 0) == (home.work / "cut.annot").exists(), f"{length}: {done.status}")
        check(len(done.err_text.splitlines()) <= 3, done.err_text)
        (home.work / "cut.annot").unlink(missing_ok=True)
    packed = written(home, gzip.compress(whole), "report.sqlite.gz")
    equal(query(home, imported(home, packed)[0], "select count(*) as n from ranges"), [{"n": 17}],
          "ranges of a compressed database")
    source.unlink()
    with contextlib.closing(sqlite3.connect(source)) as database:
        database.execute("CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE c(start) AS (SELECT 1 UNION "
                         "ALL SELECT start + 1 FROM c) SELECT * FROM c")
        database.commit()
    refuses(home, source.read_bytes(), "no tables of Nsight Systems")


if __name__ == "__main__":
    main()
