#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annot attach switches annotations of running programs on, and off again."""

import json
import os
import signal
import subprocess
import time

from asked import (Asked, Attached, asked_python, attach_case, generation, names, no_misuse,
                   traces_of, wait_until)
from harness import ANNOT, Skip, check, equal, main, needs_root, program

ONLY = "--sampling=none"


@attach_case
def events_from_the_attach_to_its_end_are_recorded(home):
    asked = Asked(home)
    asked.ask("steps 5")
    equal(traces_of(asked.pid)[0], 0, "segments before")
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 7", "steps 0")
    message = attached.stop()
    asked.ask("steps 3")
    equal(names(home, attached.path), {"step": 7}, "ranges")
    home.dump(attached.path).whole()
    equal(generation(home.directory), 0, "the gate afterwards")
    check("nothing lost" in message, message)
    asked.end()


@attach_case
def python_program_is_recorded_as_a_program_in_c(home):
    asked = asked_python(home)
    asked.ask("open outer", "steps 5", "with entered before")
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("left", "steps 7", "close", "open inner", "steps 2", "close")
    attached.stop()
    asked.ask("steps 3")
    equal(names(home, attached.path), {"step": 9, "inner": 1}, "ranges")
    no_misuse(home, attached.path)
    asked.end()


@attach_case
def ranges_that_were_open_before_are_neither_shown_nor_misused(home):
    asked = Asked(home)
    asked.ask("open a", "open b", "begin")
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("open c", "close", "close", "steps 1", "close", "end", "begin")
    attached.stop()
    equal(names(home, attached.path), {"c": 1, "step": 1, "overlapping": 1}, "ranges")
    no_misuse(home, attached.path)
    report = home.annot("report", attached.path).ok().out.decode()
    check("without" not in report, report)
    again = Attached(home, [asked.pid], ONLY)
    asked.ask("end", "close", "steps 2")
    again.stop()
    equal(names(home, again.path), {"step": 2}, "ranges of the second attach")
    no_misuse(home, again.path)
    check("without" not in home.annot("report", again.path).ok().out.decode(), "orphans")
    asked.end()


@attach_case
def dump_shows_ranges_that_are_open_since_the_attach(home):
    asked = Asked(home)
    asked.ask("open before")
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("open a", "open b")
    shown = json.loads(home.annot("dump", "--json", "-p", asked.pid).ok().out)
    equal([thread["ranges"] for thread in shown["threads"]], [["a", "b"]], "open ranges")
    attached.stop()
    asked.end()


