# SPDX-License-Identifier: MIT
"""Reads files of gpu_keep.c: activity buffers of CUPTI and the callbacks.

    recorded.py FILE.cupti.xz  prints the activities, a line each

The file describes itself: its layout part has the offset of each field in CUPTI's records, from the
headers of the machine that recorded. Times are nanoseconds. Clock parts pair CLOCK_MONOTONIC with
CUPTI's own clock.
"""

import collections
import dataclasses
import lzma
import pathlib
import struct
import sys
from typing import Iterator

VERSION, LAYOUT, CLOCK, CALL, BUFFER, SWITCH, NAME = range(1, 8)
# Kind of activity: its name, the struct of its record, the record's bytes (CUPTI 13.0).
KINDS = {
    1: ("memcpy", "CUpti_ActivityMemcpy6", 96),
    2: ("memset", "CUpti_ActivityMemset4", 88),
    4: ("call", "CUpti_ActivityAPI", 40),
    5: ("call", "CUpti_ActivityAPI", 40),
    8: ("device", "", 184),
    9: ("context", "", 32),
    10: ("kernel", "CUpti_ActivityKernel10", 216),
    17: ("overhead", "CUpti_ActivityOverhead3", 56),
    22: ("memcpy between devices", "", 96),
    36: ("event", "", 56),
    37: ("stream", "", 24),
    38: ("synchronization", "CUpti_ActivitySynchronization2", 56),
    49: ("memory", "", 128),
    51: ("graph", "CUpti_ActivityGraphTrace2", 56),
    52: ("jit", "CUpti_ActivityJit2", 72),
}
NUMBERS = {1: "<B", 2: "<H", 4: "<I", 8: "<Q"}


@dataclasses.dataclass
class Recorded:
    """One process, in the order of the file."""

    version: tuple[int, ...] = ()
    clocks: list[tuple[int, ...]] = dataclasses.field(default_factory=list)
    calls: list[tuple[int, ...]] = dataclasses.field(default_factory=list)
    switches: list[tuple[int, ...]] = dataclasses.field(default_factory=list)
    buffers: list[tuple[tuple[int, ...], bytes]] = dataclasses.field(default_factory=list)
    names: dict[int, str] = dataclasses.field(default_factory=dict)
    fields: dict[str, dict[str, tuple[int, int]]] = dataclasses.field(
        default_factory=lambda: collections.defaultdict(dict))

    def activities(self) -> Iterator[dict]:
        """Yield each record as {"kind": name, field: number, ...}, with a kernel's name as text."""
        for _, data in self.buffers:
            at = 0
            while at < len(data):
                kind, layout, size = KINDS[struct.unpack_from("<I", data, at)[0]]
                record = {"kind": kind}
                for name, (offset, width) in self.fields.get(layout, {}).items():
                    record[name] = struct.unpack_from(NUMBERS[width], data, at + offset)[0]
                if kind == "kernel":
                    record["name"] = self.names.get(record["name"], "")
                yield record
                at += size

    def launches(self) -> list[tuple[int, ...]]:
        """Return callbacks at the begin of launching calls: time, domain, id, site, correlation,
        ..."""
        return [call for call in self.calls if call[3] == 0]


def read(path: pathlib.Path) -> Recorded:
    data = lzma.open(path).read()
    recorded = Recorded()
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        add_part(recorded, kind, data[at + 8:at + 8 + size])
        at += 8 + (size + 7) // 8 * 8
    return recorded


def add_part(recorded: Recorded, kind: int, part: bytes) -> None:
    if kind == VERSION:
        recorded.version = struct.unpack("<4I", part)
    elif kind == LAYOUT:
        for line in part.decode().splitlines():
            layout, name, offset, width = line.split()
            recorded.fields[layout][name] = (int(offset), int(width))
    elif kind == CLOCK:
        recorded.clocks.append(struct.unpack("<3Q", part))
    elif kind == CALL:
        recorded.calls.append(struct.unpack("<Q6I", part))
    elif kind == BUFFER:
        recorded.buffers.append((struct.unpack_from("<5Q2I", part), part[48:]))
    elif kind == SWITCH:
        recorded.switches.append(struct.unpack("<2Q2I", part))
    elif kind == NAME:
        recorded.names[struct.unpack_from("<Q", part)[0]] = part[8:].decode()


if __name__ == "__main__":
    for activity in read(pathlib.Path(sys.argv[1])).activities():
        print(activity.pop("kind"), *(f"{name}={value}" for name, value in activity.items()))
