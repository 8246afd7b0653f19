#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annot record of programs with another annot directory than annot itself: other mounts, another
root, other users, another ANNOT_DIR. All their events arrive, or the recording names them."""

import os
import pathlib
import shutil
import sys

from asked import Asked, Attached, attach_case, names
from harness import Skip, case, check, equal, main, needs_root, program

COUNT = 20
OWN_SHM = "mount -t tmpfs none /dev/shm"
# Runs its argument words as root of a user namespace whose users are unknown to its parent.
STRANGERS = f"""
import ctypes, os, sys
ready, mapped = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    os.close(mapped[1])
    if ctypes.CDLL(None).unshare(0x10020000): # CLONE_NEWUSER, CLONE_NEWNS
        os._exit(1)
    os.write(ready[1], b"x")
    os.read(mapped[0], 1)
    os.setgid(0)
    os.setuid(0)
    os.execvp("sh", ["sh", "-c", '{OWN_SHM} && exec "$@"', "sh", *sys.argv[1:]])
os.close(ready[1])
if not os.read(ready[0], 1):
    sys.exit(1)
for name in "gid_map", "uid_map":
    with open(f"/proc/{{child}}/{{name}}", "w") as file:
        file.write("0 100000 1000")
os.write(mapped[1], b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def emitting(home=None):
    """Shell words: a program that emits COUNT ranges and ends at once. With a home, one that any
    user may run."""
    emitter = home.for_all(program("emit_asked")) if home else program("emit_asked")
    return f"echo steps {COUNT} | {emitter}"


def possible(home, *words):
    """Skips the case where this machine does not permit it."""
    if not shutil.which(words[0]) or home.run(*words, "true").status:
        raise Skip(f"{' '.join(map(str, words))} is not possible here")


def all_arrive(home, *words, options=(), script=None, count=COUNT):
    shell = ["sh", "-c", script or f"unset ANNOT_DIR; {emitting()}"]
    result = home.record(*words, *shell, options=options).ok()
    equal(names(home, result.path).get("step"), count, "ranges")
    home.dump(result.path).whole()
    check("could not take part" not in result.err_text, result.err_text)
    return result


@case
def own_shared_memory(home):
    possible(home, "unshare", "-m")
    all_arrive(home, "unshare", "-m", script=f"{OWN_SHM}; unset ANNOT_DIR; {emitting()}")


@case
def own_shared_memory_without_samples(home):
    possible(home, "unshare", "-m")
    all_arrive(home, "unshare", "-m", script=f"{OWN_SHM}; unset ANNOT_DIR; {emitting()}",
               options=["--sampling=none"])


@case
def many_processes_in_one_place(home):
    possible(home, "unshare", "-m")
    script = f"{OWN_SHM}; unset ANNOT_DIR; for i in 1 2 3 4 5; do {emitting()} & done; wait"
    all_arrive(home, "unshare", "-m", script=script, count=5 * COUNT)


@case
def user_namespace_with_its_own_mounts(home):
    possible(home, "unshare", "-Urm")
    all_arrive(home, "unshare", "-Urm", script=f"{OWN_SHM}; unset ANNOT_DIR; {emitting()}")


@case
def user_namespace_without_users(home):
    possible(home, "unshare", "-U")
    all_arrive(home, "unshare", "-U")
    shutil.rmtree("/dev/shm/annot-65534")  # of that namespace's root, named like nobody's


@case
@needs_root
def user_namespace_of_other_users(home):
    possible(home, sys.executable, "-c", STRANGERS)
    all_arrive(home, sys.executable, "-c", STRANGERS, script=f"unset ANNOT_DIR; {emitting(home)}")


@case
def sandbox(home):
    sandbox = ["bwrap", "--unshare-all", "--bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    possible(home, *sandbox)
    all_arrive(home, *sandbox)


@case
@needs_root
def another_root(home):
    possible(home, "unshare", "-m")
    jail = home.work / "jail"
    binds = [folder for folder in ("/bin", "/lib", "/lib64", "/usr", "/proc", "/etc",
                                   os.path.dirname(program("emit_asked")),
                                   str(pathlib.Path(program("emit_asked")).parents[2] / "libannot"))
             if os.path.exists(folder)]
    for folder in [*binds, "/dev/shm"]:
        (jail / folder[1:]).mkdir(parents=True, exist_ok=True)
    mounts = " && ".join(f"mount --rbind {folder} {jail}{folder}" for folder in binds)
    inner = f"unset ANNOT_DIR; {emitting()}"
    all_arrive(home, "unshare", "-m", script=f"{mounts} && exec chroot {jail} sh -c '{inner}'")
    shutil.rmtree(jail)


@case
def another_directory_in_the_environment(home):
    all_arrive(home, script=f"ANNOT_DIR={home.work}/other; {emitting()}")
    equal(os.listdir(home.work / "other"), [], "what is left there")


@case
@needs_root
def another_user(home):
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    possible(home, *user)
    all_arrive(home, *user, script=f"unset ANNOT_DIR; {emitting(home)}")


@case
@needs_root
def another_user_in_a_directory_of_root_is_named(home):
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    home.shm.chmod(0o755)
    possible(home, *user)
    result = home.record(*user, "sh", "-c", emitting(home)).ok()
    reasons = [refusal["reason"] for refusal in home.dump(result.path).refusals]
    equal(reasons, ["the directory it meets annot in belongs to another user: Permission denied"],
          "reasons")
    check("nothing lost" not in result.err_text, result.err_text)


@case
def without_any_directory_it_is_named(home):
    possible(home, "unshare", "-m")
    script = f"mount -t tmpfs -o ro none /dev/shm; unset ANNOT_DIR; {emitting()}"
    result = home.record("unshare", "-m", "sh", "-c", script).ok()
    reasons = [refusal["reason"] for refusal in home.dump(result.path).refusals]
    equal(reasons, ["it found no directory to meet annot in: Read-only file system"], "reasons")
    check("nothing lost" not in result.err_text, result.err_text)
    check("could not take part" in home.annot("report", result.path).ok().out.decode(), "report")


@case
def without_the_environment_it_is_reached_late_and_says_so(home):
    possible(home, "unshare", "-m")
    script = (f"{OWN_SHM}; (sleep 1.5; echo steps {COUNT}) | exec env -i PATH=$PATH "
              f"{program('emit_asked')}")
    result = home.record("unshare", "-m", "sh", "-c", script).ok()
    equal(names(home, result.path), {"step": COUNT}, "ranges")
    check("reached late in another annot directory" in result.err_text, result.err_text)
    check("what it emitted before is not in the recording" in home.info(result.path), "info")


@attach_case
@needs_root
def root_attaches_where_it_is_no_user(home):
    """Its file system has only the users of a user namespace: files of root cannot be made."""
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "unshare", "-Urm"]
    possible(home, *user)
    asked = Asked(home, *user, "sh", "-c", f'{OWN_SHM} && unset ANNOT_DIR && exec "$0"',
                  home.for_all(program("emit_asked")))
    place = pathlib.Path(f"/proc/{asked.pid}/root/dev/shm/annot-0")
    attached = Attached(home, [asked.pid], "--sampling=none", directory=place)
    asked.ask(f"steps {COUNT}")
    check("nothing lost" in attached.stop(), "losses")
    equal(names(home, attached.path), {"step": COUNT}, "ranges")
    asked.end()
    home.left = set()




main()
