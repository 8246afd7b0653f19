#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annot top's view of running programs, against their own measurements.

The tables are read as --json prints them: those that the screen shows (test_top_screen.py)."""

import json
import os
import signal
import subprocess
import sys
import time

from asked import Asked, attach_case, wait_until
from doctor import as_nobody, open_home
from harness import ANNOT, Skip, case, check, equal, main, needs_root, program
from samples import need_bpf

# Two functions with times known from each thread's clock, and threads that wait all the time.
SHARES = """
import os, sys, threading, time

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(1000):
            pass

def more():
    burn(0.03)

def less():
    burn(0.02)

def sleeps():
    while True:
        time.sleep(60)

def asks(lock):
    lock.acquire()

def reads(pipe):
    os.read(pipe, 1)

held = threading.Lock()
held.acquire()
pipe = os.pipe()
for function, arguments in ((sleeps, ()), (asks, (held,)), (reads, (pipe[0],))):
    threading.Thread(target=function, args=arguments, daemon=True).start()
print("ok", flush=True)
while True:
    more()
    less()
"""

POOL = """
import multiprocessing, sys, time

def burn():
    end = time.thread_time() + float(sys.argv[1])
    while time.thread_time() < end:
        for _ in range(1000):
            pass
    print("burnt", time.thread_time_ns(), flush=True)

