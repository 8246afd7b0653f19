# SPDX-License-Identifier: MIT
"""Columns of a recording: see pyannot.read."""

from typing import NamedTuple, Tuple

from pyannot._reader import Column


class RangeColumns(NamedTuple):
    """Ranges in the order in which they began.

    name, category and domain are numbers of `strings`, -1 for none; observer and role are those of
    annot/observers.h, 0 for the program; process, thread, end_thread and
    track are indices of the recording's lists; parent is a row of this table, -1 for none. kind: 0
    pushed, 1 overlapping, 2 track. payload: as a float, NaN if there is none or a text.
    """

    start_ns: Column
    end_ns: Column
    self_ns: Column
    name: Column
    category: Column
    domain: Column
    observer: Column
    role: Column
    process: Column
    thread: Column
    end_thread: Column
    track: Column
    parent: Column
    depth: Column
    kind: Column
    level: Column
    unfinished: Column
    end_lost: Column
    id: Column
    payload: Column
    strings: Tuple[str, ...]


class MarkColumns(NamedTuple):
    """Marks in order of time. See RangeColumns."""

    time_ns: Column
    name: Column
    category: Column
    domain: Column
    observer: Column
    role: Column
    process: Column
    thread: Column
    track: Column
    level: Column
    payload: Column
    strings: Tuple[str, ...]


class CounterColumns(NamedTuple):
    """Values of counters in order of time, as floats."""

    time_ns: Column
    name: Column
    domain: Column
    process: Column
    thread: Column
    value: Column
    strings: Tuple[str, ...]


class FlowColumns(NamedTuple):
    """Points of arrows in order of time. kind: 0 begin, 1 step, 2 end."""

    time_ns: Column
    kind: Column
    id: Column
    name: Column
    domain: Column
    process: Column
    thread: Column
    strings: Tuple[str, ...]


class LossColumns(NamedTuple):
    """Gaps. cause is a number of `strings`."""

    start_ns: Column
    end_ns: Column
    records: Column
    cause: Column
    process: Column
    thread: Column
    strings: Tuple[str, ...]
