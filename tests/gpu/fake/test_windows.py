#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Windows in which GPUs are recorded: exactly the launches inside, with the cost of each window.
Losses of a fork, an exec or a kill are counted. At the end of `annot attach`, no records are lost
while the program continues.

    test_windows.py ANNOT FAKE_CUPTI PROGRAM LIBRARY

Each launch of the program is in its own range, "launch N". LIBRARY is libannot-gpu.so.
"""

import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import replay
import spans

ANNOT, FAKE, PROGRAM, LIBRARY = (pathlib.Path(word).resolve() for word in sys.argv[1:])
SCENE = "streams"  # forty launches by four threads
ALL = [call[4] for call in replay.activities_of(SCENE)[0].launches()]
ENVIRONMENT = {"ANNOT_CUPTI": str(FAKE), "FAKE_CUPTI": str(FAKE),
               "PATH": f"{ANNOT.parent}:{os.environ['PATH']}"}


def read(out, done):
    recorded = spans.read(out)
    recorded.program = json.loads(done) if done else {}
    recorded.launched = sorted(int(span.ranges[0].split()[1]) for span in recorded.spans
                               if span.role in ("kernel", "graph"))
    return recorded


def record(window, *more, before="", options=(), status=0, mode="ranges"):
    """Record with that window. `before`: commands in the ranges of launches."""
    out = replay.folder / "out.annot"
    done = subprocess.run(
        [ANNOT, "record", "--force", "--sampling=none", "--gpu", "--gpu-window", window, *options,
         "-o", out, "--", PROGRAM, replay.file_of(SCENE), mode, *more],
        env={**os.environ, **ENVIRONMENT, "FAKE_BEFORE": before}, capture_output=True, text=True,
        timeout=60)
    assert done.returncode == status, (window, done)
    return read(out, done.stdout)


def check(recorded, numbers):
    """Check that exactly the launches with these numbers are recorded, counted from 1."""
    wanted = sorted(ALL[number - 1] for number in numbers)
    assert recorded.launched == wanted, (recorded.launched, wanted)
    counts = recorded.counts
    assert counts.get("launched", 0) == counts.get("told", 0) == len(wanted), counts
    assert not recorded.notes, recorded.notes


def all_of_it():
    check(record("all"), range(1, 41))


def a_range_of_a_name():
    recorded = record(f"range:launch {ALL[10]}")
    check(recorded, [11])
    opened, shut = recorded.windows
    assert len(opened) == len(shut) == 1, recorded.windows
    assert opened[0]["opened by"] == "the program's thread"
    assert 0 < opened[0]["opened in [ns]"] < 1_000_000_000
    assert 0 < shut[0]["shut in [ns]"] < 1_000_000_000
    check(record(f"range:launch {ALL[10]}@default"), [11])
    check(record(f"range:launch {ALL[10]}@elsewhere"), [])
    check(record("range:launch *"), range(1, 41))


def what_is_left_out_was_not_idle():
    """The window stays open from step to step, as the next one starts before it closes."""
    check(record("step:launch *:every=2"), range(2, 41, 2))
    left_out(set(ALL[::2]))
    # Warm-up steps are not kept either.
    recorded = record("schedule:launch *:wait=0,warmup=5,active=3,repeat=1",
                      before="2 sleep 0.3;8 sleep 0.3")
    check(recorded, range(6, 9))
    left_out(set(ALL[:5]))


def left_out(numbers):
    """For the ranges of these launches it is unknown if a GPU was idle."""
    rows = json.loads(subprocess.run(
        [ANNOT, "report", "--json", "--table", "gpu_ranges", replay.folder / "out.annot"],
        capture_output=True, text=True, check=True).stdout)["gpu_ranges"]
    idle = {int(row["path"].split()[1]): row["idle_ns"] for row in rows
            if row.get("idle_ns") and not row.get("launched")}
    # Except for other programs' kernels that ran meanwhile, up to the instant of the report.
    assert not numbers & {number for number, ns in idle.items() if ns > 100_000}, idle


def each_nth_step():
    check(record("step:launch *:every=7"), [7, 14, 21, 28, 35])
    check(record("step:launch *:every=7,first=3,count=4"), [3, 10, 17, 24])
    check(record("step:launch *:every=1,count=5"), range(1, 6))


def phases(wait, warmup, active, repeat=0, skip_first=0):
    """Yield the answer of torch.profiler.schedule for each step, from 0 on."""
    for step in itertools.count():
        if step < skip_first:
            yield "none"
            continue
        cycle, at = divmod(step - skip_first, wait + warmup + active)
        if repeat and cycle >= repeat:
            yield "none"
        else:
            yield "none" if at < wait else "warmup" if at < wait + warmup else "record"


def the_schedule_of_torch():
    for keys in (dict(wait=2, warmup=1, active=3, repeat=2, skip_first=1),
                 dict(wait=5, warmup=0, active=2), dict(wait=0, warmup=3, active=4),
                 dict(wait=1, warmup=1, active=1, repeat=1)):
        window = "schedule:launch *:" + ",".join(f"{key}={value}" for key, value in keys.items())
        wanted = [number for number, phase in zip(range(1, 41), phases(**keys))
                  if phase == "record"]
        check(record(window), wanted)


def steps_after_a_slow_one():
    before = "5 sleep 0.6;20 sleep 0.6;30 sleep 0.01"  # a busy machine may add a lot to the last
    check(record("slow:launch *:over=500", before=before), [6, 21])
    check(record("slow:launch *:over=500,next=3", before=before), [6, 7, 8, 21, 22, 23])


def a_signal_switches():
    before = "11 kill -USR2 $PPID && sleep 0.3;31 kill -USR2 $PPID && sleep 0.3"
    recorded = record("signal:USR2", before=before)
    check(recorded, range(11, 31))
    assert recorded.program["signals"] == 2, recorded.program  # the program's own handler
    opened, _ = recorded.windows
    assert [each["opened by"] for each in opened] == ["annot's thread"], opened


def annot_set_switches():
    before = ("11 annot set -p $PPID --gpu-window on > /dev/null && sleep 0.4;"
              "31 annot set -p $PPID --gpu-window window > /dev/null && sleep 0.4")
    check(record("set", before=before), range(11, 31))
    before = ("11 annot set -p $PPID --gpu-window off > /dev/null && sleep 0.4;"
              "31 annot set -p $PPID --gpu-window window > /dev/null && sleep 0.4")
    check(record("all", before=before), [*range(1, 11), *range(31, 41)])


def a_forked_child_opens_nothing():
    check(record("range:launch *", "fork"), range(1, 41))


def what_an_exec_or_a_kill_takes_is_known():
    recorded = record("all", "exec", mode="ranges,keep")
    assert recorded.counts["launched"] == 40 and not recorded.counts.get("told"), recorded.counts
    recorded = record(f"range:launch {ALL[39]}", "kill", before="40 kill -KILL $PPID",
                      status=-signal.SIGKILL)
    assert recorded.counts.get("launched", 0) == 0  # it died before the call
    recorded = record("all", "kill", mode="ranges,keep", status=-signal.SIGKILL)
    assert recorded.counts["launched"] == 40 and not recorded.counts.get("told"), recorded.counts


class Dormant:
    """A program that was started so that it can be recorded later."""

    def __init__(self, **settings):
        self.folder = replay.folder / "dormant"
        self.folder.mkdir(exist_ok=True)
        self.go = self.folder / "go"
        self.go.unlink(missing_ok=True)
        environment = {**os.environ, **ENVIRONMENT, "ANNOT_GPU": "on",
                       "CUDA_INJECTION64_PATH": str(LIBRARY),
                       "FAKE_BEFORE": f"0 while test ! -e {self.go}\ndo sleep 0.05\ndone",
                       **settings}
        self.process = subprocess.Popen(
            [PROGRAM, replay.file_of(SCENE), "ranges,keep", "linger"], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        until = time.monotonic() + 30
        while "annot-gpu" not in self.threads():
            assert time.monotonic() < until, self.threads()
            time.sleep(0.05)

    def threads(self):
        return [(task / "comm").read_text().strip()
                for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()]

    def attach(self, *options):
        self.out = self.folder / "out.annot"
        self.annot = subprocess.Popen(
            [ANNOT, "attach", "--force", "--sampling=none", *options, "-o", self.out,
             str(self.process.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1)  # it looks ten times a second
        self.go.touch()

    def end(self):
        done, _ = self.process.communicate("\n", timeout=60)
        return done


def the_end_of_attach_loses_nothing():
    """CUPTI keeps its buffers until asked, so these records were fetched at the end."""
    program = Dormant()
    program.attach()
    line = program.process.stdout.readline()  # all work is launched
    began = time.monotonic()
    program.annot.send_signal(signal.SIGINT)
    _, errors = program.annot.communicate(timeout=60)
    took = time.monotonic() - began
    assert program.annot.returncode == 0, errors
    recorded = read(program.out, line)
    program.end()
    check(recorded, range(1, 41))
    assert took < 3, took


def nothing_is_left_behind_a_window():
    """After attach the program's calls are no longer followed, and another tool can record."""
    for _ in range(2):
        program = Dormant()
        program.attach()
        line = program.process.stdout.readline()
        program.annot.send_signal(signal.SIGINT)
        _, errors = program.annot.communicate(timeout=60)
        assert program.annot.returncode == 0, errors
        assert "annot-gpu" in program.threads()
        program.end()
        check(read(program.out, line), range(1, 41))


