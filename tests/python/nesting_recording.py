# SPDX-License-Identifier: MIT
"""Reads the streams of the programs of nesting_program.py from the lines of `annot cat`."""

import collections
import json
import re

import harness
from nesting_model import MAIN, Told

ROOT = re.compile(r"program \d+(, \w+ \d+)?$")


class Reader:
    """Follows the lines; skips events of pyannot's observers (domain "python")."""

    def __init__(self, path):
        self.told = Told()
        self.open_ranges = collections.defaultdict(lambda: [[]])  # {place: entries of open ranges}
        self.names = collections.defaultdict(list)
        self.labels, self.pids, self.parent_pids = {}, {}, {}
        lines = harness.run([harness.ANNOT, "cat", "-j", str(path)]).stdout.splitlines()
        for event in map(json.loads, lines):
            handler = getattr(self, event["event"], None)
            if handler:
                handler(event)
        self.finish()

    @staticmethod
    def place(event):
        """The thread or track of a nested event."""
        if event.get("kind") == "track" or "track_id" in event:
            return "track", event["track"], event["process_index"], event["track_id"]
        return "thread", event["thread_index"]

    def process_start(self, event):
        self.pids[event["pid"]] = event["process_index"]
        if event.get("forked"):
            self.parent_pids[event["process_index"]] = self.pids[event["parent_pid"]]

    def begin(self, event):
        if event["kind"] == "overlapping":
            return
        place, is_seen = self.place(event), event.get("domain") == "python"
        self.names[place].append((event["name"], is_seen))
        if not is_seen:
            self.open_ranges[place].append([])
        if ROOT.match(event["name"]):
            self.told.processes[event["name"]] = event["process_index"]

    def end(self, event):
        name = event.get("name")
        if event["kind"] == "overlapping":
            self.told.free[name, "unfinished" if event.get("unfinished") else "ended"] += 1
            return
        place = self.place(event)
        begun, is_seen = self.names[place].pop() if self.names[place] else (None, False)
        if begun != name:
            self.told.streams["the end of another range"] = event
            return
        if is_seen:
            return
        entries = self.open_ranges[place].pop()
        exception = event.get("args", {}).get("exception")
        if event.get("unfinished") or event.get("end_lost"):
            exception = "no end"
        if ROOT.match(name):
            if len(self.open_ranges[place]) > 1 or name in self.told.streams:
                raise AssertionError(f"{name} is there twice, or inside of {self.names[place]}")
            self.told.streams[name] = entries if exception is None else [(exception, entries)]
        else:
            self.open_ranges[place][-1].append(("range", name, entries, exception))

    def mark(self, event):
        if event.get("domain") == "python":
            return
        self.open_ranges[self.place(event)][-1].append(("mark", event["name"]))

    def counter(self, event):
        if event.get("domain") == "python":
            return
        self.open_ranges[self.place(event)][-1].append(("counter", event["name"], event["value"]))

    def finish(self):
        """Reports events outside of all programs as a stream that no model expects; names processes
        like the model."""
        for place, (entries, *_) in self.open_ranges.items():
            if place[0] == "track" and ", track " in place[1]:
                self.told.tracks[place[1]] = entries
            elif entries:
                self.told.streams[place] = entries
        forks = {process: root for root, process in self.told.processes.items() if "fork" in root}
        for process, root in forks.items():
            self.told.parents[root] = forks.get(self.parent_pids.get(process), MAIN)
        for root, process in self.told.processes.items():
            self.told.processes[root] = forks.get(process, MAIN)


def read(path):
    return Reader(path).told
