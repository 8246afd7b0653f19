#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`annot report` on real samples: ranges whose parts add up and agree with their threads' own
clocks, programs without ranges, and recordings of a killed collector."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import machine_clock
from harness import ANNOT, Skip, case, check, equal, main

UNITS = {"ns": 1, "us": 10 ** 3, "ms": 10 ** 6, "s": 10 ** 9, "m": 60 * 10 ** 9}
BUSY = "import time\nt = time.thread_time()\nwhile time.thread_time() - t < {}: pass\n"
RANGES = """
import json, os, time
import pyannot

def burn(seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        pass
    return time.thread_time() - begin

truth = {}
with pyannot.annotate("outer"):
    truth["outer_self"] = burn(0.1)
    with pyannot.annotate("inner"):
        truth["inner"] = burn(0.4)
    with pyannot.annotate("nap"):
        time.sleep(0.3)
print(json.dumps(truth))
"""


def report(home, path, *arguments):
    done = home.run(ANNOT, "report", "--wide", *arguments, path).ok()
    return done.out.decode()


def nanoseconds(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def table(text, title):
    """Rows of a table by their first column; cells are two or more blanks apart."""
    lines = text.split(f"\n{title}\n", 1)[1].split("\n\n")[0].splitlines()
    names = re.split(r"\s{2,}", lines[0].strip())
    rows = {}
    for line in lines[1:]:
        cells = re.split(r"\s{2,}", line.strip())
        rows[cells[0]] = dict(zip(names, cells))
    return rows


def sampled(home, *arguments, options=(), **rest):
    result = home.record(*arguments, options=["--no-preload", *options], **rest).ok()
    text = report(home, result.path)
    if "with eBPF" not in text:
        raise Skip("no BPF here")
    return result, text


@case
def parts_of_ranges_add_up_and_agree_with_their_clocks(home):
    where = os.environ.get("ANNOT_PYANNOT")
    if not where:
        raise Skip("pyannot is not built")
    environment = dict(home.environment, PYTHONPATH=where)
    taken = machine_clock.taken_ns()
    result, text = sampled(home, sys.executable, "-c", RANGES, options=["--off-cpu"],
                           env=environment)
    taken = machine_clock.taken_ns() - taken
    truth = {name: seconds * 1e9 for name, seconds in json.loads(result.out.decode()).items()}
    rows = table(text, "ranges")
    for name in ("outer", "outer/inner", "outer/nap"):
        parts = [nanoseconds(rows[name][part]) for part in ("running", "runnable", "blocked")]
        total = nanoseconds(rows[name]["total"])
        check(abs(sum(parts) - total) <= 0.002 * total, f"{name}: {parts} is not {total}")
    running = nanoseconds(rows["outer/inner"]["running"])
    check(abs(running - truth["inner"]) <= 0.02 * truth["inner"] + 1e6 + taken,
          f"inner ran {running}, by its clock {truth['inner']}")
    check(nanoseconds(rows["outer/nap"]["blocked"]) >= 0.29e9, "the nap was not blocked")
    check(nanoseconds(rows["outer/nap"]["running"]) <= 0.005e9 + taken, "the nap was running")
    cpu = nanoseconds(rows["outer/inner"]["cpu"])
    error = 4 * (truth["inner"] * 1e9 / 99) ** 0.5 + taken
    check(abs(cpu - truth["inner"]) <= error, f"inner has {cpu} by samples, not {truth['inner']}")


@case
def a_program_without_ranges_has_its_functions(home):
    code = "def hot():\n" + "".join(f"    {line}\n" for line in BUSY.format(0.5).splitlines())
    taken = machine_clock.taken_ns()
    result, text = sampled(home, sys.executable, "-c", code + "hot()\n")
    taken = (machine_clock.taken_ns() - taken) / 0.5e9
    check("There are no events" not in text, "the program is called not annotated")
    check("CPU time by process" in text, "there is no table of processes")
    rows = table(text, "Python functions (the native code that they call included)")
    hot = [row for name, row in rows.items() if name in ("hot", "hot ~")]
    equal(len(hot), 1, "rows of the hot function")
    share = nanoseconds(hot[0]["self"]) / 0.5e9
    check(0.7 - taken < share < 1.3 + taken, f"the hot function has {share} of its CPU time")
    home.run(ANNOT, "report", "--range", "nowhere", result.path).complains(
        1, "nowhere", "it has no ranges")


@case
def samples_outlive_their_collector(home):
    path = home.work / "killed.annot"
    annot = home.start(ANNOT, "record", "--no-preload", "-o", path, "--", sys.executable, "-c",
                       BUSY.format(3), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not path.exists() or path.stat().st_size < 3000):
        time.sleep(0.1)
    time.sleep(1.5)
    annot.send_signal(signal.SIGKILL)
    annot.wait()
    cut = home.run(ANNOT, "report", "--wide", path)
    equal(cut.status, 1, "status of a report on a cut recording")
    check(b"wall time  0 ns" not in cut.out, "a cut recording has no length")
    if b"with eBPF" not in cut.out:
        raise Skip("no BPF here")
    home.run(ANNOT, "recover").ok()
    text = report(home, path)
    check("The collector died" in text, "the report does not say that the collector died")
    before, after = (re.search(r"([\d,]+) samples", shown).group(1)
                     for shown in (cut.out.decode(), text))
    equal(after, before, "samples after the recovery")
    check(int(after.replace(",", "")) > 10, f"only {after} samples are there")
    told = home.run(ANNOT, "info", path).ok().out.decode()
    check(re.search("unwind rows +[1-9]", told), f"what was counted is gone: {told}")
    check(nanoseconds(re.search(r"wall time  (\S+ \S+),", text).group(1)) > 0.2e9,
          "the recording has no length")


@case
def helpers_of_a_script_do_not_bury_the_program(home):
    script = "for i in $(seq 40); do /bin/sleep 0.01; done; "
    script += f"exec {sys.executable} -c '{BUSY.format(0.3)}'"
    result, _ = sampled(home, "sh", "-c", script, options=["--off-cpu"])
    short = home.run(ANNOT, "info", result.path).ok().out.decode()
    whole = home.run(ANNOT, "info", "--limit", "0", result.path).ok().out.decode()
    check(len(re.findall(r"^ *sleep +[0-9]", whole, re.M)) > 30, f"all are listed: {whole}")
    check(not re.search(r"^ *sleep +[0-9]", short, re.M), f"none of them is: {short}")
    hidden = re.search(r"and (\d+) processes without records", short)
    check(hidden and int(hidden.group(1)) >= 40, short)
    check("-c" in short.split("ended\n")[1].split("\n")[0], f"the program is listed: {short}")


@case
def programs_that_start_the_command_are_counted_apart(home):
    script = "for i in 1 2 3 4 5 6 7 8; do /bin/true; done; "
    busy = f"{sys.executable} -c '{BUSY.format(0.3)}'"
    result, _ = sampled(home, "sh", "-c", f"{script} exec {busy}", options=["--off-cpu"])
    screen = " ".join(home.run(ANNOT, "report", result.path).ok().out.decode().split())
    check(re.search(r" 1 process \(and \d+ of the start of the command[,)]", screen), screen)
    check(b" 1 process (and " in result.err, result.err)
    check("start of the command" in screen and "(dash)" not in screen, screen)
    result, _ = sampled(home, "sh", "-c", f"{script} {busy}; true", options=["--off-cpu"])
    screen = home.run(ANNOT, "report", result.path).ok().out.decode()
    check("start of the command" not in screen, screen)


STRIPPED = r"""
#include <time.h>
__attribute__((noinline)) static unsigned burn(unsigned n)
{
    unsigned a = n, b = 1;
    for (unsigned i = 0; i < n; i++) {
        if (a & 1)
            a = a * 3 + b;
        else
            a /= 2;
        b ^= a << 3;
        if (b % 5 == 0)
            b += i;
    }
    return a + b;
}
int main(void)
{
    volatile unsigned sum = 0;
    struct timespec t;
    do {
        sum += burn(100000 + (sum & 7));
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 600000000);
    return 0;
}
"""


@case
def a_function_without_a_name_is_one_function(home):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise Skip("no compiler")
    program = str(home.work / "stripped")
    subprocess.run([compiler, "-O1", "-s", "-x", "c", "-", "-o", program], check=True,
                   input=STRIPPED.encode())
    taken = machine_clock.taken_ns()
    _, text = sampled(home, program, options=["--rate", "499"])
    taken = machine_clock.taken_ns() - taken
    rows = table(text, "hottest functions")
    own = [name for name in rows if name.startswith("stripped+0x")]
    hottest = max(own, key=lambda name: nanoseconds(rows[name]["self"]))
    check(nanoseconds(rows[hottest]["self"]) > 0.5e9 - taken, f"one row has the loop: {rows}")
    check(len(own) <= 3, f"burn, main and the start at most: {own}")


POOL = """
import multiprocessing, subprocess, time
def spin(_):
    end = time.time() + 20
    while time.time() < end: pass
if __name__ == "__main__":
    other = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print("ready", flush=True)
            pool.map(spin, range(2))
    finally:
        other.kill()
"""


@case
def attach_knows_who_ran_before(home):
    script = home.work / "spinner.py"
    script.write_text(POOL)
    path = home.work / "attached.annot"
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, start_new_session=True) as program:
        try:
            program.stdout.readline()
            time.sleep(0.2)
            home.run(ANNOT, "attach", "-p", str(program.pid), "--duration", "500ms", "-o",
                     str(path)).ok()
        finally:
            os.killpg(program.pid, signal.SIGKILL)
    if "with eBPF" not in report(home, path):
        raise Skip("no BPF here")
    text = home.run(ANNOT, "info", path).ok().out.decode()
    tree = text.split("ended\n")[1].split("\n\n")[0]
    for line in (r"^python\S* spinner.py ", r"^  python\S* spinner.py \(worker 1\)",
                 r"^  python\S* spinner.py \(worker 2\)", r"^  sh -c "):
        check(re.search(line, tree, re.M), f"{line} is listed: {text}")


