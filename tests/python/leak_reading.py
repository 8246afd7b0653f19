# SPDX-License-Identifier: MIT
"""Ways to read a recording, right and wrong, as functions for leak_program.py. Run by itself,
threads read one recording at the same time: leak_reading.py FILE THREADS."""

import contextlib
import os
import sys
import threading

import pyannot
from pyannot import _reader


def facts(path):
    recording = pyannot.read(path)
    for thread in recording.threads:
        thread.name, thread.process.name, thread.process.parent, thread.process.lost
    repr(recording), recording.tracks, recording.facts, recording.damage, recording.complete


def rows(path):
    recording = pyannot.read(path)
    for table in (recording.ranges, recording.marks, recording.counters, recording.flows,
                  recording.losses):
        for number, row in enumerate(table):
            row.thread
            if number == 50:
                break


def columns(path):
    recording = pyannot.read(path)
    tables = (recording.ranges, recording.marks, recording.counters)
    found = (column for table in tables for column in table.columns())
    for column in (column for column in found if isinstance(column, _reader.Column)):
        with memoryview(column) as view:
            len(view), len(column), column.format, repr(column)
        with contextlib.suppress(IndexError):
            column[len(column)]


def wrong(path):
    reader = _reader.Reader(path)
    for call in (
        lambda: pyannot.read("/nowhere/at/all"),
        lambda: pyannot.read(os.devnull),
        lambda: pyannot.read(3),
        lambda: _reader.Reader(path, key=1),
        lambda: _reader.Reader("a\0b"),
        lambda: _reader.Column(),
        lambda: next(reader),
        lambda: reader.rows(99, [], []),
        lambda: reader.rows(0, (), ()),
        lambda: reader.columns(-1),
        lambda: (reader.columns(1), reader.columns(1)),
    ):
        with contextlib.suppress(Exception):
            call()


def cases(path):
    return {
        f"read {function.__name__}": lambda function=function: function(path)
        for function in (facts, rows, columns, wrong)
    }


def read_at_once(path, thread_count):
    recording, counts, start = pyannot.read(path), [], threading.Barrier(thread_count)

    def work(index):
        start.wait()
        if index % 2:
            counts.append(sum(1 for row in recording.ranges if row.thread.process.pid))
        else:
            counts.append(len(recording.ranges.columns().begin_ns))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(thread_count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(counts), *set(counts))


if __name__ == "__main__":
    read_at_once(sys.argv[1], int(sys.argv[2]))
