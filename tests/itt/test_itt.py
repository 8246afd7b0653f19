#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that are annotated for ITT are recorded unchanged: their calls are in the recording."""

import collections
import os
import pathlib
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))

from asked import Attached, attach_case  # noqa: E402
from harness import SOURCE, Skip, case, check, equal, main  # noqa: E402
from samples import Samples  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("ANNOT_ITT_PROGRAMS", SOURCE / "build/tests/itt"))
VENV = pathlib.Path(os.environ.get("ANNOT_VENV", SOURCE / "build/venv"))
LIBRARY = PROGRAMS.parents[1] / "libannot/inject/libannot-inject.so"
PYANNOT = os.environ.get("ANNOT_PYANNOT", str(SOURCE / "build/pyannot"))
OBSERVER_ITT = 12
QUIET = ("--sampling", "none")
D = "itt.test"


def double(number):
    return struct.unpack("<Q", struct.pack("<d", number))[0]


def program(name):
    path = PROGRAMS / name
    if not path.exists():
        raise Skip(f"there is no {name}: ITT is not installed here")
    return path


def recorded(home, *command, options=QUIET):
    done = home.record(*command, options=options)
    done.ok()
    dump = home.dump(done.path)
    equal(sum(sum(process["misuse"]) for process in dump.processes), 0, "counts of misuse")
    equal(sum(sum(thread["lost"]) for thread in dump.threads), 0, "lost events")
    dump.out = done.out.decode()
    return dump


def story(dump):
    return [(event["kind"], event["name"], event["domain"], event.get("value"))
            for event in dump.events]


def value(key, number):
    return ("payload", key, "", number)


POP, END = ("pop", "", "", None), ("end", "", "", None)
FLOW_BEGIN, FLOW_STEP = ("flow_begin", "itt", "", None), ("flow_step", "", "", None)


def push(name, domain=D):
    return ("push", name, domain, None)


def start(name, domain=D):
    return ("start", name, domain, None)


def mark(name, domain=D):
    return ("mark", name, domain, None)


def counter(name, number, domain=D):
    return ("counter", name, domain, number)


TASKS = [
    push("outer"),
    push("with id"), FLOW_BEGIN, FLOW_BEGIN, POP,  # of the id, and of the relation
    push("child"), ("flow_end", "", "", None), FLOW_BEGIN, FLOW_STEP, POP,
    push("worker"), POP,
    push("timed"), value("timestamp", 77), POP,
    push("worker"), POP,
    mark("is child of"), value("head", ...), value("tail", ...),
    mark("is related to"), value("head", ...), value("tail", ...),
    mark("group"), POP,
]
SPANS = [
    start("first"), start("second"), value("timestamp", 99), END, END,
    start("region"), END,
    start("frame"), start("frame"), END, END,
    mark("frame"), value("duration_ns", 3000), value("ended_ns_ago", ...),
    start("event", ""), END,
]
COUNTERS = [
    *(counter("count", number, "itt.counters") for number in (1, 11, 10, 6)),
    counter("type 1", double(2.0 ** 64), ""), counter("type 2", -5, ""),
    counter("type 3", 4000000000, ""), counter("type 4", -7, ""), counter("type 5", 65535, ""),
    counter("type 6", -9, ""), counter("type 7", double(0.5), ""),
    counter("type 8", double(-2.25), ""),
    counter("third", -7), counter("third", -7),
    *(counter("by name", number) for number in (1, 7, 6, -3)),
]
METADATA = [
    push("described"), push("inner"), FLOW_BEGIN,
    POP, value("real", double(0.5)), value("text", "of the"),
    POP, value("one", -2), value("three", "1, -2, 3"), value("scoped", "whole"),
    value("metadata", "5 of six"),
    start("far"), END, value("text", "of the span"), value("metadata", "50%"),
    mark("metadata"), value("alone", double(0.5)),
]
SYNC = [
    push("lock of a", "itt sync"), POP, value("outcome", "acquired"),
    mark("lock of a", "itt sync"), value("released", 1),
    push("renamed", "itt sync"), POP, value("outcome", "cancelled"),
    mark("unnamed object", "itt sync"), value("released", 1),
]
OTHERS = [
    mark("everywhere"), value("scope", "global"),
    mark("here"), value("scope", "thread"), value("timestamp", 5),
    push("stitched"), ("flow_begin", "itt stack", "", None), FLOW_STEP, POP,
]
PAUSES = [
    mark("not paused"), start("paused", "itt"), END,
    push("shown"), start("paused", "itt"), POP, END,
    start("paused", "itt"),  # without an end
]


def same(told, expected):
    for index, (one, other) in enumerate(zip(told, expected)):
        open_end = other[:3] + (one[3],) if other[3] is ... else other
        equal(one, open_end, f"event {index}")
    equal(len(told), len(expected), "the number of events")


