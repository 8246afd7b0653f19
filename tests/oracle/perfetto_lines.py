# SPDX-License-Identifier: MIT
"""A Perfetto trace as sorted lines of text. Numbers that only link packets (ids of interned texts,
tracks, flows, steps of clocks) are replaced by their referents.

Two traces have the same lines if their content is the same, in whatever order of packets. Events on
one track are paired by time, and at equal times by the order of the file, like in viewers. Unknown
messages are printed as hexadecimal.
"""

import collections
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "system"))
from traces import fields

EVENT_NAMES, CATEGORIES, ANNOTATION_NAMES, LOG_BODIES = 2, 1, 3, 20
FUNCTION_NAMES, FRAMES, CALLSTACKS, MAPPING_PATHS, MAPPINGS, KERNEL_SYMBOLS = 5, 6, 7, 17, 19, 26
MONOTONIC = 3
EVENT_KNOWN = {3, 4, 9, 10, 11, 21, 22, 23, 30, 44, 47, 48}
PACKET_KNOWN = {1, 6, 8, 10, 11, 12, 13, 37, 44, 45, 54, 58, 59, 60, 117}


class Message(dict):
    """Fields by number, each a list; without those that are absent."""

    def __missing__(self, number):
        return ()


def message(data):
    found = Message()
    for number, value in fields(data):
        if number in found:
            found[number].append(value)
        else:
            found[number] = [value]
    return found


def one(values, number, default=0):
    return values[number][-1] if number in values else default


def text(data):
    return data.decode(errors="backslashreplace") if isinstance(data, bytes) else str(data)


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def double(value):
    return struct.unpack("<d", struct.pack("<Q", value))[0]


def shown(values):
    """A message in a generic form: number=value, texts quoted."""
    pairs = []
    for number in sorted(values):
        for value in values[number]:
            pairs.append(f"{number}={text(value)!r}" if isinstance(value, bytes)
                         else f"{number}={signed(value)}")
    return "{" + " ".join(pairs) + "}"


class Sequence:
    """A reader's state for one packet sequence."""

    def __init__(self):
        self.interned = collections.defaultdict(dict)
        self.clock, self.track = 0, 0
        self.clocks = {}  # current CLOCK_MONOTONIC time of incremental clocks
        self.thread, self.sample_us = "", 0  # of samples

    def name(self, table, iid):
        entry = self.interned[table].get(iid)
        return text(one(entry, 2, b"")) if entry else f"!unknown {iid}"


def by_number(parts):
    """Interned messages by number, which are once in a packet."""
    values = [message(data) for data in parts]
    found = {one(entry, 1): entry for entry in values}
    if len(found) != len(values):
        raise ValueError("a number is interned twice")
    return found


def heap_lines(profile):
    """Dumps of memory: a line for each stack of a process."""
    strings, frames, stacks, mappings = (by_number(profile[number]) for number in (1, 2, 3, 4))

    def frame(iid):
        values = frames[iid]
        paths = [text(one(strings[path], 2)) for path in mappings[one(values, 3)][7]]
        name = text(one(strings[one(values, 2)], 2))
        return f"{name}@{'/'.join(paths)}+{one(values, 4):x}"

    for data in profile[5]:
        dump = message(data)
        for sample in map(message, dump[2]):
            names = [frame(iid) for iid in stacks[one(sample, 1)][2]]
            counts = " ".join(str(one(sample, number)) for number in (2, 5, 3, 6))
            place = f"{text(one(dump, 11))} {one(dump, 1)}"
            yield f"{one(dump, 9)} {place} {counts} {' < '.join(names)}"


