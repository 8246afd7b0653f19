#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the text of a made-up recording in which rare events are frequent.

rare.py SEED STEPS: edges and losses of every cause with ranges open, times that are equal, forks in
open ranges, tracks that several threads use and that are hidden, ranges that end on other threads
or never, late batches, samples and waits of every kind with and without a path. The same arguments
give the same text.
"""

import random
import sys

BEGIN_NS = 7_000_000_000_000
CAUSES, REASONS, STACK_ENDS = 10, 14, 14
FRAME_KINDS = ("native", "python", "kernel", "jit", "collector", "note")
NAMES = ["load", "parse", "a b", "x;y", "<&\">", "Ünïcode", "load", "nvtx step"]
PATH_KNOWN, PATH_CUT, UNFINISHED = 1, 2, 32  # flags of samples


class Text:
    """Collects lines; numbers strings, frames, stacks and paths at their first use."""

    def __init__(self):
        self.lines, self.numbers = ["oracle 1"], {}

    def number(self, table, key, line):
        if key not in self.numbers.setdefault(table, {}):
            number = self.numbers[table][key] = len(self.numbers[table]) + 1
            self.lines.append(f"{table} {number} {line}".rstrip())
        return self.numbers[table][key]

    def string(self, text):
        return self.number("string", text, text) if text else 0

    def add(self, word, **fields):
        self.lines.append(" ".join([word] + [f"{key}={value}" for key, value in fields.items()
                                             if value not in (0, None)]))


class Thread:
    def __init__(self, ordinal, process):
        self.ordinal, self.process = ordinal, process
        self.open, self.now, self.batch = [], 0, []


class Recording:
    def __init__(self, seed, steps):
        self.random = random.Random(seed)
        self.text = Text()
        self.now = 1000
        self.started, self.next_id, self.samples = [], 1, []
        self.tracks, self.threads = 4, []
        self.add_session(steps)
        for process in range(4):
            self.add_process(process, steps)
        self.add_rest(steps)

    def add_session(self, steps):
        text = self.text
        text.add("session", command=text.string("rare --steps"), hostname=text.string("host"),
                 clock=text.string("tsc"), id=9, begin_ns=BEGIN_NS,
                 end_ns=BEGIN_NS + 3000 * steps + 5000, begin_realtime_ns=1_700_000_000 * 10**9)

    def add_process(self, process, steps):
        text = self.text
        lost = ",".join(str(self.random.choice((0, 0, 3))) for _ in range(CAUSES))
        fork = BEGIN_NS + 130 * steps * process if process in (1, 3) else 0
        text.add("process", pid=100 + process % 3, ppid=100 if process else 1,
                 ns_pid=100 + process, identity=50 + process, parent=(-1, 0, 0, 1)[process],
                 forked=int(fork > 0), fork_ns=fork,
                 fork_thread=(0, 1, 0, 4)[process] if fork else 0,
                 start_ns=fork or BEGIN_NS + 10, end=(1, 2, 5, 0)[process],
                 end_ns=0 if process == 3 else BEGIN_NS + 3000 * steps - 500 * process,
                 end_value=(3, 9, 0, 0)[process], cmdline=text.string(f"./program {process}"),
                 comm=text.string("program"), lost=lost, misuse="1,0,2,0,0,3,1",
                 note=text.string("last words") if process == 1 else 0)

    def add_rest(self, steps):
        text = self.text
        for ordinal in range(8):
            process = (0, 0, 0, 1, 1, 2, 3, 3)[ordinal]
            self.threads.append(Thread(ordinal, process))
            tid = (100, 110, 111, 101, 110, 102, 103, 111)[ordinal]
            text.add("thread", process=process, serial=ordinal + 1, tid=tid,
                     name=text.string(("", "worker")[ordinal % 2]), first_ns=BEGIN_NS + 1,
                     last_ns=BEGIN_NS + 3000 * steps)
        for track in range(self.tracks):
            text.add("track", process=track % 3, id=700 + track,
                     name=text.string(f"track {track % 3}"), parent=track if track % 2 else 0)
        text.add("unit", counter=text.string("queue"), domain=text.string("io"),
                 unit=text.string("ms"))
        text.add("refusal", pid=77, comm=text.string("old"), reason=text.string("too old"))
        text.add("filter", time_ns=BEGIN_NS + 5000, rules=text.string("-io"))
        text.add("sampling", rung=5, off_cpu=1, frequency_hz=999, off_cpu_threshold_ns=1000)
        for kind in (0, 1, 2):
            text.add("fact", kind=kind, value=4 + kind, name=text.string(f"fact {kind}"))

    # ---- Events: kept per thread until the thread's batch is handed over ----

    def attributes(self):
        draw, text = self.random, self.text
        return {"name": text.string(draw.choice(NAMES)),
                "domain": text.string(draw.choice(("", "", "io", "nvtx"))),
                "category": text.string(draw.choice(("", "", "disk"))),
                "level": draw.choice((0, 0, 3)), "color": draw.choice((None, None, 0xFF00FF00))}

    def value(self):
        draw = self.random
        return draw.choice(({}, {}, {"int64": -5}, {"uint64": 2**64 - 1}, {"bool": 1},
                            {"double_bits": 0x3FE0000000000000},
                            {"double_bits": 0x7FF8000000000000},
                            {"text": self.text.string("a text")}))

    def event(self, thread, word, **fields):
        thread.batch.append((word, {"time": f"+{thread.now}", **fields}))
        for key in range(self.random.choice((0, 0, 0, 2)) * (word != "lost")):
            if word not in ("pop", "edge", "counter"):
                thread.batch.append(("payload", {
                    "time": f"+{thread.now}", "name": self.text.string(f"key {key} [ms]"),
                    **(self.value() or {"int64": 7})}))

    def pushes(self, thread):
        fields = self.attributes()
        thread.open.append(fields["name"])
        self.event(thread, "push", **fields, **self.value())

    def pops(self, thread):
        if thread.open:
            thread.open.pop()
            thread.batch.append(("pop", {"time": f"+{thread.now}", "depth": len(thread.open)}))

    def loses(self, thread):
        left = self.random.randint(0, len(thread.open))
        del thread.open[left:]
        end = thread.now + self.random.choice((0, 1, 500))
        thread.batch.append(("lost", {"time": f"+{thread.now}", "end": f"+{end}", "depth": left,
                                      "level": self.random.randrange(CAUSES), "records": 12}))
        thread.now = self.now = max(self.now, end)

    def edges(self, thread):
        thread.open.clear()
        self.event(thread, "edge")

    def starts(self, thread):
        self.started.append(self.next_id)
        self.event(thread, "start", **self.attributes(), id=self.next_id, **self.value())
        self.next_id += 1

    def stops(self, thread):
        if self.started:
            index = self.random.randrange(len(self.started))
            self.event(thread, "stop", id=self.started.pop(index))
            self.starts(thread)  # in the slot that became free

    def stops_only(self, thread):
        if self.started:
            self.event(thread, "stop", id=self.started.pop())

    def marks(self, thread):
        self.event(thread, "mark", **self.attributes(), **self.value())

    def counts_up(self, thread):
        self.event(thread, "counter", name=self.text.string("queue"),
                   domain=self.text.string(self.random.choice(("", "io"))),
                   **self.random.choice(({"int64": 3}, {"double_bits": 0x4000000000000000})))

    def flows(self, thread):
        word = self.random.choice(("flow_begin", "flow_step", "flow_end"))
        self.event(thread, word, name=self.text.string(self.random.choice(("", "arrow"))),
                   id=self.random.randint(1, 6))

    def uses_track(self, thread):
        word = self.random.choice(("track_begin", "track_begin", "track_end", "track_end",
                                   "track_mark", "track_hidden"))
        fields = self.attributes() if word != "track_end" else {}
        self.event(thread, word, **fields, id=self.random.randrange(self.tracks))

    # ---- Samples ----

    def stack(self):
        text, draw, stack = self.text, self.random, 0
        for depth in range(draw.randint(0, 4)):
            kind = draw.choice(FRAME_KINDS)
            fields = (text.string(f"f{draw.randint(1, 5)}"), text.string("/srv/a.py"),
                      text.string("/lib/b.so"), draw.randint(0, 9))
            frame = text.number("frame", (kind, *fields), f"{kind} function={fields[0]} "
                                f"file={fields[1]} module={fields[2]}"
                                + (f" line={fields[3]}" if fields[3] else ""))
            above = f"parent={stack} " if stack else ""
            stack = text.number("stack", (stack, frame), f"{above}frame={frame}")
        return stack

    def path(self, thread):
        path, names = 0, thread.open[-self.random.randint(1, 5):]
        for name in names:
            kind = self.random.choice(("thread",) * 4 + ("inherited", "track", "inside"))
            above = f" parent={path}" if path else ""
            named = f" name={name}" if name else ""
            path = self.text.number("path", (path, name, kind), f"{kind}{above}{named}")
        return path, PATH_KNOWN | (PATH_CUT if len(names) < len(thread.open) else 0)

    def samples_thread(self, thread):
        draw = self.random
        path, flags = self.path(thread) if draw.random() < 0.4 else (0, 0)
        fields = {"time": f"+{thread.now}", "thread": thread.ordinal, "stack": self.stack(),
                  "path": path, "cpu": draw.randint(0, 3)}
        ends = {"native_end": draw.randrange(STACK_ENDS), "python_end": draw.randrange(STACK_ENDS)}
        flags |= draw.choice((0, 0, 4, 8, 16, 28))
        if draw.random() < 0.5:
            self.samples.append(("sample cpu", {**fields, "flags": flags, **ends,
                                                "weight": 1001001}))
            return
        end = thread.now + draw.choice((0, 40, 900))
        wake = draw.choice((None, thread.now, end, (thread.now + end) // 2))
        flags |= draw.choice((0, 0, UNFINISHED))
        thread.now = self.now = max(self.now, end)
        self.samples.append(("sample off_cpu", {
            **fields, "reason": draw.randrange(REASONS), "flags": flags, **ends,
            "wake": None if wake is None else f"+{wake}", "end": f"+{end}"}))

    # ---- All together ----

    def hand_over(self, thread):
        if thread.batch:
            self.text.add(f"batch thread={thread.ordinal}" if thread.ordinal else "batch thread=0")
        for word, fields in thread.batch:
            depth = f" depth={fields.pop('depth')}" if "depth" in fields else ""
            self.text.add(word, **fields)
            self.text.lines[-1] += depth
        thread.batch = []

    def hand_over_samples(self):
        for word, fields in self.samples:
            self.text.add(word, **fields)
        self.samples = []
        self.text.lines.append("flush")

    def go(self, steps):
        draw = self.random
        ways = [self.pushes] * 8 + [self.pops] * 6 + [self.uses_track] * 4
        ways += [self.samples_thread] * 6 + [self.starts] * 2
        ways += [self.loses, self.edges, self.stops, self.stops_only, self.marks, self.counts_up,
                 self.flows]
        for _ in range(steps):
            thread = draw.choice(self.threads)
            self.now += draw.choice((0, 0, 1, 1, 50, 3000))
            thread.now = max(thread.now, self.now)
            draw.choice(ways)(thread)
            if draw.random() < 0.06:
                self.hand_over(draw.choice(self.threads))
            if draw.random() < 0.01:
                self.text.lines.append("flush")
                self.hand_over_samples()
        for thread in self.threads:
            self.hand_over(thread)
        self.text.lines.append("flush")
        self.hand_over_samples()
        self.text.lines.append("end complete")
        return "\n".join(self.text.lines) + "\n"


def made(seed, steps):
    return Recording(seed, steps).go(steps)


if __name__ == "__main__":
    sys.stdout.write(made(int(sys.argv[1]), int(sys.argv[2])))
