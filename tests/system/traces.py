# SPDX-License-Identifier: MIT
"""Reads exported traces into one plain form, so that both formats can be compared.

A separate reader on purpose: it knows the formats from their descriptions and shares no code with
the exporters. It understands the elements that both formats have: nested slices, overlapping
ranges, marks, counters, names. Times become nanoseconds since the first event of the trace.

A trace is a dictionary of sorted lists:
  pushed    (pid, tid, begin, duration, path, arguments)  path: names from the outermost, by "/"
  started   (pid, begin, duration, name, arguments)
  marks     (pid, tid, time, name, arguments)
  counters  (pid, time, name, value)
  lost      (pid, records)
"""

import collections
import gzip
import json
import re
import struct

LOST = re.compile(r"lost ([\d,]+)")
SYNTHETIC = 10000000  # numbers of processes and threads from here on are the exporter's
OWN_ARGUMENTS = ("start_tid", "end_tid")  # one format needs them, the other has them elsewhere


def arguments_of(pairs):
    return tuple(sorted((key, value) for key, value in pairs if key not in OWN_ARGUMENTS))


def read_bytes(path):
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


class Trace(dict):
    """The lists, while they grow and when they are done."""

    def __init__(self):
        super().__init__({key: [] for key in ("pushed", "started", "marks", "counters", "lost")})
        self.processes, self.threads = {}, {}

    def finish(self):
        """Sort, and count time from the first event."""
        places = {"pushed": 2, "started": 1, "marks": 2, "counters": 1}
        times = [row[place] for key, place in places.items() for row in self[key]]
        origin = min(times, default=0)
        for key, place in places.items():
            self[key] = [row[:place] + (row[place] - origin,) + row[place + 1:]
                         for row in self[key]]
        for rows in self.values():
            rows.sort(key=repr)
        self.origin = origin
        return self


# ---- Chrome JSON ---------------------------------------------------------------------------------

def nanoseconds(text):
    """Microseconds as written, without rounding through a binary fraction."""
    whole, _, part = str(text).partition(".")
    if len(part) > 3:
        raise ValueError(f"a time finer than a nanosecond: {text}")
    return int(whole) * 1000 + int(part.ljust(3, "0")) * (-1 if whole.startswith("-") else 1)


class Micros(str):
    """A number with a fraction, as spelled in the file."""


# Rows of a thread that samples and waits made, beside that of its ranges.
OF_SAMPLES = (": stacks", ": run state")


def nest(trace, thread, slices):
    """Paths of complete events of one thread, nested by time and, where equal, by file order."""
    stack = []
    order = sorted(range(len(slices)), key=lambda i: (slices[i][0], -slices[i][1], i))
    for begin, duration, name, arguments in (slices[i] for i in order):
        while stack and stack[-1][0] <= begin and (duration or stack[-1][0] < begin):
            stack.pop()
        if stack and begin + duration > stack[-1][0]:
            raise ValueError(f"{name} overlaps {stack[-1][1]}: a viewer would drop it")
        path = (stack[-1][1] + "/" if stack else "") + name
        stack.append((begin + duration, path))
        trace["pushed"].append(thread + (begin, duration, path, arguments))


def plain(value):
    return float(value) if isinstance(value, Micros) else value


def chrome_async(trace, event, begins):
    key = (event["pid"], str(event.get("id2") or event.get("id")), event["cat"])
    if event["ph"] == "b":
        begins[key] = event
        return
    begin = begins.pop(key)
    start, end = nanoseconds(begin["ts"]), nanoseconds(event["ts"])
    pairs = list(begin.get("args", {}).items()) + list(event.get("args", {}).items())
    arguments = arguments_of((name, plain(value)) for name, value in pairs)
    trace["started"].append((event["pid"], start, end - start, event["name"], arguments))


def chrome_metadata(trace, event):
    if event["name"] == "process_name":
        trace.processes[event["pid"]] = event["args"]["name"]
    elif event["name"] == "thread_name":
        trace.threads[event["pid"], event["tid"]] = event["args"]["name"]


