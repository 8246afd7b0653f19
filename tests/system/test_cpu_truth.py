#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sampled CPU time against the clocks of the threads themselves: functions, ranges, processes.

Shares of functions are held to 2 percent points. A range's sampled time is held to its clock within
3 % or the error of sampling: each entry and exit may be off by one sample, as is the timer.
"""

import json
import math
import os
import sys

from harness import PROGRAMS, Skip, case, check, equal, main, program
from samples import (LONG, TARGET_PYTHON, interpreters, need_bpf, python_truths,
                     record, same_shares, truths)

HZ = 499
RANGES = ("ranges", "track_ranges", "inherited_ranges", "unrecorded_ranges")
PERIOD = 1e9 / HZ
OPTIONS = ["--rate", str(HZ)]
MS = 8000 if LONG else 1500


def whole(samples, least=0.995):
    """Without losses and with whole stacks, on both sides where there are two."""
    samples.nothing_lost()
    for kind in ("native_end", "python_end"):
        share, others = samples.complete(kind)
        check(share >= least or not any(s[kind] for s in samples.dump.samples),
              f"{100 * share:.2f} % of the stacks are complete ({kind}), not so: {others}")


def sampling_error(ns, entries):
    """Three times the deviation of a sum of samples at random edges, plus the timer's."""
    return 3 * PERIOD * math.sqrt(entries + ns / PERIOD / 12) + 0.03 * ns


@case
def shares_of_c_functions(home):
    done = record(home, program("target_shares"), MS, options=OPTIONS)
    need_bpf(home, done)
    truth = truths(done.out.decode())
    samples = done.samples
    same_shares(samples, truth)
    whole(samples)
    for name, ns in truth.items():
        slack = sampling_error(ns, 20 + samples.turns(ns, PERIOD))
        samples.close(samples.cpu_ns(name), ns, 0.03, slack, name)
        samples.close(samples.cpu_ns(range_name=f"range {name}"), ns, 0.03, slack, f"range {name}")
    ns = sum(truth.values())
    samples.close(samples.cpu_ns(range_name="round"), ns, 0.03,
                  3 * PERIOD * math.sqrt(samples.turns(ns, PERIOD)), "range round")
    live = samples.dump.live_count / len(samples.cpu)
    check(live > 0.8, f"only {100 * live:.1f} % of the samples brought their ranges with them")
    for sample in samples.cpu:
        stack, path = samples.stack(sample), samples.path(sample)
        burner = [name for name in truth if name in stack]
        if burner and path[-1:] == ["round"]:
            continue  # between the function's first instruction and its range
        check(not burner or path == ["round", "range " + burner[0]],
              f"a sample in {burner} lies in the ranges {path}")


def shares_of(home, version, python):
    done = record(home, python, TARGET_PYTHON, "shares", MS, options=OPTIONS)
    need_bpf(home, done)
    same_shares(done.samples, python_truths(done))
    whole(done.samples)
    print(f"  {version}: {len(done.samples.cpu)} samples")


@case
def shares_of_python_functions_by_each_interpreter(home):
    for version, python in interpreters():
        shares_of(home, version, python)