def every_function(home, name):
    dump = recorded(home, program(name))
    same(story(dump), TASKS + SPANS + COUNTERS + METADATA + SYNC + OTHERS + PAUSES)
    told = {event["observer"] for event in dump.events if event["domain"]}
    equal(told, {OBSERVER_ITT}, "who told them")
    equal([thread["name"] for thread in dump.threads], ["named by itt"], "names of threads")
    equal([(unit["counter"], unit["unit"]) for unit in dump.units], [("third", "furlongs")],
          "units")


@case
def every_function_is_recorded(home):
    every_function(home, "emit_itt")


@case
def the_real_static_part_says_the_same(home):
    every_function(home, "emit_itt_real")


@case
def arrows_lead_from_ids_to_whoever_names_them(home):
    """One arrow shows that `child` is the successor of `with id`, the other a dependency."""
    dump = recorded(home, program("emit_itt"))
    flows = [(event["kind"], event["id"]) for event in dump.events if "flow" in event["kind"]]
    own, relation = flows[0][1], flows[1][1]
    equal(flows[:2], [("flow_begin", own), ("flow_begin", relation)], "flows of the first")
    equal((flows[2], flows[4]), (("flow_end", relation), ("flow_step", own)), "those of the child")
    check(len({own, relation, flows[3][1]}) == 3, flows)


@case
def nothing_is_told_where_it_is_not_wanted(home):
    dump = recorded(home, program("emit_itt"), options=(*QUIET, "--no-nvtx"))
    equal(story(dump), [], "events")


@case
def ranges_of_c_and_itt_nest(home):
    dump = recorded(home, program("itt_nested"))
    equal(story(dump), [
        push("c outer", ""), push("itt outer"), push("c inner", ""), push("itt inner"),
        mark("deep", ""), POP, POP, POP, value("number", double(1.5)), POP,
    ], "events")


@case
def samples_fall_into_tasks(home):
    """Also with an image that was unloaded again, and begins and ends its own tasks."""
    done = home.record(program("itt_burn"), program("itt_image_a.so"), options=("--rate", "499"))
    dump = home.dump(done.ok().path, "--samples")
    samples = Samples(dump)
    if not samples.cpu:
        raise Skip(f"no samples here: {dump.sampling}")
    paths = collections.Counter()
    for sample in samples.cpu:
        paths[tuple(samples.path(sample))] += sample["weight"]
    inside, all_of_it = paths["c outer", "burning"], sum(paths.values())
    check(0.7 < inside / all_of_it < 0.97, f"of {all_of_it} ns in the task: {paths}")
    told = collections.Counter(event["domain"] for event in dump.events if event["kind"] == "push")
    equal(dict(told), {"shared": 3, "image a": 3, "": 1, D: 1}, "ranges by domain")


def crowd_counts(dump):
    """Return {(pid, tid, domain): nested tasks}, and the overlapped ones by pid."""
    pids = {process["ordinal"]: process["pid"] for process in dump.processes}
    threads = {thread["ordinal"]: thread for thread in dump.threads}
    tasks, spans, open_ranges = collections.Counter(), collections.Counter(), collections.Counter()
    for event in dump.events:
        thread = threads[event["thread"]]
        pid = pids[thread["process"]]
        if event["kind"] == "push":
            equal(event["name"], "work", "a task's name")
            tasks[pid, thread["tid"], event["domain"]] += 1
        if event["kind"] in ("start", "end"):
            spans[pid, event["kind"]] += 1
        open_ranges[pid, thread["tid"]] += {"push": 1, "pop": -1}.get(event["kind"], 0)
    equal({key: count for key, count in open_ranges.items() if count}, {}, "ranges left open")
    return tasks, spans


@case
def images_threads_and_children_are_told_exactly(home):
    dump = recorded(home, program("itt_crowd"), program("itt_image_a.so"),
                    program("itt_image_b.so"))
    called = collections.Counter()
    for line in dump.out.splitlines():
        pid, tid, *domain, count = line.split()
        called[int(pid), int(tid), " ".join(domain)] += int(count)
    tasks, spans = crowd_counts(dump)
    equal(dict(tasks), {key: count for key, count in called.items() if count}, "tasks")
    parent = int(dump.out.split()[0])
    equal(dict(spans), {(parent, "start"): 50, (parent, "end"): 50}, "overlapped tasks")
    equal(len({pid for pid, _, _ in tasks}), 4, "processes")
    equal(len({tid for _, tid, _ in tasks}), 20, "threads")


@attach_case
def recording_may_begin_later(home):
    """The program is dormant: its domain is on, its functions do nothing until annot attaches."""
    home.environment["INTEL_LIBITTNOTIFY64"] = str(LIBRARY)
    ticks = home.start(program("itt_ticks"), stdin=-1, stdout=-1)
    equal(ticks.stdout.readline(), b"ready\n", "the first line")
    attached = Attached(home, [ticks.pid], "--sampling=none")
    time.sleep(0.3)
    events = attached.stop()
    out, _ = ticks.communicate(b"end", 20)
    count, flags = map(int, out.split())
    dump = home.dump(attached.path)
    told = [event for event in dump.events if event["kind"] == "push"]
    check(0 < len(told) < count, f"{len(told)} of {count} tasks: {events}")
    equal({(event["name"], event["domain"]) for event in told}, {("tick", "ticks")}, "tasks")
    equal(flags, 1, "the flags of the domain")
    values = [event["value"] for event in dump.events if event["kind"] == "counter"]
    equal(values, list(range(values[0], values[0] + len(values))), "the counter")
    check(values[0] > 1, f"the counter begins with {values[0]}, as if nothing had been before")


