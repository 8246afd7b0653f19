#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every rung of the ladder with the rights that lead to it: it reports which and why, and works."""

import os
import re
import shutil
import subprocess
import sys

from harness import ANNOT, Skip, case, check, equal, main, needs_root, program
from samples import (BPF, NONE, OFF, REMOTE, TARGET_PYTHON, Samples, close, python_truths,
                     record, same_shares, truths)

NOBODY = 65534
RIGHTS = {"none": "", "two": "+bpf,+perfmon"}
PYTHON = "/usr/bin/python3"


def launch(home, command, rights=None, denied=None):
    """The command prefix that takes away rights, or calls."""
    words = []
    if rights is not None:
        if not shutil.which("setpriv"):
            raise Skip("setpriv is missing")
        for place in (home.shm, home.work):
            os.chown(place, NOBODY, NOBODY)
        home.environment["HOME"] = str(home.work)
        words = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        if RIGHTS[rights]:
            words += ["--inh-caps", RIGHTS[rights], "--ambient-caps", RIGHTS[rights]]
        command = [home.for_all(word) for word in command]
    if denied:
        words += [home.for_all(program("deny_calls")), "EPERM", denied]
    if not home.work.joinpath("target.py").exists():  # where that user may read it
        shutil.copyfile(TARGET_PYTHON, home.work / "target.py")
    words += [str(home.work / "target.py") if word == TARGET_PYTHON else str(word)
              for word in command]
    return words


def record_as(home, *command, options=(), **how):
    path = home.work / "r.annot"
    words = launch(home, [ANNOT, "record", "-o", path, *options, "--", *command], **how)
    done = home.run(*words, timeout=120).ok()
    done.samples = Samples(home.dump(path, "--samples"))
    done.rung = done.samples.dump.sampling["rung"]
    done.info = home.info(path)
    return done


def says(done, *words):
    """The reason is in the messages, the recording and `annot info`, with a remedy; once."""
    sampling = done.samples.dump.sampling
    check(sampling["reason"], "no reason is told")
    check(sampling["hint"], f"no remedy is told; the reason: {sampling['reason']}")
    equal(done.err_text.count(sampling["reason"]), 1, f"how often {done.err_text!r} has it")
    check(f"hint: {sampling['hint']}" in done.err_text, f"no hint in {done.err_text!r}")
    check(sampling["reason"] in done.info, f"the reason is not in {done.info}")
    for word in words:
        check(word in sampling["reason"] + sampling["hint"], f"{word} is not in {sampling}")


@case
@needs_root
def root_samples_by_ebpf(home):
    done = record_as(home, program("target_shares"), "400", options=["--rate", "499"])
    if done.rung != BPF:
        raise Skip(f"no eBPF on this machine: {done.samples.dump.sampling['reason']}")
    same_shares(done.samples, truths(done.out.decode()), points=4)
    check("hint" not in done.err_text, done.err_text)
    check(re.search(r"^sampling +eBPF, 499 Hz, off-CPU stretches from 1\.000 ms on$", done.info,
                    re.M), done.info)


@case
@needs_root
def nobody_with_two_capabilities_samples_by_ebpf(home):
    if record_as(home, "true").rung != BPF:
        raise Skip("no eBPF on this machine")
    (home.work / "r.annot").unlink()
    done = record_as(home, PYTHON, TARGET_PYTHON, "shares", "600", rights="two",
                     options=["--rate", "499", "--off-cpu"])
    equal(done.rung, BPF, f"the rung ({done.samples.dump.sampling})")
    same_shares(done.samples, python_truths(done))
    for kind in ("native_end", "python_end"):
        share, others = done.samples.complete(kind)
        check(share >= 0.995, f"{kind}: {100 * share:.2f} % complete, else {others}")


def remote_shares(home, **how):
    done = record_as(home, PYTHON, TARGET_PYTHON, "shares", "1500",
                     options=["--rate", "299"], **how)
    equal(done.rung, REMOTE, f"the rung ({done.samples.dump.sampling})")
    same_shares(done.samples, python_truths(done), points=6)
    return done


@case
@needs_root
def nobody_with_no_capability_reads_python_stacks(home):
    says(remote_shares(home, rights="none"), "setcap")


@case
@needs_root
def bpf_denied_by_seccomp(home):
    says(remote_shares(home, denied="bpf"))


@case
@needs_root
def bpf_and_perf_event_open_denied_by_seccomp(home):
    says(remote_shares(home, denied="bpf,perf_event_open"))


@case
@needs_root
def everything_denied_leaves_annotations(home):
    done = record_as(home, program("target_shares"), "100",
                     denied="bpf,perf_event_open,process_vm_readv")
    equal(done.rung, NONE, f"the rung ({done.samples.dump.sampling})")
    says(done)
    equal(done.samples.dump.samples, [], "samples")
    equal(len(done.samples.dump.kind("push")), 2 * 10 * 5, "annotations")


