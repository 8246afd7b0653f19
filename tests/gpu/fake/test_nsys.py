#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""GPU work in databases in the format of Nsight Systems exports: sums equal those of `annot query`,
each piece of work has one launch, and typical user SQL returns the expected rows.

    test_nsys.py ANNOT FAKE_CUPTI PROGRAM
"""

import json
import os
import pathlib
import sqlite3
import subprocess
import sys

import replay

ANNOT, FAKE, PROGRAM = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
COLUMNS = {"kernel": "CUPTI_ACTIVITY_KIND_KERNEL", "copy": "CUPTI_ACTIVITY_KIND_MEMCPY",
           "set": "CUPTI_ACTIVITY_KIND_MEMSET", "wait": "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
           "graph": "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "call": "CUPTI_ACTIVITY_KIND_RUNTIME",
           "overhead": "PROFILER_OVERHEAD"}
# Typical queries of users.
KERNELS = """SELECT s.value AS name, COUNT(*) AS n, SUM(k.end - k.start) AS ns
    FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN StringIds AS s ON k.demangledName = s.id
    GROUP BY s.value ORDER BY ns DESC"""
LAUNCHES = """SELECT k.start, r.start, n.text FROM CUPTI_ACTIVITY_KIND_KERNEL k
    JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId
      AND r.globalTid / 0x1000000 = k.globalPid / 0x1000000
    LEFT JOIN NVTX_EVENTS n ON n.globalTid = r.globalTid AND n.start <= r.start
      AND n.end >= r.end AND n.eventType = 59"""


def run(*words):
    environment = {**os.environ, "ANNOT_CUPTI": str(FAKE), "FAKE_CUPTI": str(FAKE)}
    done = subprocess.run([str(word) for word in words], env=environment, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def record(scene, *options):
    out = replay.folder / f"{scene}{len(options)}.annot"
    run(ANNOT, "record", "--force", "--sampling=none", "--gpu", *options, "-o", out, "--", PROGRAM,
        replay.file_of(scene), "none")
    return out


def query(recording, sql):
    return [json.loads(line) for line in run(ANNOT, "query", "--json", recording, sql).splitlines()]


def export(recording):
    path = recording.with_suffix(".sqlite")
    run(ANNOT, "export", "--force", "-o", path, recording)
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def sums_in(database, table):
    names = {name for name, in database.execute("select name from sqlite_master")}
    if table not in names:
        return 0, 0
    calls = "where start < end" if table.endswith("RUNTIME") else ""
    return database.execute(f"select count(*), coalesce(sum(end - start), 0) from {table} "
                            f"{calls}").fetchone()


def check_sums(recording, database):
    rows = query(recording, """select category, count(*) as n, sum(duration_ns) as ns from ranges
        where domain = 'CUDA' group by 1""")
    wanted = {row["category"]: (row["n"], row["ns"]) for row in rows}
    for category, table in COLUMNS.items():
        assert sums_in(database, table) == wanted.get(category, (0, 0)), (recording, category)
    return wanted


def check_kernels(recording, database):
    rows = query(recording, """select name, count(*) as n, sum(duration_ns) as ns from ranges
        where domain = 'CUDA' and category = 'kernel' group by 1 order by 3 desc""")
    assert database.execute(KERNELS).fetchall() == [tuple(row.values()) for row in rows]


def check_launches(recording, database):
    """Each piece of work has a launch, on its thread, in its range."""
    rows = query(recording, """select begin_ns, launched_ns, launch_path from ranges
        where domain = 'CUDA' and category = 'kernel'""")
    wanted = sorted((row["begin_ns"], (row["launch_path"] or "").split("/")[0] or None)
                    for row in rows)
    told = sorted((start, text) for start, _, text in database.execute(LAUNCHES))
    assert told == wanted, (recording, [pair for pair in zip(told, wanted)
                                        if pair[0] != pair[1]][:3], len(told), len(wanted))


def scenes_have_the_sums_of_queries():
    for scene in ("streams", "copies", "graph", "graph-nodes", "contexts", "sync"):
        recording = record(scene, *(["--gpu=nodes"] if scene == "graph-nodes" else []))
        database = export(recording)
        wanted = check_sums(recording, database)
        assert wanted, scene
        if "kernel" in wanted:
            check_kernels(recording, database)
            check_launches(recording, database)
        assert database.execute("select id, name, cuDevice from TARGET_INFO_GPU").fetchall() == \
            [(0, "Fake 0", 0)], scene


def calls_are_the_launches_where_they_are_recorded():
    recording = record("streams", "--gpu=driver,-runtime")
    database = export(recording)
    check_sums(recording, database)
    assert len(database.execute(LAUNCHES).fetchall()) == 40
    names = database.execute("""select distinct value from CUPTI_ACTIVITY_KIND_KERNEL k
        join CUPTI_ACTIVITY_KIND_RUNTIME r using (correlationId) join StringIds on id = nameId""")
    assert names.fetchall() == [("cuLaunchKernel",)]


def copies_have_their_kind_and_bytes():
    recording = record("copies")
    told = export(recording).execute("""select label, count(*), sum(bytes)
        from CUPTI_ACTIVITY_KIND_MEMCPY join ENUM_CUDA_MEMCPY_OPER on id = copyKind
        group by 1 order by 1""").fetchall()
    rows = query(recording, """select name, count(*) as n, sum(args ->> '$."size [bytes]"') as bytes
        from ranges where category = 'copy' group by 1 order by 1""")
    labels = {"copy host to device": "Host-to-Device", "copy device to host": "Device-to-Host",
              "copy device to device": "Device-to-Device"}
    wanted = sorted((labels[row["name"]], row["n"], row["bytes"]) for row in rows)
    assert told == wanted, (told, wanted)


def imported_again_it_is_the_same():
    """Except for names of copies. Calls of unknown threads are on these in that case."""
    sql = """select case when name like '%cop%' or name like 'Memcpy%' then 'copy'
        when name in ('set', 'Memset') then 'set' else name end as name, count(*) as n,
        sum(duration_ns) as ns from ranges where kind = 'queue' and name not like 'overhead%'
        and name not like 'jit%' and name not like '%memory%' and name not like 'cu%'
        and name not like 'driver call%' group by 1"""
    for scene, *options in (("streams", "--gpu=driver,-runtime"), ("copies",), ("graph",),
                            ("sync",)):
        recording = record(scene, *options)
        export(recording)
        again = recording.with_suffix(".again.annot")
        run(ANNOT, "import", "--force", "-o", again, recording.with_suffix(".sqlite"))
        assert query(again, sql) == query(recording, sql), (scene, query(again, sql),
                                                            query(recording, sql))
        assert not query(again, "select * from ranges where name = 'launch'"), scene


if __name__ == "__main__":
    sys.exit(replay.run_cases([scenes_have_the_sums_of_queries,
                               calls_are_the_launches_where_they_are_recorded,
                               copies_have_their_kind_and_bytes, imported_again_it_is_the_same]))
