# SPDX-License-Identifier: MIT
"""Databases as Nsight Systems exports them, read by SQLite: numbers are annot query's, each text
and callchain is there, and annot import reads the same from it."""

import collections
import sqlite3

from recordings import annot, cpu_of, export, query, ranges_of

DOMAINS = """select globalTid >> 24, domainId, text from NVTX_EVENTS where eventType = 75"""
RANGES = """select globalTid >> 24, domainId, coalesce(text, value), count(*), sum(end - start)
    from NVTX_EVENTS left join StringIds on id = textId where eventType in (59, 60)
    group by 1, 2, 3"""
WAITS = """select value, sum(end - start) from OSRT_API join StringIds on id = nameId
    where eventClass = 27 group by 1"""
# Finds ids without a row.
LOST = {"NVTX_EVENTS": ("textId", "StringIds", "id"), "OSRT_API": ("nameId", "StringIds", "id"),
        "SAMPLING_CALLCHAINS": ("symbol", "StringIds", "id"),
        "OSRT_CALLCHAINS": ("module", "StringIds", "id"),
        "ThreadNames": ("nameId", "StringIds", "id")}
CHAINS = {"SAMPLING_CALLCHAINS": ("COMPOSITE_EVENTS", "id"),
          "OSRT_CALLCHAINS": ("OSRT_API", "callchainId")}


class Database:
    def __init__(self, path):
        self.connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.tables = {name for name, in self.rows("select name from sqlite_master")}

    def rows(self, sql, table=None):
        """The rows of a query; an empty list if the table does not exist."""
        if table and table not in self.tables:
            return []
        return self.connection.execute(sql).fetchall()

    def count(self, table, where="1"):
        rows = self.rows(f"select count(*) from {table} where {where}", table)
        return rows[0][0] if rows else 0


def ranges_in(database):
    domains = {row[:2]: row[2] for row in database.rows(DOMAINS, "NVTX_EVENTS")}
    sums = collections.defaultdict(lambda: [0, 0])
    for process, domain, name, count, ns in database.rows(RANGES, "NVTX_EVENTS"):
        entry = sums[f"{domains[process, domain]}:{name}" if domain else name]
        entry[0] += count
        entry[1] += ns
    return {name: tuple(entry) for name, entry in sums.items()}


def check_whole(database):
    assert database.rows("pragma integrity_check") == [("ok",)]
    for table, (column, other, key) in LOST.items():
        wrong = database.rows(f"select {column} from {table} where {column} not in "
                              f"(select {key} from {other})", table)
        assert not wrong, (table, wrong[:3])
    for table, (events, key) in CHAINS.items():
        broken = database.rows(f"select id from {table} group by id having max(stackDepth) + 1 != "
                               f"count(*) or id not in (select {key} from {events})", table)
        assert not broken, (table, broken[:3])
    # Readers join ranges with the names of their domains.
    twice = database.rows("select text from NVTX_EVENTS where eventType in (33, 75) group by "
                          "globalTid >> 24, domainId, eventType, category having count(*) > 1",
                          "NVTX_EVENTS")
    assert not twice, twice
    for table in ("NVTX_EVENTS", "OSRT_API"):
        assert not database.count(table, "end < start"), table


def stretches_of(recording, *options):
    """Reasons of waits, and "[runnable]", of stretches that were recorded one by one."""
    rows = query(recording, """select reason, sum(blocked_ns) as waiting, sum(runnable_ns) as ready
        from samples where sample_set = 'off-cpu' group by 1""", *options)
    found = {f"[{row['reason']}]": row["waiting"] for row in rows if row["waiting"]}
    ready = sum(row["ready"] for row in rows)
    return {**found, "[runnable]": ready} if ready else found


def compare(recording, path, *options):
    database = Database(path)
    check_whole(database)
    found = ranges_in(database)
    assert found == ranges_of(recording, *options), (recording, found)
    marks = query(recording, "select count(*) as n from marks", *options)[0]["n"]
    assert database.count("NVTX_EVENTS", "eventType = 34") == marks, (recording, marks)
    cpu = database.rows("select count(*), coalesce(sum(cpuCycles), 0) from COMPOSITE_EVENTS",
                        "COMPOSITE_EVENTS")
    assert (cpu or [(0, 0)])[0] == cpu_of(recording, *options), (recording, cpu)
    waits = dict(database.rows(WAITS, "OSRT_API"))
    assert waits == stretches_of(recording, *options), (recording, waits)
    return database


def check_who(recording, database):
    for table, mine in (("threads", "ThreadNames"), ("processes", "PROCESSES")):
        count = query(recording, f"select count(*) as n from {table}")[0]["n"]
        assert database.count(mine) == count, (recording, mine)


def check_stacks(recording, path):
    """Compares the innermost function of each sample, with all native frames."""
    export(recording, path, "--native")
    database = Database(path)
    leaves = dict(database.rows("""select value, count(*) from SAMPLING_CALLCHAINS c
        join StringIds s on s.id = c.symbol where stackDepth = 0 group by 1""",
                                "SAMPLING_CALLCHAINS"))
    rows = query(recording, """select function, count(*) as n from samples
        where sample_set = 'cpu' and function is not null group by 1""")
    assert leaves == {row["function"]: row["n"] for row in rows}, (recording, leaves)
    off = query(recording, "select count(*) as n from samples where sample_set = 'off-cpu'")
    assert database.count("SCHED_EVENTS", "isSchedIn = 0") == off[0]["n"], recording


def check_import(recording, path):
    """annot import, a reader of such databases, returns the same numbers."""
    again = path.with_suffix(".again.annot")
    annot("import", "--force", "-o", again, path)
    assert ranges_of(again) == ranges_of(recording), (recording, ranges_of(again))
    assert cpu_of(again) == cpu_of(recording), recording
    assert stretches_of(again) == stretches_of(recording), (recording, stretches_of(again))
    count = "select count(*) as n from marks"
    assert query(again, count) == query(recording, count), recording


def check(recording):
    path = recording.with_suffix(".sqlite")
    said = export(recording, path)
    database = compare(recording, path)
    check_who(recording, database)
    if recording.stem.startswith("made"):
        check_stacks(recording, recording.with_suffix(".native.sqlite"))
        check_import(recording, path)
    values = query(recording, "select count(*) as n from counters")[0]["n"]
    assert (values > 0) == ("values of counters" in said), (recording, values, said)


def check_parts(recording):
    path = recording.with_suffix(".part.sqlite")
    for choice in (["--from", "5ms", "--to", "20ms"], ["--range", "request"]):
        export(recording, path, *choice)
        compare(recording, path, *choice)
