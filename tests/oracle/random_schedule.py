# SPDX-License-Identifier: MIT
"""Random schedules of sampled programs, as the text that oracle_load writes (README.md): processes
that fork, threads that run, are ready, wait for every reason and nap; stacks of own code,
libraries, the interpreter and the kernel; ranges, losses. Keeps the schedule as the truth."""

import random

BEGIN_NS = 7_000_000_000_000
PERIOD_NS = 10_101_010
PROCESSORS = 2
REASONS = (0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
PREEMPTED = 1
KERNEL, GC, GIL, UNFINISHED = 4, 8, 16, 32  # flags
APP, OTHER = "/home/me/app/main.py", "/home/me/app/work.py"
LIBRARY = "/usr/lib/python3.11/site-packages/numpy/core.py"
STDLIB = "/usr/lib/python3.11/json/decoder.py"
# kind, function, file or module, lines
FUNCTIONS = [("python", "main", APP, 9), ("python", "load", APP, 30), ("python", "parse", APP, 50),
             ("python", "work", OTHER, 5), ("python", "Tree.walk", OTHER, 25),
             ("python", "asarray", LIBRARY, 7), ("python", "decode", STDLIB, 11),
             ("native", "memcpy", "/lib/libc.so.6", 0),
             ("native", "dot", "/home/me/app/fast.so", 3),
             ("kernel", "do_syscall_64", "[kernel]", 0), ("collector", "gc_collect_main", "", 0)]
STRINGS = ["host", "kernel", "program", "version", "clock", "thread-a", "outer", "inner",
           "domain", *sorted({text for entry in FUNCTIONS for text in entry[1:3] if text})]


def number(text):
    return 1 + STRINGS.index(text) if text else 0


class Thread:
    def __init__(self, process, tid, begin, end):
        self.process, self.tid, self.begin, self.end = process, tid, begin, end
        self.cpu = []  # (time, stack, flags)
        self.waits = []  # (begin, wake, end, reason, stack, flags)
        self.naps = []  # (begin, end, blocked, ready)
        self.events = []  # (time, line)


class Schedule:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.length = self.draw(100_000_000, 4_000_000_000)
        self.frames, self.stacks = [], [None]  # frames: (function, line); stacks: (parent, frame)
        self.processes, self.threads = [], []
        self.make_stacks()
        self.make_processes()
        for thread in self.threads:
            self.run(thread)
            self.ranges(thread)

    def draw(self, low, high):
        return self.random.randrange(low, high)

    # ---- Processes, threads and code ----

    def make_stacks(self):
        self.add_stack(0, 0)
        for _ in range(self.draw(2, 25)):
            self.add_stack(self.draw(1, len(self.stacks)), self.draw(0, len(FUNCTIONS)))

    def add_stack(self, parent, function):
        kind, _, _, first = FUNCTIONS[function]
        inner = parent and FUNCTIONS[self.frames[self.stacks[parent][1]][0]][0] in ("kernel",
                                                                                   "collector")
        if inner:  # makes no calls
            return
        frame = (function, first + self.draw(0, 4) if kind == "python" or first else 0)
        if frame not in self.frames:
            self.frames.append(frame)
        stack = (parent, self.frames.index(frame))
        if stack not in self.stacks:
            self.stacks.append(stack)

    def make_processes(self):
        """pid, parent, begin, end or None."""
        self.processes.append((100, -1, 0, self.length - self.draw(0, 1000)))
        for i in range(self.draw(0, 3)):
            begin = self.draw(0, self.length * 3 // 4)
            end = self.draw(begin + 1000, self.length) if self.draw(0, 4) else None
            self.processes.append((101 + i, 0, begin, end))
        for i, (pid, _, begin, end) in enumerate(self.processes):
            end = end or self.length
            self.threads.append(Thread(i, pid, begin, end))
            for k in range(self.draw(0, 3)):
                first = self.draw(begin, end)
                self.threads.append(Thread(i, 1000 * (i + 1) + k, first, self.draw(first, end) + 1))

    # ---- Running and waiting ----

    def run(self, thread):
        now, used, stack = thread.begin, self.draw(0, PERIOD_NS), 0
        while now < thread.end:
            stop = min(thread.end, now + self.draw(1, 10 ** self.draw(4, 9)))
            kind = self.draw(0, 10)
            stack = self.draw(0, len(self.stacks)) if self.draw(0, 3) else stack
            if kind < 4:
                used = self.on_cpu(thread, now, stop, stack, used)
            elif kind < 9:
                self.wait(thread, now, stop, stack)
                stop += 1
            else:
                blocked = self.draw(0, stop - now)
                ready = self.draw(0, stop - now - blocked)
                thread.naps.append((now, stop, blocked, ready))
            now = stop

    def on_cpu(self, thread, now, stop, stack, used):
        """A sample for each period of CPU time, of which `used` has passed."""
        tick = now + PERIOD_NS - used
        while tick < stop:
            inner = self.stacks[stack] and FUNCTIONS[self.frames[self.stacks[stack][1]][0]][0]
            flags = {"kernel": KERNEL, "collector": GC}.get(inner, 0) | GIL * self.draw(0, 2)
            thread.cpu.append((tick, stack, flags))
            tick += PERIOD_NS
        return PERIOD_NS - (tick - stop)

    def wait(self, thread, now, stop, stack):
        last = stop == thread.end and self.draw(0, 2)
        if self.draw(0, 4) == 0:
            thread.waits.append((now, now, stop, PREEMPTED, stack, 0))
            return
        wake = self.draw(now, stop) if self.draw(0, 2) and not last else stop
        thread.waits.append((now, wake, stop, self.random.choice(REASONS), stack,
                             UNFINISHED if last else 0))

    def ranges(self, thread):
        times = sorted(self.draw(thread.begin, thread.end) for _ in range(self.draw(0, 12)))
        depth = 0
        for time in times:
            if depth and self.draw(0, 2):
                depth -= 1
                thread.events.append((time, f"pop time=+{time} depth={depth}"))
            elif depth and self.draw(0, 10) == 0:
                depth = 0
                thread.events.append((time, f"lost time=+{time} end=+{time + 1} records=3"))
            else:
                name = number(self.random.choice(("outer", "inner")))
                thread.events.append((time, f"push time=+{time} name={name}"))
                depth += 1

    # ---- The text ----

    def header(self):
        yield "oracle 1"
        for i, text in enumerate(STRINGS):
            yield f"string {i + 1} {text}"
        yield (f"session id=1 hostname=1 kernel=2 command=3 annot_version=4 clock=5 "
               f"begin_ns={BEGIN_NS} end_ns={BEGIN_NS + self.length} processors={PROCESSORS} "
               f"begin_realtime_ns=1700000000000000000")
        for i, (pid, parent, begin, end) in enumerate(self.processes):
            ended = f" end=1 end_ns={BEGIN_NS + end}" if end else ""
            forked = f" forked=1 fork_ns={BEGIN_NS + begin}" if i else ""
            yield (f"process pid={pid} ppid=1 ns_pid={pid} parent={parent} identity={i + 1} comm=3 "
                   f"cmdline=3 start_ns={BEGIN_NS + begin}{forked}{ended}")
        for thread in self.threads:
            main = thread.tid == self.processes[thread.process][0]
            seen = "" if not thread.events else (
                f" first_ns={BEGIN_NS + thread.events[0][0]} "
                f"last_ns={BEGIN_NS + thread.events[-1][0]} event_count={len(thread.events)}")
            yield (f"thread process={thread.process} serial={1 + (not main)} tid={thread.tid} "
                   f"comm=3{seen}")
        yield f"sampling rung=5 off_cpu=1 frequency_hz={1_000_000_000 // PERIOD_NS}"
        for i, (function, line) in enumerate(self.frames):
            kind, name, place, first = FUNCTIONS[function]
            where = f"module={number(place)} address={16 * (i + 1)}"
            where += f" line={line}" if line else ""
            if kind == "python":
                where = f"file={number(place)} line={line} first_line={first}"
            yield f"frame {i + 1} {kind} function={number(name)} {where}"
        for i, (parent, frame) in list(enumerate(self.stacks))[1:]:
            yield f"stack {i} parent={parent} frame={frame + 1}"

    def samples(self, index):
        """(time of emission, line)"""
        thread = self.threads[index]
        for time, stack, flags in thread.cpu:
            yield time, (f"sample cpu time=+{time} thread={index} stack={stack} cpu=1 "
                         f"flags={flags} native_end=1 weight={PERIOD_NS}")
        for begin, wake, end, reason, stack, flags in thread.waits:
            woken = f" wake=+{wake}" if reason != PREEMPTED and wake < end else ""
            yield end, (f"sample off_cpu time=+{begin} thread={index} stack={stack} cpu=1 "
                        f"reason={reason} flags={flags}{woken} native_end=1 end=+{end}")
        for begin, end, blocked, ready in thread.naps:
            yield end, (f"sample set time=+{begin} thread={index} cpu=1 end=+{end} set=3 "
                        f"values={blocked},{ready}")

    def text(self):
        lines = list(self.header())
        for i, thread in enumerate(self.threads):
            if thread.events:
                lines += [f"batch thread={i}", *(line for _, line in thread.events)]
        told = [entry for i in range(len(self.threads)) for entry in self.samples(i)]
        lines += [line for _, line in sorted(told, key=lambda entry: entry[0])]
        return "\n".join([*lines, "end complete", ""])
