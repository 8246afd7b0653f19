#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings as text and data: annot cat agrees with a second reader, so does annot tail while the
program lives, and the sums of cat, report and both exports are the same, of all and of parts."""

import collections
import csv
import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import time

import traces
from harness import ANNOT, SOURCE, case, check, equal, main, program

sys.path.insert(0, str(SOURCE / "tests" / "golden"))
import read_recording  # noqa: E402  pylint: disable=wrong-import-position

WAIT_SECONDS = 60
KINDS = {1: ("begin", "pushed"), 2: ("end", "pushed"), 3: ("begin", "overlapping"),
         4: ("end", "overlapping"), 5: ("mark", None), 6: ("counter", None), 7: ("lost", None),
         8: ("off_on", None), 9: ("flow_begin", None), 10: ("flow_step", None),
         11: ("flow_end", None), 12: ("begin", "track"), 13: ("end", "track"),
         14: ("mark", "track")}
CROWD = ("emit_crowd", "3", "4", "500", "200000")  # processes, threads, pairs, a second
FACTS = {"process_start", "process_end", "thread_start", "thread_end", "last_word"}


def cat(home, path, *options):
    out = home.annot("cat", "-j", *options, path, timeout=120).ok().out
    return [json.loads(line) for line in out.decode().splitlines()]


def read_second(path):
    """(kind, time, thread, name) of every event, by the reader that shares no code with annot, and
    when the recording begins."""
    data = path.read_bytes()
    recording = read_recording.Recording([data])
    events = [(event["shape"].kind, event["time"], event["thread"],
               recording.text(event["shape"].name))
              for chunk in read_recording.chunks(data) if chunk.kind == 2
              for event in read_recording.Events(chunk.payload)]
    return events, recording.sessions[0]["begin"]


def name_of(kind, name):
    return name if kind not in (2, 4, 7, 8, 13) else None


def told(line):
    event = "mark" if line["event"] == "log" else line["event"]
    kind = line.get("kind") if event in ("begin", "end", "mark") else None
    named = event not in ("end", "lost", "off_on")
    name = line.get("name", "") if named else None
    return event, kind, line["time_ns"], line["thread_index"], name


def compare_with_second(home, path):
    lines = [line for line in cat(home, path) if line["event"] not in FACTS]
    ours = collections.Counter(told(line) for line in lines
                               if not line.get("unfinished") and not line.get("end_lost"))
    events, begin = read_second(path)
    theirs = collections.Counter(
        KINDS[kind] + (time_ns - begin, thread, name_of(kind, name))
        for kind, time_ns, thread, name in events if kind in KINDS)
    equal(sorted((ours - theirs).items())[:5], [], "lines that the second reader does not know")
    equal(sorted((theirs - ours).items())[:5], [], "events without a line")
    check(len(lines) > 0, "there are no lines")
    return lines


@case
def cat_tells_what_a_second_reader_reads(home):
    for command in (("emit_kinds", "kinds"), CROWD):
        path = home.record(program(command[0]), *command[1:]).ok().path
        lines = compare_with_second(home, path)
        times = [line["time_ns"] for line in lines if line["event"] != "lost"]
        equal(times, sorted(times), "times of the lines")


@case
def values_logs_and_structs_are_told(home):
    path = home.record(program("emit_kinds"), "kinds").ok().path
    lines = cat(home, path)
    valued = [line for line in lines if line.get("name") == "valued" and line["event"] == "begin"]
    equal(len(valued), 1, "ranges called valued")
    values = valued[0]["args"]
    equal((values["int"], values["uint"], values["double"], values["bool"], values["string"]),
          (str(-(1 << 63)), str((1 << 64) - 1), -0.25, True, "text ä\n"), "key-values")
    equal((values["x [mm]"], values["label"], values["near[1]"]), (-1, "here", 4), "a struct")
    log, = [line for line in lines if line["event"] == "log"]
    equal((log["severity"], log["name"]), ("warning", "nearly"), "the log")
    counters = [(line["name"], line["value"]) for line in lines if line["event"] == "counter"]
    equal(counters, [("queue/depth", 3), ("queue/age", 1.5)], "the counters")
    equal(sum(line["event"] == "process_start" for line in lines), 2, "processes")


@case
def the_number_in_a_log_finds_its_range(home):
    done = home.record(program("emit_numbered")).ok()
    logged = dict(reversed(line.split()) for line in done.out.decode().splitlines())
    begins = {line["number"]: line["name"] for line in cat(home, done.path)
              if line["event"] == "begin"}
    equal(len(logged), 8000, "different numbers in the log")
    equal(begins, logged, "the names of the numbers")


def by_path(rows, total="total_ns"):
    return {row["path"]: (row["count"], row[total]) for row in rows if "rest" not in row}


def sums_of_cat(home, path, options):
    sums = collections.defaultdict(lambda: [0, 0])
    for line in cat(home, path, "-c", *options):
        if line["event"] == "range" and line["kind"] == "pushed":
            sums[line["path"]][0] += 1
            sums[line["path"]][1] += line["duration_ns"]
    return {name: tuple(sum_) for name, sum_ in sums.items()}


def sums_of_export(home, path, options, extension):
    out = path.with_suffix(extension)
    home.annot("export", path, *options, "--force", "-o", out, timeout=120).ok()
    sums = collections.defaultdict(lambda: [0, 0])
    for _, _, _, duration, name, _ in traces.read(out)["pushed"]:
        sums[name][0] += 1
        sums[name][1] += duration
    return {name: tuple(sum_) for name, sum_ in sums.items()}


@case
def sums_agree_everywhere_of_all_and_of_parts(home):
    path = home.record(program("emit_ticks"), "800").ok().path
    choices = [(), ("--from", "100ms", "--to", "333.3ms"), ("--range", "tick 1?"),
               ("--from", "200ms", "--range", "tick*5"), ("--process", "emit_ticks")]
    for options in choices:
        by_cat = sums_of_cat(home, path, options)
        check(by_cat, f"nothing is left by {options}")
        for extension in (".json", ".pftrace"):
            equal(sums_of_export(home, path, options, extension), by_cat,
                  f"sums of {extension} with {options}")
        if "--range" in options: # then the report has the samples only
            continue
        data = json.loads(home.annot("report", "--json", *options, path).ok().out)
        equal(by_path(data["ranges"]), by_cat, f"sums of the report with {options}")
        rows = list(csv.DictReader(io.StringIO(
            home.annot("report", "--csv", *options, path).ok().out.decode())))
        ranges = [row for row in rows if row["table"] == "ranges" and not row["rest"]]
        equal({row["path"]: (int(row["count"]), int(row["total_ns"])) for row in ranges}, by_cat,
              f"sums of the CSV table with {options}")


@case
def begins_and_ends_fit_at_the_edges(home):
    path = home.record(program(CROWD[0]), *CROWD[1:]).ok().path
    whole = cat(home, path)
    last = max(line["time_ns"] for line in whole)
    begin, end = last // 3, 2 * last // 3
    part = cat(home, path, "--from", f"{begin}ns", "--to", f"{end}ns")
    open_now = collections.Counter()
    for line in part:
        check(begin <= line["time_ns"] <= end, f"{line} is outside")
        if line.get("kind") == "pushed":
            key = (line["thread_index"], line["depth"])
            open_now[key] += 1 if line["event"] == "begin" else -1
            check(open_now[key] in (0, 1), f"{line} does not fit")
    equal({key: n for key, n in open_now.items() if n}, {}, "ranges that nobody ends")


def read_line(process, seconds=WAIT_SECONDS):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if select.select([process.stdout], [], [], 0.2)[0]:
            return process.stdout.readline().decode()
    raise AssertionError(f"no line within {seconds} s")


def start_ticking(home, path):
    recorder = home.start(ANNOT, "record", "--sampling=none", "-o", path, "--",
                          program("emit_ticks"), "600000",
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + WAIT_SECONDS
    while not path.exists() or path.stat().st_size < 200:
        check(time.monotonic() < deadline, "the recording does not begin")
        time.sleep(0.02)
    return recorder


def stop(recorder):
    os.killpg(recorder.pid, signal.SIGINT)
    recorder.wait(WAIT_SECONDS)


@case
def tail_tells_while_the_program_lives_and_ends_with_it(home):
    path = home.work / "live.annot"
    recorder = start_ticking(home, path)
    tail = home.start(ANNOT, "tail", "-n", "1000000", "-c", "--name", "tick*",
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    lines = [read_line(tail) for _ in range(100)]
    check(recorder.poll() is None, "the recording ended before its events were told")
    check(all(re.search(r"range \"tick \d+\" dur=0\.\d{9}", line) for line in lines),
          f"lines are {lines[:2]}")
    stop(recorder)
    out, err = tail.communicate(timeout=WAIT_SECONDS)
    equal(tail.returncode, 0, "status of tail")
    followed = [line.replace(" late\n", "\n")
                for line in lines + out.decode().splitlines(keepends=True)]
    after = home.annot("cat", "-c", "--name", "tick*", path).ok().out.decode()
    equal(sorted(followed), sorted(after.splitlines(keepends=True)), "what tail told")
    if not err:
        equal("".join(followed), after, "the order of what tail told")


@case
def tail_knows_the_session_by_its_number_and_a_reader_that_left(home):
    path = home.work / "live.annot"
    recorder = start_ticking(home, path)
    names = [name for name in os.listdir(home.directory) if name.startswith("session-")]
    equal(len(names), 1, "sessions")
    tail = home.start(ANNOT, "tail", "-j", "-n", "0", names[0].split("-")[-1],
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    check(json.loads(read_line(tail))["event"], "a line is an event")
    tail.stdout.close()
    equal(tail.wait(WAIT_SECONDS) in (0, -signal.SIGPIPE), True, "tail ends")
    equal(tail.stderr.read(), b"", "messages of tail")
    tail.stderr.close()
    check(recorder.poll() is None, "the recording goes on")
    stop(recorder)


@case
def tail_says_that_the_collector_is_gone(home):
    path = home.work / "live.annot"
    recorder = start_ticking(home, path)
    tail = home.start(ANNOT, "tail", "-n", "0", path, stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE, bufsize=0)
    read_line(tail)
    recorder.kill()
    _, err = tail.communicate(timeout=WAIT_SECONDS)
    equal(tail.returncode, 1, "status of tail")
    check(b"has no end" in err and b"annot recover" in err, f"tail says {err}")
    os.killpg(recorder.pid, signal.SIGKILL)
    recorder.wait()
    home.annot("recover").ok()


@case
def a_reader_that_has_enough_is_no_failure(home):
    path = home.record(program("emit_crowd"), "2", "4", "5000", "200000").ok().path
    for handler in (signal.SIG_DFL, signal.SIG_IGN):
        reader, writer = os.pipe()
        process = home.start(ANNOT, "cat", path, stdout=writer, stderr=subprocess.PIPE,
                             restore_signals=False,
                             preexec_fn=lambda h=handler: signal.signal(signal.SIGPIPE, h))
        os.close(writer)
        check(len(os.read(reader, 100)) > 0, "something is printed")
        os.close(reader)
        _, err = process.communicate(timeout=WAIT_SECONDS)
        equal(err, b"", "messages of cat")
        check(process.returncode in (0, -signal.SIGPIPE), f"cat ended with {process.returncode}")


@case
def memory_does_not_grow_with_the_recording(home):
    path = home.record(program("emit_crowd"), "4", "8", "50000", "1000000", timeout=120).ok().path
    done = home.annot("cat", "--name", "nothing is called so", path, timeout=300).ok()
    equal(done.out, b"", "lines")
    check(done.own_kib < 256 << 10, f"annot cat takes {done.own_kib} KiB")


main()
