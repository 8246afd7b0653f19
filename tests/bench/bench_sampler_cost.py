#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of sampling beside the program: start, the collector's CPU and memory, losses, switches.

    bench_sampler_cost.py BUILD [--json FILE]

Start: `python3 -c pass` and the same under `annot record`, in turn. CPU and memory: annot's own,
from /proc, while two Python programs are busy. Losses: 64 busy processes at 99 and 999 Hz, from the
recording. Short processes: 2,000 of 5 ms. Switches: two threads over pipes, with --off-cpu; by the
kind of stack and in quiet moments: bench_bpf. Short waits: the CPU time of two processes over
pipes, by default and with --off-cpu=none in turn.
"""

import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from rows import finish, row

HERE = pathlib.Path(__file__).resolve().parent
TICKS = os.sysconf("SC_CLK_TCK")
ROUNDS = 30
BUSY = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end:\n sum(range(999))\n"
SWITCH = """import os, sys, threading
a, b = os.pipe(), os.pipe()
def echo():
    while os.read(a[0], 1):
        os.write(b[1], b"x")
threading.Thread(target=echo, daemon=True).start()
for _ in range(int(sys.argv[1])):
    os.write(a[1], b"x")
    os.read(b[0], 1)
"""


class Bench:
    """A build and a private place."""

    def __init__(self, build, place):
        self.annot, self.place = str(build / "tools/annot"), place
        self.dump = str(build / "tests/system/recording_dump")
        self.environment = dict(os.environ, ANNOT_DIR=f"{place}/annot")
        self.recording = f"{place}/x.annot"

    def words(self, *options):
        return [self.annot, "record", "--force", "-o", self.recording, *options, "--"]

    def run(self, command):
        begin = time.perf_counter()
        subprocess.run(command, env=self.environment, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return time.perf_counter() - begin

    def rows(self):
        out = subprocess.run([self.dump, "--no-events", "--samples", self.recording], check=True,
                             stdout=subprocess.PIPE).stdout
        return [json.loads(line) for line in out.splitlines()]


def start(bench):
    plain, sampled = [], []
    command = [sys.executable, "-c", "pass"]
    for _ in range(ROUNDS):
        plain.append(1e3 * bench.run(command))
        sampled.append(1e3 * bench.run(bench.words() + command))
    extra = statistics.median(sampled) - statistics.median(plain)
    return [row("start and end of annot record, Python", extra, "ms", most=100,
                against=f"medians of {ROUNDS}: {statistics.median(sampled):.1f} and "
                        f"{statistics.median(plain):.1f} ms")]


def usage(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(fields[11]) + int(fields[12]), int(re.search(r"VmHWM:\s+(\d+)", status).group(1))


def collector(bench):
    busy = BUSY.format(12)
    both = (f"import subprocess, sys\n"
            f"both = [subprocess.Popen([sys.executable, '-c', {busy!r}]) for _ in '12']\n"
            f"for program in both: program.wait()")
    entries = []
    for hz, most in ((99, 1), (999, None)):
        command = bench.words("--rate", str(hz)) + [sys.executable, "-c", both]
        with subprocess.Popen(command, env=bench.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            time.sleep(2)
            before, begin = usage(process.pid)[0], time.monotonic()
            time.sleep(8)
            ticks, kib = usage(process.pid)
            share = 100 * (ticks - before) / TICKS / (time.monotonic() - begin)
        entries.append(row(f"collector at {hz} Hz, two busy programs", share, "% of a core",
                           most=most))
        entries.append(row(f"its memory at {hz} Hz", kib / 1024, "MiB", most=64))
    return entries


def losses(bench):
    crowd = (f"import os, time\nfor _ in range(63):\n if os.fork() == 0: break\n"
             f"{BUSY.format(6)}")
    entries = []
    for hz in (99, 999):
        bench.run(bench.words("--rate", str(hz)) + [sys.executable, "-c", crowd])
        rows = bench.rows()
        lost = sum(entry["value"] for entry in rows
                   if entry["row"] == "fact" and entry["kind"] == 1)
        count = sum(entry["row"] == "sample" for entry in rows)
        entries.append(row(f"lost at {hz} Hz, 64 busy processes", lost, "samples", most=0,
                           against=f"of {count:,}"))
    return entries


def short(bench, build):
    """Programs, each forked and executed, as in the tests of the sampler."""
    target = str(build / "tests/system/target_life")
    bench.run(bench.words("--rate", "999") + [target, "vfork", "2000", "5"])
    rows = bench.rows()
    stacks = {entry["ordinal"]: [frame[1] for frame in entry["frames"]]
              for entry in rows if entry["row"] == "stack"}
    threads = {entry["ordinal"]: entry["process"] for entry in rows if entry["row"] == "thread"}
    samples = [entry for entry in rows if entry["row"] == "sample"]
    seen = {threads[entry["thread"]] for entry in samples
            if "mode_burn" in stacks.get(entry["stack"], [])}
    named = sum(bool(stacks.get(entry["stack"])) and
                not any(name.startswith(("[stack cut", "[anonymous")) or "+0x" in name
                        for name in stacks[entry["stack"]]) for entry in samples)
    return [row("programs of 5 ms seen, of 2,000", len(seen), "processes", least=2000),
            row("samples of these with all names", 100 * named / max(len(samples), 1), "%",
                least=99, against=f"of {len(samples):,}")]


def switches(bench):
    """By the program's own clock: the collector's cost of a switch is within the variation of wall
    times."""
    count, fact = 60000, "ns per context switch in the kernel"
    bench.run(bench.words("--rate", "1", "--off-cpu=min=0s",
                          "--off-cpu=rate=10000000") +
              [sys.executable, "-c", SWITCH, str(count)])
    rows = bench.rows()
    told = sum(entry["row"] == "sample" and entry["off"] for entry in rows)
    cost = next(entry["value"] for entry in rows
                if entry["row"] == "fact" and entry["name"] == fact)
    return [row("a context switch with stacks", cost / 1e3, "us", most=2,
                against="mean of the whole recording, by the BPF program's clock"),
            row("switches told", told, "stretches", least=count,
                against=f"of {count:,} round trips between two threads")]


PING_PONG = """import os, resource, sys
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
a, b = os.pipe(), os.pipe()
child, turns = os.fork(), int(sys.argv[1])
for _ in range(turns):
    if child:
        os.write(a[1], b"x")
        os.read(b[0], 1)
    else:
        os.read(a[0], 1)
        os.write(b[1], b"x")
