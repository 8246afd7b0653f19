# SPDX-License-Identifier: MIT
"""Traces of Perfetto as recordings. As test_import.py."""

import json
import struct
import subprocess
import zlib

from harness import case, check, equal, main
from imports import MAKE, imported, query, refuses, written
from perfetto_made import event, made_legacy, made_trace, message, number, packed, packet


@case
def packets_of_perfetto_are_read(home):
    path, said = imported(home, written(home, made_trace(), "x.pftrace"), "--unit", "1ms")
    for words in ("without a begin: 1", "data sources: 1", "taken as 1.00 ms"):
        check(words in said, f"{words!r} is not in {said}")
    rows = query(home, path, "select name, category, begin_ns, duration_ns, kind, tid, args from "
                             "ranges order by begin_ns")
    equal([tuple(row.values()) for row in rows],
          [("load", "io", 0, 20000, "pushed", 78, '{"size":7}'),
           ("parse", None, 5000, 10000, "pushed", 78, None),
           ("GET", None, 40000, 40000, "track", 77, None)], "ranges")
    equal(query(home, path, "select p.name as process, t.name as thread from threads t join "
                            "processes p on p.id = t.process where t.tid = 78"),
          [{"process": "demo", "thread": "worker"}], "names")
    equal(query(home, path, "select path from tracks"), [{"path": "requests"}], "lanes")
    equal(query(home, path, "select name, time_ns from marks"), [{"name": "now", "time_ns": 10000}],
          "marks")
    equal(query(home, path, "select name, value, unit from counters"),
          [{"name": "heap", "value": 12, "unit": "MiB"}], "counters")
    equal(query(home, path, "select tid, time_ns, cpu_ns, function, cpu from samples"),
          [{"tid": 78, "time_ns": 50000, "cpu_ns": 10**6, "function": "leaf", "cpu": 3}],
          "samples")


@case
def counters_and_values_of_perfetto_events(home):
    track = packet(message(60, number(1, 1), message(4, number(1, 7), number(2, 8),
                                                     message(5, "worker"))))
    counter = packet(message(60, number(1, 2), number(5, 1), message(10, "cpu"),
                             message(8, number(4, 1000), number(5, 1))))  # differences, thousands
    state = packet(message(59, message(11, number(11, 1), message(31, b"\x02"))), number(13, 1))
    nested = message(4, message(10, "d"), message(11, message(10, "k"), number(4, 3)),
                     message(11, message(10, "l"), message(12, message(6, 'x"')),
                             message(12, number(2, 1))))
    trace = [track, counter, state,
             packet(number(8, 1000), event(1, 1, message(23, "a"), number(12, 5), nested)),
             packet(number(8, 2000), event(2, 1, number(12, 2))), state,
             packet(number(8, 3000), event(3, 1, message(23, "m"), number(12, 1)))]
    path, said = imported(home, written(home, b"".join(trace), "x.pftrace"))
    equal(said, "", "what was said")
    rows = query(home, path, "select name, value, tid, time_ns from counters order by time_ns")
    equal([tuple(row.values()) for row in rows],
          [("cpu", 5000, 8, 0), ("cpu", 7000, 8, 1000), ("cpu", 1000, 8, 2000)], "counters")
    args = query(home, path, "select args from ranges")[0]["args"]
    equal(json.loads(json.loads(args)["d"]), {"k": 3, "l": ['x"', True]}, "values")


@case
def doubles_beside_perfetto_events_are_counters(home):
    def doubles(*values):
        return message(46, struct.pack(f"<{len(values)}d", *values))

    def one(value):
        return bytes([0xf1, 0x02]) + struct.pack("<d", value)  # not packed

    counters = [packet(message(60, number(1, 2 + i), message(2, name), message(8, *parts)))
                for i, (name, parts) in enumerate((("load", ()), ("heat", (number(4, 10),)),
                                                   ("sum", (number(5, 1),))))]
    stack = message(55, message(1, message(1, "main")))
    trace = [*counters, packet(message(59, message(11, number(45, 2), number(45, 4))),
                               number(13, 1)),
             packet(number(8, 1000), event(3, 1, message(23, "a"), doubles(0.25, 1.5), stack)),
             packet(number(8, 2000), event(3, 1, message(23, "b"), number(45, 3), one(2.5),
                                           number(56, 1))),
             packet(number(8, 3000), event(3, 1, message(23, "c"), doubles(0.5, -0.25, 7)))]
    path, said = imported(home, written(home, b"".join(trace), "x.pftrace"))
    rows = query(home, path, "select name, value, time_ns from counters order by time_ns, name")
    equal([tuple(row.values()) for row in rows],
          [("load", 0.25, 0), ("sum", 1.5, 0), ("heat", 25, 1000), ("load", 0.5, 2000),
           ("sum", 1.25, 2000)], "counters")
    check("stacks of events that are no samples: 2" in said, said)
    check("left out: values that are too long, too many, or no numbers: 1" in said, said)


