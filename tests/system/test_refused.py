#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that cannot take part (no descriptor, no right to write files, another user): each is
named with its reason, and every event that it lost is in one recording, once."""

import json
import os
import pathlib
import re
import signal
import subprocess

from asked import Asked, Attached, attach_case, wait_until
from harness import ANNOT, Skip, check, equal, main, needs_root, program

ONLY = "--sampling=none"
REFUSED = 9  # place of the cause in the counts
NO_FILES = "size 4096"  # fewer bytes than a segment has
NOBODY = 65534


class Recorded(Asked):
    """A program for commands, below an annot record; `annot` is that one's Popen."""

    def __init__(self, home, *before, options=()):
        self.path = home.work / "recorded.annot"
        super().__init__(home, ANNOT, "record", ONLY, *options, "-o", self.path, "--", *before,
                         program("emit_asked"), stderr=subprocess.PIPE)

    def end(self):
        self.process.stdin.close()
        equal(self.process.wait(60), 0, "status of annot record")


def lost(dump):
    """Events of refused processes: those that are named, and the others."""
    named = sum(process["lost"][REFUSED] for process in dump.processes)
    unnamed = sum(fact["value"] for fact in dump.facts if "refused processes" in fact["name"])
    return named, unnamed


def reasons(dump):
    return sorted(refusal["reason"] for refusal in dump.refusals)


def check_lost(home, path, count):
    """Exactly these events are lost, and every output of losses shows them."""
    dump = home.dump(path)
    equal(lost(dump), (count, 0), "events that refused processes lost")
    equal(dump.lost(), count, "events that were lost at all")
    info = home.info(path)
    check(f"{count} events" in info.replace(",", "") or f"{count} records" in info.replace(",", ""),
          info)
    return dump


@attach_case
def a_second_attach_counts_its_own_losses_alone(home):
    for way, reason in (("files 3", "No file descriptors"), (NO_FILES, "file size limit")):
        asked = Asked(home)
        asked.ask(way)
        for steps in (100, 40):
            attached = Attached(home, [asked.pid], ONLY)
            asked.ask(f"steps {steps}")
            attached.stop()
            dump = check_lost(home, attached.path, 2 * steps)
            equal([refusal["pid"] for refusal in dump.refusals], [asked.pid], "who was refused")
            check(way == "files 3" or reason in reasons(dump)[0], reasons(dump))
        asked.end()


@attach_case
def a_program_that_takes_part_at_last_lost_what_came_before(home):
    asked = Asked(home)
    asked.ask("files 3")
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 100", "files -1")
    events = [0]

    def takes_part():
        asked.ask("steps 1")
        events[0] += 2
        return any(".segment" in name for name in os.listdir(home.directory))

    wait_until(takes_part, "the program has a segment")
    asked.ask("steps 10")
    attached.stop()
    dump = home.dump(attached.path)
    recorded = len(dump.kind("push")) + len(dump.kind("pop"))
    equal(lost(dump)[0] + recorded, 200 + events[0] + 20, "events that are there or counted")
    check(lost(dump)[0] >= 200 and recorded >= 20, dump.processes)
    equal(len(dump.processes), 1, "processes")
    asked.end()


@attach_case
def what_a_recording_lost_is_not_told_to_the_next(home):
    """In between the program gets descriptors: its segment is the second recording's."""
    asked = Asked(home)
    asked.ask("files 3")
    first = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 100")
    first.stop()
    check_lost(home, first.path, 200)
    asked.ask("files -1")
    second = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 10")
    second.stop()
    dump = home.dump(second.path).whole()
    equal(len(dump.kind("push")), 10, "ranges of the second")
    equal(dump.refusals, [], "refusals of the second")
    asked.end()


