#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How the wall time was spent, judged by the clocks of the programs themselves: sleeping, running,
waiting for a lock, a pipe and a child, in threads and processes. Each share of the wall time is
held to one percent point; to three where a process forks (it is ready before it is seen) or where
thousands of switches a second cost time that belongs to no side."""

import json
import sys

from harness import check, case, main
from samples import need_bpf

POINT = 0.01
# What the interpreter does before and after the part that is measured.
PROGRAM = '''
import json, os, sys, threading, time

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def nap(seconds):
    begin = time.monotonic()
    time.sleep(seconds)
    return time.monotonic() - begin

def sleeps():
    asleep = 0
    for _ in range(40):
        spin(0.02)
        asleep += nap(0.04)
    return {"asleep": asleep}

def lock():
    held = threading.Lock()
    def hold():
        for _ in range(40):
            with held:
                time.sleep(0.05)
            time.sleep(0.01)
    thread = threading.Thread(target=hold)
    thread.start()
    time.sleep(0.005)
    for _ in range(30):
        with held:
            spin(0.01)
        time.sleep(0.02)
    thread.join()
    return {}

def pipe():
    read, write = os.pipe()
    if os.fork() == 0:
        for _ in range(60):
            time.sleep(0.03)
            os.write(write, b"x")
        os._exit(0)
    for _ in range(60):
        os.read(read, 1)
        spin(0.01)
    os.wait()
    return {}

def short():
    for _ in range(9000):
        time.sleep(0.0002)
    return {}

truth = globals()[sys.argv[1]]()
truth["cpu"] = sum(os.times()[:4])
print(json.dumps(truth))
'''


def wall_of(home, name):
    """The table "wall" as sums by state and cause, the whole, and what the program says."""
    (home.work / "program.py").write_text(PROGRAM)
    done = home.record(sys.executable, "program.py", name)
    report = json.loads(home.annot("report", "--json", done.path).ok().out)
    sums = {}
    for row in report["wall"]:
        key = row.get("reason") or row["state"]
        sums[key] = sums.get(key, 0) + row["time_ns"] / 1e9
    whole = report["recording"]["wall_ns"] / 1e9
    check(abs(sum(sums.values()) - whole) < 1e-6, f"{sums} is not {whole} s in all")
    return sums, whole, json.loads(done.out)


def same(sums, whole, key, seconds, points=POINT):
    share, truth = sums.get(key, 0) / whole, seconds / whole
    check(abs(share - truth) <= points, f"{key}: {100 * share:.2f} % of the wall time, but the "
                                       f"program's clock says {100 * truth:.2f} %: {sums}")


@case
def a_thread_that_sleeps_and_runs(home):
    need_bpf(home)
    sums, whole, truth = wall_of(home, "sleeps")
    same(sums, whole, "running", truth["cpu"])
    check(sums["sleep"] <= truth["asleep"], "it was asleep for longer than it says")
    # until it woke up, and then until it had a processor again
    same(sums, whole, "sleep", min(truth["asleep"], 40 * 0.04))


@case
def threads_that_wait_for_each_other(home):
    need_bpf(home)
    sums, whole, truth = wall_of(home, "lock")
    same(sums, whole, "running", truth["cpu"])
    check(sums["lock"] < 0.05 * whole, f"who has the lock sleeps, and that counts: {sums}")


@case
def a_process_that_waits_for_its_child(home):
    need_bpf(home)
    sums, whole, truth = wall_of(home, "pipe")
    same(sums, whole, "running", truth["cpu"], 3 * POINT)
    check(sums.get("pipe", 0) < 0.05 * whole, f"what writes to the pipe sleeps: {sums}")


@case
def waits_that_are_too_short(home):
    need_bpf(home)
    sums, whole, truth = wall_of(home, "short")
    same(sums, whole, "running", truth["cpu"], 3 * POINT)


if __name__ == "__main__":
    main()
