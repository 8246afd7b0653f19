#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annot recover: every recording of a directory that was cut short is completed, with each record
once, and listed; those that are being made are not touched."""

import fcntl
import json
import os
import pathlib
import random
import shlex
import signal
import subprocess
import time

from cut_recordings import PATIENCE_S, Run, cut_short, recovered, until
from harness import ANNOT, Skip, case, check, equal, main, needs_root, program

PAYLOAD_CUT = 4  # of misuse


@case
def no_second_recording_goes_into_a_file_that_is_being_written(home):
    run = Run(home, "living")
    second = home.annot("record", "--sampling=none", "--force", "-o", run.path, "--", "true")
    check(second.status > 0, f"the second records, too: {second.err_text}")
    check("another annot records into it" in second.err_text, second.err_text)
    run.end()
    equal(run.annot.wait(PATIENCE_S), 0, "the status of the first")
    run.check_whole(home)


@case
def all_that_were_cut_short_are_completed_and_told(home):
    runs = cut_short(home, "one", "two", "three")
    before = {run.path: len(home.dump(run.path).events) for run in runs}
    done = home.annot("recover").ok()
    for run in runs:
        dump = run.check_whole(home)
        check(dump.session["recovered"], f"{run.path} does not say that it was recovered")
        added = len(dump.events) - before[run.path]
        check(f"completed {run.path}, which was cut short: {added} event" in done.err_text,
              done.err_text)
    check("nothing to recover" in home.annot("recover").ok().err_text, "a second time")


@case
def numbers_come_as_json(home):
    runs = cut_short(home, "one", "two")
    before = {str(run.path): len(home.dump(run.path).events) for run in runs}
    rows = recovered(home)
    equal(set(rows), set(before), "the recordings")
    for run in runs:
        row = rows[str(run.path)]
        dump = run.check_whole(home)
        equal((row["state"], row["processes"], row["lost"]), ("completed", 1, 0), "the recording")
        equal(row["events"], len(dump.events) - before[str(run.path)], "events that were added")
    equal(recovered(home), {}, "a second time")


@case
def payloads_cut_by_the_dead_collector_stay_counted(home):
    path, count = home.work / "wide.annot", 20
    annot = home.start(ANNOT, "record", "--sampling=none", "-o", path, "--",
                       program("emit_kinds"), "wide", str(count))
    until(lambda: path.exists() and
          [process["misuse"][PAYLOAD_CUT] for process in home.dump(path).processes] == [count],
          "the recording's count")
    children = pathlib.Path(f"/proc/{annot.pid}/task/{annot.pid}/children")
    emitter, = map(int, children.read_text(encoding="ascii").split())
    os.kill(annot.pid, signal.SIGKILL)
    annot.wait()
    os.kill(emitter, signal.SIGINT)
    until(lambda: not pathlib.Path(f"/proc/{emitter}").exists(), "the program's end")
    home.annot("recover").ok()
    process, = home.dump(path).processes
    equal(process["misuse"][PAYLOAD_CUT], count, "structs that were cut")


@case
def a_recording_that_was_deleted_is_made_anew(home):
    run, = cut_short(home, "gone")
    run.path.unlink()
    (path, row), = recovered(home).items()
    equal(row["state"], "made", "the state")
    check(path.startswith("recovered-"), path)
    dump = home.dump(home.work / path)
    equal(row["events"], len(dump.events), "events")
    names = {event["name"] for event in dump.kind("push")}
    told = {line["name"] for line in run.lines()}
    check(names and names <= told, f"{names - told} was never emitted")
    check(f"tick {len(told) - 2}" in names, "the last tick, which nobody had fetched, is missing")


@case
def another_recording_makes_no_file_of_one_that_was_deleted(home):
    run, = cut_short(home, "gone")
    run.path.unlink()
    done = home.annot("record", "--sampling=none", "-o", home.work / "next.annot", "--",
                      "true").ok()
    check(f"{run.path} was cut short and is gone" in done.err_text, done.err_text)
    equal(list(home.work.glob("recovered-*")), [], "files that nobody asked for")
    (_, row), = recovered(home).items()
    equal(row["state"], "made", "the state, when asked for")
    check(row["events"] > 0, "what was left is empty")


@case
def a_living_recording_is_left_alone(home):
    living = Run(home, "living")
    dead, = cut_short(home, "dead")
    for _ in range(3):
        rows = recovered(home)
        equal(rows[str(living.path)]["state"], "living", "the one that is being made")
    check(f"left alone, still recording: {living.path}" in home.annot("recover").ok().err_text,
          "the living one is not told")
    dead.check_whole(home)
    living.end()
    until(lambda: living.annot.poll() is not None, "the end of the living recording")
    equal(living.annot.returncode, 0, "its status")
    dump = living.check_whole(home)
    check(not dump.session["recovered"], "the living one was recovered")


@case
def recovery_may_die_and_be_repeated(home):
    run, = cut_short(home, "often")
    for moment in ("AT_UNLINKAT", "AT_NANOSLEEP"):
        environment = dict(home.environment, LD_PRELOAD=program("libat_the_end.so"),
                           **{moment: "die"})
        equal(home.annot("recover", env=environment).status, -signal.SIGKILL, f"{moment}: the end")
    home.annot("recover").ok()
    run.check_whole(home)
    for name in ("a", "b", "c", "d"):
        run, = cut_short(home, name)
        for _ in range(5):
            process = home.start(ANNOT, "recover", stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, 0.01))
            process.kill()
            process.wait()
        home.annot("recover").ok()
        run.check_whole(home)


def unrecorded(home, run, text):
    """Every output of the recording says that the program ran on, and from when on, but no more."""
    dump = run.check_part(home)
    fact, = [fact for fact in dump.facts if fact["name"].startswith("processes: may have gone on")]
    from_ns = dump.session["begin"] + float(fact["name"].split()[-3]) * 1e9
    found = {event["name"] for event in dump.kind("push")}
    missing = [line for line in run.lines() if line["name"] not in found]
    check(all(line["begin"][0] > from_ns - 1000 for line in missing), f"{fact}, but {missing[:1]}")
    last = max(event["time"] for event in dump.events)
    check(from_ns > last - 1e9, f"{fact} and an event at {last}")
    check(fact["value"] > 0 and "complete," not in text, text)
    info, report = home.info(run.path), home.annot("report", run.path).ok().out.decode()
    for output in (info, report):
        check("gone on unrecorded from" in output, output)
        check("lost       nothing" not in output, output)
    check(", complete\n" not in info, info)
    data = json.loads(home.annot("info", "--json", run.path).ok().out)
    check(not data["complete"] and fact["name"] in data["sampling"]["lost"], data)
    for ending in (".json", ".pftrace"):
        out = run.path.with_suffix(ending)
        home.annot("export", "--force", run.path, "-o", out).ok()
        check(b"gone on unrecorded from" in out.read_bytes(), ending)
    return dump


@case
def a_program_that_goes_on_is_let_go_and_the_recording_says_so(home):
    run = Run(home, "on")
    run.kill()
    count = len(run.lines())
    until(lambda: len(run.lines()) > count + 20, "ticks without a collector")
    row, = recovered(home).values()
    equal(row["unrecorded_processes"], 1, "processes")
    dump = unrecorded(home, run, home.info(run.path))
    recovered_names = {event["name"] for event in dump.kind("push")}
    check(f"tick {count + 10}" in recovered_names, "ticks that the buffer held are missing")
    run.end()
    equal(recovered(home), {}, "a second time")
    unrecorded(home, run, home.info(run.path))


@case
def somebody_elses_recording_lets_it_go_and_says_so(home):
    run = Run(home, "on")
    run.kill()
    other = home.work / "other.annot"
    done = home.annot("record", "--sampling=none", "-o", other, "--", program("emit_ticks"),
                      "50").ok()
    check("may have gone on unrecorded" in done.err_text, done.err_text)
    unrecorded(home, run, home.info(run.path))
    home.dump(other).whole()
    run.end()
    home.annot("recover").ok()


@case
def another_collector_that_ends_shuts_the_gate_and_leaves_a_note(home):
    """The program gets no signal from a collector then; the recovery comes later."""
    run, other = Run(home, "on"), Run(home, "other")
    run.kill()
    other.end()
    other.annot.wait()
    run.end()
    home.annot("recover").ok()
    unrecorded(home, run, home.info(run.path))
    home.dump(other.path).whole()


@case
def a_recovery_that_fails_leaves_a_note_for_the_next(home):
    run = Run(home, "on")
    run.kill()
    with run.path.open("rb") as file:  # as another annot has it that records into it
        fcntl.flock(file, fcntl.LOCK_EX)
        home.annot("record", "--sampling=none", "-o", home.work / "other.annot", "--", "true").ok()
    run.end()
    home.annot("recover").ok()
    unrecorded(home, run, home.info(run.path))


@case
def another_directory_is_named(home):
    run, = cut_short(home, "named")
    environment = dict(home.environment, ANNOT_DIR=str(home.shm / "empty"))
    check("nothing to recover" in home.annot("recover", env=environment).ok().err_text, "none")
    equal(list(recovered(home, str(home.directory), env=environment)), [str(run.path)], "named")
    run.check_whole(home)
    check(not (home.shm / "empty").exists(), "a directory was made")


@case
def a_wrong_directory_is_told(home):
    home.annot("recover", home.work / "missing").complains(1, "missing", "No such file")
    home.directory.mkdir(mode=0o755)
    home.directory.chmod(0o755)
    home.annot("recover").complains(1, "0700")
    home.directory.rmdir()
    home.annot("recover", ANNOT).complains(1, "is a file", "without a name")


@case
def one_that_cannot_be_written_keeps_its_data(home):
    run, = cut_short(home, "small")
    before = set(os.listdir(home.directory))
    script = f"ulimit -f 1; exec {shlex.quote(ANNOT)} recover --json"
    done = home.run("sh", "-c", script).ok(1)
    row, = [json.loads(line) for line in done.out.decode().splitlines()]
    equal((row["state"], row["recording"]), ("failed", str(run.path)), "the recording")
    check("cannot recover" in done.err_text and "hint: the data stay" in done.err_text,
          done.err_text)
    check(before <= set(os.listdir(home.directory)), "data went although nothing was written")
    home.annot("recover").ok()
    run.check_whole(home)


@case
@needs_root
def the_second_default_directory_is_looked_into(home):
    """If /dev/shm is not writable, programs and annot meet in XDG_RUNTIME_DIR."""
    runtime = home.work / "runtime"
    runtime.mkdir(mode=0o700)
    path = home.work / "second.annot"
    annot, ticks = shlex.quote(ANNOT), shlex.quote(program("emit_ticks"))
    script = f"""
mount -t tmpfs -o ro none /dev/shm || exit 77
mount -t tmpfs none {runtime}
{annot} record --sampling=none -o {path} -- {ticks} 120000 > account &
while [ ! -s account ]; do sleep 0.02; done
read program < /proc/$!/task/$!/children
kill -KILL $!
kill -INT $program
while ! grep -q closed account; do sleep 0.02; done
ls {runtime}/annot
{annot} recover --json && {annot} recover && test ! -e {runtime}/annot/session-*
"""
    environment = {**home.environment, "XDG_RUNTIME_DIR": str(runtime)}
    del environment["ANNOT_DIR"]
    done = home.run("unshare", "-m", "sh", "-c", script, env=environment)
    if done.status == 77 or b"unshare" in done.err:
        raise Skip(f"no mounts of its own: {done.err_text}")
    done.ok()
    check(f'"state": "completed", "recording": "{path}"' in done.out.decode(), done.out)
    check("nothing to recover" in done.err_text, done.err_text)
    ticks = [json.loads(line)["name"] for line in (home.work / "account").read_text().splitlines()]
    found = [event["name"] for event in home.dump(path).kind("push")]
    equal(sorted(found), sorted(ticks), "the ranges")


if __name__ == "__main__":
    main()
