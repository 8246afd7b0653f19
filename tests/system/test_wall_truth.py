#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How the wall time was spent, judged by the clocks of the programs themselves (wall_program.py):
each share of the wall time, and of the time of each thread and process, to one percent point.

The report counts the time that the host took from a CPU, a thread's clock does not."""

import json
import os
import subprocess
import sys

from harness import SOURCE, check, case, main
from machine_clock import taken_ns
from samples import need_bpf

POINT = 0.01
PROGRAM = SOURCE / "tests/system/wall_program.py"
ENDING = """
import resource, subprocess, sys
for _ in range(6):
    children = [subprocess.Popen([sys.executable, "-S", "-c", "x = bytearray(60000000)"])
                for _ in range(8)]
    for child in children:
        child.wait()
used = resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF)
print(sum(usage.ru_utime + usage.ru_stime for usage in used))
"""
# If a thread was off the CPU for ten microseconds, twice, that is more than a point of this.
SHORTEST_LIFE_NS = 20_000_000


class Recorded:
    """The program's own times, and those of the report for the time in between."""

    def __init__(self, home, schedule):
        self.home = home
        taken = taken_ns()
        done = home.record(sys.executable, PROGRAM, schedule).ok()
        self.taken_ns = taken_ns() - taken
        self.path, self.truth = done.path, json.loads(done.out)
        self.zero_ns = home.dump(done.path).session["begin"]
        begin, end = self.truth["begin"], self.truth["end"]
        report = self.report(begin, end)
        self.wall_ns, self.sums = end - begin, {}
        for row in report["wall"]:
            key = row.get("reason") or row["state"]
            self.sums[key] = self.sums.get(key, 0) + row["total_ns"]
        whole = sum(self.sums.values())
        check(abs(whole - self.wall_ns) < 1e6, f"{self.sums} is not {self.wall_ns} ns in all")

    def report(self, begin_ns, end_ns):
        """Of that part of the time."""
        times = [f"{(time - self.zero_ns) / 1e9:.9f}s" for time in (begin_ns, end_ns)]
        done = self.home.annot("report", "--json", "--all", "--from", times[0], "--to", times[1],
                               self.path)
        return json.loads(done.ok().out)

    def share(self, key, ns, points=POINT):
        share, truth = self.sums.get(key, 0) / self.wall_ns, ns / self.wall_ns
        points += self.taken_ns / self.wall_ns
        check(abs(share - truth) <= points, f"{key}: {100 * share:.2f} % of the wall time, but the "
              f"program's clock says {100 * truth:.2f} %: {self.sums}")

    def lives(self):
        """Each thread's own time: it ran when it was neither blocked nor ready."""
        sums = {}
        for pid, tid, begin, end, cpu in self.truth["lives"]:
            if end - begin < SHORTEST_LIFE_NS:
                continue
            rows = [row for row in self.report(begin, end)["threads"]
                    if (row["pid"], row["tid"]) == (pid, tid)]
            off = sum(row["blocked_ns"] + row["runnable_ns"] for row in rows)
            both = sums.setdefault((pid, tid), [0, 0, 0])
            for i, ns in enumerate((end - begin - off, cpu, end - begin)):
                both[i] += ns
        for who, (ran, cpu, whole) in sums.items():
            check(abs(ran - cpu) <= POINT * whole + self.taken_ns,
                  f"{who} ran {ran / 1e6:.2f} ms by the report, {cpu / 1e6:.2f} by its clock, of "
                  f"{whole / 1e6:.2f}; {self.taken_ns / 1e6:.0f} taken by the host")
        return len(sums)


def recorded(home, schedule, lives=1):
    need_bpf(home)
    found = Recorded(home, schedule)
    told = found.lives()
    check(told >= lives, f"{told} threads told what they did, not {lives}")
    return found


@case
def a_thread_that_runs(home):
    found = recorded(home, "running")
    found.share("running", found.truth["cpu"])


@case
def a_thread_that_sleeps_and_runs(home):
    found = recorded(home, "sleeping")
    found.share("running", found.truth["cpu"])
    found.share("sleep", 40 * 0.04e9)


@case
def naps_that_are_too_short_to_be_recorded(home):
    found = recorded(home, "napping")
    found.share("running", found.truth["cpu"])


@case
def threads_that_wait_for_each_other(home):
    found = recorded(home, "locking", 2)
    found.share("running", found.truth["cpu"])
    found.share("lock", 0, 5 * POINT)  # the owner sleeps, which counts as sleep


@case
def a_process_that_waits_for_its_child(home):
    found = recorded(home, "piping", 2)
    found.share("running", found.truth["cpu"])
    found.share("pipe", 0, 5 * POINT)  # the writers to the pipe sleep


@case
def children_one_after_the_other(home):
    found = recorded(home, "forking", 11)
    found.share("running", found.truth["cpu"])


@case
def children_that_want_the_processors_at_once(home):
    recorded(home, "crowding", 4)


@case
def a_pool_of_processes(home):
    recorded(home, "pooling", 3)


@case
def a_pool_of_threads(home):
    recorded(home, "pooling_threads", 4)


@case
def processes_that_wait_for_a_processor_while_they_end(home):
    """Freeing their memory takes a while, after the kernel has removed them from its list."""
    need_bpf(home)
    neighbours = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                  for _ in range(2 * os.cpu_count())]
    try:
        done = home.record(sys.executable, "-S", "-c", ENDING).ok()
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
    ran = json.loads(home.annot("query", "--json", done.path, """
        select sum(ns) / 1e9 as s from (
            select max(max(p.end_ns), max(s.time_ns + s.duration_ns)) - min(p.begin_ns) -
                sum(coalesce(s.blocked_ns, 0) + coalesce(s.runnable_ns, 0)) as ns
            from samples s join processes p on s.process = p.id group by s.thread)""").ok().out)
    used = float(done.out)
    check(ran["s"] <= 1.1 * used, f"ran for {ran['s']} s, with {used} s of CPU time")


if __name__ == "__main__":
    main()
