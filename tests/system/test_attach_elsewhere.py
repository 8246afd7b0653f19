#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annot attach by root: programs in other mount and pid namespaces, of other users, and reused
pids."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from asked import Asked, Attached, attach_case, names, no_misuse, wait_until
from harness import ANNOT, Skip, check, equal, main, needs_root, program

ONLY = "--sampling=none"
NOBODY = 65534
# A shell in new namespaces, with its own /dev/shm, that becomes the program.
CONTAINER = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c",
             'mount -t tmpfs none /dev/shm && unset ANNOT_DIR && exec "$@"', "sh"]


def inner_pid(outer):
    """Of the process that unshare started."""
    found = subprocess.run(["pgrep", "-P", str(outer)], capture_output=True, check=True)
    return int(found.stdout.split()[0])


def contained(home, *words):
    if home.run(*CONTAINER, "true").status:
        raise Skip("no right to make namespaces")
    asked = Asked(home, *CONTAINER, *(words or [program("emit_asked")]))
    asked.pid = inner_pid(asked.process.pid)
    home.left = set()
    return asked


def place_of(pid, uid=0):
    return pathlib.Path(f"/proc/{pid}/root/dev/shm/annot-{uid}")


@attach_case
@needs_root
def program_in_other_namespaces(home):
    asked = contained(home)
    place = place_of(asked.pid)
    attached = Attached(home, [asked.pid], ONLY, directory=place)
    asked.ask("steps 3", "fork 2", "thread 4", "join")
    message = attached.stop()
    check("nothing lost" in message, message)
    equal(names(home, attached.path), {"step": 3, "in a child": 2, "in a thread": 4}, "ranges")
    no_misuse(home, attached.path)
    processes = home.dump(attached.path).processes
    check(asked.pid in [process["pid"] for process in processes], f"the pids are {processes}")
    asked.ask("steps 1")
    equal(os.listdir(place), ["wake"], "what is left in its directory")
    asked.end()


@attach_case
@needs_root
def two_programs_in_two_places_are_told_apart(home):
    inside, outside = contained(home), Asked(home)
    attached = Attached(home, [outside.pid, inside.pid], ONLY)
    outside.ask("steps 2")
    inside.ask("steps 3")
    message = attached.stop()
    check(f"process {inside.pid} (emit_asked) is left out: its libannot watches a different "
          "directory" in message, message)
    equal(names(home, attached.path), {"step": 2}, "ranges")
    home.left = {"wake"}


@attach_case
@needs_root
def link_in_its_root_leads_where_it_leads_for_the_program(home):
    asked = contained(home, "sh", "-c", 'mkdir /dev/shm/real && chmod 700 /dev/shm/real && '
                      f'ln -s /dev/shm /dev/shm/link && ANNOT_DIR=/dev/shm/link/real exec "$0"',
                      program("emit_asked"))
    place = pathlib.Path(f"/proc/{asked.pid}/root/dev/shm/real")
    attached = Attached(home, [asked.pid], ONLY, directory=place)
    asked.ask("steps 3")
    attached.stop()
    equal(names(home, attached.path), {"step": 3}, "ranges")


@attach_case
@needs_root
def ls_shows_programs_in_other_namespaces(home):
    asked = contained(home)
    rows = [json.loads(line) for line in home.annot("ls", "--json").ok().out.splitlines()]
    row = {row["pid"]: row for row in rows}[asked.pid]
    equal((row["directory"], row["attachable"]), ("/dev/shm/annot-0", True), "what it says")


@attach_case
@needs_root
def dump_shows_what_is_open_in_other_namespaces(home):
    asked = contained(home)
    attached = Attached(home, [asked.pid], ONLY, directory=place_of(asked.pid))
    asked.ask("open a", "open b")
    shown = json.loads(home.annot("dump", "--json", "-p", asked.pid).ok().out)
    equal([thread["ranges"] for thread in shown["threads"]], [["a", "b"]], "open ranges")
    attached.stop()


def sleeper(home):
    """A Python program in new namespaces, and the function in which it sleeps."""
    (home.work / "sleeper.py").write_text("import time\ndef doze():\n    print('ok', flush=True)\n"
                                          "    time.sleep(60)\ndoze()\n")
    return contained(home, sys.executable, "sleeper.py")


@attach_case
@needs_root
def dump_shows_python_in_another_pid_namespace(home):
    asked = sleeper(home)
    shown = home.annot("dump", "-p", asked.pid).ok().out.decode()
    check("doze" in shown and "<module>" in shown, shown)


