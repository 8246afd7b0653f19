#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counters of `annot record --memory`: live bytes, resident memory and control groups over time,
against programs that know them and against their own reading of /proc.
"""

import json
import math
import os
import pathlib
import subprocess
import sys

from harness import Skip, case, check, equal, main

RATE = 512 * 1024
MIB = 1 << 20
PYTHON = os.environ.get("ANNOT_TEST_PYTHON", sys.executable)
LOG = """
import os, time, sys
kept = []
def log(held):
    time.sleep(0.5)  # longer than some rounds of the collector
    rss = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
    print(os.getpid(), time.clock_gettime_ns(time.CLOCK_MONOTONIC), held, rss, flush=True)
"""


def record(home, text, *options, status=0, before=(), mode="--memory"):
    script = home.work / "program.py"
    script.write_text(LOG + text)
    recording = home.work / "memory.annot"
    done = home.annot("record", mode, "--force", *options, "-o", recording, "--", *before,
                      PYTHON, script, env={"ANNOT_PYTHON": "default"})
    if b"needs eBPF" in done.err:
        raise Skip("no eBPF here")
    equal(done.status, status, f"exit status ({done.err.decode()})")
    lines = done.out.decode().split("\n")
    return recording, [[int(word) for word in line.split()] for line in lines if line]


def query(home, recording, sql):
    done = home.annot("query", "--json", recording, sql).ok()
    return [json.loads(line) for line in done.out.decode().splitlines()]


def counters(home, recording):
    """{(pid, name): [(time, value), ...]}, in order of time since the machine's start."""
    info = json.loads(home.annot("info", "--json", recording).ok().out)
    begin = info["begin_monotonic_ns"]
    found = {}
    for row in query(home, recording, """select pid, name, time_ns, value, unit, observer, domain
                                         from counters order by time_ns"""):
        equal((row["unit"], row["observer"], row["domain"]), ("bytes", "memory", "memory"), row)
        found.setdefault((row["pid"], row["name"]), []).append(
            (row["time_ns"] + begin, row["value"]))
    return found


def value_at(values, time_ns):
    return [value for at, value in values if at <= time_ns][-1]


def near(found, truth, what):
    allowed = 5 * math.sqrt(RATE * truth) + 6 * MIB  # the interpreter has some
    check(abs(found - truth) <= allowed, f"{what}: {found / 1e6:.1f} MB, not {truth / 1e6:.1f} MB")


def check_log(found, log):
    for pid, time_ns, held, rss in log:
        near(value_at(found[pid, "heap live"], time_ns), held, "heap live")
        shown = value_at(found[pid, "RSS"], time_ns)
        check(abs(shown - rss) <= 2 * MIB, f"RSS {shown}, not {rss}")


def check_steps(home, mode):
    recording, log = record(home, """
for count in (20, 60, 40):
    kept += [b"x" * (1 << 20) for _ in range(count)]
    log(len(kept) << 20)
del kept[30:]
log(len(kept) << 20)
""", mode=mode)
    found = counters(home, recording)
    check_log(found, log)
    pid = log[0][0]
    check(max(value for _, value in found[pid, "RSS"]) > 120 * MIB, "RSS without the kept blocks")
    for name in ("heap live", "RSS", "RSS of files"):
        equal(found[pid, name][-1][1], 0, f"{name} after the end")
    check(0 < value_at(found[pid, "RSS of files"], log[0][1]) < 20 * MIB, "RSS of files")


@case
def live_bytes_and_rss_are_those_of_the_program_at_each_step(home):
    check_steps(home, "--memory")


@case
def counted_live_bytes_are_those_of_the_program_at_each_step(home):
    check_steps(home, "--memory=exact")


