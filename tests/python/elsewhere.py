# SPDX-License-Identifier: MIT
"""Runs a test on other interpreters than the one that meson found: on each of ANNOT_TEST_ON
(commands, separated by colons; "all" for those that interpreters.py finds). pyannot is built once
for each: the folder stays in the build and is used until a file of the package is newer."""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

UNUSED_SECONDS = 3600


def chosen(text):
    import interpreters

    if text == "all":
        return [one for one in interpreters.find() if one.can_build()]
    found = {command: interpreters.ask(command) for command in text.split(":") if command}
    for command, one in found.items():
        if one is None or not one.can_build():
            raise SystemExit(f"ANNOT_TEST_ON: {command} is no CPython 3.9 or later with Python.h")
    return list(found.values())


def newest(folder):
    paths = (path for path in folder.rglob("*.*") if path.is_file() and path.suffix != ".pyc")
    return max(path.stat().st_mtime_ns for path in paths)


def package_for(interpreter):
    """A folder for PYTHONPATH."""
    import module_build

    kept = module_build.build_folder() / "python-on"
    kept.mkdir(exist_ok=True)
    with open(kept / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run at once
        about = repr((interpreter[1:], newest(module_build.PACKAGE))).encode()
        folder = kept / hashlib.sha256(about).hexdigest()[:16]
        if (folder / "made").exists():
            (folder / "made").touch()
            return folder
        remove_old(kept)
        module_build.build(interpreter, folder)
        (folder / "made").touch()
    return folder


def remove_old(kept):
    """Removes folders that no running test can still use, and unfinished ones."""
    for folder in filter(pathlib.Path.is_dir, kept.iterdir()):
        made = folder / "made"
        if not made.exists() or time.time() - made.stat().st_mtime > UNUSED_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def this_oldest_newest():
    """Interpreters with their PYTHONPATH. Together they have all interfaces for calls and lines;
    building the package for every interpreter of the machine would take a minute."""
    import interpreters

    yield interpreters.ask(sys.executable), os.environ["PYTHONPATH"]
    if runs_where_told():
        return
    others = sorted((one for one in interpreters.find()
                     if one.can_build() and not one.watches_threads and not one.debug),
                    key=lambda one: one.version)
    for one in {others[0], others[-1]} if others else ():
        yield one, str(package_for(one))


def free_threaded():
    """Like this_oldest_newest, for interpreters without the GIL, except this one."""
    import interpreters

    for one in () if runs_where_told() else interpreters.find():
        if one.free_threaded and one.can_build() and not one.watches_threads:
            yield one, str(package_for(one))


def runs_where_told():
    """Returns true if this process is the test on an interpreter of ANNOT_TEST_ON."""
    return "ANNOT_TEST_HERE" in os.environ


def run_where_told():
    """Ends this process if the test ran on other interpreters."""
    text = os.environ.pop("ANNOT_TEST_ON", "")
    if not text:
        return
    statuses = []
    for interpreter in chosen(text):
        print(f"on {interpreter}: {interpreter.command}", flush=True)
        environment = dict(os.environ, PYTHONPATH=str(package_for(interpreter)),
                           ANNOT_TEST_PYTHON=interpreter.command, ANNOT_TEST_HERE="1")
        command = [interpreter.command, str(pathlib.Path(sys.argv[0]).resolve()), *sys.argv[1:]]
        statuses.append(subprocess.run(command, env=environment, check=False).returncode)
        print(f"on {interpreter}: exit status {statuses[-1]}", flush=True)
    failed = [status for status in statuses if status not in (0, 77)]
    sys.exit(1 if failed else 0 if 0 in statuses else 77)