@attach_case
def annotations_and_samples_come_together(home):
    asked = Asked(home)
    attached = Attached(home, [asked.pid], "--rate", "499")
    asked.ask("open busy", "burn 1000", "close")
    attached.stop()
    dump = home.dump(attached.path, "--samples")
    equal(names(home, attached.path), {"busy": 1}, "ranges")
    if not dump.samples:
        raise Skip(f"no samples here: {dump.sampling}")
    inside = [s for s in dump.samples if "busy" in dump.paths.get(s.get("path"), [])]
    check(len(inside) > len(dump.samples) // 2, f"{len(inside)} of {len(dump.samples)} samples")
    asked.end()


@attach_case
def processors_are_those_that_the_program_may_use(home):
    """Not those of annot: a report gives the number of used ones."""
    if len(os.sched_getaffinity(0)) < 2:
        raise Skip("there is one processor")
    asked = Asked(home)
    os.sched_setaffinity(asked.pid, {min(os.sched_getaffinity(0))})
    attached = Attached(home, [asked.pid], "--rate", "499")
    asked.ask("open busy", "burn 100", "close")
    attached.stop()
    if not home.dump(attached.path, "--samples").samples:
        raise Skip("no samples here")
    report = home.annot("report", "--json", "--table", "recording", attached.path).ok()
    facts = json.loads(report.out)["recording"]
    equal(facts["cpu_count"], 1, "processors")
    asked.end()


@attach_case
def program_that_is_silent_is_waited_for_and_that_is_said(home):
    asked = Asked(home)
    attached = Attached(home, [asked.pid], ONLY)
    time.sleep(1.5)
    message = attached.stop()
    check(f"process {asked.pid} (emit_asked): its annotations are on; waiting" in message, message)
    check("emitted no event" in message, message)
    asked.end()


@attach_case
def duration_ends_it_and_the_program_keeps_nothing(home):
    asked = Asked(home)
    asked.ask("steps 1")
    _, maps, files = traces_of(asked.pid)
    for _ in range(10):  # it has a tenth of a second, in which a busy machine may not run it
        attached = Attached(home, [asked.pid], ONLY, "--duration", "1s")
        while attached.process.poll() is None:
            asked.ask("steps 1")
        attached.wait()
        check(names(home, attached.path)["step"] > 0, "no range was recorded")
        after = traces_of(asked.pid)
        if after[0] == 0:
            break
    equal(after[0], 0, "segments afterwards")
    equal(after[2], files, "descriptors afterwards")
    check(after[1] <= maps + 2, f"{after[1]} mappings after {maps}")
    equal(home.leftovers(), set(), "files")
    asked.end()


@attach_case
def thread_that_idles_lets_go_when_it_ends(home):
    asked = Asked(home)
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("thread 3")
    attached.stop()
    equal(traces_of(asked.pid)[0], 1, "segments that the idle thread keeps")
    equal(home.leftovers(), set(), "files")
    again = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 2")
    asked.ask("join")
    again.stop()
    equal(names(home, attached.path), {"in a thread": 3}, "ranges")
    equal(names(home, again.path), {"step": 2}, "ranges")
    asked.ask("steps 1")
    wait_until(lambda: traces_of(asked.pid)[0] <= 1, "the idle thread's segment goes")
    asked.end()


@attach_case
def many_threads_that_idle_each_since_another_attach(home):
    asked = Asked(home)
    for _ in range(80):
        attached = Attached(home, [asked.pid], ONLY)
        asked.ask("thread 1")
        attached.stop()
        equal(names(home, attached.path), {"in a thread": 1}, "ranges")
    equal(traces_of(asked.pid)[0], 80, "segments that are kept")
    asked.ask("join")
    equal(traces_of(asked.pid)[0], 0, "segments when the threads have ended")
    asked.end()


@attach_case
def forking_lets_go_of_what_is_over(home):
    asked = Asked(home)
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 3")
    attached.stop()
    asked.ask("fork 0")
    equal(traces_of(asked.pid)[0], 0, "segments after the next fork")
    asked.end()


@attach_case
def last_thread_that_ends_lets_go_of_what_is_over(home):
    asked = Asked(home)
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("thread 3")
    attached.stop()
    asked.ask("join")
    equal(traces_of(asked.pid)[0], 0, "segments when the thread has ended")
    asked.end()


@attach_case
def program_that_loads_libannot_later_is_recorded_from_then_on(home):
    asked = Asked(home, "sh", "-c", 'echo ok; read line; exec "$0"', program("emit_asked"))
    doctor = home.annot("attach", "-p", asked.pid, "-o", "x.annot", "--duration", "1ms")
    if doctor.status:
        raise Skip(f"no samples here: {doctor.err_text}")
    attached = Attached(home, [asked.pid], "-v")
    asked.ask("go on", "steps 4")
    message = attached.stop()
    check("libannot is not in it; if it loads it" in message, message)
    equal(names(home, attached.path), {"step": 4}, "ranges")
    asked.end()


@attach_case
def programs_that_change_while_they_are_attached_to(home):
    """Images, processes and threads come and go all the time; then the program dies, anywhere."""
    for delay in range(12):
        asked = Asked(home)
        attaching = home.start(ANNOT, "attach", "-p", asked.pid, "-o", f"{delay}.annot", ONLY,
                               stderr=subprocess.PIPE)
        end = time.monotonic() + delay * 0.004
        while time.monotonic() < end or delay % 3 == 0 and generation(home.directory) == 0:
            asked.ask("exec", "fork 1", "thread 1", "join", "steps 1")
            if attaching.poll() is not None:
                break
        asked.kill()
        _, err = attaching.communicate(timeout=60)
        words = err.decode()
        check(attaching.returncode in (0, 1), f"annot attach ends with {attaching.returncode}")
        if attaching.returncode:
            check(any(each in words for each in ("there is none", "there is no process",
                                                  "no annotations to record")), words)
        else:
            home.dump(home.work / f"{delay}.annot").whole()
        equal(home.leftovers(), set(), f"files in round {delay}; annot said {words}")


@attach_case
def another_recording_has_the_annotations_and_the_recording_says_so(home):
    asked = Asked(home)
    first = Attached(home, [asked.pid], ONLY)
    other = Asked(home)
    second = Attached(home, [other.pid, asked.pid], ONLY)
    asked.ask("steps 2")
    other.ask("steps 3")
    second.stop()
    first.stop()
    equal(names(home, second.path), {"step": 3}, "ranges")
    told = home.info(second.path)
    check(f"Annotations of process {asked.pid} (emit_asked) went to another recording: "
          f"{first.path}" in told, told)


@attach_case
def several_programs_of_which_one_has_no_annotations(home):
    first, second = Asked(home), Asked(home)
    other = home.start("sleep", "60")
    try:
        attached = Attached(home, [first.pid, other.pid, second.pid], ONLY)
        first.ask("steps 2")
        second.ask("steps 3")
        message = attached.stop()
    finally:
        other.kill()
        other.wait()
    check(f"process {other.pid} (sleep) is left out: libannot is not in it" in message, message)
    equal(names(home, attached.path), {"step": 5}, "ranges")
    equal(len(home.dump(attached.path).processes), 2, "processes")


@attach_case
def children_come_with_it(home):
    asked = Asked(home)
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 1")
    asked.ask("fork 2", "spawn 3", "orphan 4", "thread 5", "join")
    attached.stop()
    equal(names(home, attached.path),
          {"step": 1, "in a child": 6, "in another program": 3, "in a thread": 5}, "ranges")
    no_misuse(home, attached.path)
    asked.end()


@attach_case
def child_of_a_python_program_comes_with_it(home):
    asked = asked_python(home)
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("fork 2")
    attached.stop()
    equal(names(home, attached.path), {"step": 2}, "ranges")


@attach_case
def program_that_runs_another_one_in_its_place_stays_attached(home):
    asked = Asked(home)
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("open never closed", "steps 1", "exec", "steps 2")
    attached.stop()
    equal(names(home, attached.path), {"never closed": 1, "step": 3}, "ranges")
    dump = home.dump(attached.path).whole()
    equal(len(dump.processes), 2, "programs")
    asked.ask("steps 1")
    asked.end()


@attach_case
def program_that_is_killed_loses_nothing(home):
    asked = Asked(home)
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("open a", "steps 9")
    asked.kill()
    message = attached.wait()
    check("nothing lost" in message, message)
    equal(names(home, attached.path), {"a": 1, "step": 9}, "ranges")


@attach_case
def killed_annot_leaves_a_program_that_goes_on_and_a_recording_to_complete(home):
    asked = Asked(home)
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 10")
    attached.kill()
    asked.ask("steps 20")
    done = home.annot("recover").ok()
    equal(names(home, attached.path), {"step": 30}, f"ranges; annot recover said {done.err}")
    equal(home.leftovers(), set(), "files")
    equal(generation(home.directory), 0, "the gate")
    asked.ask("steps 1")
    asked.end()


@attach_case
def next_attach_completes_what_a_killed_one_left(home):
    asked = Asked(home)
    attached = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 10")
    attached.kill()
    asked.ask("steps 20")
    again = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 5")
    again.stop()
    equal(names(home, attached.path), {"step": 30}, "ranges of the first")
    equal(names(home, again.path), {"step": 5}, "ranges of the second")
    asked.end()


@attach_case
def second_attach_is_refused_the_annotations_and_says_who_has_them(home):
    asked = Asked(home)
    first = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 1")
    home.annot("attach", "-p", asked.pid, "-o", "second.annot", ONLY).ok(1)
    check(not (home.work / "second.annot").exists(), "a recording of nothing is left")
    second = home.annot("attach", "-p", asked.pid, "-o", "second.annot", "--duration", "300ms")
    check(f"go to another recording already: {first.path}" in second.err_text, second.err_text)
    asked.ask("steps 2")
    first.stop()
    equal(names(home, first.path), {"step": 3}, "ranges")
    third = Attached(home, [asked.pid], ONLY)
    asked.ask("steps 4")
    third.stop()
    equal(names(home, third.path), {"step": 4}, "ranges")
    asked.end()


@attach_case
def of_two_attaches_at_once_one_has_the_annotations(home):
    asked = Asked(home)
    both = [home.start(ANNOT, "attach", "-p", asked.pid, "-o", name, ONLY, stderr=subprocess.PIPE)
            for name in ("1.annot", "2.annot")]
    ends = []
    wait_until(lambda: any(p.poll() is not None for p in both), "one of them is refused")
    wait_until(lambda: generation(home.directory) != 0, "the other opens the gate")
    asked.ask("steps 3")
    for process in both:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        ends.append((process.returncode, b"another recording" in err))
    equal(sorted(ends), [(0, False), (1, True)], "ends")
    left = list(home.work.glob("?.annot"))
    equal(len(left), 1, "recordings")
    equal(names(home, left[0]), {"step": 3}, "ranges")
    asked.end()


@attach_case
def program_that_annot_record_records_stays_there(home):
    path = home.work / "recorded.annot"
    record = Asked(home, ANNOT, "record", ONLY, "-o", path, "--", program("emit_asked"))
    pid = int(subprocess.run(["pgrep", "-P", str(record.pid)], capture_output=True,
                             check=True).stdout)
    for _ in range(2):  # before its first event, and after it
        done = home.annot("attach", "-p", pid, "-o", "a.annot", ONLY).ok(1)
        check(f"go to another recording already: {path}" in done.err_text, done.err_text)
        record.ask("steps 2")
    record.end()
    equal(names(home, path), {"step": 4}, "ranges")
    home.left = set()


@attach_case
def program_that_annot_record_left_can_be_attached_to(home):
    path = home.work / "recorded.annot"
    record = Asked(home, ANNOT, "record", ONLY, "--duration", "200ms", "-o", path, "--",
                   program("emit_asked"))
    pid = int(subprocess.run(["pgrep", "-P", str(record.pid)], capture_output=True,
                             check=True).stdout)
    record.ask("steps 1")
    wait_until(lambda: generation(home.directory) == 0, "annot record ends its recording")
    attached = Attached(home, [pid], ONLY)
    record.ask("steps 6")
    attached.stop()
    record.end()
    equal(names(home, attached.path), {"step": 6}, "ranges")
    home.left = set()


@attach_case
def filter_of_an_attach_holds_and_can_be_changed(home):
    asked = Asked(home)
    attached = Attached(home, [asked.pid], ONLY, "--disable", "default")
    asked.ask("steps 3", "open held back")
    home.annot("set", "--reset").ok()
    for _ in range(300):  # annot obeys at its next step
        asked.ask("steps 1")
        time.sleep(0.01)
    asked.ask("close")
    attached.stop()
    ranges = names(home, attached.path)
    check("held back" not in ranges and 0 < ranges.get("step", 0) <= 300, ranges)
    no_misuse(home, attached.path)
    asked.end()


@attach_case
def flight_recorder_of_an_attach_keeps_the_last(home):
    asked = Asked(home)
    attached = Attached(home, [asked.pid], ONLY, "--policy", "overwrite", "--pool-size", "256K")
    asked.ask("steps 100000", "open last of all")
    home.annot("snapshot", "-o", "snapshot.annot").ok()
    found = names(home, home.work / "snapshot.annot")
    check(0 < found.get("step", 0) < 100000 and "last of all" in found, found)
    asked.ask("close")
    attached.stop()
    asked.end()


@attach_case
def bystanders_stay_off(home):
    asked, bystander = Asked(home), Asked(home)
    attached = Attached(home, [asked.pid], ONLY)
    bystander.ask("steps 5", "fork 5")
    asked.ask("steps 1")
    attached.stop()
    equal(names(home, attached.path), {"step": 1}, "ranges")


@attach_case
def ls_tells_who_could_be_attached_to_and_who_is(home):
    asked, other = Asked(home), asked_python(home)

    def listed():
        rows = [json.loads(line) for line in home.annot("ls", "--json").ok().out.splitlines()]
        return {row["pid"]: row for row in rows}

    before = listed()
    for one in (asked, other):
        equal(before[one.pid]["directory"], str(home.directory), "directory")
        equal(before[one.pid]["recording"], None, "recording")
        equal(before[one.pid]["attachable"], True, "attachable")
    equal(before[asked.pid]["python"], None, "Python of a program in C")
    check(before[other.pid]["python"].startswith("3."), before[other.pid])
    attached = Attached(home, [asked.pid], ONLY)
    during = listed()
    equal(during[asked.pid]["recording"], str(attached.path), "recording")
    equal(during[asked.pid]["attachable"], False, "attachable")
    equal(during[other.pid]["recording"], None, "recording of the other")
    text = home.annot("ls").ok().out.decode()
    check(str(attached.path) in text and "emit_asked" in text, text)
    attached.stop()
    equal(listed()[asked.pid]["recording"], None, "recording afterwards")


def attach_many(home, count):
    """Resources of the program, the directory and annot after so many attaches."""
    asked = Asked(home)
    asked.ask("thread 1", "steps 1")

    def once():
        attached = Attached(home, [asked.pid], ONLY, "--force")
        asked.ask("steps 1", "fork 1")
        attached.process.send_signal(signal.SIGINT)
        while attached.process.poll() is None:
            asked.ask("steps 1")
        attached.wait()
        asked.ask("steps 1")
        attached.path.unlink()
        home.asked.remove(attached)

    def memory():
        with open(f"/proc/{asked.pid}/status", encoding="ascii") as file:
            rows = dict(line.split(":", 1) for line in file)
        return {key: int(rows[key].split()[0])
                for key in ("VmSize", "VmData", "RssAnon", "RssShmem")}

    for _ in range(20):
        once()
    asked.ask("fork 0")  # where the machine was too busy for it to leave in time
    before, had = memory(), traces_of(asked.pid)
    for _ in range(count):
        once()
    asked.ask("fork 0")
    after, has = memory(), traces_of(asked.pid)
    print(f"{count} attaches: mappings {had[1]} -> {has[1]}, descriptors {had[2]} -> {has[2]}, "
          f"KiB {before} -> {after}")
    equal(has, had, "segments, mappings, descriptors")
    for key, value in after.items():
        check(value <= before[key] + 64, f"{key} of the program: {before[key]} -> {value} KiB")
    equal(home.leftovers(), set(), "files")
    asked.end()


@attach_case
def hundreds_of_attaches_leave_nothing_behind(home):
    attach_many(home, int(os.environ.get("ANNOT_TEST_ATTACHES", "300")))


if __name__ == "__main__":
    main()
