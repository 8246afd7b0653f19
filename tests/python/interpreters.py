# SPDX-License-Identifier: MIT
"""The CPython interpreters of this machine, for tests that must hold for each: those in
$ANNOT_PYTHONS (commands, separated by colons), of pyenv ($PYENV_ROOT, else ~/.pyenv), and on the
PATH. tests/lib/interpreters.c finds the same ones."""

import contextlib
import glob
import json
import os
import pathlib
import subprocess
import sys
import typing

QUESTION = """
import json, sys, sysconfig
of = sysconfig.get_config_var
print(json.dumps([sys.implementation.name, sys.version_info[:3], sysconfig.get_path("include"),
    of("EXT_SUFFIX"), of("LDLIBRARY"), hasattr(sys, "gettotalrefcount"),
    bool(of("Py_GIL_DISABLED")), "-fsanitize=thread" in (of("CFLAGS") or "")]))
"""


class Interpreter(typing.NamedTuple):
    command: str
    implementation: str
    version: tuple  # (3, 11, 7)
    include: str  # where Python.h should be
    suffix: str  # of extension modules
    library: str
    debug: bool  # counts references
    free_threaded: bool
    watches_threads: bool  # built with ThreadSanitizer

    def __str__(self):
        kinds = ["free-threaded"] * self.free_threaded + ["debug"] * self.debug
        kinds += ["tsan"] * self.watches_threads
        return " ".join([".".join(map(str, self.version)), *kinds])

    def can_build(self):
        return (pathlib.Path(self.include) / "Python.h").exists()


def ask(command):
    """Queries an interpreter. Returns None unless it is CPython 3.9 or later."""
    try:
        result = subprocess.run(
            [command, "-c", QUESTION], capture_output=True, text=True, check=False, timeout=60
        )
        name, version, *rest = json.loads(result.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    found = Interpreter(str(command), name, tuple(version), *rest)
    return found if name == "cpython" and found.version >= (3, 9) else None


def commands():
    yield from os.environ.get("ANNOT_PYTHONS", "").split(":")
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    yield from sorted(glob.glob(f"{root}/versions/*/bin/python3"))
    for folder in os.environ.get("PATH", "").split(":"):
        yield from (f"{folder}/python3", f"{folder}/python3-dbg")


def find():
    """Each build once, except this one; prints them."""
    builds = {ask(sys.executable)[1:]}
    found = []
    for command in commands():
        interpreter = ask(command) if os.access(command, os.X_OK) else None
        if interpreter is None or interpreter[1:] in builds:
            continue
        builds.add(interpreter[1:])
        print(f"  interpreter {interpreter}: {interpreter.command}", flush=True)
        found.append(interpreter)
    return found


def of_wheels():
    """Commands: for each ABI of releases, one interpreter that can build a module."""
    first = {}
    for interpreter in [ask(sys.executable), *find()]:
        kinds = interpreter and (interpreter.debug or interpreter.watches_threads)
        if interpreter and not kinds and interpreter.can_build():
            first.setdefault(interpreter.suffix, interpreter.command)
    return first.values()


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        commands_found = list(of_wheels())
    print(*commands_found, sep="\n")
