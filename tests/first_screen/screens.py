# SPDX-License-Identifier: MIT
"""The first screen that a user sees of a program, by annot, pyinstrument and py-spy."""

import collections
import os
import pathlib
import re
import subprocess
import sys

WIDTH = 100
LINES = 40  # of a screen
FUNCTIONS = 15  # of py-spy, which has no screen of its own for a finished program
TIMEOUT = 120
FRAME = re.compile(r"(.*) \((.*?)(?::(\d+))?\)$")


class Place:
    """The folder and the interpreter for programs. PATHS of this machine are cut from the texts."""

    def __init__(self, annot, python, folder):
        self.annot = str(pathlib.Path(annot).resolve())
        self.python = python
        self.folder = pathlib.Path(folder)
        self.env = dict(os.environ, COLUMNS=str(WIDTH), NO_COLOR="1", PYTHONDONTWRITEBYTECODE="1")
        self.pyannot = str(pathlib.Path(self.annot).parent.parent / "pyannot")
        script = "import sys, sysconfig; print(sysconfig.get_path('purelib')); " \
                 "print(sysconfig.get_path('stdlib')); print(sys.prefix); print(sys.base_prefix)"
        prefixes = subprocess.run([python, "-c", script], check=True, capture_output=True,
                                  text=True).stdout.split()
        self.prefixes = [str(self.folder), str(self.folder.resolve()), *prefixes,
                         str(pathlib.Path.home())]

    def run(self, command, program):
        env = self.env
        if program.needs == "pyannot":
            env = dict(env, PYTHONPATH=self.pyannot)
        return subprocess.run(command, cwd=self.folder, env=env, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=False)

    def clean(self, text):
        """Remove paths of this machine, spaces at the ends, and the text that exceeds a screen."""
        for prefix in self.prefixes:
            text = text.replace(prefix + "/", "").replace(prefix, "")
        return [line.rstrip()[:WIDTH] for line in text.splitlines()]


def cut(lines, count):
    while lines and not lines[0]:
        lines = lines[1:]
    lines = lines[:count]
    while lines and not lines[-1]:
        lines = lines[:-1]
    return "\n".join(lines) + "\n"


def record(place, program):
    """Return the recording's file."""
    path = place.folder / f"{program.name}.annot"
    done = place.run([place.annot, "record", "-q", "--force", "-o", path, "--", place.python,
                      program.file], program)
    if done.returncode != 0:
        sys.exit(f"{program.name}: annot record failed: {done.stderr}")
    return path


def report(place, recording, *options):
    return subprocess.run([place.annot, "report", *options, recording], cwd=place.folder,
                          env=place.env, capture_output=True, text=True, timeout=TIMEOUT,
                          check=True).stdout


def annot_screen(place, program):
    text = report(place, record(place, program), "--color", "never")
    return cut(place.clean(text), LINES)


def pyinstrument_screen(place, program):
    path = place.folder / "pyinstrument.txt"
    path.unlink(missing_ok=True)
    done = place.run([place.python, "-m", "pyinstrument", "-r", "text", "-o", path, program.file],
                     program)
    if not path.exists() or path.stat().st_size == 0:
        return f"(no result: {(done.stderr.splitlines() or ['nothing said'])[-1]})\n"
    lines = place.clean(path.read_text())
    return cut([line for line in lines if not line.startswith("To view this report")], LINES)


class Function:
    """One function's samples: in itself, including callees, and by line."""

    def __init__(self):
        self.own = self.total = 0
        self.lines = collections.Counter()


def count_functions(text):
    """Return {(name, file): Function} and all samples, from py-spy's stacks (outermost first)."""
    functions, samples = collections.defaultdict(Function), 0
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        if not count.isdigit():
            continue
        samples += int(count)
        seen = set()
        for depth, frame in enumerate(reversed(stack.split(";"))):
            match = FRAME.match(frame)
            if not match:
                continue
            key = match.group(1), match.group(2)
            function = functions[key]
            function.own += int(count) if depth == 0 else 0
            if key not in seen:
                function.total += int(count)
                function.lines[match.group(3)] += int(count)
            seen.add(key)
    return functions, samples


def py_spy_screen(place, program):
    """Functions by their own samples, then by those including callees, each with its hottest line.
    Waiting threads are included if the program's cause is a wait, as a user would request."""
    path = place.folder / "py-spy.txt"
    path.unlink(missing_ok=True)
    idle = ["--idle"] if program.waits else []
    tool = pathlib.Path(place.python).parent / "py-spy"
    done = place.run([tool if tool.exists() else "py-spy", "record", "-f", "raw", "-o", path,
                      "--subprocesses", *idle, "--", place.python, program.file], program)
    if not path.exists():
        return f"(no result: {(done.stderr.splitlines() or ['nothing said'])[-1]})\n"
    functions, samples = count_functions(path.read_text())
    order = sorted(functions, key=lambda key: (-functions[key].own, -functions[key].total, key))
    kind = "threads that run or wait" if idle else "threads that run"
    lines = [f"{samples} samples of {kind}", "   own  total  function"]
    for key in order[:FUNCTIONS]:
        function = functions[key]
        line = max(function.lines, key=function.lines.get)
        where = f"{key[1]}:{line}" if line else key[1]
        lines.append(f"{function.own:6} {function.total:6}  {key[0]} ({where})")
    return cut(place.clean("\n".join(lines)), FUNCTIONS + 2)


TOOLS = {"annot": annot_screen, "pyinstrument": pyinstrument_screen, "py-spy": py_spy_screen}