@case
def the_report_separates_resident_memory_by_its_users(home):
    """A heap full of holes: half of its blocks is freed, and no page of it."""
    recording, log = record(home, """
def fill(): return [b"%0480d" % i for i in range(240_000)]
kept = fill()
log(240_000 * (sys.getsizeof(kept[0]) + 8))
del kept[::2]
log(120_000 * (sys.getsizeof(kept[0]) + 8))
os._exit(0)
""")
    done = home.annot("report", "--table", "process_memory", "--json", recording).ok()
    rows = [row for row in json.loads(done.out)["process_memory"] if row["pid"] == log[0][0]]
    equal([row["moment"] for row in rows], ["peak", "end"], "moments")
    for row, (_, _, held, rss) in zip(rows, log):
        near(row["heap_live_bytes"], held, row["moment"])
        check(abs(row["rss_bytes"] - rss) <= 8 * MIB, f"RSS {row['rss_bytes']}, not {rss}")
        rest = row["rss_bytes"] - row["rss_files_bytes"] - row["heap_live_bytes"]
        equal(row.get("rss_rest_bytes"), rest if rest >= 0 else None, "rest")
    check(rows[1]["rss_rest_bytes"] > 40 * MIB, f"rest at the end: {rows[1]}")
    done = home.annot("report", "--table", "process_memory", "--json", "--from", "600ms",
                      recording).ok()
    for row in json.loads(done.out)["process_memory"]:
        check(row.get("rss_files_bytes", 0) <= row["rss_bytes"], f"a part of the recording: {row}")
    text = " ".join(home.annot("report", recording).ok().out.decode().split())
    check("Resident memory of python" in text and "neither live blocks nor files" in text, text)


@case
def a_peak_between_two_rounds_is_recorded(home):
    recording, log = record(home, """
for _ in range(3):
    kept = [b"x" * (1 << 20) for _ in range(80)]
    kept = []
    log(0)
""")
    values = counters(home, recording)[log[0][0], "heap live"]
    near(max(value for _, value in values), 80 * MIB, "the most live bytes")
    near(value_at(values, log[-1][1]), 0, "live bytes between")


@case
def a_forked_child_has_counters_of_its_own(home):
    recording, log = record(home, """
kept = [b"x" * (1 << 20) for _ in range(50)]
log(50 << 20)
child = os.fork()
if child == 0:
    mine = [b"x" * (1 << 20) for _ in range(20)]
    log(20 << 20)  # without the blocks of its parent; RSS has them
    os._exit(0)
os.waitpid(child, 0)
log(50 << 20)
""")
    equal(len({row[0] for row in log}), 2, "processes")
    check_log(counters(home, recording), log)


@case
def an_exec_begins_new_counters(home):
    recording, log = record(home, """
if len(sys.argv) == 1:
    kept = [b"x" * (1 << 20) for _ in range(50)]
    log(50 << 20)
    os.execv(sys.executable, [sys.executable, __file__, "again"])
kept = [b"x" * (1 << 20) for _ in range(10)]
log(10 << 20)
""")
    equal(len({row[0] for row in log}), 1, "pids")
    found = counters(home, recording)
    check_log(found, log)
    between = [value for at, value in found[log[0][0], "heap live"] if log[0][1] < at < log[1][1]]
    check(0 in between, "the exec does not end the counter")


@case
def ranges_and_counters_of_one_thread_are_both_in_order(home):
    recording, log = record(home, """
import pyannot
for _ in range(5):
    with pyannot.annotate("step"):
        kept += [b"x" * (1 << 20) for _ in range(10)]
        log(len(kept) << 20)
""")
    check_log(counters(home, recording), log)
    ranges = query(home, recording, """select name, depth, duration_ns from ranges
                                       where name = 'step'""")
    equal([(row["name"], row["depth"]) for row in ranges], [("step", 0)] * 5, "ranges")
    check(all(row["duration_ns"] > 250e6 for row in ranges), f"durations: {ranges}")
    done = home.annot("report", "--all", recording).ok()
    check(b"memory:heap live" not in done.out, "counters of memory stand with the program's")


def top(home, *arguments):
    done = home.annot("top", "--json", "--memory", "-d", "3s", *arguments,
                      env={"ANNOT_PYTHON": "default"})
    if b"eBPF" in done.err:
        raise Skip("no eBPF here")
    equal(done.status, 0, f"exit status ({done.err.decode()})")
    return json.loads(done.out)


