# SPDX-License-Identifier: MIT
"""Recordings of one range alone (--capture-range): the program reports the events inside, process
by process and thread by thread; exactly these arrive."""

import collections
import json

from harness import Skip, case, check, equal, main, program

KINDS = {"mark": 1, "counter": 1, "push": 1, "start": 1}


def truth(out):
    """(process, thread) -> (times outside, times inside)."""
    rows = [line.split() for line in out.decode().splitlines()]
    return {(row[0], row[1]): (int(row[2]), int(row[3])) for row in rows}


def arrived(dump):
    """(side, process, thread) -> kind -> count."""
    counts = collections.defaultdict(collections.Counter)
    for event in dump.kind(*KINDS):
        words = (event.get("name") or "").split(" ")
        if words[0] in ("in", "out"):
            counts[tuple(words)][event["kind"]] += 1
    return counts


def check_inside(home, option):
    result = home.record(program("emit_capture"),
                         options=["--sampling=none", f"--capture-range={option}"])
    result.ok()
    dump = home.dump(result.path).whole()
    counts, expected = arrived(dump), truth(result.out)
    equal(len(expected), 9, "processes times threads")
    equal([key for key in counts if key[0] == "out"], [], "what arrived from outside")
    for (process, thread), (_, inside) in expected.items():
        equal(dict(counts["in", process, thread]), {kind: inside for kind in KINDS},
              f"what arrived from inside in thread {thread} of {process}")
    return result, dump


@case
def exactly_what_lies_inside_arrives(home):
    result, dump = check_inside(home, "step")
    steps = [event for event in dump.kind("push") if event["name"] == "step"]
    equal(len(steps), 3 * 60 + 1, "steps")
    equal([event for event in dump.kind("push") if event["name"] == "around"], [],
          "ranges around them")
    info = home.info(result.path)
    check("capture-range=step\n" in info, info)


@case
def domain_and_patterns_select(home):
    result, _ = check_inside(home, "st?p@li*")
    check("capture-range=st?p@li*\n" in home.info(result.path), "what info says")


@case
def other_domain_has_no_such_range(home):
    result = home.record(program("emit_capture"),
                         options=["--sampling=none", "--capture-range=step@other"])
    result.ok()
    equal(home.dump(result.path).whole().kind("mark"), [], "what arrived")


@case
def filters_apply_inside_as_well(home):
    result = home.record(program("emit_capture"),
                         options=["--sampling=none", "--capture-range=step", "--disable=default"])
    result.ok()
    dump = home.dump(result.path).whole()
    equal({event["name"] for event in dump.kind("push")}, {"step"}, "what arrived")
    check("capture-range=step -default\n" in home.info(result.path), "what info says")


@case
def what_names_no_range_is_refused(home):
    for word in ("", "@lib", "step@"):
        result = home.annot("record", f"--capture-range={word}", "true")
        result.complains(125, "capture-range", "names no range")
    home.annot("record", "--capture-range=" + 300 * "x", "true").complains(125, "251 bytes")


def burnt(home, option):
    done = home.record(program("emit_capture"), "burn", options=["--rate=499", *option])
    done.ok()
    dump = home.dump(done.path)
    if table(home, done.path, "select count(*) as n from samples where cpu_ns > 0")[0]["n"] == 0:
        raise Skip("there are no samples here")
    burnt_ns, waited_ns, inside_ns = map(int, done.out.split())
    return done.path, dump, burnt_ns, waited_ns, inside_ns


def table(home, path, statement):
    out = home.annot("query", "--json", path, statement).ok().out.decode()
    return [json.loads(line) for line in out.splitlines()]


@case
def samples_and_waits_are_those_inside(home):
    path, dump, burnt_ns, waited_ns, inside_ns = burnt(home, ["--capture-range=step"])
    steps = [event for event in dump.kind("push") if event["name"] == "step"]
    equal(len(steps), 12, "steps")
    cpu = table(home, path, "select sum(cpu_ns) as ns from samples")[0]["ns"]
    check(0.7 * burnt_ns < cpu < 1.3 * burnt_ns, f"{cpu} of {burnt_ns} ns of CPU time inside")
    away = {row["tid"]: row["ns"] for row in table(
        home, path, "select tid, sum(blocked_ns) as ns from waits where reason != 'preempted' "
        "group by tid")}
    main_ns, other_ns = (away[tid] for tid in sorted(away))
    check(main_ns <= 1.05 * waited_ns, f"{main_ns} of {waited_ns} ns of waits inside")
    check(main_ns >= 0.9 * 12 * 25e6, f"{main_ns} of {waited_ns} ns of waits inside")
    if other_ns:  # one wait over all steps and the gaps between them: only the part inside counts
        check(0.9 * inside_ns < other_ns < 1.02 * inside_ns, f"{other_ns} of {inside_ns} ns")
    report = " ".join(home.annot("report", path).ok().out.decode().split())
    check("outside of the range" in report, report)


@case
def without_a_range_all_samples_are_there(home):
    path, _, burnt_ns, _, _ = burnt(home, [])
    cpu = table(home, path, "select sum(cpu_ns) as ns from samples")[0]["ns"]
    check(1.6 * burnt_ns < cpu < 2.6 * burnt_ns, f"{cpu} ns, twice {burnt_ns} ns")


@case
def name_like_a_rule_is_refused(home):
    home.annot("record", "--capture-range=step -x", "true").complains(125, "looks like a rule")


main()
