#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annot on a terminal: Ctrl-C, Ctrl-Z and fg, shells and prompts, the status line.

Each case runs in a new pseudo-terminal, as the controlling terminal of a new session."""

import fcntl
import json
import os
import re
import select
import signal
import shutil
import struct
import subprocess
import sys
import termios
import time

from harness import ANNOT, Failed, Skip, case, check, equal, main, program

INTERRUPT, SUSPEND, END_OF_INPUT = b"\x03", b"\x1a", b"\x04"


class Terminal:
    """A program on a pseudo-terminal, for typing and reading."""

    def __init__(self, home, *command, environment=()):
        self.text, self.status = b"", None
        environ = {**home.environment, "TERM": "xterm", "PS1": "$ ", **dict(environment)}
        environ.pop("NO_COLOR", None)
        self.pid, self.fd = os.forkpty()
        if self.pid == 0:
            try:
                os.chdir(home.work)
                os.execvpe(command[0], [str(word) for word in command], environ)
            finally:
                os._exit(127)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))

    def type(self, keys):
        os.write(self.fd, keys if isinstance(keys, bytes) else keys.encode())

    def read_some(self, seconds):
        """False at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.text += data
        return bool(data)

    def expect(self, pattern, seconds=60):
        """Waits for a pattern after the previously expected text."""
        deadline = time.monotonic() + seconds
        more = True
        while True:
            match = re.search(pattern.encode(), self.text)
            if match:
                self.text = self.text[match.end():]
                return match.group(0)
            if not more or time.monotonic() > deadline:
                self.kill()
                raise Failed(f"{pattern!r} did not come on the terminal; there is "
                             f"{self.text[-1500:]!r}")
            more = self.read_some(0.1)

    def interrupt_until(self, pattern):
        """Python's prompt overlooks an interrupt that comes just before it waits for a key."""
        for _ in range(10):
            self.type(INTERRUPT)
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline and not re.search(pattern.encode(), self.text):
                self.read_some(0.1)
            if re.search(pattern.encode(), self.text):
                break
        self.expect(pattern, seconds=1)

    def finish(self, seconds=15):
        """Everything up to the program's end; returns its exit status or -signal."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.read_some(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read_some(0.05)
                self.status = os.waitstatus_to_exitcode(status)
                os.close(self.fd)
                return self.status
        self.kill()
        raise Failed(f"no end after {seconds} s; the terminal shows {self.text[-1500:]!r}")

    def kill(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self.fd)
            self.status = -signal.SIGKILL


def recording(home):
    return home.work / "x.annot"


def record(home, *command):
    return [ANNOT, "record", "-o", str(recording(home)), "--", *command]


@case
def interrupt_reaches_the_command_once(home):
    account = home.work / "account"
    ticks = f"{program('emit_ticks')} 20000 > {account}"
    terminal = Terminal(home, *record(home, "sh", "-c", f"trap : INT; {ticks}; exit 9"))
    time.sleep(1)
    terminal.type(INTERRUPT)
    equal(terminal.finish(), 9, "status of record")
    rows = [json.loads(line) for line in account.read_text().splitlines()]
    equal(rows[-1]["interrupts"], 1, "SIGINTs that the command got")
    dump = home.dump(recording(home)).whole()
    names = {event["name"] for event in dump.kind("push")}
    check({row["name"] for row in rows if row.get("enabled")} <= names, "a tick is missing")
    check(b"x.annot" in terminal.text, f"no summary on the terminal: {terminal.text!r}")


@case
def interrupt_that_kills_the_command(home):
    terminal = Terminal(home, *record(home, "sleep", "20"))
    time.sleep(0.7)
    terminal.type(INTERRUPT)
    equal(terminal.finish(), -signal.SIGINT, "status of record")
    dump = home.dump(recording(home)).whole()
    equal(dump.session["status"], signal.SIGINT, "status in the recording")


@case
def suspend_and_foreground_again(home):
    """Ctrl-Z stops the whole job, the shell has its prompt, fg continues it."""
    account = home.work / "account"
    terminal = Terminal(home, "bash", "--norc", "--noprofile", "-i")
    terminal.expect(r"\$ ")
    ticks = f"{program('emit_ticks')} 2500 > {account}"
    terminal.type(" ".join(record(home, "sh", "-c", f"'{ticks}'")) + "; echo status=$?\n")
    time.sleep(1)
    terminal.type(SUSPEND)
    terminal.expect(r"Stopped")
    terminal.expect(r"\$ ")
    terminal.type("jobs; echo still-here\n")
    terminal.expect(r"\nstill-here")
    size = account.stat().st_size
    time.sleep(0.5)
    equal(account.stat().st_size, size, "the account of a stopped program: its size")
    terminal.type("fg\n")
    terminal.expect(r"x\.annot", 20)
    terminal.type("echo again-$((40+2))\n")
    terminal.expect(r"again-42")
    terminal.type("exit\n")
    equal(terminal.finish(), 0, "status of the shell")
    rows = [json.loads(line) for line in account.read_text().splitlines()]
    dump = home.dump(recording(home)).whole()
    names = {event["name"] for event in dump.kind("push")}
    equal([row["name"] for row in rows if row.get("enabled") and row["name"] not in names], [],
          "ticks that are missing")


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def wait_for_states(pids, states):
    end = time.monotonic() + 20
    while any(state(pid) not in states for pid in pids):
        check(time.monotonic() < end, f"states are {[state(pid) for pid in pids]}, not {states}")
        time.sleep(0.02)


class Job:
    """emit_signals under annot record, as a job of an interactive shell."""

    def __init__(self, home, seconds, *shell):
        self.home, self.account = home, home.work / "account"
        if not shutil.which(shell[0]):
            raise Skip(f"{shell[0]} is missing")
        for old in (self.account, recording(home)):
            old.unlink(missing_ok=True)
        self.terminal = Terminal(home, *shell)
        self.terminal.expect(r"\$ ")
        line = " ".join(record(home, program("emit_signals"), str(seconds)))
        self.terminal.type(f"{line} > {self.account}\n")
        end = time.monotonic() + 20
        while not (self.account.exists() and b"\n" in self.account.read_bytes()):
            self.terminal.read_some(0.02)
            check(time.monotonic() < end, "the command does not start")
        ready = self.rows()[0]
        self.pids = [ready["command"], ready["child"]]
        with open(f"/proc/{ready['command']}/status", encoding="utf-8") as file:
            self.annot = int(re.search(r"PPid:\s+(\d+)", file.read())[1])

    def rows(self):
        return [json.loads(line) for line in self.account.read_text().splitlines()]

    def suspend(self):
        end = time.monotonic() + 20
        while os.tcgetpgrp(self.terminal.fd) != self.annot:
            check(time.monotonic() < end, "the job is not in the foreground")
            self.terminal.read_some(0.02)
        self.terminal.type(SUSPEND)
        self.terminal.expect(r"(?i)(stopped|suspended)")
        self.terminal.expect(r"\$ ")
        wait_for_states([self.annot, *self.pids], "T")

    def type(self, line):
        self.terminal.type(f"{line}\n")

    def finish(self):
        self.terminal.expect(r"x\.annot", 20)
        self.type("exit")
        self.type("exit")
        self.terminal.finish()
        info = self.home.info(recording(self.home))
        check(re.search(r"^lost +nothing$", info, re.M), f"something is lost: {info}")
        pushes = int(re.search(r"pushes +([\d,]+)", info)[1].replace(",", ""))
        equal(pushes, sum(row["ranges"] for row in self.rows()[1:]), "ranges in the recording")


SHELLS = (("bash", "--norc", "--noprofile", "-i"), ("zsh", "-f", "-i"))


@case
def suspended_it_goes_on_in_background_and_foreground(home):
    for shell in SHELLS:
        job = Job(home, 3, *shell)
        job.suspend()
        job.type("bg")
        job.terminal.expect(r"\$ ")
        wait_for_states([job.annot, *job.pids], "SRD")
        job.type("fg")
        job.suspend()
        job.type("fg")
        job.finish()


@case
def it_wakes_when_others_continue_the_command(home):
    """A stopped job, of which only the command is continued: annot collects again."""
    job = Job(home, 2, *SHELLS[0])
    job.suspend()
    os.kill(job.pids[0], signal.SIGCONT)
    wait_for_states([job.annot], "SRD")
    os.kill(job.pids[1], signal.SIGCONT)
    job.finish()


@case
def a_reader_in_the_background_stops_and_goes_on(home):
    job = Terminal(home, *SHELLS[0])
    job.expect(r"\$ ")
    line = " ".join(record(home, "sh", "-c", "'read word; echo got-$word'"))
    job.type(f"{line} &\n")
    time.sleep(1)
    job.type("\n")
    job.expect(r"Stopped")
    job.type("fg\n")
    job.expect(r"record")
    job.type("words\n")
    job.expect(r"got-words")
    job.expect(r"x\.annot", 20)
    job.type("exit\n")
    equal(job.finish(), 0, "status of the shell")


@case
def a_shell_is_usable(home):
    """An interactive bash with job control, under annot record."""
    terminal = Terminal(home, *record(home, "bash", "--norc", "--noprofile", "-i"))
    terminal.expect(r"\$ ")
    check(b"no job control" not in terminal.text, "bash has no job control")
    terminal.type("tty; echo sum=$((6*7))\n")
    terminal.expect(r"/dev/pts/\d+")
    terminal.expect(r"sum=42")
    terminal.type("sleep 30\n")
    time.sleep(0.4)
    terminal.type(SUSPEND)
    terminal.expect(r"Stopped")
    terminal.type("kill %1; wait; echo gone\n")
    terminal.expect(r"\ngone")
    terminal.type("sleep 30\n")
    time.sleep(0.4)
    terminal.type(INTERRUPT)
    terminal.type("echo alive-$((1+1))\n")
    terminal.expect(r"alive-2")
    terminal.type(f"{program('emit_shapes')} underflow >/dev/null; exit 7\n")
    equal(terminal.finish(), 7, "status of record")
    equal(len(home.dump(recording(home)).whole().events), 8, "events of a program in the shell")


@case
def a_python_prompt_is_usable(home):
    python = shutil.which("python3") or sys.executable
    terminal = Terminal(home, *record(home, python, "-q", "-i"),
                        environment=[("PYTHONSTARTUP", "")])
    terminal.expect(r">>> ")
    terminal.type("print(6 * 7)\n")
    terminal.expect(r"42")
    terminal.expect(r">>> ")
    terminal.interrupt_until(r"KeyboardInterrupt")
    terminal.type("import sys; print(sys.stdin.isatty(), sys.stdout.isatty())\n")
    terminal.expect(r"True True")
    terminal.expect(r">>> ")
    terminal.type(END_OF_INPUT)
    equal(terminal.finish(), 0, "status of record")
    home.dump(recording(home)).whole()


@case
def terminal_settings_are_as_before(home):
    terminal = Terminal(home, "bash", "--norc", "--noprofile", "-i")
    terminal.expect(r"\$ ")
    line = " ".join(record(home, "sleep", "0.3"))
    terminal.type(f"stty -a > before; {line}; stty -a > after; cmp before after && echo same\n")
    terminal.expect(r"\nsame")
    terminal.type("exit\n")
    terminal.finish()


# Draws on its terminal for longer than a status line needs to appear, and waits for input.
DRAWING = """
import sys, time
for i in range(25):
    print(f"\\r\\033[K[{'#' * i:25}] {i * 4} %", end="", flush=True)
    time.sleep(0.06)