def chrome_event(trace, event, complete, begins):
    phase, thread = event["ph"], (event["pid"], event["tid"])
    if phase == "M":
        return chrome_metadata(trace, event)
    if phase in "be":
        return chrome_async(trace, event, begins)
    if phase in "BE":  # of stacks, as samples saw them: test_sample_exports.py
        return None
    time, name = nanoseconds(event["ts"]), event["name"]
    arguments = arguments_of((key, plain(value)) for key, value in event.get("args", {}).items())
    if "lost" in dict(arguments) and LOST.match(name):
        trace["lost"].append((thread[0], dict(arguments)["lost"]))
    elif phase == "X":
        complete[thread].append((time, nanoseconds(event["dur"]), name, arguments))
    elif phase == "i":
        trace["marks"].append(thread + (time, name, arguments))
    elif phase == "C":
        trace["counters"].append((thread[0], time, name, float(dict(arguments)["value"])))
    else:
        raise ValueError(f"unexpected phase {phase}")
    return None


def read_chrome(path):
    document = json.loads(read_bytes(path), parse_float=Micros, parse_constant=fail_constant)
    trace, complete, begins = Trace(), collections.defaultdict(list), {}
    for event in document["traceEvents"]:
        chrome_event(trace, event, complete, begins)
    if begins:
        raise ValueError(f"{len(begins)} ranges without an end")
    rows = [thread for thread, name in trace.threads.items() if name.endswith(OF_SAMPLES)]
    for row in rows:
        complete.pop(row, None)
        del trace.threads[row]
    for thread, slices in complete.items():
        nest(trace, thread, slices)
    return trace.finish()


def fail_constant(text):
    raise ValueError(f"{text} is no JSON")


# ---- Perfetto protocol buffers -------------------------------------------------------------------

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """(number, value) of each field of one message; a value is an int or bytes."""
    at, end = 0, len(data)
    while at < end:
        tag, at = data[at], at + 1  # one byte mostly, as sizes and values are
        if tag > 127:
            tag, at = varint(data, at - 1)
        kind = tag & 7
        if kind == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
            yield tag >> 3, value
            continue
        size, at = data[at], at + 1
        if size > 127:
            size, at = varint(data, at - 1)
        if kind == 0:
            value = size
        elif kind == 2:
            if at + size > end:
                raise ValueError("a field reaches beyond its message")
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {kind}")
        yield tag >> 3, value


def message(data):
    """Fields by number; the last one wins."""
    return dict(fields(data))


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def double(value):
    return struct.unpack("<d", struct.pack("<Q", value))[0]


class Sequence:
    """A reader's state for one packet sequence."""

    def __init__(self):
        self.names, self.categories, self.argument_names = {}, {}, {}
        self.clock_id = self.track = 0
        self.incremental = {}  # clock id -> [last value, its CLOCK_MONOTONIC time]


