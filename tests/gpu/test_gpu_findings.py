#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The findings about GPUs: made-up training loops, in the format of
torch.profiler, each with one fault, and healthy ones.

    test_gpu_findings.py ANNOT TRUTH_PROGRAM
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ANNOT, PROGRAM = (pathlib.Path(word).resolve() for word in sys.argv[1:])
folder = pathlib.Path(tempfile.mkdtemp())
failed = 0


class Loop:
    """Times are in microseconds. A launch takes 5 of the thread."""

    def __init__(self):
        self.events, self.at, self.free, self.number = [], 0, 0, 0

    def op(self, name, duration):
        self.events.append({"cat": "cpu_op", "name": name, "ts": self.at, "dur": duration})
        self.at += duration

    def launch(self, duration, name="gemm", kind="kernel", **values):
        self.number += 1
        both = {"correlation": self.number}
        begin = max(self.at + 8, self.free)
        self.free = begin + duration
        self.events += [
            {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": self.at, "dur": 5,
             "args": both},
            {"cat": kind, "name": name, "pid": 0, "tid": 7, "ts": begin, "dur": duration,
             "args": {**both, "device": 0, "stream": 7, **values}}]
        self.at += 5

    def copy(self, duration, memory):
        self.launch(duration, f"Memcpy HtoD ({memory} -> Device)", "gpu_memcpy",
                    **{"bytes": duration * 5000, "memory bandwidth (GB/s)": 5})

    def wait(self):
        self.number += 1
        end = max(self.at, self.free) + 3
        self.events.append({"cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": 7,
                            "ts": self.at, "dur": end - self.at,
                            "args": {"correlation": self.number, "device": 0, "stream": 7}})
        self.at = end

    def recorded(self, name="made"):
        trace, out = folder / f"{name}.json", folder / f"{name}.annot"
        trace.write_text(json.dumps({"traceEvents": [
            {"ph": "X", "pid": 1, "tid": 1, **event} for event in self.events]}))
        subprocess.run([ANNOT, "import", "--force", "-o", out, trace], check=True,
                       capture_output=True)
        return out

    def report(self, *options):
        return subprocess.run([ANNOT, "report", *options, self.recorded()], check=True,
                              capture_output=True, text=True).stdout

    def findings(self):
        return {row["kind"]: row for row in json.loads(self.report("--json"))["findings"]}


def check(name, got, wanted):
    global failed
    if got != wanted:
        failed += 1
        print(f"FAIL {name}: {got!r}, not {wanted!r}")


def holds(name, words, text):
    check(f"{name}: {words!r} in {text!r}", words in text, True)


def a_loader_that_is_late_starves_the_gpu():
    loop = Loop()
    for _ in range(20):
        loop.op("next(loader)", 3000)
        for _ in range(4):
            loop.launch(500)
        loop.at = max(loop.at, loop.free)  # as if it had waited, but unreported
    found = loop.findings()
    check("loader", set(found), {"gpu_starved"})
    row = found["gpu_starved"]
    # From the end of a step's work to the first launch of the next one.
    check("loader: cost", row["cost"], 19 * 3_000_000)
    check("loader: whole", row["whole"], loop.free * 1000 - 3_000_000)
    holds("loader", "19 times, 3.00 ms each", row["finding"])
    holds("loader", "100 % of that passes in next(loader)", row["evidence"])


def waits_after_each_step_are_a_cause():
    loop = Loop()
    for _ in range(30):
        for _ in range(8):
            loop.launch(100)
        loop.wait()
        loop.at += 400
    row = loop.findings()["gpu_starved"]
    check("waits: cost", row["cost"], 29 * 403_000)
    holds("waits", "100 % of it follows waits of the program for the GPU (29 of 30 such waits)",
          row["evidence"])
    holds("waits", ".item()", row["advice"])


def small_kernels_that_are_launched_one_by_one():
    loop = Loop()
    for _ in range(500):
        loop.op("aten::add", 20)
        loop.launch(4)
    found = loop.findings()
    check("small", set(found), {"gpu_launches"})
    row = found["gpu_launches"]
    check("small: cost", row["cost"], 499 * (25 - 12) * 1000)
    holds("small", "499 times, 13.0 us each", row["finding"])
    holds("small", "100 % of 500 kernels take less than 10 us", row["evidence"])
    holds("small", "CUDA graphs", row["advice"])


def copies_of_memory_that_is_not_pinned():
    for memory, wanted in ("Pageable", {"gpu_pageable"}), ("Pinned", set()):
        loop = Loop()
        for _ in range(20):
            loop.copy(300, memory)
            loop.launch(1000)
            loop.at = max(loop.at, loop.free - 600)
        found = loop.findings()
        check(memory, set(found), wanted)
        if wanted:
            row = found["gpu_pageable"]
            check("pageable: cost", (row["cost"], row["whole"]), (20 * 300_000, 20 * 1_300_000))
            holds("pageable", "20 times, 28.6 MiB", row["finding"])
            holds("pageable", "reach 5 GB/s", row["evidence"])


