# SPDX-License-Identifier: MIT
"""Imports of files with a lot of one thing take bounded memory, and keep correct data. Memory is
the kernel's ru_maxrss of `annot import`, which reads a pipe."""

import json
import os
import random
import subprocess

from harness import ANNOT, case, check, equal, main
from imports import imported, query, written
from perfetto_made import event, message, number, packet

MEBIBYTES_BASE = 80  # base memory of sorting for any file


def import_of(home, pieces, name):
    """The recording, the messages, and MiB."""
    path = home.work / name
    with open(home.work / "said", "w+") as said:
        child = subprocess.Popen([ANNOT, "import", "--force", "-o", path, "-"],
                                 stdin=subprocess.PIPE, stderr=said)
        with child.stdin as pipe:
            for piece in pieces:
                pipe.write(piece if isinstance(piece, bytes) else piece.encode())
        status, usage = os.wait4(child.pid, 0)[1:]
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    equal(child.returncode, 0, text)
    return path, text, usage.ru_maxrss / 1024


def chrome(events):
    """In pieces of a thousand events."""
    yield '{"traceEvents":['
    piece = []
    for event in events:
        piece.append(event)
        if len(piece) == 1000:
            yield ",".join(piece) + ","
            piece = []
    yield ",".join([*piece, "{}"]) + "]}"


@case
def threads_one_after_the_other_take_no_more_memory_than_one(home):
    def bursts(threads, each=34_000):
        for i in range(threads * each):
            yield f'{{"ph":"X","pid":1,"tid":{2 + i // each},"ts":{i},"dur":0.5,"name":"r"}}'

    path, _, mib = import_of(home, chrome(bursts(50)), "bursts.annot")
    check(mib <= MEBIBYTES_BASE, f"{mib:.0f} MiB")
    rows = query(home, path, "select tid, count(*) as n from ranges group by 1 order by 1")
    equal([(row["tid"], row["n"]) for row in rows], [(2 + i, 34_000) for i in range(50)], "ranges")


@case
def threads_beyond_a_limit_are_one(home):
    limit, more = 131_072, 9_000
    events = (f'{{"ph":"X","pid":{1 + i % 70_000},"tid":{i},"ts":{i},"dur":0.5,"name":"r"}}'
              for i in range(limit + more))
    path, said, mib = import_of(home, chrome(events), "threads.annot")
    check(mib <= 256, f"{mib:.0f} MiB")
    check('are of "[other threads]": 9,000' in said, said)
    rows = query(home, path, "select t.name, count(*) as n from ranges r join threads t "
                             "on t.id = r.thread where t.name is not null group by 1")
    equal([tuple(row.values()) for row in rows], [("[other threads]", more)], "the others")
    equal(query(home, path, "select count(*) as n from ranges"), [{"n": limit + more}], "ranges")


@case
def ranges_that_never_end_are_not_waited_for(home):
    limit = 1 << 20
    events = [f'{{"ph":"b","cat":"c","pid":1,"tid":1,"ts":{i},"id":{i},"name":"open"}}'
              for i in range(limit)]
    for i in (limit + 1, limit + 3):
        events += [json.dumps(dict(ph=ph, cat="c", pid=1, tid=1, ts=i + at, id=i, name="whole"))
                   for ph, at in (("b", 0), ("e", 1))]
    path, said, mib = import_of(home, chrome(events), "open.annot")
    check(mib <= 256, f"{mib:.0f} MiB")
    check(f"open beside a million others, which are shown as unfinished: {limit:,}" in said, said)
    rows = query(home, path, "select name, unfinished, count(*) as n from ranges group by 1, 2")
    equal([tuple(row.values()) for row in rows], [("open", 1, limit), ("whole", 0, 2)], "ranges")


