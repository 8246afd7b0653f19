#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes and threads that come, go and change in odd ways, under the sampler.

Without losses or harm, and samples of threads that ended long ago have names.
"""

import os
import shutil
import subprocess
import sys

from harness import PROGRAMS, Skip, case, check, equal, main, needs_root, program
from samples import LONG, TARGET_PYTHON, need_bpf, python_truths, record, truths

OPTIONS = ["--rate", "999"]
SLACK = 12e6  # ns: on a busy virtual machine ticks come late or not at all
LIFE = "target_life"


def life(home, *arguments, options=OPTIONS, **rest):
    done = record(home, program(LIFE), *arguments, options=options, **rest)
    need_bpf(home, done)
    return done, done.samples.nothing_lost()


def named(samples, sample):
    """Returns true if its frames have names, except the few that no file can name."""
    stack = samples.stack(sample)
    return bool(stack) and not any(name.startswith(("0x", "[unknown")) for name in stack)


def share_named(samples):
    return sum(named(samples, s) for s in samples.cpu) / max(1, len(samples.cpu))


@case
def children_of_20_ms_are_all_seen(home):
    done, samples = life(home, "children", 8, 20)
    seen = {samples.pid_of[s["thread"]] for s in samples.cpu if "child_work" in samples.stack(s)}
    equal(len(seen), 8, "children that were seen")
    samples.close(samples.cpu_ns("child_work"), 8 * 20e6, 0.05, SLACK, "time of the children")
    check(done.out == b"", done.out)


@case
def processes_of_5_ms_are_all_seen_and_named(home):
    count = 2000 if LONG else 300
    _, samples = life(home, "children", count, 5, timeout=300)
    seen = {samples.pid_of[s["thread"]] for s in samples.cpu if "child_work" in samples.stack(s)}
    check(len(seen) >= 0.995 * count, f"{len(seen)} of {count} processes were seen")
    share = share_named(samples)
    check(share >= 0.99, f"{100 * share:.2f} % of the samples have names")
    whole, others = samples.complete()
    check(whole >= 0.99, f"{100 * whole:.2f} % of the stacks are complete; else {others}")


@case
def stacks_that_are_always_new_do_not_fill_the_memory(home):
    """1.3 and 4 million nodes of stacks: those in the file need not be kept."""
    need_bpf(home)
    sizes = []
    for milliseconds in (3500, 10500):
        done = home.record(program("target_stacks"), milliseconds, options=OPTIONS,
                           timeout=300).ok()
        check("nothing lost" in done.err_text, done.err_text)
        sizes.append(done.own_kib / 1024)
    check(sizes[1] - sizes[0] < 15, f"MiB after a third of the time and after all: {sizes}")


@case
def programs_of_5_ms_are_all_named(home):
    """Each is a separate exec, over before it can be read. Where the machine stops for a while some
    cannot be read in time: of three recordings, one must have them all."""
    count, processes, samples = 1000 if LONG else 150, set(), None
    for _ in range(3):
        if len(processes) < 0.99 * count:
            _, samples = life(home, "vfork", count, 5, timeout=300)
            processes = {samples.pid_of[s["thread"]] for s in samples.cpu
                         if "mode_burn" in samples.stack(s)}
    check(len(processes) >= 0.99 * count, f"{len(processes)} of {count} programs were seen")
    share = share_named(samples)
    check(share >= 0.99, f"{100 * share:.2f} % of the samples have names")
    own = [p for p in samples.dump.processes if p["pid"] in processes and "burn" in p["cmdline"]]
    check(len(own) >= len(processes), f"{len(own)} of {len(processes)} have their command line")


@case
def a_fork_storm(home):
    levels = 8 if LONG else 6
    _, samples = life(home, "storm", levels, 10)
    seen = {samples.pid_of[s["thread"]] for s in samples.cpu if "burn" in samples.stack(s)}
    equal(len(seen), 2 ** levels, "processes of the storm that were seen")
    samples.close(samples.cpu_ns("burn"), 2 ** levels * 10e6, 0.05, SLACK, "time of the storm")


@case
def ten_thousand_threads(home):
    done, samples = life(home, "threads", 10000, 100)
    truth = truths(done.out.decode())["burn"]
    samples.close(samples.cpu_ns("burn"), truth, 0.05, SLACK, "the main thread's work")


@case
def an_exec_in_a_thread(home):
    _, samples = life(home, "exec", 1, 60)
    before = [s for s in samples.cpu if "mode_exec" in samples.stack(s) and
              "burn" in samples.stack(s)]
    after = [s for s in samples.cpu if "mode_burn" in samples.stack(s)]
    samples.close(sum(s["weight"] for s in before), 60e6, 0.05, SLACK, "before the exec")
    samples.close(sum(s["weight"] for s in after), 60e6, 0.05, SLACK, "after it")
    images = {samples.dump.threads[s["thread"]]["process"] for s in before}
    check(not images & {samples.dump.threads[s["thread"]]["process"] for s in after},
          "the program and the one that replaced it are one process in the recording")


def images(home, mode):
    """Programs that replace each other: each sample has ranges of its own program, that of a forked
    child those of its parent at the fork."""
    done = record(home, program("target_images"), mode, "03", options=OPTIONS)
    need_bpf(home, done)
    samples, worked = done.samples.nothing_lost(), 0
    for sample in samples.cpu:
        path, owner = samples.path(sample), samples.dump.threads[sample["thread"]]["process"]
        number = (samples.dump.processes[owner]["cmdline"] + " 00").split()[3]
        check(path in ([], [f"wait {number}"], [f"wait {number}", f"work {number}"]),
              f"{path} is open in program {number}")
        worked += sample["weight"] if len(path) == 2 and "work" in samples.stack(sample) else 0
    samples.close(worked, 4 * 40e6, 0.05, SLACK, "time of the work, in its ranges")
    return samples


@case
def programs_that_replace_each_other_have_ranges_of_their_own(home):
    images(home, "exec")


@case
def children_have_ranges_of_the_program_that_forked_them(home):
    samples = images(home, "fork")
    workers = {samples.pid_of[s["thread"]] for s in samples.cpu if "work" in samples.stack(s)}
    equal(len(workers), 4, "the three children and the last program")


@case
def vfork_and_exec(home):
    _, samples = life(home, "vfork", 10, 20)
    samples.close(samples.cpu_ns("mode_burn"), 10 * 20e6, 0.05, SLACK, "time of the children")


@case
def a_signal_stack(home):
    _, samples = life(home, "altstack", 10, 20)
    inside = [s for s in samples.cpu if "on_signal" in samples.stack(s)]
    samples.close(sum(s["weight"] for s in inside), 200e6, 0.05, SLACK, "time in the handler")
    through = [s for s in inside if samples.stack(s).index("on_signal") >
               (samples.stack(s) + ["interrupted"]).index("interrupted")]
    silent = [s for s in inside if s not in through and s["native_end"] == 1]
    check(not silent, f"{len(silent)} stacks end in the handler and are said to be complete")
    check(len(through) >= 0.95 * len(inside),
          f"{len(inside) - len(through)} of {len(inside)} stacks do not pass the signal's frame")


@case
def deep_recursion(home):
    """Deeper than the limit: cut, reported so, and the leaf is true."""
    _, samples = life(home, "deep", 400, 100)
    whole, others = samples.complete()
    check(whole >= 0.99, f"{100 * whole:.2f} % complete at 400 frames; else {others}")
    _, samples = life(home, "deep", 5000, 100)
    inside = [s for s in samples.cpu if "burn" in samples.stack(s)]
    samples.close(sum(s["weight"] for s in inside), 100e6, 0.05, SLACK, "time at the bottom")
    whole = [s for s in inside if s["native_end"] == 1]
    check(not whole, f"{len(whole)} of {len(inside)} stacks say that they are complete")


@case
def libraries_that_come_and_go(home):
    _, samples = life(home, "libraries", 60, 5, PROGRAMS / "liblibrary_burn.so")
    samples.close(samples.cpu_ns("library_burn"), 60 * 5e6, 0.05, SLACK, "time in the library")
    whole, others = samples.complete()
    check(whole >= 0.99, f"{100 * whole:.2f} % complete; else {others}")


@case
def a_program_that_deletes_itself(home):
    copy = home.work / "copy"
    shutil.copy(program(LIFE), copy)
    done = record(home, copy, "deleted", 1, 100, options=OPTIONS)
    need_bpf(home, done)
    truth = truths(done.out.decode())["burn"]
    done.samples.close(done.samples.cpu_ns("mode_deleted"), truth, 0.05, SLACK,
                       "time of the deleted program")


@case
@needs_root
def pid_and_mount_namespaces_of_its_own(home):
    """The program's file is where only it can see it."""
    place = home.work / "place"
    place.mkdir()
    script = (f"mount -t tmpfs none {place} && cp {program(LIFE)} {place}/program && "
              f"{place}/program children 4 20 && exec {place}/program burn 1 60")
    done = record(home, "unshare", "--pid", "--fork", "--mount", "--mount-proc", "sh", "-c", script,
                  options=OPTIONS)
    need_bpf(home, done)
    samples = done.samples.nothing_lost()
    samples.close(samples.cpu_ns("mode_burn"), 60e6, 0.05, SLACK, "the main program")
    samples.close(samples.cpu_ns("child_work"), 80e6, 0.05, SLACK, "its children")
    check(share_named(samples) > 0.98, f"{100 * share_named(samples):.1f} % have names")


@case
def greenlets(home):
    python = os.environ.get("ANNOT_TEST_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import greenlet"], capture_output=True).returncode:
        raise Skip(f"the package greenlet is not installed for {python}")
    done = record(home, python, TARGET_PYTHON, "greenlets", 500, options=OPTIONS)
    need_bpf(home, done)
    truth = python_truths(done)
    for name, ns in truth.items():
        done.samples.close(done.samples.cpu_ns(name), ns, 0.05, SLACK, name)


@case
def the_program_does_not_notice(home):
    """Its output, its status and its descriptors are the same as without."""
    script = "import os; print(sorted(os.listdir('/proc/self/fd'))); print(os.getppid() > 0)"
    plain = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True,
                           stdin=subprocess.DEVNULL, cwd=home.work)
    done = record(home, sys.executable, "-c", script, options=OPTIONS)
    equal(done.out, plain.stdout, "what the program prints")


if __name__ == "__main__":
    main()