if __name__ == "__main__":
    children = [multiprocessing.Process(target=burn) for _ in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join()
"""


def running(home, code, *arguments):
    """A Python program that has said that it is ready."""
    path = home.work / "program.py"
    path.write_text(code)
    return Asked(home, sys.executable, path, *arguments)


def top(home, *arguments, **options):
    done = home.annot("top", "--json", *arguments, **options)
    return json.loads(done.ok().out)


def row_of(rows, **wanted):
    found = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    check(found, f"there is no row {wanted} in {rows}")
    return found[0]


def near(actual, expected, error, what):
    check(abs(actual - expected) <= error, f"{what} is {actual:.3f}, not {expected:.3f}")


@attach_case
def shares_of_functions_of_a_process_that_runs(home):
    need_bpf(home)
    shares = running(home, SHARES)
    told = top(home, shares.pid, "-d", "4", "--rate", "499")
    rows = told["functions"]
    total = row_of(rows, function="burn")["cpu_ns"]
    check(total > 20e6, f"burn has {total} ns only")
    near(row_of(rows, function="more")["total_ns"] / total, 0.6, 0.06, "the share of more()")
    near(row_of(rows, function="less")["total_ns"] / total, 0.4, 0.06, "the share of less()")
    used = told["top"]["cpu_ns"]
    near(total / used, 1, 0.1, "the share of burn()")
    line = told["lines"][0]
    check(line["location"].startswith("program.py:") and line["function"] == "burn", line)
    shares.kill()


@attach_case
def cpu_time_is_what_the_process_used(home):
    need_bpf(home)
    shares = running(home, SHARES)
    begin = cpu_of(shares.pid)
    told = top(home, shares.pid, "-d", "4", "--rate", "499")
    used = cpu_of(shares.pid) - begin
    row = row_of(told["processes"], pid=shares.pid)
    check(0.75 * used - 0.1 <= row["cpu_ns"] / 1e9 <= used + 0.1,
          f"{row['cpu_ns'] / 1e9} s of CPU time, and the kernel says {used} s in a longer time")
    equal(row["threads"], 4, "threads")
    shares.kill()


def cpu_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@attach_case
def waits_that_began_before_and_go_on(home):
    need_bpf(home)
    shares = running(home, SHARES)
    time.sleep(0.5)
    told = top(home, shares.pid, "-d", "2")
    for function, reason in (("sleeps", "sleep"), ("asks", "lock"), ("reads", "pipe")):
        row = row_of(told["waits"], function=function, reason=reason)
        near(row["blocked_ns"] / told["top"]["duration_ns"], 1, 0.05, f"the wait of {function}()")
        equal(row["open"], 1, f"waits of {function}() that go on")
    shares.kill()


@attach_case
def a_process_that_is_stopped_waits_for_a_signal(home):
    """Wherever it was: the kernel has no system call of it, as of a page fault."""
    need_bpf(home)
    shares = running(home, SHARES)
    os.kill(shares.pid, signal.SIGSTOP)
    time.sleep(0.3)
    told = top(home, shares.pid, "-d", "1")
    equal({row["reason"] for row in told["waits"]}, {"signal"}, "causes")
    equal(told["top"]["cpu_ns"], 0, "CPU time")
    shares.kill()


@attach_case
def the_numbers_are_those_of_a_recording_of_the_same_seconds(home):
    need_bpf(home)
    shares = running(home, SHARES)
    path = home.work / "x.annot"
    recorder = home.start(ANNOT, "attach", "-p", str(shares.pid), "-o", path, "-d", "4", "--rate",
                          "499", stderr=subprocess.PIPE)
    told = top(home, shares.pid, "-d", "4", "--rate", "499")
    recorder.communicate(timeout=60)
    equal(recorder.returncode, 0, "status of annot attach")
    report = json.loads(home.annot("report", "--json", path).ok().out)
    own = row_of(report["own_functions"], name="burn")
    row = row_of(told["functions"], function="burn")
    near(row["cpu_ns"] / 1e9, own["cpu_ns"] / 1e9, 0.1 + 0.1 * own["cpu_ns"] / 1e9, "burn()")
    for reason in ("sleep", "lock", "pipe"):
        place = row_of(report["wait_places"], reason=reason)
        row = row_of(told["waits"], reason=reason, function=place["name"])
        near(row["blocked_ns"] / 1e9, place["total_ns"] / 1e9, 0.4, f"waits for {reason}")
    shares.kill()


@attach_case
def who_holds_the_gil_and_who_waits_for_it(home):
    need_bpf(home)
    shares = running(home, SHARES.replace("print(\"ok\"", "threading.Thread(target=more_of_it, "
                                          "daemon=True).start()\nprint(\"ok\"")
                     .replace("held = ", "def more_of_it():\n    while True:\n        "
                              "burn(0.05)\n\nheld = ", 1))
    told = top(home, shares.pid, "-d", "3")
    facts, rows = told["top"], told["gil"]
    near(facts["gil_ns"] / facts["cpu_ns"], 1, 0.15, "CPU time with the GIL")
    threads = [row for row in rows if row["function"] == "burn"]
    equal(len(threads), 2, f"threads in burn(), of {rows}")
    for row in threads:
        check(row["gil_waiting_ns"] > 0, f"a thread of two never waited for the GIL: {row}")
    shares.kill()


@case
def a_command_and_its_children_to_the_end(home):
    need_bpf(home)
    path = home.work / "pool.py"
    path.write_text(POOL)
    done = home.annot("top", "--json", "-d", "60", "--rate", "499", "--", sys.executable, path,
                      "0.4")
    told = json.loads([line for line in done.ok().out.decode().splitlines()
                       if line.startswith("{")][0])
    burnt = [int(line.split()[1]) for line in done.out.decode().splitlines()
             if line.startswith("burnt")]
    equal(len(burnt), 3, "children")
    check(told["top"]["duration_ns"] < 50e9, "it did not end with its command")
    row = row_of(told["functions"], function="burn")
    near(row["cpu_ns"] / 1e9, 1.2, 0.12, "the children's CPU time")
    rows = [row for row in told["processes"] if row["cpu_ns"] > 300e6]
    equal(len(rows), 3, f"children in {told['processes']}")
    for row in rows:
        equal(row["state"], "ended", "the state of a child that is gone")


@case
def processes_that_execute_others(home):
    need_bpf(home)
    for _ in range(3):  # both programs may be one row: docs/limits.md
        told = top(home, "-d", "30", "--", "sh", "-c",
                   f"exec sh -c 'sleep 0.3; exec {program('target_shares')} 600 >{home.work}/out'")
        states = [row["state"] for row in told["processes"]]
        if "replaced" in states:
            break
    row = row_of(told["functions"], function="burn_four")
    whole = sum(row["cpu_ns"] for row in told["functions"] if "burn_" in row["function"])
    near(row["cpu_ns"] / whole, 0.4, 0.1, "the share of burn_four()")
    check("replaced" in states and "ended" in states, f"states are {states}")


@attach_case
def ranges_are_counted_and_open_ones_seen(home):
    need_bpf(home)
    asked = Asked(home)
    watched = home.start(ANNOT, "top", "--json", "-d", "5", str(asked.pid), stdout=subprocess.PIPE)
    home.asked.append(Killed(watched))
    wait_until(lambda: list(home.directory.glob("target-*")), "annot top asks for ranges")
    time.sleep(1)
    asked.ask("open outer", "steps 700", "open inner")
    told = json.loads(watched.communicate(timeout=60)[0])
    equal(row_of(told["ranges"], range="outer/step")["count"], 700, "steps")
    inner = row_of(told["ranges"], range="outer/inner")
    equal((inner["count"], inner["open"]), (0, 1), "the range that is open: ended, open")
    check(1e9 < inner["total_ns"] < 4.5e9, f"it was open for {inner['total_ns']} ns")
    asked.ask("close", "close")
    asked.end()


@attach_case
def it_is_no_recording_for_others(home):
    need_bpf(home)
    asked = Asked(home)
    watched = home.start(ANNOT, "top", "--json", "-d", "30", str(asked.pid), stdout=subprocess.PIPE)
    home.asked.append(Killed(watched))
    wait_until(lambda: list(home.directory.glob("target-*")), "annot top asks for ranges")
    home.annot("tail").complains(1, "nothing is being recorded")
    text = home.annot("recover").ok().err_text
    check("left alone: annot top" in text, text)
    busy = home.annot("attach", "-d", "1s", "-o", home.work / "x.annot", asked.pid).err_text
    check("another recording" in busy, f"who has the annotations is not said: {busy}")
    watched.send_signal(signal.SIGINT)
    json.loads(watched.communicate(timeout=60)[0])
    asked.end()


class Killed:
    def __init__(self, process):
        self.process = process

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@attach_case
def one_process_of_several(home):
    need_bpf(home)
    both = [running(home, SHARES) for _ in range(2)]
    told = top(home, *(one.pid for one in both), "-d", "2")
    equal(sorted(row["pid"] for row in told["processes"]), sorted(one.pid for one in both), "pids")
    text = home.annot("top", "--once", "-d", "1", "--show", "processes", "--filter", both[0].pid,
                      both[0].pid, both[1].pid).ok().out.decode()
    check(str(both[0].pid) in text.split("processes")[-1], text)
    check(str(both[1].pid) not in text.split("\n\nprocesses")[-1], text)
    for one in both:
        one.kill()


@case
def all_processes(home):
    need_bpf(home)
    other = home.start("sleep", "60")
    told = top(home, "--all-processes", "-d", "1", timeout=120)
    row = row_of(told["processes"], pid=other.pid)
    near(row["blocked_ns"] / told["top"]["duration_ns"], 1, 0.3, "what sleep waits")
    other.kill()
    other.wait()


@case
def what_is_not_there_or_not_allowed(home):
    home.annot("top", "999999", "--once").complains(1, "no process 999999")
    home.annot("top").complains(2, "which process")
    home.annot("top", "--all-processes", "1", "--once").complains(2, "--all-processes")
    home.annot("top", "1", "--once", "--sort", "nothing").complains(2, "no column")
    home.annot("top", "1").complains(2, "no terminal", "--once")
    home.annot("top", "--once", "--", "no-such-command").complains(127, "command not found")
    gone = home.start("true")
    gone.wait()
    home.annot("top", gone.pid, "--once").complains(1, "no process")


@needs_root
def of_somebody_else(home):
    other = home.start("sleep", "60")
    annot = open_home(home)
    done = home.run(*as_nobody(), annot, "top", other.pid, "--once", cwd="/",
                    env=dict(home.environment, ANNOT_DIR=str(home.work / "annot-of-user")))
    other.kill()
    other.wait()
    done.complains(1, "another user", f"sudo annot top {other.pid}")


@case
def a_process_of_somebody_else(home):
    of_somebody_else(home)


@case
def what_ends_while_it_is_looked_at(home):
    need_bpf(home)
    short = home.start("sleep", "1")
    begin = time.monotonic()
    told = top(home, short.pid, "-d", "30")
    check(time.monotonic() - begin < 15, "annot top did not notice the end")
    equal([row["state"] for row in told["processes"]], ["ended"], "states")
    short.wait()


@case
def interrupted_it_prints_what_it_has(home):
    need_bpf(home)
    watched = home.start(ANNOT, "top", "--once", "-d", "60", "--", "sleep", "60",
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(2)
    os.killpg(watched.pid, signal.SIGINT)
    out, err = watched.communicate(timeout=30)
    check(b"functions" in out, f"no table: {out} {err}")


@case
def from_outside_without_ebpf(home):
    path = home.work / "program.py"
    path.write_text(SHARES)
    shares = Asked(home, sys.executable, path)
    done = home.annot("top", "--json", shares.pid, "-d", "2", "--sampling", "remote")
    if done.status != 0 and b"cannot be sampled" in done.err:
        shares.kill()
        raise Skip(done.err_text)
    rows = json.loads(done.ok().out)["functions"]
    near(row_of(rows, function="more")["total_ns"] / row_of(rows, function="burn")["cpu_ns"], 0.6,
         0.15, "the share of more()")
    waits = {"runnable_ns", "blocked_ns", "gil_waiting_ns"}
    check(not any(row.get(name) for row in rows for name in waits), f"waits in {rows}")
    told = home.annot("top", "--once", shares.pid, "-d", "1", "--sampling", "remote").ok().out
    screen = told.decode()
    check("waits are not sampled" in screen and "blocked 0 %" not in screen, screen)
    check(f" % of {100 * len(os.sched_getaffinity(0))} % (" in screen, screen)
    shares.kill()


if __name__ == "__main__":
    main()
