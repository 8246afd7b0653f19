#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annot attach to programs whose threads wait throughout: each wait is there from the beginning of
the recording to its end, with its reason and its stack."""

import json
import pathlib
import subprocess
import time

from asked import Attached, attach_case, wait_until
from harness import Skip, check, equal, main, program
from samples import BPF, Samples, interpreters

WHOLE = 0.98  # of the recording
RECORD_S = 1.2

HANGS = {"hang_in_accept": "socket", "hang_in_read": "pipe", "hang_in_lock": "lock",
         "hang_in_sleep": "sleep", "hang_in_poll": "poll"}

PYTHON = """
import os, select, socket, threading, time

def hang_in_accept():
    with socket.socket() as server:
        server.listen()
        server.accept()

def hang_in_read():
    read, write = os.pipe()
    os.read(read, 1)

def hang_in_lock():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()

def hang_in_sleep():
    time.sleep(100000)

def hang_in_poll():
    poll = select.poll()
    poll.poll()

for function in hang_in_accept, hang_in_read, hang_in_lock, hang_in_sleep:
    threading.Thread(target=function, daemon=True).start()
print("ready", flush=True)
hang_in_poll()
"""


def waits(process):
    """The system call of each thread that sleeps, or "running"."""
    found = []
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        asleep = (task / "stat").read_text().rpartition(")")[2].split()[0] == "S"
        found.append((task / "syscall").read_text().split()[0] if asleep else "running")
    return sorted(found)


def start(home, *command, threads):
    """The program, when so many of its threads have come to where they stay."""
    process = home.start(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    equal(process.stdout.readline(), b"ready\n", "the first line of the program")
    home.asked = getattr(home, "asked", []) + [Killed(process)]

    def stay():
        seen = [waits(process) for _ in range(5) if not time.sleep(0.02)]
        return all(len(one) - one.count("running") >= threads for one in seen)

    wait_until(stay, f"{threads} threads of {command} wait")
    return process


class Killed:
    """A program that does not end by itself."""

    def __init__(self, process):
        self.process = process

    def kill(self):
        self.process.kill()
        self.process.communicate()


def recorded(home, process, during=lambda: None):
    """The samples of an attach of some time, and how long it was, in nanoseconds."""
    attached = Attached(home, [process.pid], "--off-cpu")
    time.sleep(RECORD_S / 2)
    during()
    time.sleep(RECORD_S / 2)
    attached.stop()
    samples = Samples(home.dump(attached.path, "--samples"))
    if samples.dump.sampling["rung"] != BPF:
        raise Skip(f"no sampling by eBPF here: {samples.dump.sampling['reason']}")
    info = json.loads(home.annot("info", "--json", attached.path).ok().out)
    return samples, info["duration_ns"], attached.path


def waits_of(samples, function):
    return [sample for sample in samples.off if function in samples.stack(sample)]


def lasts(samples, function, reason, whole_ns):
    """It is one wait, as long as the recording."""
    waits = waits_of(samples, function)
    equal([wait["reason"].split()[0] for wait in waits], [reason], f"reasons of {function}")
    took = waits[0]["end"] - waits[0]["time"]
    check(took >= WHOLE * whole_ns, f"{function}: {took / 1e6:.1f} of {whole_ns / 1e6:.1f} ms")
    equal(waits[0]["native_end"], 1, f"{function}: its native stack is whole")


@attach_case
def threads_that_hang_throughout(home):
    process = start(home, program("target_hangs"), threads=6)

    def tell():
        process.stdin.write(b"x")
        process.stdin.flush()

    samples, whole_ns, path = recorded(home, process, tell)
    for function, reason in HANGS.items():
        lasts(samples, function, reason, whole_ns)
    told, = waits_of(samples, "hang_until_told")
    last, = waits_of(samples, "hang_at_last")
    check(told["end"] <= last["time"], "one follows the other")
    both = told["end"] - told["time"] + last["end"] - last["time"]
    check(both >= (WHOLE - 0.01) * whole_ns, f"{both / 1e6:.1f} of {whole_ns / 1e6:.1f} ms")
    check(len(samples.stack(told)) > len(samples.stack(last)), "the kernel's part of the first: "
          f"{samples.stack(told)}")
    check(samples.cpu_ns("work") > 0, "the one that works")
    naps = waits_of(samples, "nap")
    check(len(naps) > 20, f"{len(naps)} naps of 5 ms")
    outputs(home, path, whole_ns)


def outputs(home, path, whole_ns):
    """The report and the flame graph have them."""
    report = json.loads(home.annot("report", "--json", path).ok().out)
    longest = {wait["reason"].split()[0]: wait["max_ns"] for wait in report["waits"]}
    for reason in HANGS.values():
        check(longest.get(reason, 0) >= WHOLE * whole_ns, f"the report has {longest}")
    flame = home.work / "hangs.svg"
    home.annot("flame", "--off-cpu", "-o", flame, path).ok()
    text = flame.read_text()
    for function in HANGS:
        check(function in text, f"{function} is not in the flame graph")


@attach_case
def python_threads_that_hang_throughout(home):
    script = home.work / "hangs.py"
    script.write_text(PYTHON)
    for version, python in interpreters():
        process = start(home, python, script, threads=5)
        samples, whole_ns, _ = recorded(home, process)
        for function, reason in HANGS.items():
            lasts(samples, function, reason, whole_ns)
            wait, = waits_of(samples, function)
            equal(wait["python_end"], 1, f"{version}, {function}: its Python stack is whole")

if __name__ == "__main__":
    main()