@attach_case
@needs_root
def python_in_another_pid_namespace_is_sampled_by_reading_memory(home):
    if home.run(*CONTAINER, "true").status:
        raise Skip("no right to make namespaces")
    burn = ("import time\ndef burn():\n    end = time.process_time() + 0.5\n"
            "    while time.process_time() < end: pass\nburn()\n")
    (home.work / "burn.py").write_text(burn)
    path = home.work / "burn.annot"
    home.annot("record", "--sampling", "remote", "-o", path, "--", *CONTAINER, sys.executable,
               "burn.py").ok()
    frames = [frame for stack in home.dump(path, "--samples").stacks.values() for frame in stack]
    check(any("burn" in str(frame) for frame in frames), f"no sample of burn: {frames}")


@attach_case
@needs_root
def collector_that_dies_leaves_the_contained_program_alone(home):
    asked = contained(home)
    place = place_of(asked.pid)
    attached = Attached(home, [asked.pid], ONLY, directory=place)
    asked.ask("steps 3")
    attached.kill()
    asked.ask("steps 2")
    again = Attached(home, [asked.pid], ONLY, directory=place)
    asked.ask("steps 4")
    again.stop()
    equal(names(home, again.path), {"step": 4}, "ranges of the second")


def other_user(home):
    """The command prefix that runs as another user, who owns the annotation directory."""
    if not shutil.which("setpriv"):
        raise Skip("setpriv is missing")
    os.chmod(home.shm, 0o755)
    os.chmod(home.work, 0o777)
    home.directory.mkdir(mode=0o700)
    os.chown(home.directory, NOBODY, NOBODY)
    user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    return user


@attach_case
@needs_root
def user_attaches_to_programs_of_their_own(home):
    user = other_user(home)
    asked = Asked(home, *user, home.for_all(program("emit_asked")))
    of_root = home.start("sleep", "60")
    try:
        attached = Attached(home, [asked.pid], ONLY, before=user)
        asked.ask("steps 3", "fork 2")
        attached.stop()
        equal(names(home, attached.path), {"step": 3, "in a child": 2}, "ranges")
        annot = home.for_all(ANNOT)
        rows = home.run(*user, annot, "ls", "--json").ok().out.splitlines()
        equal([json.loads(row)["pid"] for row in rows if json.loads(row)["directory"] ==
               str(home.directory)], [asked.pid], "programs of this user")
        done = home.run(*user, annot, "attach", "-p", of_root.pid, ONLY, "-o", "x.annot")
        done.complains(1, "another user", "sudo")
    finally:
        of_root.kill()
        of_root.wait()
    asked.end()
    home.left = {"wake"}


@attach_case
@needs_root
def program_of_another_user(home):
    user = other_user(home)
    asked = Asked(home, *user, home.for_all(program("emit_asked")))
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 3", "fork 2")
    owners = {path.stat().st_uid for path in home.directory.iterdir()}
    equal(owners, {NOBODY}, "owners of the files there")
    attached.stop()
    equal(names(home, attached.path), {"step": 3, "in a child": 2}, "ranges")
    equal(attached.path.stat().st_uid, 0, "owner of the recording")
    asked.end()


# In a new pid namespace, where the next pid can be chosen: emit_asked as process 1, two more
# programs one after the other with the same pid. Each one's events are identified by its argument.
REUSE = """
set -e
mount -t tmpfs none /dev/shm
unset ANNOT_DIR
mkfifo /dev/shm/first /dev/shm/second
echo 99 >/proc/sys/kernel/ns_last_pid
{program} </dev/shm/first >/dev/shm/first.log &
test $! = 100
exec 3>/dev/shm/first
echo ok
read line
exec 3>&-
wait
echo 99 >/proc/sys/kernel/ns_last_pid
{program} </dev/shm/second >/dev/shm/second.log &
test $! = 100
exec 3>/dev/shm/second
echo steps 5 >&3
echo ok
read line
exec 3>&-
wait
"""


def said(log):
    return log.read_text() if log.exists() else ""


@attach_case
@needs_root
def pid_that_comes_again_is_another_program(home):
    shell = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c"]
    if home.run(*shell, "echo 99 >/proc/sys/kernel/ns_last_pid").status:
        raise Skip("pids cannot be chosen")
    asked = Asked(home, *shell, REUSE.format(program=program("emit_asked")))
    sh = inner_pid(asked.process.pid)
    root = pathlib.Path(f"/proc/{sh}/root/dev/shm")
    first = inner_pid(sh)
    keeper = Asked(home)  # keeps the recording open after the end of the first program
    place = root / "annot-0"
    wait_until(lambda: said(root / "first.log") == "ok\n", "the first program is there")
    attached = Attached(home, [first, keeper.pid], "--sampling", "none", directory=place)
    asked.process.stdin.write(b"go on\n")
    asked.process.stdin.flush()
    asked.answer()
    wait_until(lambda: said(root / "second.log") == "ok\nok\n", "the second program emits")
    check(list(place.glob("target-100-*")), "the file that named the first is there")
    equal(list(place.glob("100-*.segment")), [], "segments of the second")
    attached.stop()
    equal(names(home, attached.path), {}, "ranges")
    home.left = {"wake"}


if __name__ == "__main__":
    main()
