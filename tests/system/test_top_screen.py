#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annot top on a terminal: each key does as the help says, pictures fit, and the terminal is
restored after every kind of end."""

import fcntl
import os
import pathlib
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from asked import Asked, attach_case
from harness import ANNOT, Failed, case, check, equal, main, program
from samples import need_bpf

# Two threads with names, ranges, waits for the GIL; its second process is idle.
PROGRAM = """
import os, sys, threading, time

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(1000):
            pass

def hot():
    burn(0.03)

def warm():
    burn(0.01)

def sleeps():
    while True:
        time.sleep(0.05)

def works():
    while True:
        hot()
        warm()

if os.fork() == 0:
    sleeps()
threading.Thread(target=sleeps, daemon=True).start()
print("ok", flush=True)
works()
"""

SEQUENCE = re.compile(rb"\x1b\[([?>]?)([0-9;]*)([A-Za-z])")


class Screen:
    """A terminal of our own, with a screen that understands only annot's own sequences."""

    def __init__(self, columns=80, rows=24):
        self.columns, self.rows = columns, rows
        self.lines, self.at = {}, [0, 0]
        self.alternate, self.cursor, self.styled, self.written = False, True, False, 0
        self.rest, self.wide = b"", []

    def feed(self, data):
        self.written += len(data)
        self.rest += data
        while size := self.take(self.rest):
            self.rest = self.rest[size:]

    def take(self, data):
        """The size of the next sequence or character; 0 if it is not whole yet."""
        if data[:1] == b"\x1b":
            match = SEQUENCE.match(data)
            check(match or len(data) <= 32, f"unknown sequence: {data[:32]!r}")
            if match:
                self.control(*match.groups())
            return match.end() if match else 0
        size = {0xc: 2, 0xd: 2, 0xe: 3, 0xf: 4}.get(data[0] >> 4, 1) if data else 1
        if len(data) < size:
            return 0
        if data[:1] in b"\r\n":
            self.at = [self.at[0] + (data[:1] == b"\n"), 0]
        else:
            self.put(data[:size].decode(errors="replace"))
        return size

    def put(self, character):
        row, column = self.at
        if column >= self.columns:
            self.wide.append(self.line(row) + character)
        line = self.lines.setdefault(row, {})
        line[column] = character
        self.at[1] += 1

    def control(self, private, numbers, letter):
        values = [int(value or 0) for value in numbers.split(b";")]
        if letter == b"H":
            self.at = [max(values[0], 1) - 1, (values[1] if len(values) > 1 else 1) - 1]
        elif letter == b"J":
            self.lines = {}
        elif letter == b"K":
            line = self.lines.get(self.at[0], {})
            self.lines[self.at[0]] = {c: text for c, text in line.items() if c < self.at[1]}
        elif letter == b"m":
            self.styled = True
        elif private == b"?" and values[0] == 1049:
            self.alternate = letter == b"h"
        elif private == b"?" and values[0] == 25:
            self.cursor = letter == b"h"
        else:
            check(private == b"?" and values[0] == 2026, f"sequence {private}{numbers}{letter}")

    def line(self, row):
        line = self.lines.get(row, {})
        return "".join(line.get(c, " ") for c in range(max(line, default=-1) + 1)).rstrip()

    def text(self):
        return "\n".join(self.line(row) for row in range(self.rows))


