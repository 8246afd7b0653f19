# SPDX-License-Identifier: MIT
"""Columns of a recording: see pyannot.read."""

from typing import NamedTuple, Tuple

from pyannot._reader import Column


class RangeColumns(NamedTuple):
    """Ranges in order of their start.

    name, category and domain index `strings`, -1 if absent; observer and role are numbers of
    annot/observers.h, 0 for the program; process, thread, end_thread and track index the
    recording's lists; parent is a row of this table, -1 at the top. kind: 0 pushed, 1 overlapping,
    2 on a track. payload is a float, NaN if it is absent or a text.
    """

    begin_ns: Column
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
    """Points of flows in order of time. kind: 0 begin, 1 step, 2 end."""

    time_ns: Column
    kind: Column
    id: Column
    name: Column
    domain: Column
    process: Column
    thread: Column
    strings: Tuple[str, ...]


class LossColumns(NamedTuple):
    """Gaps in which records were lost. cause indexes `strings`."""

    begin_ns: Column
    end_ns: Column
    lost_count: Column
    cause: Column
    process: Column
    thread: Column
    strings: Tuple[str, ...]