@attach_case
def pause_that_a_recording_meets_is_in_it(home):
    """Otherwise a paused program looks like one without tasks."""
    home.environment["INTEL_LIBITTNOTIFY64"] = str(LIBRARY)
    ticks = home.start(program("itt_ticks"), "paused", stdin=-1, stdout=-1)
    equal(ticks.stdout.readline(), b"ready\n", "the first line")
    for _ in range(2):
        attached = Attached(home, [ticks.pid], "--sampling=none")
        time.sleep(0.2)
        attached.stop()
        equal(story(home.dump(attached.path)), [start("paused", "itt")], "what was recorded")
    attached = Attached(home, [ticks.pid], "--sampling=none")
    time.sleep(0.2)
    ticks.communicate(b"end", 20)
    attached.process.wait(20)
    dump = home.dump(attached.path)
    equal(story(dump), [start("paused", "itt")], "what was recorded with the child")
    equal(sum(sum(process["misuse"]) for process in dump.processes), 0, "counts of misuse")


@case
def domains_are_filtered_as_all_are(home):
    dump = recorded(home, program("emit_itt"), options=(*QUIET, "--disable", D))
    equal({event["domain"] for event in dump.events if event["kind"] in ("push", "mark")},
          {"itt sync"}, "domains")


@case
def tool_that_was_set_before_hears_the_same(home):
    """With its own domains, names and counters, with and without annot in the chain before it."""
    home.environment["INTEL_LIBITTNOTIFY64"] = str(program("itt_tool.so"))
    heard = []
    for name in ("bare", "behind"):
        home.environment["ITT_TOOL_OUT"] = str(home.work / name)
        if name == "bare":
            home.run(program("emit_itt")).ok()
        else:
            every_function(home, "emit_itt")
        heard.append((home.work / name).read_text())
    check("task_begin itt.test outer 0 0\n" in heard[0], heard[0])
    check("event_start 4711\n" in heard[0], heard[0])
    check("FOREIGN" not in heard[0], heard[0])
    equal(heard[1].splitlines(), heard[0].splitlines(), "what the other tool heard")


@case
def tool_that_cannot_be_loaded_is_said(home):
    for tool, why in (("/no/such/tool.so", "No such file"), ("/etc/passwd", "invalid ELF header")):
        home.environment["INTEL_LIBITTNOTIFY64"] = tool
        done = home.record(program("emit_itt"), options=QUIET)
        done.ok()
        info = " ".join(home.info(done.path).split())
        check("The tool in ANNOT_ITT_NEXT does not go on behind annot" in info, info)
        check(why in info, info)


PYTHON = """
import ittapi
ittapi.thread_set_name("python")
with ittapi.task("outer", domain="py"):
    with ittapi.task("inner", domain="py"):
        pass

@ittapi.task("decorated", domain="other")
def decorated():
    pass

for _ in range(3):
    decorated()
with ittapi.overlapped_task("span", domain="py"):
    pass
with ittapi.event("event"):
    pass
ittapi.pause()
with ittapi.task("hidden", domain="py"):
    pass
ittapi.resume()
with ittapi.task("shown", domain="py"):
    pass
"""


@case
def package_of_python_is_recorded(home):
    python = VENV / "bin/python"
    if not python.exists() or home.run(python, "-c", "import ittapi").status != 0:
        raise Skip("no package ittapi")
    dump = recorded(home, python, "-c", PYTHON, options=(*QUIET, "--no-preload"))
    told = [line for line in story(dump) if line != FLOW_BEGIN]
    equal(told, [
        push("outer", "py"), push("inner", "py"), POP, POP,
        *[push("decorated", "other"), POP] * 3,
        start("span", "py"), END, start("event", ""), END,
        start("paused", "itt"), END, push("shown", "py"), POP,
    ], "events")
    equal([thread["name"] for thread in dump.threads], ["python"], "names of threads")


NESTED = """
import ittapi, pyannot
with pyannot.annotate("python"):
    with ittapi.task("itt", domain="py"):
        with pyannot.annotate("inner"):
            pass
"""


@case
def ranges_of_python_and_itt_nest(home):
    python = VENV / "bin/python"
    home.environment["PYTHONPATH"] = PYANNOT
    if not python.exists() or home.run(python, "-c", "import ittapi, pyannot").status != 0:
        raise Skip("no package ittapi, or no pyannot")
    dump = recorded(home, python, "-c", NESTED, options=(*QUIET, "--python", "names"))
    told = [line for line in story(dump) if line[0] in ("push", "pop")]
    equal(told, [push("python", ""), push("itt", "py"), push("inner", ""), POP, POP, POP],
          "events")


if __name__ == "__main__":
    main()
