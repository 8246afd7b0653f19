# SPDX-License-Identifier: MIT
"""Filters of a recording: the emitted events, the wanted ones, the recorded ones.

The program under test executes commands; "annot set" returns when the programs have the new filter,
so it must apply to later events."""

import collections
import json
import os
import signal
import subprocess
import time

from asked import generation
from harness import ANNOT, case, check, equal, main, program

PLACES = ["default", "default/plain", "io", "io:5", "io/disk", "io/noise", "db", "db:3"]


class Steps:
    """`annot record` with the program for commands."""

    def __init__(self, home, *options):
        self.home, self.path = home, home.work / "steps.annot"
        self.process = home.start(ANNOT, "record", "-o", self.path, *options, "--",
                                  program("emit_filter"), "steps", stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def say(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        equal(self.process.stdout.readline(), "ok\n", f"the answer to {words}")

    def set(self, *options):
        return self.home.annot("set", *options).ok().out.decode()

    def finish(self):
        _, err = self.process.communicate(timeout=60)
        equal(self.process.returncode, 0, f"the end of annot: {err}")
        return self.home.dump(self.path).whole()


def places(dump, name):
    """Where the marks of a round came from."""
    return [event["name"].split(" ", 1)[1] for event in dump.kind("mark")
            if event["name"].split(" ")[0] == name]


def recorded(home, *options):
    result = home.record(program("emit_filter"), "round", "a", options=["--sampling=none",
                                                                        *options])
    result.ok()
    return places(home.dump(result.path).whole(), "a")


@case
def without_a_filter_all_is_recorded(home):
    equal(recorded(home), PLACES, "what arrived")


@case
def enabled_domains_come_alone(home):
    equal(recorded(home, "--enable", "io"), ["io", "io:5", "io/disk", "io/noise"], "what arrived")


@case
def disabled_ones_are_left_out(home):
    equal(recorded(home, "--disable", "io"),
          ["default", "default/plain", "db", "db:3"], "what arrived")


@case
def categories_and_patterns_and_levels(home):
    equal(recorded(home, "--enable=*/disk,db:2", "--enable", "default/*"),
          ["default/plain", "io/disk", "db"], "what arrived")
    equal(recorded(home, "--enable", "*:4", "--disable", "*/n*"),
          ["default", "default/plain", "io", "io/disk", "db", "db:3"], "what arrived")


@case
def the_order_of_the_command_line_counts(home):
    equal(recorded(home, "--disable", "io", "--enable", "io/disk", "--disable", "db"),
          ["default", "default/plain", "io/disk"], "what arrived")
    equal(recorded(home, "--enable", "io", "--disable", "io", "--enable", "db"),
          ["db", "db:3"], "what arrived")


@case
def rules_change_while_the_program_runs(home):
    steps = Steps(home, "--sampling=none", "--enable", "io")
    steps.say("round", "first")
    steps.set("--disable", "io", "--enable", "db:0")
    steps.say("round", "second")
    steps.say("new", "later")
    steps.set("--enable", "later*")
    steps.say("new", "later-still")
    steps.say("new", "not-wanted")
    told = steps.set("--reset")
    check("everything is recorded" in told, told)
    steps.say("round", "third")
    steps.say("new", "anything")
    dump = steps.finish()
    equal(places(dump, "first"), ["io", "io:5", "io/disk", "io/noise"], "the first round")
    equal(places(dump, "second"), ["db"], "the second round")
    equal(places(dump, "third"), PLACES, "the third round")
    equal([event["name"] for event in dump.kind("mark") if " " not in event["name"]],
          ["later-still", "anything"], "marks of names that came late")
    equal(dump.filters, ["+io", "-* -io +db:0", "-* -io +db:0 +later*", ""], "the filters")
    facts = json.loads(home.export(steps.path, ".json").read_text())["otherData"]
    equal([facts[name] for name in facts if name.startswith("filter")],
          ["+io", "-* -io +db:0", "-* -io +db:0 +later*", "none"], "filters told by the export")
    info = home.info(steps.path)
    check("filter     +io\n" in info, info)
    check("filter     none: everything is recorded (from " in info, info)


@case
def forked_children_obey(home):
    steps = Steps(home, "--sampling=none")
    steps.say("round", "parent")
    steps.say("fork", "before")
    steps.set("--enable", "db")
    steps.say("fork", "after")
    dump = steps.finish()
    equal(len(dump.processes), 3, "processes")
    equal(places(dump, "before"), PLACES, "the first child")
    equal(places(dump, "after"), ["db", "db:3"], "the second child")


@case
def a_program_that_joins_later_obeys(home):
    emit = program("emit_filter")
    result = home.record("sh", "-c", f"'{emit}' round one && '{ANNOT}' set --disable io && "
                         f"'{emit}' round two", options=["--sampling=none"])
    result.ok()
    dump = home.dump(result.path).whole()
    equal(places(dump, "one"), PLACES, "the first program")
    equal(places(dump, "two"), ["default", "default/plain", "db", "db:3"], "the second program")


@case
def ranges_that_are_open_meanwhile_end(home):
    steps = Steps(home, "--sampling=none")
    steps.say("open")
    steps.set("--disable", "*")
    steps.say("close")
    steps.say("round", "held")
    steps.say("open")
    steps.set("--reset")
    steps.say("close")
    steps.say("round", "seen")
    dump = steps.finish()
    equal(places(dump, "held"), [], "while nothing was wanted")
    equal(places(dump, "seen"), PLACES, "afterwards")
    kinds = collections.Counter(event["kind"] for event in dump.events)
    equal([kinds[kind] for kind in ("push", "pop", "start", "end")], [2, 2, 1, 1], "the ranges")
    equal((kinds["track_begin"], kinds["track_hidden"], kinds["track_end"]), (2, 2, 4),
          "begins, hidden begins and ends on the track")
    equal([sum(process["misuse"]) for process in dump.processes], [0], "misuse")
    shown = json.loads(home.export(steps.path, ".json").read_text())["traceEvents"]
    names = collections.Counter(event["name"] for event in shown if event["ph"] in "Xb")
    equal((names["outer"], names["in io"], names["on the track"]), (1, 3, 1), "what is shown")


@case
def a_range_on_a_track_that_is_held_back_closes_no_other(home):
    steps = Steps(home, "--sampling=none", "--disable", "io")
    steps.say("open")
    steps.say("close")
    dump = steps.finish()
    equal([event["kind"] for event in dump.events if event["kind"].startswith("track")],
          ["track_begin", "track_hidden", "track_end", "track_end"], "events on the track")
    shown = json.loads(home.export(steps.path, ".json").read_text())["traceEvents"]
    equal([event["name"] for event in shown if event["ph"] in "Xb"], ["outer", "on the track"],
          "what is shown")


@case
def of_more_names_than_bits_the_wanted_ones_all_arrive(home):
    result = home.record(program("emit_filter"), "many",
                         options=["--sampling=none", "--enable", "wanted*"]).ok()
    numbers = {name: int(number) for name, number in
               (line.split() for line in result.out.decode().splitlines())}
    bits = {number % 64 for name, number in numbers.items() if name.startswith("wanted")}
    dump = home.dump(result.path).whole()
    arrived = {event["name"] for event in dump.kind("mark")}
    equal({name for name in numbers if name.startswith("wanted")} - arrived, set(), "missing")
    equal(arrived - {name for name, number in numbers.items() if number % 64 in bits}, set(),
          "what came though it shares no bit with a wanted one")
    check(len(bits) < 64, "every bit is wanted: the test shows nothing")


def stack_of(events):
    """Checks that pushes and pops of one thread pair, each pop at its recorded depth."""
    depth, deepest = 0, 0
    for event in events:
        depth += {"push": 1, "pop": -1}.get(event["kind"], 0)
        check(depth >= 0, "a pop without a push")
        deepest = max(deepest, depth)
    equal(depth, 0, "ranges left open")
    return deepest


@case
def ranges_stay_balanced_while_the_filter_flips(home):
    path = home.work / "flips.annot"
    process = home.start(ANNOT, "record", "--sampling=none", "--pool-size", "64M", "-o", path, "--",
                         program("emit_filter"), "nest", "4", stderr=subprocess.PIPE)
    while home.annot("set").status != 0:
        time.sleep(0.02)
    flips, end = 0, time.monotonic() + 3
    while time.monotonic() < end:
        change = ["--disable", "io"], ["--reset"], ["--disable", "*"], ["--enable", "io/*"]
        done = home.annot("set", *change[flips % 4])
        if done.status != 0:
            break
        flips += 1
    _, err = process.communicate(timeout=60)
    equal(process.returncode, 0, f"the end of annot: {err}")
    check(flips > 0, f"the filter never changed: {done.err}")
    dump = home.dump(path).whole()
    threads = collections.defaultdict(list)
    for event in dump.events:
        threads[event["thread"]].append(event)
    check(max(map(stack_of, threads.values())) > 32, "never deep")
    kinds = collections.Counter(event["kind"] for event in dump.events)
    equal(kinds["push"], kinds["pop"], "pushes and pops")
    starts = {event["id"] for event in dump.kind("start")}
    equal(starts, {event["id"] for event in dump.kind("end")}, "starts and ends")
    equal([sum(process["misuse"]) for process in dump.processes], [0], "misuse")
    check(kinds["push"] > 0, "nothing was recorded")


@case
def who_records_is_found_by_each_name(home):
    steps = Steps(home, "--sampling=none")
    steps.say("round", "a")
    told = home.annot("set").ok().out.decode()
    session = told.split()[1]
    children = subprocess.run(["pgrep", "-P", str(steps.process.pid)], capture_output=True,
                              check=True, text=True).stdout.split()
    for name in ([session], [steps.path], ["-p", steps.process.pid], ["-p", children[0]]):
        equal(home.annot("set", *name).ok().out.decode(), told, f"what is told of {name}")
    home.annot("set", "-p", "1", "--reset").complains(1, "process 1", "takes part in no recording")
    other = home.start(ANNOT, "record", "--sampling=none", "-o", "other.annot", "--", "sleep", "60")
    while home.annot("set").out.count(b"session") < 2:
        time.sleep(0.02)
    home.annot("set", "--enable", "io").complains(1, "2 recordings")
    home.annot("set", session, "--enable", "io").ok()
    check(b"everything is recorded" in home.annot("set", "-p", other.pid).ok().out, "the other one")
    os.killpg(other.pid, signal.SIGINT)
    other.wait(60)
    equal(steps.finish().filters, ["+io"], "the filters")


@case
def attached_programs_obey(home):
    home.left = {"wake"}
    target = home.start(program("emit_filter"), "steps", stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, text=True)

    def say(*words):
        target.stdin.write(" ".join(words) + "\n")
        target.stdin.flush()
        equal(target.stdout.readline(), "ok\n", f"the answer to {words}")

    say("round", "before")
    attached = home.start(ANNOT, "attach", "-p", target.pid, "--sampling", "none", "--enable", "io",
                          "-o", "attached.annot", stderr=subprocess.PIPE)
    while generation(home.directory) == 0:  # until the file that makes it join exists
        equal(attached.poll(), None, "status of annot attach")
        time.sleep(0.02)
    say("round", "first")
    home.annot("set", "-p", target.pid, "--reset", "--disable", "io").ok()
    say("round", "second")
    attached.send_signal(signal.SIGINT)
    _, err = attached.communicate(timeout=60)
    equal(attached.returncode, 0, f"the end of annot: {err}")
    say("round", "after")
    target.stdin.close()
    equal(target.wait(60), 0, "status of the program")
    dump = home.dump(home.work / "attached.annot").whole()
    equal(places(dump, "first"), ["io", "io:5", "io/disk", "io/noise"], "the first round")
    equal(places(dump, "second"), ["default", "default/plain", "db", "db:3"], "the second round")
    equal(len(dump.kind("mark")), 8, "marks")
    equal(dump.filters, ["+io", "-io"], "the filters")


@case
def a_stopped_annot_is_told_of(home):
    steps = Steps(home, "--sampling=none")
    steps.say("round", "a")
    steps.process.send_signal(signal.SIGSTOP)
    home.annot("set", "--enable", "db").complains(1, "do not have the new rules yet", "stopped")
    steps.process.send_signal(signal.SIGCONT)
    steps.set("--enable", "db")
    steps.say("round", "b")
    equal(places(steps.finish(), "b"), ["db", "db:3"], "after it went on")


if __name__ == "__main__":
    main()
