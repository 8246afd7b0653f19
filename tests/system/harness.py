# SPDX-License-Identifier: MIT
"""Shared by the end-to-end tests: a private place for each case, running annot, reading results.

A test file defines functions marked @case, each taking a Home, and calls main(). Every case gets a
fresh annotation directory (not yet made, on tmpfs) and a fresh working folder; when it ends, the
place where the directory was must be empty again unless the case says otherwise. The file closes
with one line of counts; its exit status is 0, 1, or 77 if every case was skipped.

Found through the environment, which meson sets: ANNOT (the program), ANNOT_PROGRAMS (the folder of
the compiled test programs). By hand, the build folder "build" of this source tree is taken.
"""

import functools
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ANNOT = os.environ.get("ANNOT", str(SOURCE / "build/tools/annot"))
PROGRAMS = pathlib.Path(os.environ.get("ANNOT_PROGRAMS", SOURCE / "build/tests/system"))
os.environ.setdefault("ANNOT_PYTHON", "none")  # only the programs' own events
NUMBERS = itertools.count(1)
CASES = []


class Failed(AssertionError):
    """An expectation that did not hold."""


class Skip(Exception):
    """The machine lacks a requirement of the case."""


def case(function):
    CASES.append(function)
    return function


def check(condition, what):
    if not condition:
        raise Failed(what)


def equal(actual, expected, what):
    if actual != expected:
        raise Failed(f"{what} is {shorten(actual)}, not {shorten(expected)}")


def shorten(value):
    text = repr(value)
    return text if len(text) <= 400 else text[:380] + f"... ({len(text)} characters)"


def program(name):
    path = PROGRAMS / name
    check(path.exists(), f"the test program {path} is not built")
    return str(path)


def go_program(home, source, *flags):
    """A program of Go, of a source beside this file."""
    source = SOURCE / "tests/system" / source
    go = shutil.which("go")
    if not go:
        raise Skip("Go is missing")
    path = home.work / source.stem
    subprocess.run([go, "build", *flags, "-o", path, source], check=True, cwd=home.work)
    return path


class Result:
    """A finished command: status as subprocess gives it (negative: signal), streams as bytes."""

    def __init__(self, command, process, out, err):
        self.command, self.status, self.out, self.err = command, process.returncode, out, err
        self.peak_kib = self.own_kib = 0
        self.path = None

    @property
    def err_text(self):
        return self.err.decode(errors="replace")

    def ok(self, status=0):
        if self.status != status:
            raise Failed(f"{shorten(self.command)} ended with {self.status}, not {status}:\n"
                         f"{self.err_text[-2000:]}")
        return self

    def complains(self, status, *words):
        """One line with the failure, one hint; standard output is empty."""
        self.ok(status)
        lines = self.err_text.splitlines()
        equal(self.out, b"", f"standard output of {shorten(self.command)}")
        equal(len(lines), 2, f"lines of the message {lines}: their number")
        check(lines[0].startswith("annot"), f"the message does not name annot: {lines[0]!r}")
        check(lines[1].startswith("hint: "), f"the second line is no hint: {lines[1]!r}")
        for word in words:
            check(word in lines[0] + lines[1], f"{word!r} is not in {lines}")
        return self