class Reader:
    """Packets in the order of the file."""

    def __init__(self):
        self.sequences = collections.defaultdict(Sequence)
        self.tracks = {}
        self.events = collections.defaultdict(list)  # by track: (time, order, values, line)
        self.flows = {}  # id -> its smallest place
        self.lines, self.order = [], 0

    def packet(self, data):
        packet = message(data)
        number = one(packet, 10)
        if one(packet, 13) & 1:
            self.sequences[number] = Sequence()
        sequence = self.sequences[number]
        for data in packet[6]:
            self.clock_snapshot(sequence, message(data))
        for data in packet[59]:
            self.defaults(sequence, message(data))
        for data in packet[12]:
            for table, entry in fields(data):
                values = message(entry)
                sequence.interned[table][one(values, 1)] = values
        for data in packet[60]:
            values = message(data)
            self.tracks[one(values, 1)] = values
        time = self.time(sequence, packet)
        for data in packet[11]:
            self.event(sequence, time, message(data))
        for data in packet[44]:
            values = message(data)
            sequence.sample_us = signed(one(values, 6))
            sequence.thread = f"{one(values, 1)}:{one(values, 2)}"
        for data in packet[54]:
            self.samples(sequence, message(data))
        for data in packet[37]:
            self.lines += heap_lines(message(data))
        for data in packet[117]:
            self.lines.append(f"{time} task {shown(message(data))}")
        for data in packet[1]:
            self.kernel_events(message(data))
        for data in packet[45]:
            self.lines.append(f"system {[shown(message(v)) for _, v in fields(data)]}")
        for unknown in sorted(set(packet) - PACKET_KNOWN):
            self.lines.append(f"{time} !unknown {unknown} {packet[unknown]}")

    def clock_snapshot(self, sequence, snapshot):
        clocks = [message(data) for data in snapshot[1]]
        base = next((one(c, 2) for c in clocks if one(c, 1) == MONOTONIC), 0)
        for clock in clocks:
            if one(clock, 3):
                sequence.clocks[one(clock, 1)] = base + one(clock, 2)
        plain = [shown(clock) for clock in clocks if not one(clock, 3)]
        if len(plain) > 1:  # snapshots of the machine's clocks
            self.lines.append(f"clocks {plain}")

    def defaults(self, sequence, values):
        sequence.clock = one(values, 58, sequence.clock)
        for data in values[11]:
            sequence.track = one(message(data), 11)

    def time(self, sequence, packet):
        clock = one(packet, 58, sequence.clock)
        if clock in sequence.clocks:
            sequence.clocks[clock] += one(packet, 8)
            return sequence.clocks[clock]
        return one(packet, 8)

    def annotation(self, sequence, data):
        values = message(data)
        name = text(one(values, 10)) if 10 in values else sequence.name(
            ANNOTATION_NAMES, one(values, 1)) if 1 in values else ""
        if 11 in values or 12 in values:
            inner = [self.annotation(sequence, part) for part in (*values[11], *values[12])]
            return f"{name}=[{', '.join(inner)}]"
        for number, decode in ((2, bool), (3, int), (4, signed), (5, lambda v: repr(double(v))),
                               (6, lambda v: repr(text(v)))):
            if number in values:
                return f"{name}={decode(one(values, number))}"
        return f"{name}=nothing"

    def event(self, sequence, time, event):
        track = one(event, 11, sequence.track)
        name = text(one(event, 23)) if 23 in event else (
            sequence.name(EVENT_NAMES, one(event, 10)) if 10 in event else None)
        parts = [f"category={sequence.name(CATEGORIES, iid)!r}" for iid in event[3]]
        parts += [f"category={text(data)!r}" for data in event[22]]
        parts += [self.annotation(sequence, data) for data in event[4]]
        for data in event[21]:
            log = message(data)
            parts.append(f"log={sequence.name(LOG_BODIES, one(log, 2))!r}/{one(log, 1)}/"
                         f"{one(log, 3)}")
        if not event.keys() <= EVENT_KNOWN:
            parts += [f"unknown={n}" for n in sorted(set(event) - EVENT_KNOWN)]
        self.order += 1
        kind = one(event, 9)
        if kind == 4:
            value = double(one(event, 44)) if 44 in event else signed(one(event, 30))
            parts.append(f"value={value!r}")
        flows = [(flow, "out") for flow in event[47]] + [(flow, "end") for flow in event[48]]
        for flow, _ in flows:
            place = (time, name or "")
            self.flows[flow] = min(self.flows.get(flow, place), place)
        self.events[track].append((time, self.order, kind, name, " ".join(parts), flows))

    def frame(self, sequence, iid):
        frame = sequence.interned[FRAMES].get(iid, {})
        mapping = sequence.interned[MAPPINGS].get(one(frame, 3), {})
        paths = [sequence.name(MAPPING_PATHS, path) for path in mapping.get(7, [])]
        return (f"{sequence.name(FUNCTION_NAMES, one(frame, 2))}@{'/'.join(paths)}"
                f"+{one(frame, 4):x}")

    def samples(self, sequence, profile):
        for iid, delta in zip(profile[1], profile[2], strict=True):
            sequence.sample_us += signed(delta)
            stack = sequence.interned[CALLSTACKS].get(iid, {})
            frames = [self.frame(sequence, iid) for iid in stack.get(2, [])]
            self.lines.append(
                f"{sequence.sample_us} sample {sequence.thread} {' < '.join(frames)}")

    def kernel_events(self, bundle):
        for data in bundle[2]:
            event = message(data)
            time = one(event, 1)
            blocked = [shown(message(part)) for part in event[18]]
            self.lines.append(f"{time} kernel cpu={one(bundle, 1)} pid={one(event, 2)} {blocked}")

    # ---- At the end ----

    def label(self, uuid, depth=0):
        """Describes a track by its own fields and its parents."""
        track = self.tracks.get(uuid)
        if track is None:
            return f"!track {uuid}" if uuid else ""
        parts = [repr(text(one(track, 2)))] if 2 in track else []
        parts += [f"process{one(message(data), 1)}" for data in track[3]]
        parts += [f"thread{one(message(data), 1)}:{one(message(data), 2)}" for data in track[4]]
        parts += [f"counter{shown(message(data))}" for data in track[8]]
        parent = self.label(one(track, 5), depth + 1) if 5 in track and depth < 40 else ""
        return (parent + "/" if parent else "") + " ".join(parts)

    def flow_texts(self, flows):
        return "".join(f" flow {way} {self.flows[flow]}" for flow, way in sorted(
            flows, key=lambda pair: (self.flows[pair[0]], pair[1])))

    def finish_track(self, uuid, events):
        label, stack = self.label(uuid), []
        for time, _, kind, name, rest, flows in sorted(events, key=lambda row: row[:2]):
            rest += self.flow_texts(flows)
            if kind == 1:
                path = (stack[-1][1] + "/" if stack else "") + str(name)
                stack.append((time, path, rest))
            elif kind == 2 and stack:
                begin, path, before = stack.pop()
                self.lines.append(
                    f"{begin} slice [{label}] until {time} {path!r} {before} | {rest}")
            else:
                inside = stack[-1][1] if stack else ""
                self.lines.append(f"{time} {kind} [{label}] {name!r} in {inside!r} {rest}")
        self.lines += [f"{begin} open [{label}] {path!r} {rest}" for begin, path, rest in stack]

    def finish(self):
        for uuid, events in self.events.items():
            self.finish_track(uuid, events)
        for uuid, track in self.tracks.items():
            plain = {number: track[number] for number in (2, 11, 12, 19, 20) if number in track}
            told = [shown(message(data)) for data in (*track[3], *track[4], *track[8])]
            self.lines.append(f"track [{self.label(uuid)}] {shown(plain)} {' '.join(told)}")
        return sorted(self.lines)


def lines(data):
    reader = Reader()
    for number, packet in fields(data):
        if number != 1:
            raise ValueError(f"a Trace has no field {number}")
        reader.packet(packet)
    return reader.finish()