def what_cannot_be_had_is_said_when_somebody_records():
    """The library was not there when the driver started."""
    program = Dormant(ANNOT_CUPTI="/nowhere.so", ANNOT_CUDA_NEXT="/nowhere.so")
    program.attach("-d", "1")
    program.annot.communicate(timeout=60)
    recorded = spans.read(program.out)
    program.end()
    assert [note.split(" for ")[0] for note in recorded.notes] == [
        "GPU: the tool in CUDA_INJECTION64_PATH could not be loaded",
        "GPU: no libcupti found"], recorded.notes


def the_budget_ends_a_recording():
    """Forty launches, of which the 20th consists of four seconds of expensive calls."""
    recorded = record("all", options=["--gpu=budget=0.0000001"],
                      before="20 sleep 5;30 sleep 0.1")
    assert len(recorded.notes) == 1, recorded.notes
    assert re.match(r"GPU: recording costs .* more than the budget of 1e-07 %: from here nothing",
                    recorded.notes[0]), recorded.notes
    assert recorded.launched == sorted(ALL[:19]), recorded.launched
    info = subprocess.run([ANNOT, "info", replay.folder / "out.annot"], capture_output=True,
                          text=True, check=True).stdout
    assert "more than the budget" in " ".join(info.split()), info
    check(record("all", before="20 sleep 5"), range(1, 41))  # requested, without a limit


CASES = [all_of_it, a_range_of_a_name, each_nth_step, what_is_left_out_was_not_idle,
         the_schedule_of_torch,
         steps_after_a_slow_one, a_signal_switches, annot_set_switches,
         a_forked_child_opens_nothing, what_an_exec_or_a_kill_takes_is_known,
         the_end_of_attach_loses_nothing, what_cannot_be_had_is_said_when_somebody_records,
         nothing_is_left_behind_a_window,
         the_budget_ends_a_recording]

if __name__ == "__main__":
    sys.exit(replay.run_cases([case for case in CASES
                               if case.__name__ in os.environ.get("CASE", case.__name__)]))