@case
def ranges_on_tracks_beyond_a_limit_are_those_of_a_process(home):
    limit, more = 1 << 18, 3000
    worker = packet(message(60, number(1, 5), message(4, number(1, 77), number(2, 78),
                                                      message(5, "worker"))))

    def packets():
        for i in range(limit + more):
            yield (packet(message(60, number(1, 10 + i), message(2, "request")))
                   + packet(number(8, 10 * i), event(1, 10 + i, message(23, "a")))
                   + packet(number(8, 10 * i + 25), event(2, 10 + i)))  # three at once
        yield worker + packet(number(8, 1), event(1, 5, message(23, "b")))
        yield packet(number(8, 7), event(2, 5))

    path, said, mib = import_of(home, packets(), "tracks.annot")
    check(mib <= 256, f"{mib:.0f} MiB")
    check(f'whose ranges are of a process "trace": {2 * more:,}' in said, said)
    rows = query(home, path, "select kind, t.name as thread, unfinished, duration_ns as ns, "
                             "count(*) as n from ranges r join threads t on t.id = r.thread "
                             "group by 1, 2, 3, 4 order by 5")
    equal([(row["kind"], row["unfinished"], row["ns"], row["n"]) for row in rows],
          [("pushed", 0, 6, 1), ("overlapping", 0, 25, more), ("track", 0, 25, limit)], "ranges")
    equal(rows[0]["thread"], "worker", "a thread that came late")


@case
def sequences_of_perfetto_beyond_a_limit_are_left_out(home):
    limit, more = 1 << 16, 200_000

    def packets():
        yield packet(message(60, number(1, 5), message(4, number(1, 77), number(2, 78))))
        for i in range(limit + more):
            yield packet(number(8, i), event(3, 5, message(23, "a")), sequence=2 + i)
        yield packet(number(8, 1), event(3, 5, message(23, "b")), sequence=2)

    path, said, mib = import_of(home, packets(), "sequences.annot")
    check(mib <= 160, f"{mib:.0f} MiB")
    check(f"packets of sequences beyond the first 65,536: {more + 1:,}" in said, said)
    rows = query(home, path, "select name, count(*) as n from marks group by 1 order by 1")
    equal([(row["name"], row["n"]) for row in rows], [("a", limit - 1), ("b", 1)], "marks")


@case
def names_of_perfettos_sequences_take_bounded_memory(home):
    each, count, fits = 1000, 3000, (128 << 20) // 96

    names = message(12, *(message(2, number(1, 1 + j), message(2, "n")) for j in range(each)))

    def packets():
        for i in range(count):
            yield packet(names, number(8, i), event(3, 5, number(10, each)), sequence=1 + i)

    path, said, mib = import_of(home, packets(), "names.annot")
    check(mib <= 256, f"{mib:.0f} MiB")
    check(f"names, stacks and clocks of sequences beyond 128 MiB: {each * count - fits:,}" in said,
          said)
    rows = query(home, path, "select name, count(*) as n from marks group by 1 order by 1")
    equal([row["n"] for row in rows if row["name"] == "n"], [fits // each], "marks with a name")


@case
def long_names_in_json_take_bounded_memory(home):
    def pieces(mebibytes=100):
        yield '{"traceEvents":['
        for text in ("x", "\\n"):  # as in the file
            yield '{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"'
            for _ in range(mebibytes):
                yield text * (1 << 20)
            yield '"},'
        for i in range(0, 600_000, 30_000):  # a large buffer would be filled again and again
            yield "".join(f'{{"ph":"X","pid":1,"tid":1,"ts":{i + j},"dur":1,"name":"y"}},'
                          for j in range(30_000))
        yield "{}]}"

    path, said, mib = import_of(home, pieces(), "long.annot")
    check(mib <= 160, f"{mib:.0f} MiB")
    check("ends of texts behind 1 MiB: 2" in said, said)
    rows = query(home, path, "select length(name) as size, count(*) as n from ranges group by 1")
    equal([(row["size"], row["n"]) for row in rows], [(1, 600_000), (1 << 20, 2)], "ranges")


@case
def overlapping_ranges_of_a_thread_keep_their_ends(home):
    random_ = random.Random(7)
    events = [dict(ph="X", pid=1, tid=1, name=f"r{i}", ts=3 * i,
                   dur=3 * random_.choice([1, 2, 300, random_.randrange(3000)]))
              for i in range(3000)]
    path, _ = imported(home, written(home, json.dumps(events)))
    rows = query(home, path, "select name, begin_ns, duration_ns from ranges order by begin_ns")
    equal([(row["name"], row["begin_ns"], row["duration_ns"]) for row in rows],
          [(event["name"], 1000 * event["ts"], 1000 * event["dur"]) for event in events], "ranges")


if __name__ == "__main__":
    main()