@case
def shares_in_python_threads(home):
    done = record(home, sys.executable, TARGET_PYTHON, "threads", MS // 2, options=OPTIONS)
    need_bpf(home, done)
    same_shares(done.samples, python_truths(done))
    whole(done.samples)


@case
def interpreters_that_call_each_other(home):
    for version, python in interpreters():
        if tuple(map(int, version.split("."))) < (3, 11):
            continue  # only the innermost one is read
        done = record(home, python, TARGET_PYTHON, "interpreters", MS, options=OPTIONS)
        need_bpf(home, done)
        samples = done.samples
        same_shares(samples, python_truths(done))
        whole(samples)
        callers = {"in_older": ["call_older"], "in_newer": ["call_newer"],
                   "in_both": ["call_newer", "<module>"], "burn_one": ["interpreters"]}
        for sample in samples.cpu:
            stack = [name.rsplit(".", 1)[-1] for name in samples.stack(sample)]
            for inner, outer in callers.items():
                order = [stack.index(name) if name in stack else -1
                         for name in ("interpreters", outer[0])] + \
                        [len(stack) - stack[::-1].index(name) - 1 if name in stack else -1
                         for name in outer[1:] + [inner]]
                check(inner not in stack or (-1 not in order and order == sorted(order)),
                      f"{version}: {inner} is called by {stack}")
        print(f"  {version}: {len(samples.cpu)} samples")


@case
def python_ranges_agree_with_their_clocks(home):
    done = record(home, sys.executable, TARGET_PYTHON, "ranges", MS, options=OPTIONS,
                  env=with_pyannot(home))
    need_bpf(home, done)
    truth = python_truths(done)
    for name, ns in truth.items():
        if name.startswith("range "):
            done.samples.close(done.samples.cpu_ns(range_name=name[6:]), ns, 0.03,
                               sampling_error(ns, 20), name)
    whole(done.samples)


@case
def ranges_of_tasks_agree_with_their_clocks(home):
    done = record(home, sys.executable, TARGET_PYTHON, "tasks", MS, options=OPTIONS,
                  env=with_pyannot(home))
    need_bpf(home, done)
    samples, truth = done.samples, python_truths(done)
    ranges = {name[6:]: ns for name, ns in truth.items() if name.startswith("range ")}
    equal(sorted(ranges), ["around", "heavy", "light"], "ranges")
    burners, elsewhere = {"burn_one": "light", "burn_two": "heavy"}, []
    for sample in samples.cpu:
        path, stack = samples.path(sample), samples.stack(sample)
        burner = [name for name in burners if name in stack]
        if burner and path != ["around", "tasks.<locals>.task", burners[burner[0]], "both"]:
            elsewhere.append((burner, path))
    # Samples without their own ranges know only those of the thread's events.
    check(len(elsewhere) <= len(samples.cpu) / 50, f"{len(elsewhere)} samples: {elsewhere[:3]}")
    for name, ns in ranges.items():
        samples.close(samples.cpu_ns(range_name=name), ns, 0.03,
                      sampling_error(ns, 200) + len(elsewhere) * PERIOD, name)
    report = rows_of_report(home, done.path)
    for name in ("light", "heavy"):
        row = report["track_ranges", f"python:tasks.<locals>.task/{name}"]
        equal(row["cpu_ns"], samples.cpu_ns(range_name=name), f"the report's row of {name}")
        equal(row["count"], 10, f"the report's row of {name}")
    equal(report["ranges", "around"]["cpu_ns"], samples.cpu_ns(range_name="around"), "around")
    inside = sum(sample["weight"] for sample in samples.cpu if samples.path(sample))
    equal(sum(row["cpu_self_ns"] for row in report.values()), inside, "sum of all rows")
    whole(samples)


def rows_of_report(home, path):
    """{(table, path): row} of `annot report --json`."""
    told = json.loads(home.annot("report", "--json", path).ok().out)
    return {(table, row["path"]): row for table in RANGES for row in told[table]
            if "rest" not in row}


def with_pyannot(home):
    if "ANNOT_PYANNOT" not in os.environ:
        raise Skip("ANNOT_PYANNOT names no pyannot of this interpreter")
    return dict(home.environment, PYTHONPATH=os.environ["ANNOT_PYANNOT"])


@case
def workers_that_are_not_annotated_lie_in_the_range_of_the_fork(home):
    done = record(home, sys.executable, TARGET_PYTHON, "pool", MS, options=OPTIONS,
                  env=with_pyannot(home))
    need_bpf(home, done)
    truth = python_truths(done)["pool_work"]
    samples = done.samples
    samples.close(samples.cpu_ns("pool_work"), truth, 0.03, sampling_error(truth, 16), "pool_work")
    inside = samples.cpu_ns("pool_work", range_name="in the parent")
    check(inside == samples.cpu_ns("pool_work"),
          f"{inside / 1e6} ms of the workers lie in the parent's range, not "
          f"{samples.cpu_ns('pool_work') / 1e6}")
    check(len({samples.pid_of[s["thread"]] for s in samples.cpu
               if "pool_work" in samples.stack(s)}) == 2, "the workers are not two processes")
    whole(samples)


@case
def c_under_python_under_c(home):
    library = PROGRAMS / "liblibrary_burn.so"
    done = record(home, sys.executable, TARGET_PYTHON, "callback", MS, library, options=OPTIONS)
    need_bpf(home, done)
    samples, truth = done.samples, python_truths(done)
    samples.close(samples.cpu_ns("library_call"), truth["library_call"], 0.03, 0, "library_call")
    samples.close(samples.cpu_ns("python_callback"), truth["burn_one"], 0.03, 2 * PERIOD * 10,
                  "callback")
    whole(samples)
    wrong = 0
    for sample in samples.cpu:
        stack = samples.stack(sample)
        if "burn_one" in stack:
            order = [stack.index(name) if name in stack else -1
                     for name in ("callback", "library_call", "python_callback", "burn_one")]
            wrong += order != sorted(order) or -1 in order
    check(wrong <= len(samples.cpu) / 1000, f"{wrong} stacks are joined in the wrong order")


@case
def seconds_of_four_workers_are_those_of_proc(home):
    done = record(home, sys.executable, TARGET_PYTHON, "workers", MS, options=OPTIONS)
    need_bpf(home, done)
    truth = python_truths(done)
    samples = done.samples
    parent = samples.main_pid()
    children = sum(s["weight"] for s in samples.cpu if samples.pid_of[s["thread"]] != parent)
    samples.close(children, truth["children"], 0.03, 0, "CPU time of the workers")
    samples.nothing_lost()


@case
def short_programs_have_as_many_samples_as_say_something(home):
    """They end before one second of CPU time, from which on the rate is lower."""
    done = record(home, program("target_shares"), 400)  # ms on each of two threads
    need_bpf(home, done)
    truth, samples = truths(done.out.decode()), done.samples
    same_shares(samples, truth)
    ns = sum(truth.values())
    samples.close(samples.cpu_ns(range_name="round"), ns, 0.03,
                  sampling_error(ns, samples.turns(ns, PERIOD)), "800 ms")
    check(len(samples.cpu) > 200, f"{len(samples.cpu)} samples in 0.8 s")
    info = json.loads(home.annot("info", "--json", done.path).ok().out)["sampling"]
    check((info["frequency_hz"], info["first_frequency_hz"], info["slowed"]) == (99, HZ, False),
          info)
    shown = home.annot("report", done.path).ok().out.decode()
    check(" samples (499 Hz)" in shown and "few samples" not in shown, shown)


@case
def long_programs_have_the_same_time_at_both_rates(home):
    done = record(home, program("target_shares"), 2500)
    need_bpf(home, done)
    truth, samples = truths(done.out.decode()), done.samples
    ns = sum(truth.values())
    same_shares(samples, truth, points=8)
    samples.close(samples.cpu_ns(range_name="round"), ns, 0.03,
                  5 * sampling_error(ns, samples.turns(ns, 5 * PERIOD)), "2.5 s")
    weights = {sample["weight"] for sample in samples.cpu}
    check(weights <= {10 ** 9 // 499, 10 ** 9 // 99, 10 ** 9 // 99 * 3 // 2}, weights)
    shown = home.info(done.path)
    check(", 499 Hz, then 99 Hz," in shown, shown)


@case
def a_rate_that_was_given_is_that_of_all_samples(home):
    done = record(home, program("target_shares"), 300, options=["--rate", "99"])
    need_bpf(home, done)
    check({sample["weight"] for sample in done.samples.cpu} == {10 ** 9 // 99}, done.err)
    info = json.loads(home.annot("info", "--json", done.path).ok().out)["sampling"]
    check(info["frequency_hz"] == 99 and "first_frequency_hz" not in info, info)


@case
def the_sampler_does_not_mind_that_nothing_is_annotated(home):
    """An unknown program without symbols and without annotations."""
    done = record(home, "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done",
                  options=OPTIONS)
    need_bpf(home, done)
    check(len(done.samples.cpu) > 20, f"{len(done.samples.cpu)} samples")
    check(b"hint" not in done.err, done.err)
    whole(done.samples)


if __name__ == "__main__":
    main()
