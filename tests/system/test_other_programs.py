#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The processor time of other programs is reported: compared with the kernel's count of their run
time."""

import json
import os
import subprocess
import sys
import time

from harness import Skip, check, case, main
from samples import need_bpf

BUSY = "import os, time\nos.fork()\nend = time.time() + 1.5\nwhile time.time() < end: pass\n"


def ran_s(processes):
    """CPU seconds of processes, to within a tick each."""
    ticks = 0
    for process in processes:
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def facts_of(home, path):
    told = json.loads(home.annot("report", "--json", "--table", "recording", path).ok().out)
    return told["recording"]


@case
def neighbours_are_told_by_how_much(home):
    need_bpf(home)
    home.left.add("wake")  # a busy machine has no time to find out that it is unused
    count = len(os.sched_getaffinity(0))
    neighbours = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                  for _ in range(count)]
    try:
        time.sleep(0.3)
        before = ran_s(neighbours)
        done = home.record(sys.executable, "-c", BUSY, options=["--no-preload"])
        took = ran_s(neighbours) - before  # also while annot began and ended
        facts = facts_of(home, done.path)
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
    others = facts["others_cpu_ns"] / 1e9
    wall = facts["wall_ns"] / 1e9
    check(facts["cpu_count"] == count, f"there are {count} processors: {facts}")
    check(others > 0.5 * took, f"neighbours ran for {took} s, others for {others} s: {facts}")
    check(others < count * wall * 1.05 + 0.1, f"others had more than there is: {facts}")
    screen = home.annot("report", done.path).ok().out.decode()
    check("other programs used" in screen,
          f"the first screen says nothing of them: {screen}")


@case
def processors_of_an_attached_program_are_its_own(home):
    """annot itself is held on one of them."""
    need_bpf(home)
    ours = os.sched_getaffinity(0)
    if len(ours) < 2:
        raise Skip("there is one processor")
    path = home.work / "attached.annot"
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(len(ours) + 1)]
    try:
        os.sched_setaffinity(0, {min(ours)})
        before = ran_s(busy[1:])
        home.annot("attach", "--duration", "1500ms", "-o", path, busy[0].pid).ok()
        took = ran_s(busy[1:]) - before
    finally:
        os.sched_setaffinity(0, ours)
        for process in busy:
            process.kill()
            process.wait()
    facts = facts_of(home, path)
    check(facts["cpu_count"] == len(ours), f"there are {ours} processors: {facts}")
    check(facts["others_cpu_ns"] / 1e9 > 0.5 * took,
          f"neighbours ran for {took} s, others for {facts['others_cpu_ns'] / 1e9} s: {facts}")


if __name__ == "__main__":
    main()