@case
def top_shows_live_and_allocated_bytes_by_process_and_function(home):
    script, log = home.work / "program.py", home.work / "log"
    script.write_text(f"""
import os, sys, time
def hold(): return [b"x" * (1 << 20) for _ in range(80)]
def churn(): return len(bytes(1 << 20))
kept, count = hold(), 0
while True:
    count += churn() >> 20
    rss = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
    with open({str(log)!r} + ".new", "w") as file:
        print(count, rss, file=file)
    os.rename(file.name, {str(log)!r})  # annot may kill the program at any time
    time.sleep(0.01)
""")
    shown = top(home, "--total", "--", PYTHON, script)
    count, rss = (int(word) for word in log.read_text().split())
    functions = {}
    for row in shown["functions"]:
        name = row["function"].split(".")[0]
        functions.setdefault(name, []).append((row["heap_live_bytes"], row["allocated_bytes"]))
    near(sum(live for live, _ in functions["hold"]), 80 * MIB, "live of hold")
    near(sum(live for live, _ in functions["churn"]), 0, "live of churn")
    near(sum(allocated for _, allocated in functions["churn"]), count * MIB, "allocated by churn")
    process = max(shown["processes"], key=lambda row: row["heap_live_bytes"])
    near(process["heap_live_bytes"], 81 * MIB, "live of the process")
    check(abs(process["rss_bytes"] - rss) < 4 * MIB, f"RSS {process['rss_bytes']}, not {rss}")


@case
def top_shows_resident_memory_of_a_running_program(home):
    with subprocess.Popen([PYTHON, "-c", """
import os, time
kept = b"x" * (64 << 20)
print(int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE"), flush=True)
time.sleep(60)
"""], stdout=subprocess.PIPE) as program:
        try:
            rss = int(program.stdout.readline())
            rows = top(home, str(program.pid))["processes"]
        finally:
            program.kill()
    row = [row for row in rows if row["pid"] == program.pid][0]
    check(abs(row["rss_bytes"] - rss) < 2 * MIB, f"RSS {row['rss_bytes']}, not {rss}")
    check("heap_live_bytes" not in row, "live bytes of a program that annot did not start")


def make_group(limit):
    """A control group with a limit, and a command that runs another one in it."""
    name = f"annot-test-{os.getpid()}"
    for root, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                       ("/sys/fs/cgroup", "memory.max")):
        group = pathlib.Path(root) / name
        try:
            group.mkdir()
            (group / file).write_text(str(limit))
            return group
        except OSError:
            if group.is_dir():
                group.rmdir()
    raise Skip("no control group can be made here")


def run_in(group):
    return ["/bin/sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]


@case
def a_limited_control_group_is_recorded_with_its_limit(home):
    group = make_group(200 * MIB)
    try:
        recording, log = record(home, """
kept = [b"x" * (1 << 20) for _ in range(60)]
log(60 << 20)
""", before=run_in(group))
    finally:
        group.rmdir()
    found = counters(home, recording)
    pid, time_ns = log[0][:2]
    equal(value_at(found[pid, "cgroup memory limit"], time_ns), 200 * MIB, "limit")
    check(60 * MIB < value_at(found[pid, "cgroup memory"], time_ns) < 120 * MIB, "use")


@case
def a_kill_at_the_limit_is_counted(home):
    group = make_group(100 * MIB)
    try:
        recording, _ = record(home, """
kept = [b"x" * (1 << 20) for _ in range(50)]
log(50 << 20)
kept += [b"x" * (1 << 20) for _ in range(500)]
""", before=run_in(group), status=-9)
    finally:
        group.rmdir()
    info = home.annot("info", recording).ok().out.decode()
    check("processes killed at the memory limit of their cgroup" in info, info)
    report = " ".join(home.annot("report", recording).ok().out.decode().split())
    check("The kernel killed 1 process at the memory limit of its cgroup." in report, report)


main()
