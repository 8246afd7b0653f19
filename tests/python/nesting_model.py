# SPDX-License-Identifier: MIT
"""Derives the expected recording of the programs of nesting_program.py without running them.

A stream (a thread, a forked child, an asyncio task; named by its outermost range) is a list of
entries: ("range", name, entries, exception or None), ("mark", name), ("counter", name, value).
"""

import collections

MAIN = "main"


class Told:
    """The content that a model expects, or that a recording has."""

    PARTS = ("streams", "processes", "parents", "free", "tracks")

    def __init__(self):
        self.streams = {}  # {root: entries}
        self.processes = {}  # {root: root of the fork that made its process, or MAIN}
        self.parents = {}  # {root of a fork: the process that forked}
        self.free = collections.Counter()  # {(name, unfinished): how many}
        self.tracks = {}  # {track: entries}

    def differences(self, other):
        """Returns one text for each difference."""
        for part in self.PARTS:
            mine, others = getattr(self, part), getattr(other, part)
            for key in sorted({*mine, *others}, key=repr):
                if mine.get(key) != others.get(key):
                    yield f"{part} {key}:\n  expected {mine.get(key)}\n  recorded {others.get(key)}"


class Stream:
    """A stream being followed: the place of its next entry."""

    def __init__(self, told, root, process, slots):
        self.root, self.process, self.slots = root, process, slots
        told.streams[root], told.processes[root] = [], process
        self.open_ranges = [told.streams[root]]
        self.tracks = {}  # {name: open ranges, outermost first}

    def add(self, *entry):
        self.open_ranges[-1].append(entry)

    def push(self):
        self.open_ranges.append([])

    def pop(self, name, exception):
        entries = self.open_ranges.pop()
        self.add("range", name, entries, exception)


class Model:
    """Follows a program. Bodies and nodes return true if an exception leaves them."""

    def __init__(self, programs):
        self.told = Told()
        for program in programs:
            self.root(Stream(self.told, program["root"], MAIN, {}), program["body"])
        self.told.free = +self.told.free  # drops names with a count of zero

    def root(self, stream, nodes):
        self.body(stream, nodes)

    def body(self, stream, nodes):
        return any(getattr(self, kind)(stream, *rest) for kind, *rest in nodes)

    def plain_with(self, stream, name, nodes):
        stream.push()
        raised = self.body(stream, nodes)
        stream.pop(name, "Boom" if raised else None)
        return raised

    kept_with = async_with = call = plain_with

    def pushed(self, stream, name, nodes):
        stream.push()
        raised = self.body(stream, nodes)
        stream.pop(name, None)
        return raised

    def mark(self, stream, name):
        stream.add("mark", name)

    def counter(self, stream, name, value):
        stream.add("counter", name, value)

    def track(self, stream, name, label, nodes):
        entries = self.told.tracks.setdefault(name, [])
        open_ranges = stream.tracks.setdefault(name, [entries])
        open_ranges.append([])
        raised = self.body(stream, nodes)
        entries = open_ranges.pop()
        open_ranges[-1].append(("range", label, entries, "Boom" if raised else None))
        return raised

    def wait(self, stream):
        pass

    def attempt(self, stream, nodes):
        self.body(stream, nodes)

    def throw(self, stream):
        return True

    def start(self, stream, slot, name):
        stream.slots[slot] = name, stream.process
        self.told.free[name, "unfinished"] += 1

    def end(self, stream, slot):
        name, process = stream.slots.pop(slot, (None, None))
        if process == stream.process:  # a child cannot end what its parent began
            self.told.free[name, "unfinished"] -= 1
            self.told.free[name, "ended"] += 1

    def thread(self, stream, root, waits, nodes):
        slots = stream.slots if waits else {}
        self.root(Stream(self.told, root, stream.process, slots), nodes)

    def fork(self, stream, root, unwinds, nodes):
        self.told.parents[root] = stream.process
        self.root(Stream(self.told, root, root, dict(stream.slots)), nodes)

    def generator(self, stream, name, segments, consumers):
        """The consumer's entries lie inside the generator's range while that is open."""
        left, is_open = list(segments), False
        for turn, consumer in enumerate(consumers):
            if turn == 0:
                stream.push()
                is_open = True
            if is_open and left:
                if self.body(stream, left.pop(0)):
                    stream.pop(name, "Boom")
                    return True
            elif is_open:
                stream.pop(name, None)
                is_open = False
            if self.body(stream, consumer):
                if is_open:
                    stream.pop(name, "GeneratorExit")
                return True
        if is_open:
            stream.pop(name, "GeneratorExit")
        return False

    def decorated_generator(self, stream, name, segments, consumers):
        left = list(segments)
        self.told.free[name, "ended"] += bool(consumers)
        for consumer in consumers:
            if left and self.body(stream, left.pop(0)) or self.body(stream, consumer):
                return True
        return False

    def tasks(self, stream, bodies):
        for root, nodes in bodies:
            self.root(Stream(self.told, root, stream.process, {}), nodes)