@attach_case
def an_old_reason_is_not_told_again(home):
    asked = Asked(home)
    asked.ask(NO_FILES)
    first = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 1")
    first.stop()
    asked.ask("size -1", "files 6")  # enough for the directory, but not for files in it
    second = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 1")
    second.stop()
    check("file size limit" in reasons(home.dump(first.path))[0], "the first reason")
    equal(reasons(home.dump(second.path)), ["a system call failed: Too many open files"],
          "the second reason")
    asked.end()


@attach_case
def losses_before_an_exec_are_counted(home):
    recorded = Recorded(home)
    recorded.ask(NO_FILES, "steps 100", "exec", "steps 30", "exec", "steps 7")
    recorded.end()
    check_lost(home, recorded.path, 2 * 137)


@attach_case
def losses_of_the_dead_wait_for_a_collector_that_is_busy(home):
    """Others begin and end meanwhile, and many more processes are refused than can be named."""
    recorded = Recorded(home)
    recorded.ask(NO_FILES)
    os.kill(recorded.pid, signal.SIGSTOP)
    for _ in range(3):
        recorded.ask(*["fork 5"] * 60)
        other = home.work / "other.annot"
        home.annot("record", ONLY, "--force", "-o", other, "--", "true").ok()
    os.kill(recorded.pid, signal.SIGCONT)
    recorded.end()
    dump = home.dump(recorded.path)
    named, unnamed = lost(dump)
    equal(named + unnamed, 3 * 60 * 10, f"events of refused processes, {unnamed} without a name")
    check(named >= 100 * 10, f"{named} of processes that have a name")


@attach_case
def slots_are_free_again_when_the_recording_has_ended(home):
    Asked(home)  # has the page mapped, so that it stays
    for _ in range(2):
        recorded = Recorded(home)
        recorded.ask(NO_FILES, *["fork 5"] * 100)
        recorded.end()
        dump = home.dump(recorded.path)
        equal(lost(dump), (1000, 0), "events with and without a name")
        recorded.path.unlink()


@attach_case
def a_recovery_counts_what_was_refused(home):
    recorded = Recorded(home)
    recorded.ask(NO_FILES, "steps 100", "fork 10")
    wait_until(lambda: home.dump(recorded.path).refusals, "the recording names it")
    children = pathlib.Path(f"/proc/{recorded.pid}/task/{recorded.pid}/children")
    inner, = map(int, children.read_text().split())
    os.kill(recorded.pid, signal.SIGKILL)
    recorded.process.wait()
    recorded.ask("steps 50")
    recorded.process.stdin.close()
    wait_until(lambda: not pathlib.Path(f"/proc/{inner}").exists() or
               pathlib.Path(f"/proc/{inner}/stat").read_text().split()[2] == "Z", "its end")
    done = home.annot("recover", "--json").ok()
    row, = [json.loads(line) for line in done.out.decode().splitlines()]
    equal((row["state"], row["lost"]), ("completed", 2 * 160), "what the recovery tells")
    dump = check_lost(home, recorded.path, 2 * 160)
    equal(len({(refusal["pid"], refusal["reason"]) for refusal in dump.refusals}),
          len(dump.refusals), "refusals that are told once")


@attach_case
@needs_root
def a_process_of_another_pid_namespace_is_itself(home):
    """Its pid there is 1, as that of another one here."""
    if subprocess.run(["unshare", "--pid", "--fork", "true"], check=False).returncode:
        raise Skip("no right to make a pid namespace")
    recorded = Recorded(home, "unshare", "--pid", "--fork")
    child = pathlib.Path(f"/proc/{recorded.pid}/task/{recorded.pid}/children").read_text().split()
    inside = pathlib.Path(f"/proc/{child[0]}/task/{child[0]}/children").read_text().split()
    recorded.ask(NO_FILES, "steps 100", "fork 10")
    wait_until(lambda: home.dump(recorded.path).refusals, "the recording names it")
    recorded.end()
    dump = check_lost(home, recorded.path, 220)
    here = [process for process in dump.processes if process["pid"] == int(inside[0])]
    equal(len(here), 1, f"entries of {inside[0]} among {dump.processes}")
    equal(here[0]["lost"][REFUSED], 200, "what it lost")
    check(here[0]["end"] > 0, f"its end is not known: {here}")
    check(int(inside[0]) in [refusal["pid"] for refusal in dump.refusals], dump.refusals)


