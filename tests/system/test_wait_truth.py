#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Time off the CPU against the clock on the wall: each cause is recorded, with its length.

The programs measure each wait from outside: wall time less CPU time. The sampler's time of the same
stretch, by stack and reason, must be the same within 2 % (and the host's share of the CPUs); and no
other reason may appear where only one is possible.
"""

import os
import sys

from harness import Skip, case, check, equal, main, program
from samples import TARGET_PYTHON, close, need_bpf, python_truths, record, truths

OPTIONS = ["--rate", "99", "--off-cpu=min=0"]
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")  # unit of the machine's taken time
SLACK = 1_000_000  # of some hundred ms: switches, and the calls around

CAUSES = {"wait_pipe": "pipe", "wait_socket": "socket", "wait_lock": "lock", "wait_sleep": "sleep",
          "wait_poll": "poll", "wait_child": "child"}


def reasons_of(samples, function):
    """Of the main process: its children have copies of the function's frame."""
    found, pid = {}, samples.main_pid()
    for sample in samples.off:
        if function in samples.stack(sample) and samples.pid_of[sample["thread"]] == pid:
            reason, ns = sample["reason"], sample["end"] - sample["time"]
            found[reason] = found.get(reason, 0) + ns
    return found


def as_long(actual, function, truth, what):
    """Time taken from the CPUs is in the truth, but it is not time off the CPU."""
    expected, taken = truth[function], truth[f"{function} taken"] + TICK_NS
    least, most = expected * 0.98 - SLACK - taken, expected * 1.02 + SLACK
    check(least <= actual <= most, f"{function}, {what}: {actual / 1e6:.2f} ms, not "
          f"{least / 1e6:.2f} to {most / 1e6:.2f} ms")


def the_reason(samples, function, word, truth):
    """Only the reasons whose name has the word, or preemptions; their sum is the wait."""
    found = reasons_of(samples, function)
    wanted = {name: ns for name, ns in found.items() if word in name}
    check(wanted, f"{function}: no stretch off the CPU for {word!r}, but {found}")
    as_long(sum(found.values()), function, truth, f"all of {found}")
    preempted = found.get("preempted", 0)
    as_long(sum(wanted.values()) + preempted, function, truth, f"{word} of {found}")


def record_waits(home, *before, **rest):
    """The folder of the test is no tmpfs, where pages could not be dropped."""
    file = home.work / "pages"
    file.write_bytes(os.urandom(8 << 20))
    os.sync()
    done = record(home, *before, program("target_waits"), file, options=OPTIONS, **rest)
    need_bpf(home, done)
    return done, truths(done.out.decode())


def longest_stack(samples, function):
    """In user space, of that function's stretches: the one with most of the time."""
    times = {}
    for sample in samples.off:
        stack = tuple(frame[1] for frame in samples.dump.stacks.get(sample["stack"], ())
                      if frame[0] != "kernel")
        if function in stack and samples.pid_of[sample["thread"]] == samples.main_pid():
            times[stack] = times.get(stack, 0) + sample["end"] - sample["time"]
    check(times, f"{function}: no stretch off the CPU")
    return max(times, key=times.get)


@case
def causes_of_a_c_program(home):
    done, truth = record_waits(home)
    for function, word in CAUSES.items():
        the_reason(done.samples, function, word, truth)
    done.samples.nothing_lost()


# The BPF links of the command's parent, which is annot.
TELL_LINKS = "cat /proc/$PPID/fdinfo/* 2>/dev/null; exec \"$@\""


@case
def causes_where_the_kernel_tells_no_return_to_a_cpu(home):
    """Before Linux 6.17: stacks by a kprobe when a thread is back, or else when it leaves."""
    usual, _ = record_waits(home, "sh", "-c", TELL_LINKS, "sh")
    old, truth = record_waits(
        home, "sh", "-c", TELL_LINKS, "sh",
        env=dict(home.environment, LD_PRELOAD=program("libold_scheduler.so")))
    links = old.out.decode()
    if "sched_switch" not in links:
        raise Skip("the kernel does not tell what is attached")
    check("sched_exit_tp" not in links, "the tracepoint was used")
    print("  usually " + ("by the tracepoint" if "sched_exit_tp" in usual.out.decode()
                          else "without the tracepoint")
          + ", now " + ("by a kprobe" if "finish_task_switch" in links or "kprobe" in links
                        else "when threads leave: no kprobes here"))
    for function, word in CAUSES.items():
        the_reason(old.samples, function, word, truth)
        equal(longest_stack(old.samples, function), longest_stack(usual.samples, function),
              f"the stack of {function}")
    old.samples.nothing_lost()


@case
def page_faults_and_reads_from_a_disk(home):
    done, truth = record_waits(home)
    for function, word in {"wait_fault": "page fault", "wait_disk": "disk"}.items():
        found = reasons_of(done.samples, function)
        took = truth.get(function, 0)
        if took < 5_000_000:
            print(f"  {function}: took {took / 1e6:.1f} ms: no disk behind it")
            continue
        wanted = sum(ns for name, ns in found.items() if word in name)
        # Thousands of short stretches: the time of the switches themselves belongs to none of them.
        slack = 5 * SLACK + truth[f"{function} taken"] + TICK_NS
        close(sum(found.values()), took, 0.25, slack,
              f"{function}, all of {found}, without {done.samples.losses()}")
        check(wanted >= 0.9 * sum(found.values()), f"{function}: of {found} too little is {word}")


@case
def woken_and_not_yet_running_is_told_apart(home):
    """Four workers on fewer CPUs: they wait only for a CPU."""
    cpus = sorted(os.sched_getaffinity(0))[:1]
    done = record(home, "taskset", "-c", str(cpus[0]), sys.executable, TARGET_PYTHON, "workers",
                  400, options=OPTIONS)
    need_bpf(home, done)
    samples = done.samples
    parent = samples.main_pid()
    waits = {}
    for sample in samples.off:
        if samples.pid_of[sample["thread"]] != parent and "shares" in samples.stack(sample):
            waits[sample["reason"]] = waits.get(sample["reason"], 0) + sample["end"] - \
                sample["time"]
    total = sum(waits.values())
    runnable = sum(ns for name, ns in waits.items() if "preempt" in name or "CPU" in name)
    check(total > 400e6, f"only {total / 1e6} ms off the CPU for four workers on one CPU: {waits}")
    check(runnable > 0.97 * total, f"workers that only compute wait for {waits}")


@case
def the_gil(home):
    done = record(home, sys.executable, TARGET_PYTHON, "gil", options=OPTIONS)
    need_bpf(home, done)
    samples, truth = done.samples, python_truths(done)["wait_for_gil"]
    found = reasons_of(samples, "wait_for_gil")
    gil = sum(ns for name, ns in found.items() if "GIL" in name)
    sleep = sum(ns for name, ns in found.items() if "sleep" in name)
    samples.close(sum(found.values()), truth, 0.02, SLACK, f"wait_for_gil, all of {found}")
    asleep = sum((s["wake"] or s["end"]) - s["time"] for s in samples.off
                 if "wait_for_gil" in samples.stack(s) and s["reason"] == "sleep")
    check(asleep >= 49e6, f"ten sleeps of 5 ms are {asleep / 1e6} ms")
    samples.close(asleep, 50e6, 0.02, 10 * SLACK, "the sleeps in wait_for_gil, until the wake-up")
    samples.close(gil, truth - sleep, 0.02, SLACK, f"the GIL in wait_for_gil, of {found}")


@case
def wall_time_is_running_and_waiting(home):
    """Of each thread: CPU time by samples and time off the CPU make up its life."""
    done = record(home, program("target_shares"), 600, options=["--rate", "999", *OPTIONS[2:]])
    need_bpf(home, done)
    samples = done.samples
    for thread in {s["thread"] for s in samples.cpu}:
        own = [s for s in samples.dump.samples if s["thread"] == thread]
        begin = min(s["time"] for s in own)
        end = max(s.get("end", s["time"]) for s in own)
        off = sum(s["end"] - s["time"] for s in own if s["off"])
        cpu = sum(s["weight"] for s in own if not s["off"])
        samples.close(off + cpu, end - begin, 0.03, 5e6,
                      f"running {cpu / 1e6} and waiting {off / 1e6} ms")


PING_PONG = """
import os, resource, sys, time
rate, seconds = float(sys.argv[1]), float(sys.argv[2])
there, back = os.pipe(), os.pipe()
child = os.fork()
def used():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int((used.ru_utime + used.ru_stime) * 1e9)
begin, before, turns = time.monotonic_ns(), used(), 0
while child and time.monotonic_ns() - begin < seconds * 1e9:
    late = time.monotonic_ns() - begin - turns * 1e9 / rate
    if late < 0:
        time.sleep(-late / 1e9)
    os.write(there[1], b"x")
    os.read(back[0], 1)
    turns += 1
if child:
    os.write(there[1], b"e")
else:
    while os.read(there[0], 1) == b"x":
        os.write(back[1], b"x")
        turns += 1
told = "ping" if child else "pong", os.getpid(), turns, begin, time.monotonic_ns(), used() - before
os.write(1, (" ".join(map(str, told)) + "\\n").encode())
if child:
    os.waitpid(child, 0)
os._exit(0)
"""


def running_ns(samples, thread, begin, end):
    """How long a thread ran in that time: all but stretches and short waits."""
    def inside(sample):
        return max(0, min(sample["end"], end) - max(sample["time"], begin))

    waited = sum(inside(s) for s in samples.off if s["thread"] == thread)
    short = sum((s["blocked"] + s["runnable"]) * inside(s) / (s["end"] - s["time"])
                for s in samples.dump.short_waits if s["thread"] == thread)
    return end - begin - waited - short


@case
def thousands_of_short_waits_are_not_running(home):
    """By default: waits too short to be recorded are added up, and the rest is run time."""
    script = home.work / "ping_pong.py"
    script.write_text(PING_PONG)
    done = record(home, sys.executable, script, 5000, 2, options=[])
    need_bpf(home, done)
    samples = done.samples
    lines = [line.split() for line in done.out.decode().splitlines()]
    check(len(lines) == 2, f"both ends tell: {lines}")
    for name, *numbers in lines:
        pid, turns, begin, end, cpu = map(int, numbers)
        thread, = (ordinal for ordinal, of in samples.pid_of.items() if of == pid)
        wall = end - begin
        share = 100 * running_ns(samples, thread, begin, end) / wall
        truth = 100 * cpu / wall
        print(f"  {name}: {turns} turns, {share:.1f} % of {wall / 1e9:.2f} s, by its clocks "
              f"{truth:.1f} %")
        check(abs(share - truth) <= 1.5, f"{name}: ran {share:.1f} %, not {truth:.1f} %")
    check(all(s["end"] - s["time"] >= 1_000_000 for s in samples.off), "long ones only")
    check(samples.dump.short_waits, "short waits are told")
    samples.nothing_lost()


@case
def causes_are_as_long_as_they_were_by_default(home):
    done = record(home, program("target_waits"), "", options=[])
    need_bpf(home, done)
    truth = truths(done.out.decode())
    for function, word in CAUSES.items():
        found = reasons_of(done.samples, function)
        wanted = sum(ns for name, ns in found.items() if word in name)
        taken = truth[f"{function} taken"] + TICK_NS
        least, most = truth[function] * 0.99 - SLACK - taken, truth[function] * 1.01 + SLACK
        check(least <= wanted <= most, f"{function}: {word} of {found} is not "
              f"{truth[function] / 1e6:.2f} ms")


@case
def threshold_and_rate_are_kept(home):
    done = record(home, program("target_waits"), "", options=[
        "--off-cpu=min=10ms"])
    need_bpf(home, done)
    short = [s for s in done.samples.off if s["end"] - s["time"] < 10_000_000]
    check(not short, f"{len(short)} stretches are shorter than the threshold")
    check(done.samples.off, "no stretch is longer than the threshold")
    done = record(home, program("target_life"), "threads", 4000, 300,
                  options=["--off-cpu=min=0,rate=100"])
    seconds = max(1, (done.samples.dump.session["end"] - done.samples.dump.session["begin"]) / 1e9)
    check(len(done.samples.off) <= 250 * seconds,
          f"{len(done.samples.off)} stretches in {seconds:.1f} s, and 100 a second allowed")
    check(any("rate" in name for name in done.samples.losses()),
          f"what was above the rate is not told: {done.samples.losses()}")


if __name__ == "__main__":
    main()
