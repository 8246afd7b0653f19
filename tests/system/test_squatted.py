#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Another user has made /dev/shm/annot-UID, in each way a user can: annot and its programs meet in
the next place and lose no events.

The whole test runs in a mount namespace with its own /dev/shm, and without ANNOT_DIR."""

import contextlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys

from asked import Asked, attach_case, names, wait_until
from harness import ANNOT, Skip, check, equal, main, program

SHM = pathlib.Path("/dev/shm")
FIRST = SHM / "annot-0"
PLACES = [FIRST, *(SHM / f"annot-0.{number}" for number in (1, 2, 3))]
SQUATTER = 65534
VICTIM = 65533
COUNT = 20


# ---- Squats -------------------------------------------------------------------------------------

def make_folder(path, mode):
    path.mkdir()
    path.chmod(mode)


def make_link(path, mode=0o777):
    target = path.with_name(path.name + "-trap")
    make_folder(target, mode)
    os.chown(target, SQUATTER, SQUATTER)
    path.symlink_to(target)


def make_own_trap(path):
    """A link to a private directory of the victim: only the link is the squatter's."""
    target = path.with_name(path.name + "-trap")
    make_folder(target, 0o700)
    path.symlink_to(target)


SQUATS = {
    "private directory": lambda path: make_folder(path, 0o700),
    "open directory": lambda path: make_folder(path, 0o777),
    "file": lambda path: path.write_text("mine"),
    "link": make_link,
    "link to the victim's own": make_own_trap,
    "dangling link": lambda path: path.symlink_to("/dev/shm/nowhere"),
    "pipe": os.mkfifo,
}


def remove(path):
    for one in (path, path.with_name(path.name + "-trap")):
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one)
        elif one.is_symlink() or one.exists():
            one.unlink()


@contextlib.contextmanager
def squatted(*paths, kind="private directory"):
    for path in paths:
        SQUATS[kind](path)
        os.chown(path, SQUATTER, SQUATTER, follow_symlinks=False)
    try:
        yield
    finally:
        for path in paths:
            remove(path)


def squat_case(function):
    """A case without ANNOT_DIR that leaves /dev/shm as it was."""
    def wrapped(home):
        before = set(os.listdir(SHM))
        del home.environment["ANNOT_DIR"]
        home.environment.pop("XDG_RUNTIME_DIR", None)
        function(home)
        equal(set(os.listdir(SHM)) - before, set(), "what is left in /dev/shm")
    wrapped.__name__ = function.__name__
    return attach_case(wrapped)


def emitting():
    return ["sh", "-c", f"echo steps {COUNT} | {program('emit_asked')}"]


def all_arrive(home, result, count=COUNT):
    result.ok()
    equal(names(home, result.path).get("step"), count, "ranges")
    home.dump(result.path).whole()
    check("could not take part" not in result.err_text, result.err_text)


class Recorded:
    """annot record of emit_asked, with its answers passed through; `pid` is the program's."""

    def __init__(self, home, path, *options):
        self.asked = Asked(home, ANNOT, "record", "--sampling=none", *options, "-o", path, "--",
                           program("emit_asked"), stderr=subprocess.DEVNULL)
        self.pid = int(subprocess.check_output(["pgrep", "-P", str(self.asked.pid)]))


# ---- Recording ----------------------------------------------------------------------------------

@squat_case
def record_in_spite_of_each_kind(home):
    for kind in SQUATS:
        with squatted(FIRST, kind=kind):
            status = FIRST.lstat()
            all_arrive(home, home.record(*emitting(), options=["--sampling=none"]))
            equal(FIRST.lstat(), status, f"the squatter's {kind}")
            trap = FIRST.with_name("annot-0-trap")
            if trap.exists():
                equal(os.listdir(trap), [], f"what is in the {kind}")


@squat_case
def record_where_three_of_the_places_are_squatted(home):
    with squatted(*PLACES[:3], kind="open directory"):
        all_arrive(home, home.record(*emitting(), options=["--sampling=none"]))


@squat_case
def record_as_a_user_without_rights(home):
    user = ["setpriv", "--reuid", str(VICTIM), "--regid", str(VICTIM), "--clear-groups"]
    annot, emitter = home.for_all(ANNOT), home.for_all(program("emit_asked"))
    home.work.chmod(0o777)
    for kind in SQUATS:
        with squatted(SHM / f"annot-{VICTIM}", kind=kind):
            path = home.work / f"user {kind}.annot"
            done = home.run(*user, annot, "record", "--sampling=none", "-o", path, "--", "sh", "-c",
                            f"echo steps {COUNT} | {emitter}")
            done.path = path
            all_arrive(home, done)


@squat_case
def a_program_that_changes_its_user_is_followed(home):
    """The directory of the other user is squatted, too."""
    user = ["setpriv", "--reuid", str(VICTIM), "--regid", str(VICTIM), "--clear-groups"]
    emitter = home.for_all(program("emit_asked"))
    with squatted(FIRST, SHM / f"annot-{VICTIM}"):
        all_arrive(home, home.record(*user, "sh", "-c", f"echo steps {COUNT} | {emitter}"))
    remove(SHM / f"annot-{VICTIM}.1")  # of another user than annot: not annot's to remove


