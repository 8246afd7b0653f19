# SPDX-License-Identifier: MIT
"""The GPU contents of a recording, read by the second reader of recordings (tests/golden), so that
no part of annot is used to check annot.

    spans.py FILE.annot  prints the spans, a line each, and the counts
"""

import bisect
import collections
import ctypes
import dataclasses
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
import read_recording  # noqa: E402

CUPTI = 13
# annot/queues.h
ROLES = {1: "kernel", 2: "copy", 3: "set", 4: "wait", 5: "graph", 6: "call", 7: "event",
         8: "memory", 9: "overhead", 10: "jit"}
LAUNCHED = ("kernel", "copy", "set", "graph")
PUSH, POP, SPAN = 1, 2, 16
NO_ORIGIN = 1 << 63
OWN_LANE = (1 << 32) - 1
COUNTS = ("launched", "told", "dropped", "untimed", "mistimed", "acausal")


@dataclasses.dataclass
class Span:
    role: str
    name: str
    queue: str
    queue_id: int
    begin_ns: int
    end_ns: int
    origin_ns: int | None
    tid: int                # of the thread that caused it
    args: dict
    ranges: tuple = ()      # open there, outermost first


class Recorded(read_recording.Recording):
    """Spans and counts. The sums of the other reader are left out."""

    def __init__(self, data):
        self.events = []
        super().__init__([data])

    def count(self, chunk):
        self.events.extend(read_recording.Events(chunk.payload))

    def count_samples(self, chunk):
        pass

    def check_checkpoint(self, chunk):
        pass

    def check_ids(self, mixed):
        pass

    def open_ranges(self):
        """Return the times of each thread, with the names of the ranges open from each time on."""
        told = collections.defaultdict(list)
        for event in self.events:
            if event["shape"].kind in (PUSH, POP):
                told[event["thread"]].append(event)
        found = {}
        for thread, events in told.items():
            stack, times, stacks = [], [], []
            for event in sorted(events, key=lambda each: each["index"]):
                if event["shape"].kind == PUSH:
                    stack.append(self.text(event["shape"].name))
                else:
                    del stack[event["depth"]:]
                times.append(event["time"])
                stacks.append(tuple(stack))
            found[thread] = times, stacks
        return found

    def span(self, event, ranges):
        shape = event["shape"]
        queue = self.tracks.get(event["lane"], {})
        origin = event["id"] if shape.fields & 512 and event["id"] != NO_ORIGIN else None
        times, stacks = ranges.get(event["thread"], ([], []))
        at = bisect.bisect_right(times, origin) if origin is not None else 0
        args = {self.text(key): self.text(value) if kind == 5 else value
                for key, kind, value in event["args"]}
        return Span(ROLES.get(self.scopes[shape.scope]["role"], "other"),
                    self.text(shape.name).rpartition("\x1e")[2], self.text(queue.get("name", 0)),
                    queue.get("id", 0) & read_recording.MASK, event["time"], event["end"], origin,
                    self.threads.get(event["thread"], {}).get("tid", 0)
                    if origin or event["lane"] == OWN_LANE else 0, args,
                    stacks[at - 1] if at else ())

    @property
    def spans(self):
        if not hasattr(self, "found"):
            ranges = self.open_ranges()
            self.found = [self.span(event, ranges) for event in self.events
                          if event["shape"].kind == SPAN and
                          self.scopes.get(event["shape"].scope, {}).get("observer") == CUPTI]
        return self.found

    @property
    def counts(self):
        """Return the sums over all processes that have counts."""
        sums = collections.Counter()
        for process in self.processes.values():
            for name, count in zip(COUNTS, process["queued:"]):
                sums[name] += count
        return dict(sums)

    @property
    def marks(self):
        """Return texts and key-values."""
        return [(self.text(event["shape"].name),
                 {self.text(key): self.text(value) if kind == 5 else value
                  for key, kind, value in event["args"]}) for event in self.events
                if event["shape"].kind == 5 and
                self.scopes.get(event["shape"].scope, {}).get("observer") == CUPTI]

    @property
    def notes(self):
        return [text for text, _ in self.marks if text.startswith("GPU: ")]

    @property
    def devices(self):
        """Return the facts about devices: (name, key-values)."""
        return [(text, args) for text, args in self.marks
                if not text.startswith(("GPU: ", "GPU window "))]

    @property
    def windows(self):
        """Return the key-values of each window that was opened, and of each that was shut."""
        return ([args for text, args in self.marks if text == "GPU window opened"],
                [args for text, args in self.marks if text == "GPU window shut"])

    def windows_us(self):
        """Return the time it took to open and to shut each window."""
        return [(span.name.rpartition(" ")[2], (span.end_ns - span.begin_ns) / 1e3)
                for span in self.spans if span.name.endswith(("window opens", "window shuts"))]

    def by_role(self):
        return dict(collections.Counter(span.role for span in self.spans))


def read(path, annot=None):
    """Read the recording in a file. `annot`: its folder may have a libzstd if this machine has
    none.
    """
    if annot:
        for library in (pathlib.Path(annot).parent.parent / "lib").glob("libzstd.so*"):
            ctypes.CDLL(str(library))
    return Recorded(pathlib.Path(path).read_bytes())


if __name__ == "__main__":
    recorded = read(sys.argv[1])
    for each in recorded.spans:
        print(json.dumps(dataclasses.asdict(each)))
    print(json.dumps({"counts": recorded.counts, "notes": recorded.notes}))