if not child:
    os._exit(0)
os.waitpid(child, 0)
both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(sum(used.ru_utime + used.ru_stime for used in both) * 1e9 /
      sum(used.ru_nvcsw + used.ru_nivcsw for used in both))
"""


def ping_pong(bench, *options):
    """CPU time of two processes that exchange bytes on one processor, in ns for each switch."""
    command = bench.words(*options) + [sys.executable, "-S", "-c", PING_PONG, "50000"]
    done = subprocess.run(command, env=bench.environment, check=True, capture_output=True)
    return float(done.stdout.split()[0])


def short_waits(bench):
    """Waits below the threshold, which are only added up: leaving, being woken and returning."""
    without, default = [], []
    for _ in range(ROUNDS // 2):
        without.append(ping_pong(bench, "--off-cpu=none"))
        default.append(ping_pong(bench))
    extra = max(0, statistics.median(default) - statistics.median(without))
    alone = f"{statistics.median(without):,.0f} ns without"
    return [row("a switch that is only added up", extra, "ns", most=500, against=alone),
            row("waits by default, 10,000 switches a second", extra / 1e3, "% of a CPU", most=0.5)]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    place = tempfile.mkdtemp(prefix="annot-bench-", dir="/dev/shm")
    bench = Bench(build, place)
    try:
        entries = start(bench) + collector(bench) + losses(bench) + short(bench, build)
        entries += switches(bench) + short_waits(bench)
    finally:
        shutil.rmtree(place)
    finish("sampler-cost", entries)


if __name__ == "__main__":
    main()
