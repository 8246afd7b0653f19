# SPDX-License-Identifier: MIT
"""Shared by the tests of the sampler: recording with samples, and sums over them.

Truth comes from the programs: each measures its own work by its threads' CPU clocks, or by the
clock on the wall. Times are nanoseconds.
"""

import glob
import json
import math
import os
import re
import shutil
import subprocess

from harness import SOURCE, Skip, check, equal
from machine_clock import others_ns, taken_ns

BPF, REMOTE, NONE, OFF = 5, 2, 1, 0
COMPLETE = 1
# Cases that a sampler cannot see: reported and counted, and rare.
RACES = {"stacks: taken during an exec",
         "stretches off the CPU: the kernel did not tell their end"}
TARGET_PYTHON = str(SOURCE / "tests/system/target_python.py")
LONG = os.environ.get("ANNOT_LONG_TESTS") == "1"


def interpreters():
    """Every CPython from 3.9 on that can be found: by ANNOT_PYTHONS, in PATH, of pyenv."""
    if os.environ.get("ANNOT_PYTHONS"):
        found = os.environ["ANNOT_PYTHONS"].split(os.pathsep)
    else:
        root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
        found = [shutil.which("python3") or "", "/usr/bin/python3"]
        found += sorted(glob.glob(f"{root}/versions/*/bin/python3"))
    good = {}
    for path in found:
        code = "import sys; print(sys.implementation.name, *sys.version_info[:3], sys.executable)"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False) \
            if path and os.access(path, os.X_OK) else None
        words = done.stdout.split() if done and done.returncode == 0 else []
        if words and words[0] == "cpython" and (3, 9) <= (int(words[1]), int(words[2])):
            good.setdefault(os.path.realpath(words[4]), (".".join(words[1:4]), path))
    return sorted(good.values())


class Samples:
    """The samples of one recording."""

    def __init__(self, dump, taken=0, others=0):
        self.dump = dump
        self.taken_ns = taken
        self.others_ns = others
        self.shared = others > 0.1 * (dump.session["end"] - dump.session["begin"])
        self.names = {number: [frame[1] for frame in frames]
                      for number, frames in dump.stacks.items()}
        self.cpu = [sample for sample in dump.samples if not sample["off"]]
        self.off = [sample for sample in dump.samples if sample["off"]]
        self.pid_of = {thread["ordinal"]: dump.processes[thread["process"]]["pid"]
                       for thread in dump.threads}

    def stack(self, sample):
        return self.names.get(sample["stack"], [])

    def path(self, sample):
        return self.dump.paths.get(sample["path"], [])

    def cpu_ns(self, function=None, range_name=None, leaf=False):
        """CPU time of samples with the function anywhere in the stack (at its leaf), or inside the
        range."""
        total = 0
        for sample in self.cpu:
            stack = self.stack(sample)
            if function and function not in (stack[-1:] if leaf else stack):
                continue
            if range_name and range_name not in self.path(sample):
                continue
            total += sample["weight"]
        return total

    def close(self, actual, expected, share, slack, what):
        """Sampled time is as expected, except for time that the machine took from its CPUs."""
        close(actual, expected, share, slack + self.taken_ns, what)

    def turns(self, ns, period):
        """Edges that fall anywhere, beside the program's own: see same_shares."""
        return ns / period if self.shared else 0

    def main_pid(self):
        """The recorded command."""
        return next(p["pid"] for p in self.dump.processes if p["parent"] < 0)

    def complete(self, kind="native_end"):
        """Share of the walked stacks that reached their root, and how the others ended."""
        walked = [sample[kind] for sample in self.dump.samples if sample[kind]]
        others = {}
        for end in walked:
            if end != COMPLETE:
                others[end] = others.get(end, 0) + 1
        return walked.count(COMPLETE) / max(1, len(walked)), others

    def losses(self):
        return {fact["name"]: fact["value"] for fact in self.dump.facts
                if fact["kind"] == 1 and fact["value"]}

    def nothing_lost(self):
        few = {name for name, value in self.losses().items() if name in RACES and value <= 20}
        equal({name: value for name, value in self.losses().items() if name not in few}, {},
              "losses of the sampler")
        return self


def record(home, *command, options=(), status=0, timeout=120, **rest):
    """Records the command; the Result, with the Samples as `samples`.

    Of samples alone: pyannot's observation of Python programs is off.
    """
    before, others = taken_ns(), others_ns()
    done = home.record(*command, options=["--no-preload", *options], timeout=timeout,
                       **rest).ok(status)
    taken, others = taken_ns() - before, others_ns() - others
    done.samples = Samples(home.dump(done.path, "--samples"), taken, others)
    return done


def need_bpf(home, result=None):
    """Skips the case if the best rung of the ladder is unavailable, with the reason."""
    done = result or record(home, "true", options=["--rate", "999"])
    if done.samples.dump.sampling["rung"] != BPF:
        raise Skip(f"no sampling by eBPF here: {done.samples.dump.sampling['reason']}")


def truths(text):
    """ "NAME NANOSECONDS" lines, summed by name."""
    sums = {}
    for name, value in re.findall(r"^([\w ]+) (\d+)$", text, re.M):
        sums[name] = sums.get(name, 0) + int(value)
    check(sums, f"the program told nothing: {text!r}")
    return sums


def python_truths(result):
    return json.loads(result.out.decode().splitlines()[-1])


def close(actual, expected, share, slack, what):
    """Within a share of the expected value, or the slack where that is more."""
    limit = abs(expected) * share + slack
    check(abs(actual - expected) <= limit,
          f"{what}: {actual / 1e6:.2f} ms, not {expected / 1e6:.2f} +- {limit / 1e6:.2f} ms")


def same_shares(samples, truth, points=2.0):
    """Each function's share of the time of all of them, sampled and true, in percent points.

    Alone on a CPU a program is sampled at even distances, which is exact. Where others share the
    CPUs, its turns are about as long as a period: samples fall at random, and three times their
    deviation is added."""
    sampled = {name: samples.cpu_ns(name) for name in truth}
    check(sum(sampled.values()), "no sample lies in any of the functions")
    for name, value in truth.items():
        mine = 100 * sampled[name] / sum(sampled.values())
        true = 100 * value / sum(truth.values())
        random = 3 * math.sqrt(true * (100 - true) / len(samples.cpu)) if samples.shared else 0
        check(abs(mine - true) <= points + random,
              f"{name}: {mine:.2f} % of the samples, {true:.2f} % of the time, others had "
              f"{samples.others_ns / 1e6:.0f} ms")