class Peak(threading.Thread):
    """Watches the largest resident memory of one process, while it lives: all, and its own without
    shared mappings and files."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.path, self.stop = f"/proc/{pid}/status", threading.Event()
        self.kib = self.own_kib = 0
        self.start()

    def run(self):
        while not self.stop.wait(0.02):
            try:
                with open(self.path, encoding="ascii", errors="replace") as file:
                    found = dict(re.findall(r"(VmHWM|RssAnon):\s+(\d+) kB", file.read()))
            except OSError:
                return
            self.kib = max(self.kib, int(found.get("VmHWM", 0)))
            self.own_kib = max(self.own_kib, int(found.get("RssAnon", 0)))


class Home:
    """One case's place: an annotation directory and a working folder."""

    def __init__(self):
        self.shm = pathlib.Path(f"/dev/shm/annot-test-{os.getpid()}-{next(NUMBERS)}")
        self.shm.mkdir()
        self.directory = self.shm / "annot"
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="annot-test-"))
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("ANNOT")}
        self.environment["ANNOT_DIR"] = str(self.directory)
        self.left = set()  # names that may stay in the directory

    def for_all(self, word):
        """The word; if it names annot or a program of the build, a copy that every user can run,
        because the build may lie in a private folder."""
        path = pathlib.Path(str(word))
        if str(word) != ANNOT and path.parent != PROGRAMS:
            return str(word)
        copy = self.work / path.name
        if not copy.exists():
            shutil.copy(path, copy)
            copy.chmod(0o755)
            self.work.chmod(self.work.stat().st_mode | 0o055)
        return str(copy)

    def start(self, *command, **options):
        """Popen in this home, in a new process group."""
        options.setdefault("cwd", self.work)
        options.setdefault("env", self.environment)
        options.setdefault("start_new_session", True)
        return subprocess.Popen([str(word) for word in command], **options)

    def run(self, *command, stdin=b"", timeout=60, **options):
        process = self.start(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, **options)
        peak = Peak(process.pid)
        try:
            out, err = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired as expired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise Failed(f"{shorten(command)} did not end within {timeout} s; its messages:\n"
                         f"{err.decode(errors='replace')[-2000:]}") from expired
        finally:
            peak.stop.set()
        result = Result(command, process, out, err)
        result.peak_kib, result.own_kib = peak.kib, peak.own_kib
        return result

    def annot(self, *arguments, **options):
        return self.run(ANNOT, *arguments, **options)

    def record(self, *command, options=(), **rest):
        """annot record into a new file of this home; the result's `path` names it."""
        path = self.work / f"{next(NUMBERS)}.annot"
        result = self.annot("record", "-o", path, *options, "--", *command, **rest)
        result.path = path
        return result

    def info(self, path):
        return self.annot("info", path).ok().out.decode()

    def dump(self, path, *arguments):
        """The recording through the library's reader, not through the commands under test."""
        done = self.run(program("recording_dump"), *arguments, path, timeout=120)
        return Dump([json.loads(line) for line in done.ok().out.decode().splitlines()])

    def export(self, path, extension):
        out = path.with_suffix(extension)
        self.annot("export", path, "-o", out, timeout=120).ok()
        return out

    def leftovers(self):
        if not self.directory.exists():
            return set(entry.name for entry in self.shm.iterdir())
        # On a busy machine the search for processes that map the wake page may run out of time.
        for pause in (0.1, 0.5, 2):
            if set(os.listdir(self.directory)) != {"wake"} or "wake" in self.left:
                break
            time.sleep(pause)
            self.annot("recover")
            if not self.directory.exists():
                return set(entry.name for entry in self.shm.iterdir())
        return set(os.listdir(self.directory)) - self.left

    def close(self):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.rmtree(self.shm, ignore_errors=True)


class Dump:
    """The output of recording_dump, by kind."""

    def __init__(self, rows):
        def of(kind):
            return [row for row in rows if row["row"] == kind]
        self.processes, self.threads, self.events = of("process"), of("thread"), of("event")
        self.refusals, self.damage = of("refusal"), of("damage")
        self.tracks, self.units = of("track"), of("unit")
        self.filters = [row["rules"] for row in of("filter")]
        self.session = of("session")[0]
        self.sampling = (of("sampling") or [None])[0]
        self.facts = of("fact")
        self.samples = of("sample")
        self.short_waits = of("short")
        self.live_count = sum(row["count"] for row in of("live"))
        self.stacks = {row["ordinal"]: row["frames"] for row in of("stack")}
        self.paths = {row["ordinal"]: row["names"] for row in of("path")}

    def lost(self):
        return sum(sum(process["lost"]) for process in self.processes)

    def whole(self):
        """The recording is complete and without losses."""
        equal(self.damage, [], "damage of the recording")
        check(self.session["complete"], "the recording has no end mark")
        equal([(p["pid"], p["lost"]) for p in self.processes if any(p["lost"])], [], "losses")
        return self

    def kind(self, *kinds):
        return [event for event in self.events if event["kind"] in kinds]


def run_case(function):
    """Returns "passed", "failed" or "skipped"."""
    name = function.__name__
    home = Home()
    begin = time.monotonic()
    try:
        function(home)
        left = home.leftovers()
        check(not left, f"left behind in the directory: {sorted(left)}")
    except Skip as reason:
        print(f"skipped: {name}: {reason}")
        return "skipped"
    except Failed as failure:
        print(f"FAILED {name}: {failure}")
        return "failed"
    except Exception:  # pylint: disable=broad-except
        print(f"FAILED {name}:\n{traceback.format_exc()}")
        return "failed"
    finally:
        home.close()
    print(f"passed {name} ({time.monotonic() - begin:.1f} s)")
    return "passed"


def main():
    """Runs the cases of the calling file, or those named on the command line."""
    wanted = sys.argv[1:]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for function in CASES:
        if not wanted or function.__name__ in wanted:
            counts[run_case(function)] += 1
            sys.stdout.flush()
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    if counts["failed"] or not sum(counts.values()):
        sys.exit(1)
    sys.exit(0 if counts["passed"] else 77)


def needs_root(function):
    """Skips the case unless it runs as root."""
    @functools.wraps(function)
    def wrapped(home):
        if os.geteuid() != 0:
            raise Skip("needs root")
        return function(home)
    return wrapped