@squat_case
def record_in_the_runtime_directory(home):
    runtime = home.work / "runtime"
    runtime.mkdir(mode=0o700)
    home.environment["XDG_RUNTIME_DIR"] = str(runtime)
    with squatted(*PLACES):
        all_arrive(home, home.record(*emitting()))
        # A program without the variable finds no place, and the recording reports it.
        result = home.record("sh", "-c",
                             f"echo steps {COUNT} | env -u XDG_RUNTIME_DIR "
                             f"{program('emit_asked')}").ok()
        check("nothing lost" not in result.err_text, result.err_text)
        reasons = [refusal["reason"] for refusal in home.dump(result.path).refusals]
        equal(len(reasons), 1, f"refusals {reasons}: their number")
        check("belongs to another user" in reasons[0], reasons)
    equal(os.listdir(runtime), [], "what is left in the runtime directory")


STATIC = """
#include <annot/annot.h>
#include <unistd.h>

int main(void)
{
    for (int i = 0; i < 20; i++) {
        annot_push("step");
        usleep(50000);
        annot_pop();
    }
    return 0;
}
"""


def static_program(home):
    """A program with libannot's archive; skips where it cannot be linked."""
    source, made = home.work / "static.c", home.work / "static"
    archive = pathlib.Path(ANNOT).parents[1] / "libannot" / "libannot.a"
    include = pathlib.Path(__file__).parents[2] / "libannot" / "include"
    source.write_text(STATIC)
    done = subprocess.run(["gcc", "-static", f"-I{include}", source, "-o", made, archive],
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise Skip("no static program can be linked")
    return made


@squat_case
def a_static_program_without_a_place_is_named(home):
    """It has neither libannot's file nor, with an empty environment, a recording to report to."""
    static, runtime = static_program(home), home.work / "runtime"
    runtime.mkdir(mode=0o700)
    home.environment["XDG_RUNTIME_DIR"] = str(runtime)
    with squatted(*PLACES):
        result = home.record("env", "-i", static).ok()
        check("nothing lost" not in result.err_text, result.err_text)
        reasons = [refusal["reason"] for refusal in home.dump(result.path).refusals]
        equal(reasons, ["it found no directory to meet annot in"], "refusals")


@squat_case
def without_any_place_it_is_said_and_the_program_runs(home):
    with squatted(*PLACES):
        done = home.record(*emitting())
        done.complains(125, str(FIRST), "must be yours", "ANNOT_DIR")
        home.run(*emitting()).ok()


@squat_case
def many_that_begin_at_once_meet_in_one_place(home):
    """Also where the umask leaves a new directory without any right for a moment."""
    script = "for i in $(seq 24); do (umask {}; {}) & done; wait"
    emit = shlex.join(emitting())
    with squatted(FIRST):
        for umask in "022", "0777":
            all_arrive(home, home.record("sh", "-c", script.format(umask, emit),
                                         options=["--sampling=none"]), 24 * COUNT)
            home.run("sh", "-c", script.format(umask, emit)).ok()
            equal([path.exists() for path in PLACES], [True, True, False, False], "places")
            remove(PLACES[1])


# ---- Programs that run before the collector --------------------------------------------------

@squat_case
def attach_to_a_program_in_the_second_place(home):
    with squatted(FIRST):
        asked = Asked(home)
        rows = [json.loads(line) for line in home.annot("ls", "--json").ok().out.splitlines()]
        equal({row["pid"]: row["directory"] for row in rows}[asked.pid], str(PLACES[1]), "place")
        for number in 3, 4:
            path = home.work / f"{number}.annot"
            attach = home.start(ANNOT, "attach", "--sampling=none", "-p", asked.pid, "-o", path,
                                stderr=subprocess.PIPE)
            wait_until(lambda: list(PLACES[1].glob("target-*")), "annot attaches")
            wait_until(lambda: (PLACES[1] / "wake").read_bytes()[:8] != bytes(8), "the gate")
            asked.ask(f"steps {number}")
            attach.send_signal(signal.SIGINT)
            _, err = attach.communicate()
            check(b"nothing lost" in err, err)
            equal(names(home, path), {"step": number}, "ranges")
        top = home.start(ANNOT, "top", "--json", "-d", "3", "-p", asked.pid,
                         stdout=subprocess.PIPE)
        wait_until(lambda: list(PLACES[1].glob("target-*")), "annot top attaches")
        asked.ask(f"steps {COUNT}")
        out, _ = top.communicate()
        equal({row["range"]: row["count"] for row in json.loads(out)["ranges"]}.get("step"),
              COUNT, "ranges that annot top counts")
        asked.end()
    remove(PLACES[1])


@squat_case
def the_squatter_leaves_and_comes_again(home):
    """A recording that starts then still finds the running programs."""
    with squatted(FIRST):
        asked = Asked(home)
    path = home.work / "left.annot"
    recorded = Recorded(home, path)
    equal(FIRST.exists(), False, "the first place")
    with squatted(FIRST):
        rows = [json.loads(line) for line in home.annot("ls", "--json").ok().out.splitlines()]
        places = {row["pid"]: row["directory"] for row in rows}
        equal({places[asked.pid], places[recorded.pid]}, {str(PLACES[1])}, "places")
        recorded.asked.ask(f"steps {COUNT}")
        recorded.asked.end()
    equal(names(home, path).get("step"), COUNT, "ranges")
    asked.end()
    remove(PLACES[1])


# ---- Other commands ---------------------------------------------------------------------------

@squat_case
def recover_looks_into_all_places(home):
    with squatted(FIRST):
        path = home.work / "killed.annot"
        recorded = Recorded(home, path)
        recorded.asked.ask(f"steps {COUNT}")
        os.kill(recorded.asked.pid, signal.SIGKILL)
        recorded.asked.process.wait()
        os.kill(recorded.pid, signal.SIGKILL)
        done = home.annot("recover", "--json").ok()
        row, = [json.loads(line) for line in done.out.splitlines()]
        equal((row["state"], row["recording"]), ("completed", str(path)), "recovered")
        equal(names(home, path).get("step"), COUNT, "ranges")
        home.annot("recover").ok()


@squat_case
def sessions_are_found_by_other_commands(home):
    with squatted(FIRST):
        path, ring = home.work / "seen.annot", home.work / "ring.annot"
        recorded = Recorded(home, path, "--policy", "overwrite")
        recorded.asked.ask(f"steps {COUNT}")
        check(path.name in home.annot("set").ok().out.decode(), "annot set")
        home.annot("snapshot", "-o", ring).ok()
        equal(names(home, ring).get("step"), COUNT, "ranges of the snapshot")
        recorded.asked.end()


@squat_case
def doctor_names_the_place_and_the_squatter(home):
    def memory():
        findings = json.loads(home.annot("doctor", "--json").out)["findings"]
        return {found["name"]: found for found in findings}["memory"]
    for kind in SQUATS:
        with squatted(FIRST, kind=kind):
            found = memory()
            equal((found["state"], found["facts"]["path"]), ("note", str(PLACES[1])), kind)
            check("belongs to another user" in found["hint"], found)
    with squatted(*PLACES):
        found = memory()
        equal((found["state"], found["facts"]["path"]), ("missing", str(FIRST)), "without any")
        check("belongs to another user" in found["text"] and "ANNOT_DIR" in found["hint"], found)


# ---- Python -----------------------------------------------------------------------------------

def notes(home, path):
    return json.loads(home.annot("info", "--json", path).ok().out)["sampling"]


@squat_case
def python_programs_too(home):
    package = os.environ.get("ANNOT_PYANNOT")
    if not package:
        raise Skip("built without pyannot")
    home.environment.pop("ANNOT_PYTHON", None)
    home.environment["PYTHONPATH"] = package
    script = ("import pyannot\nfor _ in range(20):\n    with pyannot.annotate('step'):\n"
              "        pass\n")
    with squatted(*PLACES[:2]):
        result = home.record(sys.executable, "-c", script, options=["--trace-functions"])
        all_arrive(home, result)
        equal(notes(home, result.path)["counts"]["Python processes with pyannot"], 1, "processes")


@squat_case
def python_without_pyannot_says_so(home):
    home.environment.pop("ANNOT_PYTHON", None)
    package = os.environ.get("ANNOT_PYANNOT")
    if not package:
        raise Skip("built without pyannot")
    place = home.work / "bare"
    (place / "tools").mkdir(parents=True)
    shutil.copy2(ANNOT, place / "tools/annot")
    shutil.copytree(pathlib.Path(package) / "pyannot", place / "pyannot/pyannot", symlinks=True)
    for native in (place / "pyannot/pyannot").glob("_native*.so"):
        native.unlink()
    with squatted(*PLACES[:2]):
        path = home.work / "bare.annot"
        # Not that of a virtual environment, which may have its own pyannot.
        interpreter = getattr(sys, "_base_executable", sys.executable)
        home.run(place / "tools/annot", "record", "--sampling=none", "-o", path, "--", interpreter,
                 "-c", "pass").ok()
        said = [note for note in notes(home, path)["notes"]
                if note.startswith("Python without pyannot: ")]
        equal(len(said), 1, f"notes {said}: their number")


if __name__ == "__main__":
    if os.geteuid() != 0 or not shutil.which("unshare"):
        print("skipped: needs root")
        sys.exit(77)
    if "ANNOT_SQUATTED" in os.environ:
        main()
    os.environ["ANNOT_SQUATTED"] = "1"
    done = subprocess.run(["unshare", "--mount", "sh", "-c",
                           'mount -t tmpfs -o mode=1777 tmpfs /dev/shm || exit 77; exec "$@"',
                           "sh", sys.executable, *sys.argv], check=False)
    sys.exit(done.returncode)
