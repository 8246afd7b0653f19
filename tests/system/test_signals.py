#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Signals and stops of a command under annot: each signal arrives once, annot survives them, and
stops and continues from outside lose no record."""

import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import time

from harness import ANNOT, case, check, equal, main, program

SENT = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGPIPE, signal.SIGPWR,
        signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGXCPU, signal.SIGHUP,
        signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGABRT, signal.SIGSEGV,
        signal.SIGBUS, signal.SIGRTMIN, signal.SIGRTMIN + 6, signal.SIGRTMAX)


# A shell may have started this in the background, where programs ignore both signals.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

POLITE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)  # they end annot top


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def wait_for(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, f"after {seconds} s still not: {what}")
        time.sleep(0.01)


class Command:
    """emit_signals under one of annot's commands, in a new process group."""

    def __init__(self, home, words, seconds=2, *rest, **options):
        self.home, self.out = home, home.work / f"out-{len(os.listdir(home.work))}"
        with open(self.out, "wb") as out:
            self.process = home.start(ANNOT, *words, "--", program("emit_signals"), seconds, *rest,
                                      stdout=out, stderr=subprocess.PIPE, **options)
        self.annot = self.process.pid
        wait_for(lambda: self.out.read_bytes().count(b"\n") > 0, "the command is ready")
        ready = self.rows()[0]
        self.command, self.child = ready["command"], ready["child"]

    def rows(self):
        lines = self.out.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def finish(self, seconds=60):
        """Its exit status."""
        try:
            self.err = self.process.communicate(timeout=seconds)[1].decode()
        except subprocess.TimeoutExpired:
            os.killpg(self.annot, signal.SIGKILL)
            self.process.communicate()
            check(False, f"annot did not end within {seconds} s")
        return self.process.returncode

    def told(self, who):
        return next(row for row in self.rows() if row.get("who") == who)


def recorded(home, *options):
    path = home.work / "x.annot"
    return path, ["record", "--force", "-o", str(path), *options]


def pushes(home, path):
    """The number of ranges in a recording that is complete and without losses."""
    info = home.info(path)
    check(re.search(r"^format .*, complete$", info, re.M), f"an incomplete recording: {info}")
    check(re.search(r"^lost +nothing$", info, re.M), f"something is lost: {info}")
    return int(re.search(r"pushes +([\d,]+)", info)[1].replace(",", ""))


def check_ranges(home, path, command):
    written = command.told("command")["ranges"] + command.told("child")["ranges"]
    equal(pushes(home, path), written, "ranges in the recording")


# ---- Stops ---------------------------------------------------------------------------------------

def stop_and_continue(home, choose):
    """Stops the processes of the command that `choose` names and continues them a second later."""
    path, words = recorded(home)
    command = Command(home, words, 2)
    target = choose(command)
    os.kill(target, signal.SIGSTOP)
    if target > 0:
        wait_for(lambda: state(target) == "T", "the process is stopped")
        for _ in range(20):
            check(state(command.annot) != "T", "annot stopped with it")
            time.sleep(0.02)
    else:
        time.sleep(0.4)
    os.kill(target, signal.SIGCONT)
    equal(command.finish(), 7, "status of record")
    check_ranges(home, path, command)


@case
def the_command_is_stopped_and_continued(home):
    stop_and_continue(home, lambda command: command.command)


@case
def a_child_of_the_command_is_stopped_and_continued(home):
    stop_and_continue(home, lambda command: command.child)


@case
def the_group_is_stopped_and_continued(home):
    stop_and_continue(home, lambda command: -command.annot)


@case
def a_stopped_command_ends(home):
    path, words = recorded(home)
    command = Command(home, words, 20, "die")
    os.kill(command.command, signal.SIGSTOP)
    wait_for(lambda: state(command.command) == "T", "the command is stopped")
    os.kill(command.command, signal.SIGKILL)
    equal(command.process.wait(60), -signal.SIGKILL, "status of record")
    os.kill(command.child, signal.SIGKILL)
    home.left.add("wake")
    pushes(home, path)


@case
def a_job_that_is_continued_and_stopped_at_once_is_stopped(home):
    """Each stop discards the SIGCONT before it where that was not read yet."""
    # In this session: processes of a group that no shell could continue would not stop.
    job = Command(home, recorded(home)[1], 600, start_new_session=False, process_group=0)
    pids = (job.annot, job.command, job.child)
    try:
        for i in range(80):
            os.kill(-job.annot, signal.SIGTSTP)
            wait_for(lambda: all(state(pid) == "T" for pid in pids), f"job {i} is stopped", 5)
            time.sleep(0.05)
            equal([state(pid) for pid in pids], ["T"] * 3, f"states of annot and job {i}")
            os.kill(-job.annot, signal.SIGCONT)
            time.sleep((0, 5e-5, 1e-4, 2e-4)[i % 4])
    finally:
        for pid in (job.command, job.child):
            os.kill(pid, signal.SIGKILL)
        os.kill(-job.annot, signal.SIGCONT)
        equal(job.finish(), -signal.SIGKILL, "status of record")


# ---- Signals -------------------------------------------------------------------------------------

def starters(home):
    yield recorded(home)[1]
    yield recorded(home, "--sampling=none")[1]
    yield ["kernprof", "-o", str(home.work / "x.lprof")]
    yield ["top", "--once", "--duration", "60s"]
    yield ["stat", "--runs", "1", "--warmup", "0", "--show-output", "-i"]
    yield ["run"]