# On one CPU, with a competing process: children are preempted before their exec.
CROWDED = """
import os, subprocess
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
for _ in range(24):
    subprocess.Popen(["sleep", "0.01"]).wait()
busy.kill()
busy.wait()
"""
EXEC = 5


@case
def the_moment_between_fork_and_exec_is_no_process(home):
    result, _ = sampled(home, sys.executable, "-c", CROWDED,
                        options=["--off-cpu", "--rate", "49"])
    dump = home.dump(result.path, "--samples")
    process_of = {thread["ordinal"]: thread["process"] for thread in dump.threads}
    active = {process_of[sample["thread"]] for sample in dump.samples
              if not sample["off"] or (sample["reason"] != "preempted"
                                       and sample["wake"] != sample["time"])}
    idle = [process for process in dump.processes
            if process["how"] == EXEC and process["ordinal"] not in active]
    equal(idle, [], "processes that became another one and did nothing before")
    copies = [process for process in dump.processes if process["how"] == EXEC]
    children = [process for process in dump.processes if process["comm"] == "sleep"]
    equal(len({process["pid"] for process in children}), len(children), "processes of the children")
    told = json.loads(home.run(ANNOT, "info", "--json", result.path).ok().out)
    equal(len(told["processes"]), len(dump.processes), "processes that annot info tells")
    report_of = json.loads(home.run(ANNOT, "report", "--json", result.path).ok().out)
    equal(report_of["recording"]["process_count"], len(dump.processes),
          "processes that the report counts")
    trace = json.loads(home.export(result.path, ".json").read_bytes())
    made_up = {event["pid"] for event in trace["traceEvents"] if event.get("pid", 0) >= 10_000_000}
    check(len(made_up) <= len(copies), f"numbers made up for processes: {made_up}")


SLEEPER = """
import threading, time
def sleep():
    begin = time.monotonic()
    time.sleep(0.5)  # and then it waits for the GIL
    print(threading.get_native_id(), time.monotonic() - begin)
sleeper = threading.Thread(target=sleep)
sleeper.start()
end = time.thread_time() + 0.2
while time.thread_time() < end: pass
sleeper.join()
"""


@case
def a_thread_that_only_waits_has_its_row(home):
    result, _ = sampled(home, sys.executable, "-c", SLEEPER, options=["--off-cpu"])
    rows = table(report(home, result.path, "--by", "thread"), "CPU time by thread")
    tid, seconds = result.out.decode().split()
    row = [cells for name, cells in rows.items() if tid in name]
    most = float(seconds) * 1e9 + 0.05e9
    check(row and 0.49e9 < nanoseconds(row[0]["blocked"]) < most, f"the sleeper is there: {rows}")


main()