def a_loop_that_runs_ahead_of_the_gpu_is_healthy():
    loop = Loop()
    for _ in range(50):
        loop.copy(20, "Pinned")
        for _ in range(10):
            loop.op("aten::linear", 30)
            loop.launch(200)
    check("healthy", loop.findings(), {})
    check("healthy: the headline", "nothing to do" in loop.report(), False)


def work_that_begins_late_is_said():
    loop = Loop()
    for number in range(10):
        loop.free += 500  # other work keeps it
        loop.launch(500)
    check("late", loop.findings(), {})
    holds("late", "busy 50 %", loop.report())
    holds("late", "and for 50 % what was launched had not begun",
          loop.report().replace("\n", " "))


def what_passes_before_the_first_work_is_no_fault():
    loop = Loop()
    loop.op("import torch", 6000)
    for _ in range(40):
        loop.launch(350)
    check("first", loop.findings(), {})
    text = loop.report().replace("\n", " ")
    holds("first", "busy 70 %", text)
    holds("first", "; 30 % passed before its first work and after its last.", text)
    check("first: nothing to do", "nothing to do" in text, False)


def a_kernel_that_is_new_has_one_number():
    sides = []
    for name in "before", "after":
        loop = Loop()
        for _ in range(40):
            loop.launch(500)
            if name == "after":
                loop.launch(300, "extra")
        sides.append(loop.recorded(name))
    for words, files in ("extra 0 12.0 ms +12.0 ms new 0 → 40 300 us", sides), \
            ("extra 12.0 ms 0 -12.0 ms -100 % 40 → 0 300 us", sides[::-1]):
        text = subprocess.run([ANNOT, "diff", *files], check=True, capture_output=True,
                              text=True).stdout
        holds(words, words, " ".join(text.split()))


def gpus_of_several_processes_are_told_apart():
    parts, pids = [], []
    for name, percent in ("even", "100"), ("odd", "170"):
        out = folder / f"{name}.annot"
        subprocess.run([ANNOT, "record", "-q", "--force", "--sampling=none", "-o", out, "--",
                        PROGRAM, "20", percent], check=True)
        parts.append(out)
    both = folder / "both.annot"
    subprocess.run([ANNOT, "merge", "--force", "-o", both, *parts], check=True)
    tables = json.loads(subprocess.run([ANNOT, "report", "--json", both], check=True,
                                       capture_output=True).stdout)
    devices = sorted((row["busy_percent"], row["pid"]) for row in tables["gpu_queues"]
                     if row["kind"] == "device")
    text = subprocess.run([ANNOT, "report", both], check=True, capture_output=True,
                          text=True).stdout.replace("\n", " ")
    for _, pid in devices:
        holds("processes", f"(pid {pid})", text)
    holds("processes: least first", f"(pid {devices[0][1]}) to ", text)
    starved = next((row for row in tables["findings"] if row["kind"] == "gpu_starved"), None)
    if starved:
        check("processes: whose", any(f"of truth_program (pid {pid})" in starved["finding"]
                                      for _, pid in devices), True)
    text = subprocess.run([ANNOT, "report", "--all", "--by", "process", "--table", "gpu_ranges",
                           both], check=True, capture_output=True, text=True).stdout
    for _, pid in devices:
        holds("processes", f"{pid} truth_program: step", text)


def a_recording_says_what_the_thread_did():
    out = folder / "truth.annot"
    subprocess.run([ANNOT, "record", "-q", "--force", "-o", out, "--", PROGRAM, "40"], check=True)
    report = json.loads(subprocess.run([ANNOT, "report", "--json", out], check=True,
                                       capture_output=True).stdout)
    row = next(row for row in report["findings"] if row["kind"] == "gpu_starved")
    holds("recorded", "passes in data.load", row["evidence"])
    waits = re.search(r"The thread that launches (.*?) (\w+) \(truth_program\) for ",
                      row["evidence"])
    if report["waits"]:  # with eBPF; on a busy machine it is ready instead of waiting
        check("recorded: where", waits and waits[2], "main")
    if waits and waits[1] == "waits in":
        holds("recorded", "data loader", row["advice"])


if __name__ == "__main__":
    cases = (a_loader_that_is_late_starves_the_gpu, waits_after_each_step_are_a_cause,
             small_kernels_that_are_launched_one_by_one, copies_of_memory_that_is_not_pinned,
             a_loop_that_runs_ahead_of_the_gpu_is_healthy, work_that_begins_late_is_said,
             what_passes_before_the_first_work_is_no_fault, a_kernel_that_is_new_has_one_number,
             gpus_of_several_processes_are_told_apart, a_recording_says_what_the_thread_did)
    for case in cases:
        case()
    print(f"{len(cases)} cases, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)