class Perfetto:
    """Packets in file order; slices are collected per track."""

    MONOTONIC = 3
    KNOWN_CLOCKS = (3,)

    def __init__(self):
        self.trace, self.sequences, self.tracks = Trace(), {}, {}
        self.slices = collections.defaultdict(list)  # uuid -> (time, order, type, name, arguments)
        self.order, self.session_pid = 0, None

    def packet(self, data):
        packet = message(data)
        sequence = self.sequences.setdefault(packet.get(10, 0), Sequence())
        if packet.get(13, 0) & 1:
            sequence = self.sequences[packet.get(10, 0)] = Sequence()
        for number, value in fields(data):
            if number == 6:
                self.clocks(sequence, value)
            elif number == 59:
                self.defaults(sequence, message(value))
            elif number == 12:
                self.interned(sequence, value)
            elif number == 60:
                self.descriptor(value)
        if 11 in packet:
            self.event(sequence, self.time(sequence, packet), packet[11])

    def clocks(self, sequence, data):
        clocks = [message(value) for number, value in fields(data) if number == 1]
        base = next(clock.get(2, 0) for clock in clocks if clock[1] == self.MONOTONIC)
        for clock in clocks:
            if clock.get(3):
                sequence.incremental[clock[1]] = base + clock.get(2, 0)

    def defaults(self, sequence, values):
        sequence.clock_id = values.get(58, 0)
        sequence.track = message(values.get(11, b"")).get(11, 0)

    def interned(self, sequence, data):
        tables = {1: sequence.categories, 2: sequence.names, 3: sequence.argument_names}
        for number, value in fields(data):
            entry = message(value)
            if number in tables:  # the others are those of samples
                tables[number][entry[1]] = entry.get(2, b"").decode()

    def time(self, sequence, packet):
        clock = packet.get(58, sequence.clock_id)
        if clock in sequence.incremental:
            sequence.incremental[clock] += packet.get(8, 0)
            return sequence.incremental[clock]
        if clock not in self.KNOWN_CLOCKS:
            raise ValueError(f"a packet of the unknown clock {clock}")
        return packet[8]

    def descriptor(self, data):
        track = message(data)
        name = track.get(2, b"").decode()
        self.tracks[track.get(1, 0)] = {"parent": track.get(5), "name": name,
                                        "counter": 8 in track}
        entry = self.tracks[track.get(1, 0)]
        if 3 in track:
            process = message(track[3])
            entry["pid"] = process[1]
            if process.get(6) == b"annot" and process[1] >= SYNTHETIC:
                self.session_pid = process[1]  # represents the recording
                return
            self.trace.processes[process[1]] = process.get(6, b"").decode()
        if 4 in track:
            thread = message(track[4])
            entry["session"] = thread[1] == self.session_pid
            if entry["session"]:
                return
            entry["thread"] = (thread[1], thread[2])
            self.trace.threads[thread[1], thread[2]] = thread.get(5, b"").decode()

    def annotation(self, sequence, data):
        values = message(data)
        name = values[10].decode() if 10 in values else sequence.argument_names[values[1]]
        for number, decode in ((2, bool), (3, int), (4, signed), (5, double), (6, bytes.decode)):
            if number in values:
                return name, decode(values[number])
        return name, None

    def event(self, sequence, time, data):
        event = message(data)
        uuid = event.get(11, sequence.track)
        name = event[23].decode() if 23 in event else sequence.names.get(event.get(10))
        if 10 in event and name is None:
            raise ValueError(f"the name {event[10]} is used before it is told")
        arguments = arguments_of(self.annotation(sequence, value) for number, value in fields(data)
                                 if number == 4)
        self.order += 1
        if event[9] == 4:
            value = double(event[44]) if 44 in event else float(signed(event.get(30, 0)))
            self.counter(uuid, time, value)
        else:
            self.slices[uuid].append((time, self.order, event[9], name, arguments))

    def counter(self, uuid, time, value):
        track = self.tracks[uuid]
        pid = self.tracks[track["parent"]]["pid"]
        if value == value and abs(value) != float("inf"):  # JSON cannot hold the others
            self.trace["counters"].append((pid, time, track["name"], value))

    def finish(self):
        for uuid, events in self.slices.items():
            self.finish_track(self.tracks[uuid], sorted(events, key=lambda row: row[:2]))
        return self.trace.finish()

    def finish_track(self, track, events):
        if track["name"].endswith(OF_SAMPLES):
            return
        if track["name"].endswith(": ranges"):  # a row beside those of samples
            track = {**track, **self.tracks[track["parent"]], "name": track["name"]}
        stack = []
        for time, _, kind, name, arguments in events:
            if kind == 1:
                path = (stack[-1][1] + "/" if stack else "") + name
                stack.append((time, path, arguments, name))
            elif kind == 2:
                begin, path, begin_arguments, name = stack.pop()
                merged = arguments_of(begin_arguments + arguments)
                self.slice(track, begin, time - begin, (path, name, merged))
            else:
                self.trace["marks"].append(track["thread"] + (time, name, arguments))
        if stack:
            raise ValueError(f"slices without an end: {stack[:3]}")

    def slice(self, track, begin, duration, what):
        path, name, arguments = what
        if track.get("session"):
            return
        parent = self.tracks.get(track["parent"], {})
        if "thread" in track:
            self.trace["pushed"].append(track["thread"] + (begin, duration, path, arguments))
        elif "thread" in parent and LOST.match(name):
            self.trace["lost"].append((parent["thread"][0], dict(arguments)["lost"]))
        elif "pid" in parent:
            self.trace["started"].append((parent["pid"], begin, duration, name, arguments))


def read_perfetto(path):
    reader = Perfetto()
    for number, packet in fields(read_bytes(path)):
        if number != 1:
            raise ValueError(f"a Trace has no field {number}")
        reader.packet(packet)
    return reader.finish()


def read(path):
    return read_chrome(path) if ".json" in path.name else read_perfetto(path)
