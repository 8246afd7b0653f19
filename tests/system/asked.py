# SPDX-License-Identifier: MIT
"""Tests of annot attach: programs that execute commands, and an annot that is attached."""

import functools
import os
import pathlib
import select
import signal
import struct
import subprocess
import sys
import time

from harness import ANNOT, NUMBERS, Failed, case, check, equal, program

PATIENCE_S = 60

PYTHON_PROGRAM = """
import os, sys
from pyannot import annotate, pop, push

def steps(count):
    for _ in range(count):
        with annotate("step"):
            pass

print("ok", flush=True)
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "open":
        push(rest)
    elif word == "close":
        pop()
    elif word == "steps":
        steps(int(rest))
    elif word == "with":
        with annotate(rest):
            print("ok", flush=True)
            sys.stdin.readline()
    elif word == "fork":
        child = os.fork()
        if child == 0:
            steps(int(rest))
            os._exit(0)
        os.waitpid(child, 0)
        print(child)
    print("ok", flush=True)
"""


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"waited {PATIENCE_S} s in vain: {what}")
        time.sleep(0.005)


class Asked:
    """A running program; `process` is its Popen, `pid` its pid here."""

    def __init__(self, home, *words, **options):
        command = list(words) or [program("emit_asked")]
        self.process = home.start(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  **options)
        self.pid, self.rest = self.process.pid, b""
        home.asked = getattr(home, "asked", []) + [self]
        self.answer()

    def line(self):
        end = time.monotonic() + PATIENCE_S
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left < 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Failed(f"program {self.pid} does not answer")
            got = os.read(self.process.stdout.fileno(), 4096)
            if not got:
                raise Failed(f"program {self.pid} ended with {self.process.wait()}")
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def answer(self):
        """Lines before "ok"."""
        lines = []
        while (line := self.line()) != "ok":
            lines.append(line)
        return lines

    def ask(self, *lines):
        answers = []
        for line in lines:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
            answers += self.answer()
        return answers

    def end(self):
        self.process.stdin.close()
        equal(self.process.wait(PATIENCE_S), 0, "status of the program")

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def asked_python(home):
    home.environment["PYTHONPATH"] = os.environ["ANNOT_PYANNOT"]
    return Asked(home, sys.executable, "-c", PYTHON_PROGRAM)


def generation(directory):
    """0: the gate is shut."""
    try:
        data = pathlib.Path(directory, "wake").read_bytes()
    except FileNotFoundError:
        return 0
    return struct.unpack("<Q", data[:8])[0]


def targets(directory):
    """The contents of the files that make programs join."""
    try:
        return {path.read_bytes() for path in pathlib.Path(directory).glob("target-*")}
    except FileNotFoundError:
        return set()


class Attached:
    """annot attach, until `stop`; made when its gate is open. `directory`: as we see it."""

    def __init__(self, home, pids, *options, before=(), directory=None):
        self.home, self.path = home, home.work / f"attached-{next(NUMBERS)}.annot"
        place = directory or home.directory
        was, before_it = targets(place), generation(place)
        self.process = home.start(*before, home.for_all(ANNOT) if before else ANNOT,
                                  "attach", "-p", ",".join(map(str, pids)), "-o",
                                  self.path, *options, stderr=subprocess.PIPE)
        home.asked = getattr(home, "asked", []) + [self]

        def is_open():
            opened = (targets(place) - was) and generation(place) not in (0, before_it)
            return opened or self.process.poll() is not None

        wait_until(is_open, "annot opens the gate")
        if self.process.poll() is not None:
            raise Failed(f"annot attach ended: {self.process.stderr.read().decode()}")

    def wait(self):
        _, err = self.process.communicate(timeout=PATIENCE_S)
        equal(self.process.returncode, 0, f"status of annot attach, which says {err}")
        return err.decode()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def attach_case(function):
    """A case that ends its programs. They made the directory, so it stays."""
    @functools.wraps(function)
    def wrapped(home):
        home.left = {"wake"}
        try:
            function(home)
        finally:
            for one in getattr(home, "asked", []):
                one.kill()
    return case(wrapped)


def names(home, path):
    """How often each range is in a recording, begin and end."""
    dump = home.dump(path)
    begins = {}
    for event in dump.kind("push", "start"):
        begins[event["name"]] = begins.get(event["name"], 0) + 1
    return begins


def traces_of(pid):
    """Traces of annot in a program: mappings of segments, all mappings, descriptors."""
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
    segments = sum(".segment" in line for line in maps)
    return segments, len(maps), len(os.listdir(f"/proc/{pid}/fd"))


def no_misuse(home, path):
    for process in home.dump(path).whole().processes:
        check(not any(process["misuse"]), f"misuse is counted: {process}")