@case
def compressed_packets_of_perfetto_are_read(home):
    plain = made_trace()
    _, said = imported(home, written(home, plain, "x.pftrace"))
    halves = packet(number(8, 1)), packed(plain)
    inner = subprocess.run(["zstd", "-q", "-c"], input=plain, stdout=subprocess.PIPE, check=True)
    rows = {}
    for name, trace in {"plain": plain, "zlib": b"".join(halves),
                        "zstd": message(1, message(133, inner.stdout))}.items():
        path, again = imported(home, written(home, trace, "x.pftrace"))
        equal(again, said, f"what was said of {name}")
        rows[name] = [query(home, path, f"select * from {table}")
                      for table in ("ranges", "counters", "marks", "samples")]
        equal(rows[name], rows["plain"], name)
    path, said = imported(home, written(home, packed(packed(plain), plain), "x.pftrace"))
    check("within compressed packets: 1" in said, said)
    equal(query(home, path, "select * from ranges"), rows["plain"][0], "beside a nested one")
    damaged = bytearray(packed(plain))
    damaged[len(damaged) // 2] ^= 0xff
    refuses(home, bytes(damaged), "cut or damaged", options=("--from-format", "perfetto"))
    refuses(home, message(1, message(50, zlib.compress(plain)[:-9])), "cut or damaged",
            options=("--from-format", "perfetto"))
    refuses(home, packed(bytes(65 << 20)), "64 MiB", options=("--from-format", "perfetto"))


@case
def phases_of_chrome_in_perfetto_are_read_or_counted(home):
    path, said = imported(home, written(home, made_legacy(), "x.pftrace"))
    for words in ("times: 1", "not have: 1", "objects (phases N, O, D): 3", "(phase P): 1",
                  "dumps (phases v, V): 2", 'phases "(", ")"): 2', "(phase c): 1"):
        check(words in said, f"{words!r} is not in {said}")
    rows = query(home, path, "select name, begin_ns, duration_ns, kind, pid, tid from ranges "
                             "order by begin_ns")
    equal([tuple(row.values()) for row in rows],
          [("outer", 0, 20000, "pushed", 7, 8), ("whole", 1000, 5000, "pushed", 7, 8),
           ("load", 5000, 4000, "overlapping", 7, 8), ("old", 7000, 1000, "overlapping", 7, 8),
           ("other", 12000, 1000, "pushed", 70, 71), ("delta", 16000, 1000, "pushed", 7, 8)],
          "ranges")
    equal([tuple(row.values()) for row in
           query(home, path, "select name, value, tid from counters order by time_ns, name")],
          [("heap/free", 4, 8), ("heap/used", 3, 8), ("level", 9, 8)], "counters")
    equal([row["name"] for row in query(home, path, "select name from marks order by time_ns")],
          ["instant", "step"], "marks")
    flows = query(home, path, "select flow, time_ns, tid from flows order by time_ns")
    bound, arrow = flows[0]["flow"], flows[1]["flow"]
    equal([tuple(row.values()) for row in flows],
          [(bound, 0, 8), (arrow, 10000, 8), (arrow, 11000, 9), (bound, 12000, 71)], "flows")
    check(bound != arrow, "all flows are one")
    equal([tuple(row.values()) for row in
           query(home, path, "select tid, name from threads where name is not null order by 1")],
          [(8, "io"), (71, "elsewhere")], "threads")


@case
def perfetto_exports_of_annot_come_back(home):
    for shape in ("pipeline", "calls"):
        first = home.work / f"{shape}.annot"
        subprocess.run([MAKE, shape, first], check=True)
        exported = home.work / f"{shape}.pftrace"
        home.annot("export", "--force", "--no-flame-chart", "-o", exported, first).ok()
        second, _ = imported(home, exported)
        sql = ("select name, duration_ns, observer, file, line, count(*) as n from ranges "
               "where kind != 'queue' and unfinished = 0 and pid < 1000000 "
               "group by 1, 2, 3, 4, 5 order by 1, 2")
        equal(query(home, second, sql), query(home, first, sql), f"ranges of {shape}")
        for table, value in (("counters", "value"), ("marks", "name")):
            sql = f"select name, {value}, count(*) as n from {table} group by 1, 2 order by 1, 2"
            equal(query(home, second, sql), query(home, first, sql), f"{table} of {shape}")


if __name__ == "__main__":
    main()
