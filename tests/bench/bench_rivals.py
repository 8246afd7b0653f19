#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annot beside other tools that annotate programs: ranges, counters, memory, bytes an event.

    bench_rivals.py BUILD [--sources FOLDER] [--json FILE]

FOLDER holds the registries' packages of Tracy, the Perfetto SDK and NVTX, unpacked; LTTng-UST is
searched on the machine. README.md names the sources. Missing tools are listed with the reason.

Each tool has a separate program; all wait and take short slices in turn, each beside a slice of the
floor (two time stamps and two stores) in the same process. Values are medians and minima of the
slices, ratios those of each slice to its own floor. No budgets: this shows where annot stands.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from rivals.tools import TOOLS, Missing
from rows import print_table, row
from run import machine

SLICES, EVENTS, WARM_UP = 150, 1000, 10
THREADS = 64
DISK_SLICES = 100


class Program:
    """A running program of one tool, recorded or not."""

    def __init__(self, tool, recorded):
        self.tool, self.recorded = tool, recorded
        command, environment = tool.start(recorded)
        self.process = subprocess.Popen(command, env=dict(os.environ, **environment),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        tool.begun()
        if self.process.stdout.readline().strip() != "ready":
            self.process.kill()
            self.process.wait()
            tool.stop()
            raise Missing(f"the program of {tool.name} did not start")

    def ask(self, order):
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer:
            raise Missing(f"the program of {self.tool.name} ended at {order!r}")
        return [float(number) for number in answer]

    def end(self):
        if hasattr(self.tool, "quit"):
            self.tool.quit()
        with contextlib.suppress(OSError):
            self.process.stdin.write("quit\n")
            self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.tool.stop()


@contextlib.contextmanager
def running(tool, recorded):
    program = Program(tool, recorded)
    try:
        yield program
    finally:
        program.end()


def measure_slices(programs):
    """{(program, order): [(floor, ns), ...]}; one pause a slice, in which tools may catch up."""
    got = {}
    cases = [(program, order) for program in programs for order in ("pairs", "counters")]
    for turn in range(-WARM_UP, SLICES):
        for program, order in cases:
            times = program.ask(f"{order} {EVENTS}")
            time.sleep(0.002)
            if turn >= 0:
                got.setdefault((program, order), []).append(times)
    return got


def times_of(tool, recorded, order, slices):
    what = {"pairs": "pair", "counters": "counter"}[order]
    name = f"{tool.name}: {what}, {'on' if recorded else 'off'}"
    times = [ns for _, ns in slices]
    ratio = statistics.median(ns / floor for floor, ns in slices)
    least = min(times) / min(floor for floor, _ in slices)
    return row(name, statistics.median(times), "ns",
               against=f"fastest {min(times):.1f}; {ratio:.2f} x floor, of minima {least:.2f}")


def lost_row(tool):
    """Of the slices just measured: a dropped event would be a cheap one."""
    emitted = 3 * EVENTS * (SLICES + WARM_UP)
    _, events = tool.size()
    return row(f"{tool.name}: lost in these slices", 0 if events is None else emitted - events,
               "events", against=f"of {emitted:,}")


def time_rows(tools):
    with contextlib.ExitStack() as stack:
        programs = []
        for tool in tools:
            programs.append(stack.enter_context(running(tool, False)))
        got = measure_slices(programs)
    with contextlib.ExitStack() as stack:
        programs = [stack.enter_context(running(tool, True)) for tool in tools if tool.on]
        got.update(measure_slices(programs))
    entries = [lost_row(program.tool) for program in programs]
    floors = [floor for slices in got.values() for floor, _ in slices]
    entries.append(row("floor: two time stamps, two stores", statistics.median(floors), "ns",
                       against=f"fastest {min(floors):.1f}"))
    entries += [times_of(program.tool, program.recorded, order, slices)
                for (program, order), slices in got.items()]
    return sorted(entries, key=lambda entry: entry["what"].split(": ")[-1])


def memory_row(tool):
    with running(tool, True) as program:
        (grown,) = program.ask(f"threads {THREADS}")
    return row(f"{tool.name}: memory of a thread", grown / THREADS, "KiB",
               against=f"{THREADS} threads' first 100 pairs: {grown:.0f} KiB resident in all")


def disk_row(tool):
    with running(tool, True) as program:
        for _ in range(DISK_SLICES):
            program.ask(f"pairs {EVENTS}")
            time.sleep(0.01)
    size, events = tool.size()
    emitted = 2 * EVENTS * DISK_SLICES
    lost = "" if events in (None, emitted) else f"; {emitted - events:,} of {emitted:,} lost"
    where = "sent to a viewer" if events is None else "file"
    return row(f"{tool.name}: bytes of an event", size / (events or emitted), "bytes",
               against=f"{where}: {size:,} bytes{lost}")


def found(build, sources, place, missing):
    tools = []
    for kind in TOOLS:
        tool = kind(build, sources, place)
        try:
            tool.here()
            tools.append(tool)
        except Missing as reason:
            missing[tool.name] = str(reason)
    return tools


def measure(tools, missing):
    entries = time_rows(tools)
    for tool in tools:
        if not tool.on:
            missing[f"{tool.name}, on"] = "no tool that records it comes with its headers"
            continue
        for rows_of in (memory_row, disk_row):
            try:
                entries.append(rows_of(tool))
            except Missing as reason:
                missing[f"{tool.name}, {rows_of.__name__}"] = str(reason)
    return entries


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--sources", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    chosen = parser.parse_args()
    build = chosen.build.resolve()
    (build / "bench-rivals").mkdir(exist_ok=True)
    place = pathlib.Path(tempfile.mkdtemp(prefix="annot-rivals-", dir="/dev/shm"))
    missing = {}
    try:
        tools = found(build, chosen.sources, place, missing)
        load = machine()
        entries = measure(tools, missing)
    except Missing as reason:
        sys.exit(f"bench_rivals.py: {reason}")
    finally:
        shutil.rmtree(place)
    print(load)
    print_table("rivals", entries)
    for name, reason in missing.items():
        print(f"  {name}: not measured: {reason}")
    if chosen.json:
        chosen.json.write_text(json.dumps(
            {"machine": load, "rows": entries, "missing": missing}, indent=1) + "\n")


if __name__ == "__main__":
    main()
