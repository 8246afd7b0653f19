# SPDX-License-Identifier: MIT
"""Programs' reports of queues are in the recording: each span once, on its queue, at its time, with
the thread that launched it and its key-values; and losses are shown in every output.

emit_queues.c is the program.
"""

import collections
import json
import os
import subprocess
import time

from harness import ANNOT, case, check, equal, main, program

SPANS, THREADS = 2000, 3


def told_by(home, way, **rest):
    """The recording, and the programs' output."""
    result = home.record(program("emit_queues"), str(SPANS), way, **rest).ok()
    lines = result.out.decode().splitlines()
    return result.path, [json.loads(line) for line in lines if line.startswith("{")]


def spans_of(home, path):
    lines = home.annot("cat", "--json", path).ok().out.decode().splitlines()
    rows = [json.loads(line) for line in lines]
    return [row for row in rows if row.get("kind") == "track" and row["name"] != "early"]


def counts_of(home, path):
    """Of all processes together, by name."""
    processes = json.loads(home.annot("info", "--json", path).ok().out)["processes"]
    found = collections.Counter()
    for process in processes:
        found.update(process["queue_activities"])
    return found


def by_number(rows):
    """For each span, by all fields that identify it: its begin, relative to the first one of the
    process, and its length."""
    first = collections.defaultdict(lambda: 1 << 63)
    for row in rows:
        first[row["process"]] = min(first[row["process"]], row["begin"])
    return {(row["process"], row["queue"], row["name"], row["thread"], row["number"]):
            (row["begin"] - first[row["process"]], row["length"]) for row in rows}


def check_spans(home, path, told):
    labels = {row["pid"]: row["process"]
              for row in json.loads(home.annot("info", "--json", path).ok().out)["processes"]}
    found = by_number([{"process": labels[row["pid"]], "queue": row["track"].rsplit("/", 1)[-1],
                        "name": row["name"], "begin": row["time_ns"], "length": row["duration_ns"],
                        "thread": row["thread"], "number": row["args"]["correlation"]}
                       for row in spans_of(home, path)])
    expected = by_number(told)
    equal(len(spans_of(home, path)), len(told), "spans")
    equal(set(found), set(expected), "queues, names, threads and numbers")
    for key, (begin, length) in expected.items():
        other, same = found[key]  # a clock of the GPU and its way back cost some nanoseconds
        check(abs(begin - other) < 20000 and abs(length - same) < 5, (key, begin, other))


@case
def recorded_is_told(home):
    path, told = told_by(home, "plain")
    equal(len(told), 2 * THREADS * SPANS, "told")
    check_spans(home, path, told)
    equal(counts_of(home, path), collections.Counter(
        launched=len(told), reported=len(told), dropped_by_driver=7, without_times=1,
        impossible_times=2, before_launch=1), "counts")
    for command in (("report", "--all"), ("info",), ("report", "--json")):
        text = home.annot(*command, path).ok().out.decode()
        for what in ("dropped by the driver", "without times", "impossible times",
                     "before their launch"):
            check(what in text, (command, what))
        check("never reported" not in text, command)


@case
def key_values_of_labels_and_spans_are_there(home):
    path, _ = told_by(home, "plain")
    events = [event for event in home.dump(path).events if event["kind"] == "span"]
    equal(len(events), 2 * THREADS * SPANS + 1, "spans")
    threads = {event.get("thread") for event in events}
    check(len(threads) == 2 * THREADS + 1, threads)


@case
def threads_that_emit_nothing_are_known_as_launchers(home):
    check_spans(home, *told_by(home, "silent"))


@case
def what_a_killed_process_did_not_tell_is_known(home):
    path, told = told_by(home, "killed")
    equal(len(told), 2 * THREADS * SPANS - SPANS // 2, "told")
    check_spans(home, path, told)
    counts = counts_of(home, path)
    equal(counts["launched"] - counts["reported"], SPANS // 2, "missing")
    for command in (("report", "--all"), ("info",), ("report", "--json")):
        check("never reported" in home.annot(*command, path).ok().out.decode(), command)
    for extension in (".json", ".pftrace"):
        check(b"never reported" in home.export(path, extension).read_bytes(), extension)


@case
def what_finds_no_room_is_counted(home):
    path, _ = told_by(home, "full", options=("--pool-size", "64K"))
    losses = json.loads(home.annot("info", "--json", path).ok().out)
    lost = sum(losses["lost_by_cause"].values())
    check(lost > 0, "the pool was never full")
    kept = len(spans_of(home, path))
    counts = counts_of(home, path)
    equal(counts["reported"], 2 * THREADS * SPANS, "reported")
    check(kept <= counts["reported"] <= kept + lost, (kept, lost))


def wait_for_session(leader):
    """Until all of its processes have ended."""
    for _ in range(3000):
        try:
            os.killpg(leader, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)


@case
def what_was_told_is_recorded_once_when_the_collector_dies(home):
    """Killed at several instants: each reported span is there exactly once."""
    for delay in (0.05, 0.15, 0.4):
        path = home.work / f"killed-{delay}.annot"
        with home.start(ANNOT, "record", "--sampling=none", "--pool-size", "32M", "-o", path, "--",
                        program("emit_queues"), 10 * SPANS, "plain", stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL, start_new_session=True) as collector:
            time.sleep(delay)
            collector.kill()
        wait_for_session(collector.pid)
        home.annot("recover").ok()
        # With the file's header alone, the collector was killed before the session began.
        begun = path.exists() and path.stat().st_size > 64
        spans = spans_of(home, path) if begun else []
        places = {(row["pid"], row["tid"], row["args"]["correlation"]) for row in spans}
        if not spans:
            continue
        equal(len(places), len(spans), f"{delay}: distinct spans")
        lost = json.loads(home.annot("info", "--json", path).ok().out)["lost_by_cause"]
        reported = counts_of(home, path)["reported"]
        # One may have been counted and not yet written when the program was let go.
        check(reported - 1 <= len(spans) + sum(lost.values()) <= reported,
              (delay, len(spans), reported, lost))


if __name__ == "__main__":
    main()
