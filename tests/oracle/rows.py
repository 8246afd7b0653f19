# SPDX-License-Identifier: MIT
"""Prints all data that pyannot.read returns for a recording, one item per line.

rows.py FILE, with pyannot on the path.
"""

import sys

import pyannot


def owner(thing):
    return f"#{thing.index}" if thing is not None else None


def shown(name, value):
    if name in ("thread", "end_thread", "process", "track", "parent"):
        return f"{name}={owner(value)}"
    return f"{name}={value!r}"


def print_row(kind, row):
    print(kind, *(shown(name, getattr(row, name)) for name in row._fields))


def print_object(kind, thing):
    names = [name for name in thing.__slots__ if name != "threads"]
    print(kind, *(shown(name, getattr(thing, name)) for name in names))


def print_columns(kind, columns):
    names = [name for name in columns._fields if name != "strings"]
    print(f"{kind} columns", *names)
    for index, row in enumerate(zip(*(getattr(columns, name) for name in names))):
        print(f"{kind} columns {index}:", *row)
    print(f"{kind} columns strings: {columns.strings!r}")


def print_sample_columns(name, columns):
    names = [field for field in columns._fields
             if field not in ("sample_values", "stacks", "paths", "strings")]
    values = columns.sample_values
    print(f"set {name} columns", *names, *values)
    for index, row in enumerate(zip(*(getattr(columns, field) for field in names),
                                    *values.values())):
        print(f"set {name} {index}:", *row)
    print(f"set {name}: {columns.stacks!r} {columns.paths!r} {columns.strings!r}")


def main():
    recording = pyannot.read(sys.argv[1])
    for name in ("command", "hostname", "kernel", "annot_version", "begin_monotonic_ns",
                 "begin_realtime_ns", "end_ns", "command_status", "recovered", "facts", "refusals",
                 "lost", "complete"):
        print("recording", shown(name, getattr(recording, name)))
    for kind, things in (("process", recording.processes), ("thread", recording.threads),
                         ("track", recording.tracks)):
        for thing in things:
            print_object(kind, thing)
    for kind in ("ranges", "marks", "counters", "flows", "losses"):
        table = getattr(recording, kind)
        for row in table:
            print_row(kind, row)
        print_columns(kind, table.columns())
    for sample in recording.samples:
        print_row("sample", sample)
    for described in recording.sample_sets:
        print_row("set", described)
        print_sample_columns(described.name, recording.samples.columns(described.name))
    print("recording", shown("event_count", recording.event_count),
          shown("sample_count", recording.sample_count), shown("complete", recording.complete))
    print("damage", [damage.reason for damage in recording.damage])


if __name__ == "__main__":
    main()