def has_pending(group):
    """Returns true if a signal is pending in a process of a group."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            status = pathlib.Path("/proc", name, "status").read_text(errors="replace")
            if os.getpgid(int(name)) == group and re.search(r"^S\w+Pnd:\t0*[1-9a-f]", status, re.M):
                return True
        except OSError:
            pass  # it ended meanwhile
    return False


def send(home, words, passed):
    """A command after signals to annot and to its group; and its status."""
    command = Command(home, words, 3)
    for number in passed:
        os.kill(command.annot, number)
    # Until all are taken: a signal that is pending twice arrives once.
    wait_for(lambda: not has_pending(command.annot), "the signals are taken", 2)
    time.sleep(0.3)
    for number in passed:
        os.kill(-command.annot, number)
    return command, command.finish()


@case
def each_signal_arrives_once(home):
    home.left.add("wake")
    for words in starters(home):
        name = words[0]
        passed = [number for number in SENT if name != "top" or number not in POLITE]
        command, status = send(home, words, passed)
        expected = {str(int(number)): 2 for number in sorted(passed)}
        equal(command.told("command")["signals"], expected, f"{name}: signals of the command")
        equal(command.told("child")["signals"], {number: 1 for number in expected},
              f"{name}: signals of its child, which gets those of the group")
        if name not in ("top", "stat", "kernprof"):
            equal(status, 7, f"{name}: status")
        check(status >= 0, f"{name} was killed by signal {-status}")


def witnesses(command):
    """The processes named annot of a command's group with a parent outside it."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                title, parent, group = re.search(r"\((.*)\) \S (\d+) (\d+)", file.read()).groups()
            outside = os.getpgid(int(parent)) != command.annot
        except OSError:
            continue  # it has ended
        if title == "annot" and int(group) == command.annot != int(name) and outside:
            found.append(int(name))
    return found


@case
def a_witness_that_is_late_is_waited_for(home):
    """A busy machine: annot learns late which signals the group got; others come meanwhile."""
    for words in (recorded(home)[1],
                  ["stat", "--runs", "1", "--warmup", "0", "--show-output", "-i"]):
        command = Command(home, words, 3)
        late = witnesses(command)
        equal(len(late), 2 if words[0] == "stat" else 1, f"{words[0]}: witnesses")
        for pid in late:
            os.kill(pid, signal.SIGSTOP)
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            os.kill(-command.annot, number)
        for _ in range(3):
            time.sleep(0.15)
            os.kill(command.annot, signal.SIGSEGV)
        for pid in late:
            os.kill(pid, signal.SIGCONT)
        command.finish()
        got = command.told("command")["signals"]
        equal({number: got.get(str(int(number))) for number in (signal.SIGUSR1, signal.SIGUSR2)},
              {signal.SIGUSR1: 1, signal.SIGUSR2: 1}, f"{words[0]}: signals of the group")
        check(signal.SIGSEGV in map(int, got), f"{words[0]}: the command got {got}")


@case
def the_status_is_that_of_the_command(home):
    home.left.add("wake")
    for number in (signal.SIGUSR1, signal.SIGQUIT, signal.SIGALRM, signal.SIGRTMIN + 3):
        for group in (False, True):
            path, words = recorded(home)
            command = Command(home, words, 30, "die")
            os.kill(-command.annot if group else command.annot, number)
            equal(command.process.wait(60), -number, f"status after {number}")
            if not group:
                os.kill(command.child, signal.SIGKILL)
            command.finish()
            check(f"signal {int(number)}," in home.info(path), "the recording has another status")


@case
def a_queued_signal_keeps_its_value(home):
    script = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN + 1])
print("{\\"command\\": %d, \\"child\\": 0}" % os.getpid(), flush=True)
info = signal.sigtimedwait([signal.SIGRTMIN + 1], 30)
sys.exit(info.si_code == -1 and 5)
"""
    path = home.work / "x.annot"
    out = home.work / "out"
    with open(out, "wb") as file:
        process = home.start(ANNOT, "record", "-o", path, "--", "python3", "-c", script,
                             stdout=file, stderr=subprocess.DEVNULL)
    wait_for(lambda: out.read_bytes(), "the command is ready")
    subprocess.run(["kill", "-q", "1234", "-s", str(signal.SIGRTMIN + 1), str(process.pid)],
                   check=True)
    equal(process.wait(60), 5, "status: the code of the signal was SI_QUEUE")


# ---- Commands that look at others ----------------------------------------------------------------

@case
def attach_and_top_end_by_polite_signals_alone(home):
    home.left.add("wake")
    attach = ["attach", "-o", str(home.work / "y.annot"), "--force"]
    for number, words in itertools.product(POLITE, (attach, ["top", "--once", "-d60s"])):
        target = home.start(program("emit_signals"), 30, stdout=subprocess.DEVNULL)
        looks = home.start(ANNOT, *words, "-p", target.pid, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
        time.sleep(0.7)
        for other in (signal.SIGUSR1, signal.SIGALRM, signal.SIGPIPE, signal.SIGRTMIN):
            os.kill(looks.pid, other)
        time.sleep(0.2)
        check(looks.poll() is None, f"{words[0]} ended: {looks.poll()}")
        os.kill(looks.pid, number)
        out, err = looks.communicate(timeout=60)
        os.killpg(target.pid, signal.SIGKILL)
        target.wait()
        equal(looks.returncode, 0, f"status of {words[0]} after {number.name}: {err.decode()}")
        if words[0] == "attach":
            check(pushes(home, home.work / "y.annot") > 1000, "ranges are missing")
        else:
            check(b"emit_signals" in out, f"top printed {out.decode()!r}")


if __name__ == "__main__":
    main()