class Top:
    """annot top in a new session, on such a terminal."""

    def __init__(self, home, *arguments, columns=80, rows=24, environment=()):
        self.screen = Screen(columns, rows)
        environ = {**home.environment, "TERM": "xterm-256color", **dict(environment)}
        for name in ("COLUMNS", "LINES") + (() if "NO_COLOR" in dict(environment) else
                                            ("NO_COLOR",)):
            environ.pop(name, None)
        self.status = None
        self.ready, start = os.pipe()
        self.pid, self.fd = os.forkpty()
        if self.pid == 0:
            try:
                os.chdir(home.work)
                os.read(self.ready, 1)
                os.execve(ANNOT, ["annot", "top", *map(str, arguments)], environ)
            finally:
                os._exit(127)
        self.resize(columns, rows, tell=False)
        self.before = termios.tcgetattr(self.fd)
        os.write(start, b"x")
        os.close(start)
        home.asked = getattr(home, "asked", []) + [self]

    def resize(self, columns, rows, tell=True):
        self.screen.columns, self.screen.rows = columns, rows
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if tell:
            os.kill(self.pid, signal.SIGWINCH)

    def read_some(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.screen.feed(data)
        return bool(data)

    def read_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.read_some(0.05):
            pass

    def until(self, pattern, what=None, seconds=30):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.screen.text(), re.M):
            if time.monotonic() > end or not self.read_some(0.1):
                raise Failed(f"{what or pattern} is not to be seen:\n{self.screen.text()}")
        self.read_for(0.1)
        return self

    def type(self, keys, pattern=None, what=None):
        os.write(self.fd, keys.encode())
        return self.until(pattern, what) if pattern else self

    def table(self):
        """Titles and rows, without the lines above and below."""
        rows = self.screen.text().split("\n")
        at = next(i for i, row in enumerate(rows) if "functions" in row and "GIL" in row)
        return rows[at + 1], [row for row in rows[at + 2:-1] if row]

    def finish(self, seconds=15):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read_some(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                self.read_for(0.1)
                return self
        raise Failed(f"no end after {seconds} s:\n{self.screen.text()}")

    def restored(self):
        check(not self.screen.alternate, "the other screen is still shown")
        check(self.screen.cursor, "the cursor is still hidden")
        equal(termios.tcgetattr(self.fd), self.before, "the mode of the terminal")
        return self

    def kill(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.status = -signal.SIGKILL


def looked_at(home):
    need_bpf(home)
    path = home.work / "program.py"
    path.write_text(PROGRAM)
    return Asked(home, sys.executable, path)


def opened(home, *arguments, **options):
    asked = looked_at(home)
    top = Top(home, asked.pid, "-i", "300ms", *arguments, **options)
    top.until(r"^.* hot ", "a function")
    return asked, top


VIEWS = {"1": "functions", "2": "lines", "3": "ranges", "4": "processes", "5": "threads",
         "6": "waits", "7": "GIL"}


@attach_case
def each_view_by_its_number_and_by_tab(home):
    _, top = opened(home)
    for number, name in VIEWS.items():
        top.type(number, rf"\[{number} {name}\]")
    for number, name in VIEWS.items():
        top.type("\t", rf"\[{number} {name}\]")
    top.type("\x1b[Z", r"\[6 waits\]")
    top.type("q").finish().restored()
    equal(top.status, 0, "status")


@attach_case
def the_views_tell_what_the_program_does(home):
    _, top = opened(home, columns=120, rows=40)
    top.until(" warm ").until("> .* burn ")
    _, rows = top.table()
    shares = {row.split()[-2]: row for row in rows}
    check(rows[0].startswith("> ") and "burn" in rows[0], f"the first row is {rows[0]!r}")
    check("hot" in shares and "warm" in shares, f"rows are {shares}")
    top.type("2", r"burn +program.py:\d+")
    top.type("3", "no range was open")
    top.type("4", "program.py")
    top.until(r"program.py.*\n.*\(worker 1\)")
    top.type("5", r"main +")
    top.type("6", r"sleeps +program.py:\d+ +sleep")
    top.type("7", r"burn +program.py:\d+ +main")
    check(not top.screen.wide, f"too wide: {top.screen.wide[:1]}")
    top.type("q").finish().restored()


@attach_case
def sorting_filtering_choosing(home):
    _, top = opened(home, columns=100, rows=30)
    title = top.table()[0]
    check("cpu %*" in title or "cpu*" in title, f"nothing is said to sort: {title!r}")
    for word in ("total", "runnable", "blocked"):
        top.type("s", rf"{word}[ %]*\*", f"{word} sorts")
    top.type("S", r"runnable[ %]*\*")
    top.type("/war", "rows with: war_")
    top.type("\r", 'only rows with "war"')
    equal([row.split()[-2] for row in top.table()[1]], ["warm"], "rows")
    top.type("/\x7f\x7fm", "rows with: wm_")
    top.until("no row has this text")
    top.type("\x1b", r"^ .* hot ")
    top.type("/zz").type("\x1b", r"^ .* hot ")
    top.type("5", r"main")
    top.type("\x1b[B").type("\r", "only thread")
    top.until(r"\[1 functions\]")
    check("hot" not in "".join(top.table()[1]), f"of another thread: {top.table()[1]}")
    top.type("\x1b", r"^ .* hot ")
    top.type("4", "program.py").type("\r", "only process")
    top.type("\x1b")
    top.type("1", r"^ .* hot ").type("\r", "4 or 5 lists them")
    top.type("q").finish().restored()


@attach_case
def windows_totals_and_resets(home):
    _, top = opened(home, "--window", "10s")
    top.type("-", r"^last (5.0|[1-4]\.\d) s")
    top.type("---").until(r"^last 1.0 s")
    top.type("+", r"^last (1\.[0-9]|2.0) s").until(r"^last 2.0 s")
    top.type("t", r"^since [2-9]\.\d s ago")
    top.type("r", "counted anew").until(r"^since [01]\.\d s ago")
    top.type("t", r"^last 2.0 s")
    top.type("q").finish().restored()


@attach_case
def frozen_nothing_moves(home):
    _, top = opened(home)
    top.type("t", "^since").type(" ", "FROZEN")
    picture = top.screen.text()
    top.read_for(1.5)
    equal(top.screen.text(), picture, "the frozen picture")
    top.type("2", r"\[2 lines\]").type("1", r"\[1 functions\]")
    equal(top.screen.text(), picture, "the frozen picture, when one comes back to it")
    top.type(" ", r"^\? help")
    top.read_for(1)
    check(top.screen.text() != picture, "it does not go on")
    top.type("q").finish().restored()


@attach_case
def moving_through_rows(home):
    asked = Asked(home)
    asked.ask("thread 1")
    for _ in range(11):
        asked.ask("thread 1")
    top = Top(home, asked.pid, "-i", "300ms", "--show", "threads", rows=12)
    top.until(r"> ").until("emit_asked")

    def chosen():
        return next((i for i, row in enumerate(top.table()[1]) if row.startswith("> ")), None)

    top.read_for(1)
    equal(chosen(), 0, "the chosen row at first")
    top.type("\x1b[B").read_for(0.4)
    equal(chosen(), 1, "the chosen row after a key down")
    top.type("j").read_for(0.4)
    top.type("k").type("\x1bOA").read_for(0.4)
    equal(chosen(), 0, "the chosen row after up")
    first = top.table()[1][0][2:]
    top.type("\x1b[6~").read_for(0.4)
    top.type("\x1b[F").read_for(0.4)
    equal(chosen(), len(top.table()[1]) - 1, "the last row is chosen")
    check(first not in "".join(top.table()[1]), "rows did not move")
    top.type("\x1b[5~").type("\x1b[H").read_for(0.4)
    equal((chosen(), top.table()[1][0][2:].split()[0]), (0, first.split()[0]), "the first row")
    top.type("q").finish().restored()
    asked.kill()


@attach_case
def the_help_names_all_keys(home):
    _, top = opened(home)
    top.type("?", "any key: back")
    text = top.screen.text()
    for key in ("1 - 7", "tab", "t ", "+ -", "r ", "space", "s S", "/", "return", "escape",
                "arrows", "h ?", "q "):
        check(re.search(rf"^{re.escape(key)}", text, re.M), f"{key!r} is not in the help:\n{text}")
    top.type("x", r"\[1 functions\]")
    top.type("h", "any key: back").type(" ", r"\[1 functions\]")
    check("FROZEN" not in top.screen.text(), "the key that leaves the help did something else")
    top.type("q").finish().restored()


@attach_case
def pictures_fit_all_sizes(home):
    asked = looked_at(home)
    for columns, rows in ((60, 20), (80, 24), (120, 40), (200, 60), (40, 8), (20, 3)):
        top = Top(home, asked.pid, "-i", "300ms", columns=columns, rows=rows)
        top.until(r"cpu")
        top.read_for(0.8)
        for number in VIEWS:
            top.type(number).read_for(0.3)
        check(not top.screen.wide, f"{columns} columns: {top.screen.wide[:1]}")
        equal([row for row in top.screen.lines if row >= rows], [], f"rows beyond {rows}")
        if columns >= 60:
            top.type("1", "hot").type("5", "main")
        top.type("q").finish().restored()


@attach_case
def a_terminal_that_changes_its_size(home):
    _, top = opened(home)
    for columns, rows in ((120, 40), (60, 15), (80, 24)):
        top.resize(columns, rows)
        top.read_for(1)
        check(not top.screen.wide, f"{columns} columns: {top.screen.wide[:1]}")
        check("help" in top.screen.line(rows - 1), f"the last line of {rows}:\n{top.screen.text()}")
    top.type("q").finish().restored()


@attach_case
def without_colours(home):
    _, top = opened(home, environment={"NO_COLOR": "1"})
    for number in VIEWS:
        top.type(number).read_for(0.2)
    check(not top.screen.styled, "styles in spite of NO_COLOR")
    top.type("q").finish().restored()
    _, coloured = opened(home)
    check(coloured.screen.styled, "no colours on a terminal that has them")
    coloured.type("q").finish().restored()


@attach_case
def little_is_written_where_little_changes(home):
    asked = Asked(home)
    top = Top(home, asked.pid, "-i", "200ms", "--show", "waits", rows=40, columns=120)
    top.until("emit_asked")
    top.read_for(2)
    before = top.screen.written
    top.read_for(2)
    written = top.screen.written - before
    check(written < 10 * 600, f"{written} bytes for ten pictures")
    top.type("q").finish().restored()


@attach_case
def signals_give_the_terminal_back(home):
    home.left = {"wake"}
    for number, status in ((signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, 0),
                           (signal.SIGSEGV, -signal.SIGSEGV), (signal.SIGABRT, -signal.SIGABRT)):
        _, top = opened(home)
        os.kill(top.pid, number)
        top.finish().restored()
        equal(top.status, status, f"the status after {number.name}")
        if number in (signal.SIGSEGV, signal.SIGABRT):  # no process was left to remove it
            home.left |= {name for name in home.leftovers() if name.startswith("session-")}
    _, top = opened(home)
    top.type("\x03").finish().restored()
    equal(top.status, 0, "the status after Ctrl-C")


@attach_case
def stopped_it_gives_the_terminal_back_and_takes_it_again(home):
    _, top = opened(home)
    for stop in (lambda: top.type("\x1a"), lambda: os.kill(top.pid, signal.SIGTSTP)):
        stop()
        end = time.monotonic() + 10
        while os.waitpid(top.pid, os.WNOHANG | os.WUNTRACED) == (0, 0):
            check(time.monotonic() < end, "it does not stop")
            top.read_some(0.05)
        top.read_for(0.2)
        top.restored()
        os.kill(top.pid, signal.SIGCONT)
        top.until(r"\[1 functions\]")
        check(top.screen.alternate and not top.screen.cursor, "it has no screen")
        top.until("hot")
    top.type("q").finish().restored()


@attach_case
def the_end_of_what_is_looked_at(home):
    asked, top = opened(home)
    asked.kill()
    top.until("ENDED")
    check("hot" in top.screen.text(), f"the last picture is gone:\n{top.screen.text()}")
    top.type("4", r"\[4 processes\]").until("ended")
    top.type("q").finish().restored()
    equal(top.status, 0, "status")


@attach_case
def processes_come_and_go(home):
    need_bpf(home)
    asked = home.start("sh", "-c", "while :; do sleep 0.4; sh -c 'sleep 0.5; :'; done")
    top = Top(home, asked.pid, "-i", "200ms", "--show", "processes", "-w", "2s", columns=120)
    top.until(r"sleep").until(r"ended").until("replaced|sh ")
    top.type("q").finish().restored()
    os.killpg(asked.pid, signal.SIGKILL)
    asked.wait()


@attach_case
def too_much_to_keep_begins_anew(home):
    _, top = opened(home, "--stacks", "8")
    top.until("begun anew for want of memory: [1-9]")
    top.until(r"^.* hot ")
    top.until("begun anew for want of memory: ([2-9]|[1-9][0-9])")
    top.type("t", "^since 0")
    top.type("q").finish().restored()


@case
def a_command_that_begins_anew(home):
    need_bpf(home)
    path = home.work / "program.py"
    path.write_text(PROGRAM.replace("if os.fork() == 0:\n    sleeps()\n", ""))
    top = Top(home, "-i", "300ms", "--stacks", "8", "--", sys.executable, path)
    top.until("begun anew for want of memory: [1-9]").until(r"^.* hot ")
    top.type("q").finish().restored()
    top.kill()


@case
def memory_of_a_command(home):
    need_bpf(home)
    path = home.work / "program.py"
    path.write_text("""
import time
def hold(): return [bytes(16 << 20) for _ in range(12)]  # each is sampled
kept = hold()
while True: time.sleep(0.05)
""")
    top = Top(home, "--memory", "-i", "300ms", "--", sys.executable, path, columns=80)
    top.until(r"heap live.*\n(.*\n)*.*192\.0 MiB .*hold", "live bytes of a function")
    top.type("4", r"heap live.*\n.*19\d\.\d MiB", "live bytes of a process")
    check(not top.screen.wide, f"too wide: {top.screen.wide[:1]}")
    top.type("q").finish().restored()
    top.kill()


@case
def a_command_that_is_ended_with_it(home):
    need_bpf(home)
    home.left = {"wake"}  # its forked child still uses it
    path = home.work / "program.py"
    path.write_text(PROGRAM.replace('print("ok"', 'sys.stderr.write("NOISE\\n"); print("ok"'))
    top = Top(home, "-i", "300ms", "--", sys.executable, path)
    top.until("hot")
    check("ok" not in top.screen.text() and "NOISE" not in top.screen.text(), "noise on the screen")
    found = subprocess.run(["pgrep", "-f", str(path)], capture_output=True, check=False).stdout
    check(found.split(), "the command does not run")
    top.type("q").finish().restored()
    time.sleep(0.5)
    left = [pid for pid in found.split() if pathlib.Path(f"/proc/{int(pid)}/exe").exists()]
    equal(len(left) <= 1, True, f"the command still runs: {left}")  # its own child may
    for pid in left:
        os.kill(int(pid), signal.SIGKILL)
    top.kill()


@case
def a_command_that_fails_says_why(home):
    need_bpf(home)
    top = Top(home, "--", "sh", "-c", "sleep 1; echo complaint >&2; exit 3")
    top.until("ENDED")
    top.type("q").finish().restored()
    check("complaint" in top.screen.text(), f"its last words are lost:\n{top.screen.text()}")
    top.kill()


@case
def a_terminal_that_goes_away(home):
    need_bpf(home)
    sleeper = home.start(program("emit_asked"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    top = Top(home, sleeper.pid)
    top.until("emit_asked")
    os.close(top.fd)
    end = time.monotonic() + 15
    while os.waitpid(top.pid, os.WNOHANG)[0] == 0:
        check(time.monotonic() < end, "annot top goes on without a terminal")
        time.sleep(0.1)
    sleeper.kill()
    sleeper.communicate()
    home.left = {"wake"}


if __name__ == "__main__":
    main()
