# SPDX-License-Identifier: MIT
"""Random recordings as the text that oracle_load writes (README.md): every kind of event, with
losses, edges, a forked process, samples on and off the CPU, and threads that are collected in any
order. Prefixes of names: r pushed, o overlapping, s on tracks, m marks, c counters, f flows, k
keys."""

import random

BEGIN_NS = 5_000_000_000_000
NAMES = [f"{letter}{number}" for letter in "rosmcfkt" for number in range(4)]
FUNCTIONS = ["main", "load", "parse", "wait"]
STRINGS = ["host", "kernel", "program", "version", "clock", "domain", "module", *NAMES, *FUNCTIONS]
PROCESS_OF = (0, 0, 1, 1, 2)  # of each thread; the last process is forked by the first
FORK_NS = 150_000
TRACKS = 6
COLLECTED = 250  # steps between two collections


def number(text):
    return 1 + STRINGS.index(text)


class Thread:
    def __init__(self):
        self.depth, self.free_ns, self.lines, self.events = 0, 0, [], 0


class Recording:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.now, self.next_id = 1000, 0
        self.threads = [Thread() for _ in PROCESS_OF]
        self.started, self.flows = [], []  # (process, id)
        self.depths = [0] * TRACKS
        self.samples, self.body = [], []

    def draw(self, below):
        return self.random.randrange(below)

    def name(self, letter):
        return f"name={number(letter + str(self.draw(4)))}"

    def put(self, thread, line):
        state = self.threads[thread]
        state.lines.append(line)
        state.events += 1
        for _ in range(self.draw(3) if line.split()[0] in self.VALUED else 0):
            state.lines.append(f"payload time=+{self.now} {self.name('k')} int64={self.draw(99)}")

    VALUED = ("push", "start", "mark", "track_begin", "stop")

    # ---- Steps ----

    def pushed(self, thread):
        state = self.threads[thread]
        if state.depth and self.draw(2):
            state.depth -= 1
            self.now += 1  # Chrome's format cannot nest two empty ranges at one instant
            return self.put(thread, f"pop time=+{self.now} depth={state.depth}")
        if state.depth == 5:
            return None
        state.depth += 1
        domain = f" domain={number('domain')}" if self.draw(4) == 0 else ""
        return self.put(thread, f"push time=+{self.now} {self.name('r')}{domain}")

    def overlapping(self, thread):
        mine = [entry for entry in self.started if entry[0] == PROCESS_OF[thread]]
        if len(mine) > 3 or (mine and self.draw(2)):
            entry = mine[self.draw(len(mine))]
            self.started.remove(entry)
            return self.put(thread, f"stop time=+{self.now} id={entry[1]}")
        self.next_id += 1
        self.started.append((PROCESS_OF[thread], self.next_id))
        return self.put(thread, f"start time=+{self.now} {self.name('o')} id={self.next_id}")

    def on_track(self, thread):
        track = 2 * self.draw(TRACKS // 2) + PROCESS_OF[thread] % 2
        if PROCESS_OF[thread] > 1:
            return None
        if self.draw(5) == 0:
            return self.put(thread, f"track_mark time=+{self.now} {self.name('m')} id={track}")
        if self.depths[track] and self.draw(2):
            self.depths[track] -= 1
            return self.put(thread, f"track_end time=+{self.now} id={track}")
        self.depths[track] += 1
        return self.put(thread, f"track_begin time=+{self.now} {self.name('s')} id={track}")

    def point(self, thread):
        if self.draw(2):
            return self.put(thread, f"mark time=+{self.now} {self.name('m')}")
        return self.put(thread,
                        f"counter time=+{self.now} {self.name('c')} int64={self.draw(1000)}")

    def flow(self, thread):
        if self.flows and self.draw(2):
            entry = self.flows[self.draw(len(self.flows))]
            kind = "step" if self.draw(3) == 0 else "end"
            if kind == "end":
                self.flows.remove(entry)
            return self.put(thread, f"flow_{kind} time=+{self.now} name={entry[1]} id={entry[0]}")
        self.next_id += 1
        name = number(f"f{self.draw(4)}")
        self.flows.append((self.next_id, name))
        return self.put(thread, f"flow_begin time=+{self.now} name={name} id={self.next_id}")

    def sample(self, thread):
        stack = self.draw(len(FUNCTIONS) + 1)
        self.samples.append(f"sample cpu time=+{self.now} thread={thread} stack={stack} cpu=1 "
                            f"weight={1000 * (1 + self.draw(20))}")

    def wait(self, thread):
        end = self.now + 10 + self.draw(4000)
        wake = f" wake=+{self.now + self.draw(end - self.now)}" if self.draw(2) else ""
        self.samples.append(f"sample off_cpu time=+{self.now} thread={thread} stack=2 cpu=1 "
                            f"reason=6{wake} end=+{end}")
        self.threads[thread].free_ns = end + 1

    def gap(self, thread):
        """Rarely, events are lost or recording is off."""
        state = self.threads[thread]
        if self.draw(12):
            return
        if self.draw(3) == 0:
            state.depth = 0
            self.put(thread, f"edge time=+{self.now}")
            return
        end = self.now + 1 + self.draw(3000)
        state.depth -= self.draw(state.depth + 1)
        self.put(thread, f"lost time=+{self.now} end=+{end} depth={state.depth} records=7")
        state.free_ns = end + 1

    # ---- The whole ----

    def collect(self):
        order = list(range(len(self.threads)))
        self.random.shuffle(order)
        for thread in order:
            if self.threads[thread].lines:
                self.body += [f"batch thread={thread}", *self.threads[thread].lines]
            self.threads[thread].lines = []
        if self.draw(3):  # else they are late, with those of the next collection
            self.body += self.samples
            self.samples = []

    def header(self):
        session = (f"session id=1 hostname=1 kernel=2 command=3 annot_version=4 clock=5 "
                   f"begin_ns={BEGIN_NS} end_ns={BEGIN_NS + self.now + 1000} "
                   f"begin_realtime_ns=1700000000000000000")
        lines = ["oracle 1", *(f"string {i + 1} {text}" for i, text in enumerate(STRINGS)), session]
        for process in range(3):
            forked = f" forked=1 fork_ns={BEGIN_NS + FORK_NS}" if process == 2 else ""
            lines.append(f"process pid={100 + process} ppid=1 ns_pid={100 + process} parent=-1 "
                         f"identity={process + 1}{forked} comm=3 cmdline=3 "
                         f"start_ns={BEGIN_NS + (FORK_NS if process == 2 else 0)}")
        for thread, process in enumerate(PROCESS_OF):
            main = thread in (0, 2, 4)
            tid = 100 + process if main else 110 + thread
            lines.append(f"thread process={process} serial={1 + (not main)} tid={tid} comm=3 "
                         f"first_ns={BEGIN_NS + 1000} last_ns={BEGIN_NS + self.now} "
                         f"event_count={self.threads[thread].events}")
        for track in range(TRACKS):
            parent = f" parent={track - 1}" if track > 3 else ""
            lines.append(f"track process={track % 2} id={50 + track} name={number(f't{track % 4}')}"
                         f"{parent}")
        lines.append("sampling rung=5 off_cpu=1 frequency_hz=99")
        for i, function in enumerate(FUNCTIONS):
            lines.append(f"frame {i + 1} native function={number(function)} "
                         f"module={number('module')} address={16 * (i + 1)}")
            lines.append(f"stack {i + 1} parent={i} frame={i + 1}")
        return lines

    def text(self, steps):
        choices = ([self.pushed] * 8 + [self.overlapping] * 3 + [self.on_track] * 4 +
                   [self.point] * 3 + [self.flow] * 2 + [self.sample] * 3 + [self.wait, self.gap])
        for step in range(steps):
            self.now += self.draw(4) and 1 + self.draw(900)  # some have equal times
            thread = self.draw(len(PROCESS_OF))
            forked = PROCESS_OF[thread] == 2 and self.now <= FORK_NS
            if self.now >= self.threads[thread].free_ns and not forked:
                self.random.choice(choices)(thread)
            if step % COLLECTED == COLLECTED - 1:
                self.collect()
        self.collect()
        return "\n".join([*self.header(), *self.body, *self.samples, "end complete", ""])


def make(seed, steps):
    """The text, and the time of the last event."""
    recording = Recording(seed)
    return recording.text(steps), recording.now