@attach_case
@needs_root
def a_child_that_changed_its_user_is_counted(home):
    os.chmod(home.work, 0o755)
    recorded = Recorded(home)
    recorded.ask("steps 10", f"user {NOBODY}", "fork 20")
    recorded.end()
    dump = check_lost(home, recorded.path, 40)
    equal(len(dump.kind("push")), 10, "ranges")
    text = reasons(dump)
    check(len(text) > 0 and all("under another uid" in reason for reason in text), text)


@attach_case
def a_program_that_goes_on_after_a_recovery_is_told(home):
    recorded = Recorded(home)
    recorded.ask(NO_FILES, "steps 100")
    os.kill(recorded.pid, signal.SIGKILL)
    recorded.process.wait()
    row, = [json.loads(line) for line in
            home.annot("recover", "--json").ok().out.decode().splitlines()]
    equal((row["lost"], row["unrecorded_processes"]), (200, 1), "what the recovery tells")
    check("gone on unrecorded from" in home.info(recorded.path), home.info(recorded.path))
    recorded.ask("steps 5")
    recorded.process.stdin.close()


def mounts(home, script):
    done = home.run("unshare", "-m", "sh", "-e", "-c", script)
    if b"unshare" in done.err or b"mount:" in done.err:
        raise Skip(f"no mounts of its own: {done.err_text}")
    return done.ok()


@attach_case
@needs_root
def a_recording_goes_on_where_there_is_no_room_for_slots(home):
    """Four pages: one for the wake page, two for the session, one is left."""
    home.directory.mkdir(mode=0o700)
    path = home.work / "full.annot"
    mounts(home, f"""mount -t tmpfs -o mode=700,size=16k none {home.directory}
{ANNOT} record {ONLY} -o {path} -- true""")
    info = home.info(path)
    check("no room" in info and "cannot say" in info, info)


@attach_case
@needs_root
def a_full_disk_changes_no_clock(home):
    """The end is not written, but the summary has the time for which the program was watched."""
    done = mounts(home, f"""mkdir full
mount -t tmpfs -o size=16k none full
echo 'steps 300000' > steps
{ANNOT} record {ONLY} -o full/x.annot -- {program("emit_asked")} < steps > answers 2> said
cat said""")
    said = done.out.decode()
    check("No space left" in said and "not all of it could be written" in said, said)
    length = re.search(r" in ([\d.]+) (ns|us|ms|s)\b", said)
    check(length and float(length[1]) < 1000, said)
    for left in home.directory.iterdir():  # for annot recover
        left.unlink()


@attach_case
@needs_root
def who_comes_late_erases_no_counts(home):
    """On ramfs pages cannot be reserved; they are written. A program that was held up in the middle
    of that comes after others have counted."""
    home.directory.mkdir(mode=0o700)
    path, asked = home.work / "late.annot", program("emit_asked")
    (home.work / "script").write_text(f"""
truncate -s 4096 {home.directory}/wake
LD_PRELOAD={program("libstop_reserving.so")} {asked} < /dev/null > late &
late=$!
while ! grep -q '^State:.T' /proc/$late/status; do sleep 0.01; done
printf '{NO_FILES}\nsteps 100\n' | {asked} > answers
kill -CONT $late
wait $late
""")
    mounts(home, f"""mount -t ramfs -o mode=700 none {home.directory}
{ANNOT} record {ONLY} -o {path} -- sh script""")
    equal((home.work / "late").read_text(), "ok\n", "answers of the late one")
    check_lost(home, path, 200)


if __name__ == "__main__":
    main()
