# SPDX-License-Identifier: MIT
"""The contents of a recording, by the second reader (tests/golden/read_recording.py), which was
written from docs/recording-format.md alone: ranges paired here by that page's rules, marks,
counters, flows, gaps and samples. Rows are dicts with the names of columns that `annot query` has;
times count from the begin of the session."""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "golden"))
import read_recording  # noqa: E402  pylint: disable=wrong-import-position

PUSH, POP, START, END, MARK, COUNTER, LOST, EDGE = range(1, 9)
FLOWS = {9: "begin", 10: "step", 11: "end"}
TRACK_BEGIN, TRACK_END, TRACK_MARK, TRACK_HIDDEN, SPAN = range(12, 17)
STRETCH, INTERVAL = 2, 8
CPU, RUNNABLE, BLOCKED = 1, 2, 3
FIXED_SETS = {1: ("cpu", 0, [CPU]), 2: ("off-cpu", STRETCH, [BLOCKED, RUNNABLE]),
              3: ("short-waits", INTERVAL, [BLOCKED, RUNNABLE])}
REASONS = ["unknown", "preempted", "disk", "page fault", "pipe", "socket", "lock", "the GIL",
           "sleep", "poll", "child process", "terminal", "signal", "other file"]


class Truth(read_recording.Recording):
    """All rows of a recording without damage."""

    def __init__(self, path):
        self.events, self.samples = [], []
        super().__init__([pathlib.Path(path).read_bytes()])
        self.define_frames()
        self.zero = self.sessions[0]["begin"]
        self.last = max([event["time"] for event in self.events], default=0)
        self.rows = collections.defaultdict(list)
        self.pair()

    def count(self, chunk):
        self.events += list(read_recording.Events(chunk.payload))

    def count_samples(self, chunk):
        self.samples += list(read_recording.Samples(chunk.payload))

    def check_checkpoint(self, chunk):
        pass

    def check_ids(self, mixed):
        pass

    def define_frames(self):
        for name in self.names.values():
            self.frames[name["frame"]].update(
                {field: value for field, value in name.items() if field != "frame"})
        if any(frame["caller"] for frame in self.frames.values()):
            moved = self.expand_stacks()
            for sample in self.samples:
                sample["stack"] = moved[sample["stack"]]

    # ---- Pairing ----

    def common(self, event):
        thread = self.threads[event["thread"]]
        scope = self.scopes.get(event["shape"].scope, {"domain": 0, "category": 0})
        return {"name": self.text(event["shape"].name) or None,
                "domain": self.text(scope["domain"]) or None,
                "category": self.text(scope["category"]) or None,
                "process": thread["process"], "thread": event["thread"],
                "pid": self.processes[thread["process"]]["pid"], "tid": thread["tid"]}

    def never(self, thread):
        """The end of a thread's range that was never ended."""
        process = self.processes[self.threads[thread]["process"]]
        return process["end"] or max(self.sessions[0]["end"], self.last)

    def add_range(self, kind, begin, end, *, unfinished=0, end_lost=0):
        event, depth, child = begin["event"], begin["depth"], begin["child"]
        end = max(end, event["time"])
        if begin["around"]:
            begin["around"]["child"] += end - event["time"]
        row = self.common(event)
        row.update(kind=kind, depth=depth, begin_ns=event["time"] - self.zero,
                   end_ns=end - self.zero, duration_ns=end - event["time"],
                   self_ns=max(end - event["time"] - child, 0), unfinished=unfinished,
                   end_lost=end_lost, level=event["shape"].level)
        self.rows["ranges"].append(row)

    @staticmethod
    def opened(event, stack):
        return {"event": event, "depth": len(stack), "child": 0,
                "around": stack[-1] if stack else None}

    def pair(self):
        self.pair_threads()
        self.pair_starts()
        self.pair_tracks()
        for event in self.events:
            self.add_point(event)
        for sample in self.samples:
            self.add_sample(sample)

    def pair_threads(self):
        """By level: lost pushes leave levels out. Spans on a thread's own lane are not in these
        recordings."""
        stacks = collections.defaultdict(list)
        depths = collections.Counter()
        for event in self.events:
            thread, kind, stack = event["thread"], event["shape"].kind, stacks[event["thread"]]
            if kind == PUSH:
                stack.append(dict(self.opened(event, stack), level=depths[thread]))
                depths[thread] += 1
            elif kind in (POP, LOST, EDGE):
                depths[thread] = 0 if kind == EDGE else event["depth"]
                end = event["end"] if kind == LOST else event["time"]
                while stack and stack[-1]["level"] >= depths[thread]:
                    self.add_range("pushed", stack.pop(), end, unfinished=int(kind == EDGE),
                                   end_lost=int(kind == LOST))
        for thread, stack in stacks.items():
            while stack:
                self.add_range("pushed", stack.pop(), self.never(thread), unfinished=1)

    def pair_starts(self):
        waiting = {}
        for event in self.events:
            if event["shape"].kind not in (START, END):
                continue
            key = self.threads[event["thread"]]["process"], event["id"]
            other = waiting.pop(key, None)
            if other is None or other["shape"].kind == event["shape"].kind:
                waiting[key] = event
                continue
            begin, end = (other, event) if event["shape"].kind == END else (event, other)
            self.add_range("overlapping", self.opened(begin, []), end["time"])
        for event in waiting.values():
            if event["shape"].kind == START:
                self.add_range("overlapping", self.opened(event, []),
                               self.never(event["thread"]), unfinished=1)

    def pair_tracks(self):
        stacks = collections.defaultdict(list)
        kinds = (TRACK_BEGIN, TRACK_END, TRACK_HIDDEN)
        told = [event for event in self.events if event["shape"].kind in kinds]
        for event in sorted(told, key=lambda event: event["time"]):
            lane = stacks[event["lane"]]
            shown = [entry for entry in lane if entry["event"]["shape"].kind == TRACK_BEGIN]
            if event["shape"].kind != TRACK_END:
                lane.append(self.opened(event, shown))
            elif lane:
                begin = lane.pop()
                if begin["event"]["shape"].kind == TRACK_BEGIN:
                    self.add_range("track", begin, event["time"])
        for lane in stacks.values():
            while lane:
                begin = lane.pop()
                if begin["event"]["shape"].kind == TRACK_BEGIN:
                    self.add_range("track", begin, self.never(begin["event"]["thread"]),
                                   unfinished=1)

    def add_point(self, event):
        kind, row = event["shape"].kind, self.common(event)
        row["time_ns"] = event["time"] - self.zero
        if kind in (MARK, TRACK_MARK):
            self.rows["marks"].append(dict(row, level=event["shape"].level))
        elif kind == COUNTER:
            self.rows["counters"].append(row)
        elif kind in FLOWS:
            self.rows["flows"].append(dict(row, flow=hex(event["id"]), kind=FLOWS[kind]))
        elif kind == LOST:
            self.rows["losses"].append({"thread": row["thread"], "process": row["process"],
                                        "begin_ns": row["time_ns"],
                                        "end_ns": event["end"] - self.zero,
                                        "lost_count": event["value"]})

    # ---- Samples ----

    def set_of(self, number):
        if number in FIXED_SETS:
            return FIXED_SETS[number]
        found = self.sets[number]
        return self.text(found["name"]), found["flags"], found["types:"][:found["count"]]

    def add_sample(self, sample):
        name, flags, types = self.set_of(sample["set"])
        values = dict(zip(types, sample["values"]))
        thread = self.threads[sample["thread"]]
        instant = not flags & (STRETCH | INTERVAL)
        frame = self.frames[self.stacks[sample["stack"]]["what"]] if sample["stack"] else None
        label = self.labels.get(frame["label"]) if frame else None
        row = {"sample_set": name, "process": thread["process"], "thread": sample["thread"],
               "pid": self.processes[thread["process"]]["pid"],
               "time_ns": sample["time"] - self.zero, "cpu": sample["cpu"],
               "cpu_ns": values.get(CPU, 0) if instant else 0,
               "runnable_ns": 0 if instant else values.get(RUNNABLE, 0),
               "blocked_ns": 0 if instant else values.get(BLOCKED, 0),
               "stack": sample["stack"] or None, "line": frame["line"] or None if frame else None,
               "function": self.text(label["text"]) or None if label else None,
               "in_kernel": sample["flags"] >> 2 & 1, "holds_gil": sample["flags"] >> 4 & 1}
        self.rows["samples"].append(row)
        if flags & STRETCH and (RUNNABLE in types or BLOCKED in types):
            wait = dict(row, begin_ns=row["time_ns"], end_ns=sample["end"] - self.zero,
                        reason=REASONS[sample["reason"]])
            self.rows["waits"].append(wait)
