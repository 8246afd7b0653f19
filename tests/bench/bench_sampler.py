#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of sampling to a CPU-bound Python program, beside perf and py-spy on the same program.

    bench_sampler.py BUILD [--rounds N] [--json FILE]

One program runs all the time and times units of equal work. Each sampler in turn is attached for a
while and taken away again; a unit counts as sampled when it lies inside the middle of such a slice,
as plain when it lies between two. Slow-down = median of the rounds' ratios of medians, of CPU time
of the thread (interrupts are charged to it) and of wall time.
"""

import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from rows import finish, row

HERE = pathlib.Path(__file__).resolve().parent
SETTLE_S, SLICE_S, PLAIN_S = 0.6, 1.2, 1.0


def samplers(build, place):
    annot = str(build / "tools/annot")
    out = f"{place}/out"
    found = {f"annot {hz} Hz": ([annot, "attach", "--force", "--rate", str(hz), "-o",
                                 f"{out}.annot", "-p", "PID"], hz)
             for hz in (99, 999, 4999)}
    perf, spy = shutil.which("perf"), shutil.which("py-spy")
    if perf:
        base = [perf, "record", "-q", "-e", "cpu-clock", "-p", "PID", "-o", f"{out}.data"]
        found["perf -g 999 Hz"] = ([*base, "-F", "999", "-g"], 999)
        found["perf dwarf 999 Hz"] = ([*base, "-F", "999", "--call-graph", "dwarf,8192"], 999)
    if spy:
        command = [spy, "record", "-p", "PID", "-o", f"{out}.raw", "-f", "raw", "-d", "60"]
        found["py-spy 100 Hz"] = ([*command, "-r", "100"], 100)
        found["py-spy 999 Hz"] = ([*command, "-r", "999"], 999)
    return found


def window(command, pid, environment):
    """Runs one sampler for a slice; returns the time in which it surely sampled."""
    words = [str(pid) if word == "PID" else word for word in command]
    with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        time.sleep(SETTLE_S)
        begin = time.monotonic_ns()
        time.sleep(SLICE_S)
        end = time.monotonic_ns()
        if process.poll() is not None:
            raise RuntimeError(f"{words[0]} ended early with {process.returncode}")
        process.send_signal(signal.SIGINT)
        process.wait(30)
    return begin, end


def rest():
    time.sleep(0.2)
    begin = time.monotonic_ns()
    time.sleep(PLAIN_S)
    return begin, time.monotonic_ns()


def units_in(units, interval):
    begin, end = interval
    return [unit for unit in units if unit[0] - unit[2] >= begin and unit[0] <= end]


def ratio(units, sampled, before, after, column):
    plain = [unit[column] for unit in units_in(units, before) + units_in(units, after)]
    on = [unit[column] for unit in units_in(units, sampled)]
    return statistics.median(on) / statistics.median(plain) - 1


def measure(found, rounds, environment):
    seconds = len(found) * rounds * (SETTLE_S + SLICE_S + PLAIN_S + 1.5) + 5
    windows = {name: [] for name in found}
    with subprocess.Popen([sys.executable, HERE / "sampler_load.py", str(seconds)],
                          stdout=subprocess.PIPE, text=True) as load:
        time.sleep(1)
        before = rest()
        for _ in range(rounds):
            for name, (command, _hz) in found.items():
                sampled = window(command, load.pid, environment)
                after = rest()
                windows[name].append((sampled, before, after))
                before = after
        output = load.communicate()[0]
    units = [tuple(map(int, line.split())) for line in output.splitlines()]
    return {name: [[ratio(units, *triple, column) for triple in triples] for column in (1, 2)]
            for name, triples in windows.items()}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 8
    place = tempfile.mkdtemp(prefix="annot-bench-", dir="/dev/shm")
    environment = dict(os.environ, ANNOT_DIR=f"{place}/annot")
    found = samplers(build, place)
    try:
        ratios = measure(found, rounds, environment)
    finally:
        shutil.rmtree(place)
    entries = []
    cost = {name: 100 * statistics.median(cpu) for name, (cpu, _wall) in ratios.items()}
    perf = cost.get("perf -g 999 Hz")
    for name, (cpu, wall) in ratios.items():
        quarters = statistics.quantiles(cpu, n=4)
        most = {"annot 99 Hz": 0.5, "annot 999 Hz": 3}.get(name)
        entries.append(row(name, cost[name], "% CPU", most=most,
                           against=f"quartiles {100 * quarters[0]:.1f} to {100 * quarters[2]:.1f};"
                                   f" wall {100 * statistics.median(wall):.1f} %"))
        entries.append(row(f"{name}, per sample", 1e4 * cost[name] / found[name][1], "us"))
    if perf is not None:
        entries.append(row("annot 999 Hz over perf -g", cost["annot 999 Hz"] - perf, "points",
                           most=0.5, against="same run"))
    slope = (cost["annot 4999 Hz"] - cost["annot 999 Hz"]) / 4000
    entries.append(row("annot 99 Hz, by slope", 99 * slope, "% CPU", most=0.5,
                       against="from 999 and 4,999 Hz"))
    finish("sampler", entries)


if __name__ == "__main__":
    main()
