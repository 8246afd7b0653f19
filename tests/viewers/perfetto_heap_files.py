# SPDX-License-Identifier: MIT
"""Heap profiles in Perfetto traces: the bytes and blocks of each stack at the peak and at the end
of each process. Numbers of the made recording: tests/lib/heap_trace.c."""

import collections
import pathlib
import sys

from recordings import export, query

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "oracle"))
import perfetto_lines

BEGIN_NS = 5_000_000_000_000  # of made recordings: tests/lib/trace_maker.h
PEAK_NS, END_NS, CHILD_END_NS = 14_000_000, 40_000_000, 30_000_000
MIB = 1 << 20
# Of made-heap: bytes, blocks, freed bytes, freed blocks, cumulative.
MADE = {
    (910, PEAK_NS, "hold"): (40 * MIB, 40 * 1024, 0, 0),
    (910, PEAK_NS, "cache"): (20 * MIB, 20 * 256, 0, 0),
    (910, PEAK_NS, "churn"): (2 * MIB, 16, 0, 0),
    (910, END_NS, "hold"): (40 * MIB, 40 * 1024, 0, 0),
    (910, END_NS, "cache"): (20 * MIB, 20 * 256, 20 * MIB, 20 * 256),
    (910, END_NS, "churn"): (60 * MIB, 30 * 16, 60 * MIB, 30 * 16),
    (911, PEAK_NS, "work"): (10 * MIB, 10, 0, 0),
    (911, CHILD_END_NS, "work"): (10 * MIB, 10, 0, 0),
}


def dumps_of(path):
    """{(pid, time, function): numbers}, the function without its place."""
    found = {}
    for line in perfetto_lines.lines(path.read_bytes()):
        words = line.split(" ", 7)
        if words[1] == "heap" and words[0].isdigit():
            leaf = words[7].split(" < ")[-1]
            key = int(words[2]), int(words[0]) - BEGIN_NS, leaf.split(" ")[0].split("@")[0]
            assert key not in found, key
            found[key] = tuple(map(int, words[3:7]))
    return found


def check(recording):
    path = recording.with_suffix(".pftrace")
    if not query(recording, "select 1 from samples where sample_set in ('heap', 'alloc') limit 1"):
        return None
    export(recording, path)
    dumps = dumps_of(path)
    if recording.stem == "made-heap":
        assert dumps == MADE, dumps
    last = collections.Counter()
    for (pid, time_ns, _), numbers in dumps.items():
        if time_ns in (END_NS, CHILD_END_NS):
            last[pid] += numbers[0]
    rows = query(recording, """select pid, sum(sample_values ->> 'alloc-bytes') as bytes
        from samples where sample_set in ('heap', 'alloc') group by 1""")
    assert last == {row["pid"]: row["bytes"] for row in rows}, (recording, last, rows)
    return None


def check_parts(_):
    """Selections are those of all exports."""
