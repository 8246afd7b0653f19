#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A disk that stalls: events emitted meanwhile stay in shared memory as far as it has room, the
rest is counted exactly, and annot goes on to answer.

The disk is a FIFO of one page without a reader for a while, and a file system on a loop device that
is frozen. Events emitted during the stall are counted in records, not in seconds."""

import contextlib
import fcntl
import json
import os
import pathlib
import select
import subprocess
import threading
import time

from harness import ANNOT, Skip, case, check, equal, main, needs_root, program

PATIENCE_S = 120
FITTING = 360_000  # ranges whose records take 11 MiB of a process's 16 MiB
LATE = 4  # in the lists of losses: "collector not scheduled"
F_SETPIPE_SZ = 1031
WRITE = {"x86_64": 1}.get(os.uname().machine, 64)  # the number of the system call


class Asked:
    """`annot record` into `path`, with a program that executes commands."""

    def __init__(self, home, path, *options):
        self.err = home.work / "messages"
        self.process = home.start(ANNOT, "record", "--sampling=none", "--force", "-o", path,
                                  *options, "--", program("emit_asked"), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=self.err.open("w"), text=True)
        self.hear("its begin")

    def say(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        self.hear(words)

    def hear(self, words):
        while (answer := self.process.stdout.readline()) != "ok\n":
            check(answer, f"the program ended at {words!r}")

    def is_stalled(self):
        """Returns true if a thread of annot is in a write that does not end."""
        before = None
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        for _ in range(20):
            calls = {call for task in tasks.iterdir()
                     if (call := (task / "syscall").read_text()).startswith(f"{WRITE} ")}
            before = calls if before is None else before & calls
            time.sleep(0.005)
        return bool(before)

    def await_stalled(self):
        end = time.monotonic() + PATIENCE_S
        while not self.is_stalled():
            check(time.monotonic() < end, "annot does not wait for the disk")

    def steps_until_stalled(self):
        """How many; a few thousand at a time."""
        count = 0
        while not self.is_stalled():
            check(count < 100_000, "annot does not wait for the disk")
            self.say("steps 5000")
            count += 5000
        return count

    def messages(self):
        return self.err.read_text()

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def finish(self):
        self.process.communicate(timeout=PATIENCE_S)
        equal(self.process.returncode, 0, f"the end of annot: {self.messages()}")


class Fifo:
    """Takes a recording into a file, but pauses between stall() and go_on()."""

    def __init__(self, home):
        self.path, self.copy = home.work / "fifo", home.work / "copy.annot"
        os.mkfifo(self.path)
        self.fd = os.open(self.path, os.O_RDWR)  # so that a reader meets no end before the writer
        fcntl.fcntl(self.fd, F_SETPIPE_SZ, 4096)
        self.flows, self.stalled, self.over = (threading.Event() for _ in range(3))
        self.flows.set()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        with self.copy.open("wb") as copy:
            while not self.over.is_set() or select.select([self.fd], [], [], 0)[0]:
                if not self.flows.is_set():
                    self.stalled.set()
                    self.flows.wait()
                if select.select([self.fd], [], [], 0.01)[0]:
                    copy.write(os.read(self.fd, 65536))

    def stall(self):
        self.stalled.clear()
        self.flows.clear()
        self.stalled.wait(PATIENCE_S)

    def go_on(self):
        self.flows.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.go_on()
        self.reader.join()
        os.close(self.fd)


def ranges(home, path):
    """How many of each name."""
    rows = json.loads(home.annot("report", "--json", path).ok().out)["ranges"]
    return {row["path"]: row["count"] for row in rows if "rest" not in row}


def check_answers(home):
    """`annot set` returns when the collector has updated its programs: it is not held up."""
    home.annot("set", "--disable", "nobody").ok()


@case
def what_fits_into_shared_memory_is_not_lost(home):
    with Fifo(home) as fifo:
        run = Asked(home, fifo.path)
        run.say("steps 1000")
        fifo.stall()
        run.say(f"steps {FITTING}")
        run.await_stalled()
        check_answers(home)
        fifo.go_on()
        run.say("steps 1000")
        run.finish()
    home.dump(fifo.copy, "--no-events").whole()
    equal(ranges(home, fifo.copy), {"step": FITTING + 2000}, "ranges")


@case
def what_does_not_fit_is_counted_as_the_collectors_delay(home):
    with Fifo(home) as fifo:
        run = Asked(home, fifo.path, "--pool-size", "4M")
        fifo.stall()
        count = run.steps_until_stalled()
        time.sleep(0.2)  # data that waits for the disk for a tenth of a second is late
        run.say("steps 500000")
        fifo.go_on()
        run.say("steps 1000")
        run.finish()
    dump = home.dump(fifo.copy)
    equal(dump.damage, [], "damage")
    process, = dump.processes
    lost = sum(process["lost"])
    check(lost > 0, "nothing was lost: no stall")
    equal(process["lost"][LATE], lost, f"losses by delay, of {process['lost']}")
    records = len(dump.kind("push")) + len(dump.kind("pop"))
    equal(records + lost, 2 * (count + 501_000), "records and losses")


@case
def nothing_runs_while_nothing_can_be_written(home):
    children = 30  # more chunks than the queue takes
    with Fifo(home) as fifo:
        run = Asked(home, fifo.path, "--pool-size", "4M")
        fifo.stall()
        for _ in range(children):
            run.say("fork 2000")
        run.await_stalled()
        begin, before = time.monotonic(), run.cpu_s()
        time.sleep(1)
        used, passed = run.cpu_s() - before, time.monotonic() - begin
        check(used < passed / 20, f"annot used {used:.2f} s of CPU in {passed:.2f} s")
        fifo.go_on()
        run.finish()
    equal(len(home.dump(fifo.copy, "--no-events").whole().processes), children, "processes")
    equal(ranges(home, fifo.copy), {"in a child": children * 2000}, "ranges")


@case
@needs_root
def nothing_runs_after_an_error(home):
    """Processes begin and end without being recorded: that keeps annot as little as a stall."""
    place = home.work / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", place],
                          capture_output=True, check=False)
    if done.returncode:
        raise Skip(f"cannot mount: {done.stderr.decode().strip()}")
    try:
        run = Asked(home, place / "x.annot", "--pool-size", "1M")
        while "No space left" not in run.messages():
            run.say("steps 5000")
        run.say("fork 100")
        begin, before = time.monotonic(), run.cpu_s()
        time.sleep(1)
        used, passed = run.cpu_s() - before, time.monotonic() - begin
        check(used < passed / 20, f"annot used {used:.2f} s of CPU in {passed:.2f} s")
        run.process.communicate(timeout=PATIENCE_S)
        subprocess.run(["mount", "-o", "remount,size=64m", place], check=True)
        home.annot("recover").ok()
        equal(home.dump(place / "x.annot", "--no-events").damage, [], "damage")
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@contextlib.contextmanager
def loop_disk(home):
    """A file system on a block device; `frozen` inside of it stops each write."""
    image, place = home.work / "image", home.work / "disk"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(64 << 20)
    for command in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, place]):
        try:
            done = subprocess.run(command, capture_output=True, check=False)
        except FileNotFoundError as missing:
            raise Skip(f"no {command[0]}") from missing
        if done.returncode:
            raise Skip(f"cannot mount: {done.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@contextlib.contextmanager
def frozen(place):
    done = subprocess.run(["fsfreeze", "-f", place], capture_output=True, check=False)
    if done.returncode:
        raise Skip(f"cannot freeze: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["fsfreeze", "-u", place], check=True)


@case
@needs_root
def a_frozen_file_system_costs_nothing(home):
    with loop_disk(home) as place:
        path = place / "x.annot"
        run = Asked(home, path)
        run.say("steps 1000")
        with frozen(place):
            end = time.monotonic() + 2
            run.say(f"steps {FITTING}")
            check_answers(home)
            size = path.stat().st_size
            time.sleep(max(0.0, end - time.monotonic()))
            equal(path.stat().st_size, size, "bytes in a frozen file")
        run.say("steps 1000")
        run.finish()
        home.dump(path, "--no-events").whole()
        equal(ranges(home, path), {"step": FITTING + 2000}, "ranges")


if __name__ == "__main__":
    main()