@case
def the_rung_can_be_chosen(home):
    for word, rung in (("none", OFF), ("remote", REMOTE)):
        done = record(home, PYTHON, TARGET_PYTHON, "shares", "300", options=["--sampling", word])
        equal(done.samples.dump.sampling["rung"], rung, f"the rung by --sampling {word}")


def ends_by_remote_reads(home, **rest):
    """How the command (the first one) and its two children ended, as `annot info` has it."""
    done = record(home, PYTHON, TARGET_PYTHON, "ends", "300", options=["--sampling", "remote"],
                  status=5, **rest)
    ends = [process["how_text"] for process in done.samples.dump.processes]
    equal(len(ends), 3, "processes")
    return ends[0], set(ends[1:])


@case
def remote_reads_tell_how_processes_ended(home):
    first, others = ends_by_remote_reads(home)
    equal(first, "exit 5", "the end of the command")
    unknown = {"ended, status unknown"}  # before Linux 6.15, if the zombie was not seen
    check(others - unknown <= {"exit 3", "killed by SIGKILL"}, f"the children: {others}")


@case
def remote_reads_tell_that_processes_ended_where_the_kernel_does_not_say_how(home):
    first, others = ends_by_remote_reads(
        home, env=dict(home.environment, LD_PRELOAD=program("libold_kernel.so")))
    equal(first, "exit 5", "the end of the command")
    check("still running" not in others, f"the children: {others}")


@case
def remote_reads_do_not_end_a_program_that_emits_at_once(home):
    """Its first event may come before the look that notices its exec."""
    emit = f"(echo steps 20; sleep 0.3) | {{}} {program('emit_asked')} >&2"
    children = " & ".join(emit.format(word) for word in ("", "", "exec", "exec"))
    done = record(home, "sh", "-c", f"{children} & wait; {emit.format('exec')}",
                  options=["--sampling", "remote"])
    dump = done.samples.dump
    emitters = [process for process in dump.processes if process["events"]]
    equal([process["events"] for process in emitters], [40] * 5, "events of the programs")
    ends = {process["how_text"] for process in emitters}
    check(ends <= {"exit 0", "exited", "ended, status unknown"}, f"the programs: {ends}")
    names = {process["comm"] for process in emitters}
    equal(names, {"emit_asked"}, "names of the programs")


@case
def attach_samples_what_runs_already(home):
    target = home.start(sys.executable, TARGET_PYTHON, "shares", "3000", stdout=subprocess.PIPE)
    path = home.work / "r.annot"
    done = home.annot("attach", "-p", target.pid, "-o", path, "--rate", "499")
    out, _ = target.communicate(timeout=60)
    done.ok()
    equal(target.returncode, 0, "the status of the program")
    done.out = out
    samples = Samples(home.dump(path, "--samples"))
    if samples.dump.sampling["rung"] != BPF:
        raise Skip("no eBPF here")
    same_shares(samples, python_truths(done), points=3)
    samples.nothing_lost()


@case
def attach_ends_after_its_duration_and_leaves_the_program(home):
    target = home.start(sys.executable, TARGET_PYTHON, "forever", stdout=subprocess.PIPE)
    try:
        target.stdout.readline()
        done = home.annot("attach", "-p", target.pid, "-o", home.work / "r.annot", "--duration",
                          "1s", "--rate", "499").ok()
        check(b"samples" in done.err, done.err)
        equal(target.poll(), None, "the status of the program")
        samples = Samples(home.dump(home.work / "r.annot", "--samples"))
        if samples.dump.sampling["rung"] == BPF:
            close(samples.cpu_ns("forever"), samples.cpu_ns(), 0.02, 1e7, "all of its time")
    finally:
        target.kill()
        target.communicate()


@case
def attach_says_what_is_wrong(home):
    home.annot("attach").complains(2, "process is missing")
    home.annot("attach", "-p", "x").complains(2, '"x"')
    home.annot("attach", "-p", "999999999").complains(1, "999999999")
    left = [entry for entry in os.listdir(home.work) if entry.endswith(".annot")]
    equal(left, [], "recordings of nothing")


@case
@needs_root
def attach_refuses_the_processes_of_others(home):
    """Not being root: also with the two capabilities."""
    target = home.start("sleep", "30")
    try:
        for rights in RIGHTS:
            words = launch(home, [ANNOT, "attach", "-p", target.pid, "-o", home.work / "r.annot"],
                           rights=rights)
            home.run(*words).complains(1, "another user", "sudo")
            check(not (home.work / "r.annot").exists(), "a recording of nothing is left")
    finally:
        target.kill()
        target.wait()


if __name__ == "__main__":
    main()
