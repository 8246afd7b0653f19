# SPDX-License-Identifier: MIT
"""Profiles for the Firefox Profiler: tables are whole, indices exist, numbers are annot query's."""

import collections
import decimal
import itertools
import json

from recordings import cpu_of, export, query, ranges_of

RANGE_COLUMNS = {"data", "name", "startTime", "endTime", "phase", "category"}


def table(whole, required=()):
    """A table's columns, which must have the same length."""
    columns = {name: value for name, value in whole.items() if isinstance(value, list)}
    assert set(required) <= set(columns), (required, columns.keys())
    for name, column in columns.items():
        assert len(column) == whole["length"], (name, len(column), whole["length"])
    return columns


def below(indices, limit):
    assert all(index is None or 0 <= index < limit for index in indices), (indices, limit)


def check_shared(shared):
    strings = shared["stringArray"]
    stacks, frames = table(shared["stackTable"]), table(shared["frameTable"])
    functions, sources = table(shared["funcTable"]), table(shared["sources"])
    below(stacks["frame"], len(frames["func"]))
    for index, prefix in enumerate(stacks["prefix"]):
        assert prefix is None or 0 <= prefix < index, (index, prefix)
    below(frames["func"], len(functions["name"]))
    below(functions["name"], len(strings))
    below(functions["source"], len(sources["filename"]))
    below(sources["filename"], len(strings))
    return strings, len(stacks["frame"])


def ns(milliseconds):
    return int(milliseconds * 1000000)


def read(path):
    """Ranges by name, waits by reason, marks, CPU samples."""
    whole = json.loads(path.read_text(), parse_float=decimal.Decimal)
    strings, stacks = check_shared(whole["shared"])
    ranges, waits = collections.defaultdict(lambda: [0, 0]), collections.Counter()
    marks, cpu = 0, [0, 0]
    for thread in whole["threads"]:
        samples = table(thread["samples"], {"stack", "time", "weight", "threadCPUDelta"})
        below(samples["stack"], stacks)
        cpu = [cpu[0] + len(samples["stack"]), cpu[1] + sum(map(ns, samples["weight"]))]
        assert sum(samples["threadCPUDelta"]) == sum(map(ns, samples["weight"])), thread["name"]
        markers = table(thread["markers"], RANGE_COLUMNS)
        below(markers["name"], len(strings))
        for name, data, begin, end, phase in zip(*(markers[key] for key in (
                "name", "data", "startTime", "endTime", "phase"))):
            assert (end is None) == (phase == 0), (name, begin, end, phase)
            if phase == 0:
                marks += 1
            elif data["type"] == "Wait":
                below([data["cause"]["stack"]], stacks)
                waits[strings[name]] += ns(end) - ns(begin)
            else:
                ranges[strings[name]][0] += 1
                ranges[strings[name]][1] += ns(end) - ns(begin)
    return whole, {name: tuple(sums) for name, sums in ranges.items()}, +waits, marks, tuple(cpu)


def stretches_of(recording, *options):
    rows = query(recording, """select reason, sum(duration_ns) as ns from samples
        where sample_set = 'off-cpu' group by 1""", *options)
    return {f"[{row['reason']}]": row["ns"] for row in rows if row["ns"]}


def check_counters(recording, counters):
    """Changes add up to the recorded values, each at its time."""
    told, values = [], []
    for counter in counters:
        samples = table(counter["samples"])
        assert samples["time"] == sorted(samples["time"]), (recording, counter["name"])
        sums = itertools.accumulate(map(float, samples["count"]))
        told += [(counter["name"], ns(at), round(value, 6))
                 for at, value in zip(samples["time"], sums)]
    for row in query(recording, "select name, time_ns, value from counters"):
        values.append((row["name"], row["time_ns"], round(float(row["value"]), 6)))
    assert sorted(told) == sorted(values), (recording, set(told) ^ set(values))


def check(recording):
    path = recording.with_suffix(".firefox.json")
    export(recording, path)
    whole, ranges, waits, marks, cpu = read(path)
    assert ranges == ranges_of(recording), (recording, ranges, ranges_of(recording))
    assert waits == stretches_of(recording), (recording, waits, stretches_of(recording))
    assert cpu == cpu_of(recording), (recording, cpu)
    assert marks == query(recording, "select count(*) as n from marks")[0]["n"], recording
    check_counters(recording, whole["counters"])


def check_parts(recording):
    path = recording.with_suffix(".part.firefox.json")
    for choice in (["--from", "5ms", "--to", "20ms"], ["--range", "request"]):
        export(recording, path, *choice)
        _, ranges, waits, _, cpu = read(path)
        assert (ranges, cpu) == (ranges_of(recording, *choice), cpu_of(recording, *choice)), choice
        assert waits == stretches_of(recording, *choice), choice