print()
word = input("go on? ")
time.sleep(0.7)
sys.stderr.write("\\033[31mlast word\\033[0m " + word)
sys.stderr.flush()
"""
LAST_WORD = b"last word\x1b[0m yes"


def drawn(home, *before):
    """The terminal's text until the program's last word, and after that."""
    script = home.work / "draws.py"
    script.write_text(DRAWING)
    terminal = Terminal(home, *before, sys.executable, script)
    deadline = time.monotonic() + 60
    while b"go on? " not in terminal.text and time.monotonic() < deadline:
        terminal.read_some(0.1)
    terminal.type("yes\n")
    equal(terminal.finish(60), 0, "status of the program that draws")
    check(LAST_WORD in terminal.text, f"the program was cut short: {terminal.text!r}")
    begin, end = terminal.text.split(LAST_WORD)
    return begin, end


@case
def the_command_has_the_terminal(home):
    bare, rest = drawn(home)
    equal(rest, b"", "what a program alone leaves behind its last word")
    shown, rest = drawn(home, *record(home))
    equal(shown, bare, "the terminal of a program that is recorded")
    check(b"annot: next: annot report" in rest, f"no summary behind it: {rest!r}")
    short = [ANNOT, "record", "--duration", "1s", "-o", str(home.work / "y.annot"), "--"]
    shown, rest = drawn(home, *short)
    equal(shown, bare, "the terminal of a program that outlives its recording")
    check(b"annot: next: annot report" in rest, f"no summary behind it: {rest!r}")
    quiet = [ANNOT, "record", "-q", "-o", str(home.work / "z.annot"), "--"]
    shown, rest = drawn(home, *quiet)
    equal((shown, rest), (bare, b""), "the terminal with --quiet")
    check((home.work / "z.annot").stat().st_size > 0, "there is no recording")


@case
def verbose_tells_how_threads_are_sampled(home):
    told = home.annot("record", "-v", "-o", home.work / "y.annot", "--", "true").ok().err_text
    check(re.search(r"^annot: sampling: .*(times a second|because: )", told, re.M), told)
    home.annot("record", "-v", "-q", "-o", home.work / "z.annot", "--", "true").complains(
        125, "--quiet and --verbose")
    check(not (home.work / "z.annot").exists(), "a refused command made a recording")


@case
def status_line_of_attach_on_a_terminal_only(home):
    def attach(name, **options):
        ticks = home.start(program("emit_ticks"), "20000", stdout=subprocess.DEVNULL)
        words = ("attach", *options.pop("options", ()), "-p", str(ticks.pid), "--duration",
                 "2500ms", "-o", str(home.work / name))
        try:
            if options.pop("piped", False):
                return home.annot(*words).ok().err
            terminal = Terminal(home, ANNOT, *words, **options)
            equal(terminal.finish(60), 0, "status of attach")
            return terminal.text
        finally:
            ticks.kill()
            ticks.wait()
    home.left.add("wake")  # the program is killed
    live = attach("x.annot")
    check(b"\r" in live.replace(b"\r\n", b""), f"no status line on a terminal: {live[-500:]!r}")
    quiet = attach("q.annot", options=["-q"])
    equal(quiet, b"", "what attach --quiet prints")
    piped = attach("y.annot", piped=True)
    check(b"\r" not in piped and b"\x1b" not in piped, f"a status line in {piped!r}")
    plain = attach("z.annot", environment=[("TERM", "dumb")])
    check(b"\x1b" not in plain, f"escapes on a dumb terminal: {plain[-500:]!r}")


@case
def hang_up_ends_the_command_and_completes_the_recording(home):
    terminal = Terminal(home, *record(home, program("emit_ticks"), "20000"))
    terminal.expect('"tick 60"')
    os.close(terminal.fd)
    deadline = time.monotonic() + 60
    while os.waitpid(terminal.pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(terminal.pid, signal.SIGKILL)
            os.waitpid(terminal.pid, 0)
            raise Failed("record did not end when its terminal went away")
        time.sleep(0.05)
    dump = home.dump(recording(home)).whole()
    check(len(dump.kind("push")) > 50, f"{len(dump.kind('push'))} pushes before the hang-up")


if __name__ == "__main__":
    if not os.path.exists("/dev/ptmx"):
        raise Skip("no pseudo-terminals")
    main()
