#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of `annot record` to a command's start and end, and to an idle command.

    bench_startup.py BUILD [--json FILE]

Start-up: an empty program, alone and below `annot record` with different options, in turn: the time
from annot's exec to the program's main(), from the program's end to annot's, and CPU time of both;
medians and minima. Then, by `bench_bpf start`, the share of the sampler's parts: libbpf, the
kernel's types, maps, and each program with its verified instructions. Children: CPU time of an
empty Python program, and of /bin/true, below `annot record`, in turn with the same without annot's
additions to the environment. Inside: how long pyannot.record() takes to begin and to end a short
block. Idle: CPU time of annot while its command sleeps, as the kernel counts it.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from rows import finish, row

ROUNDS = 60
CHILDREN = 100
BLOCKS = 20
IDLE_SECONDS = 5


# Name, options, milliseconds until the program starts.
VARIANTS = (("default", [], 60), ("no waits", ["--off-cpu=none"], 40),
            ("each wait", ["--off-cpu"], 60), ("from outside", ["--sampling", "remote"], 15),
            ("no samples", ["--sampling=none"], 15))


def start_up(build, record, place, environment):
    started = [str(build / "tests/bench/bench_started"), f"{place}/times"]
    commands = {"alone": started}
    commands.update({name: record[:-1] + options + ["--"] + started
                     for name, options, _ in VARIANTS})
    times = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            output = subprocess.run(started + command, env=environment, check=True,
                                    stdout=subprocess.PIPE, text=True).stdout
            times[name].append([float(word) for word in output.split()])
    entries = []
    for name, _, most in VARIANTS:
        for index, (kind, limit) in enumerate((("exec to the program's start", most),
                                               ("program's end to annot's", 15),
                                               ("CPU time", None))):
            values = [three[index] for three in times[name]]
            plain = [three[index] for three in times["alone"]]
            middle, middle_plain = statistics.median(values), statistics.median(plain)
            entries.append(row(f"annot record, {name}: {kind}", middle - middle_plain, "ms",
                               most=limit,
                               against=f"medians of {ROUNDS}: {middle:.2f} and "
                                       f"{middle_plain:.2f} ms; fastest {min(values):.2f} "
                                       f"and {min(plain):.2f} ms"))
    return entries


def sampler_parts(build):
    """Prints them if eBPF works here."""
    bench = build / "tests/bench/bench_bpf"
    if bench.exists():
        print(subprocess.run([bench, "-n", "start"], stdout=subprocess.PIPE, text=True,
                             check=False).stdout)


def children(record, environment):
    script = pathlib.Path(__file__).with_name("children_startup.py")
    result = subprocess.run(
        record[:-1] + ["--sampling=none", "--", sys.executable, str(script), str(CHILDREN)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        return []  # built without pyannot
    entries = []
    names = ("child interpreter, CPU added", 2000), ("child /bin/true, CPU added", 100)
    for (name, most), line in zip(names, result.stdout.splitlines()):
        observed, plain, least, least_plain = map(float, line.split())
        entries.append(row(name, observed - plain, "us", most=most,
                           against=f"medians of {CHILDREN}: {observed:.0f} and {plain:.0f} us; "
                                   f"fastest {least:.0f} and {least_plain:.0f} us"))
    return entries


def inside(build, environment):
    script = pathlib.Path(__file__).with_name("inside_startup.py")
    result = subprocess.run(
        [sys.executable, str(script), str(BLOCKS)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, check=False, env={**environment, "ANNOT": str(build / "tools/annot"),
                                     "PYTHONPATH": str(build / "pyannot")})
    if result.returncode != 0:
        return []  # built without pyannot
    entries = []
    for name, line in zip(("samples", "no samples"), result.stdout.splitlines()):
        begin, end, longest_begin, longest_end = map(float, line.split())
        for what, value, longest, most in (("begin", begin, longest_begin, 150),
                                           ("end", end, longest_end, 300)):
            entries.append(row(f"pyannot.record(), {name}, {what}", value, "ms", most=most,
                               against=f"median of {BLOCKS} blocks; longest {longest:.1f} ms"))
    return entries


def cpu_ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def idle(record, command, what, environment):
    """From one second after the start, so that the start is not in it."""
    with subprocess.Popen(record + command, env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        time.sleep(1)
        before, begin = cpu_ticks(process.pid), time.monotonic()
        time.sleep(IDLE_SECONDS)
        ticks, seconds = cpu_ticks(process.pid) - before, time.monotonic() - begin
    share = 100 * ticks / os.sysconf("SC_CLK_TCK") / seconds
    return row(what, share, "% of a core", most=1,
               against=f"{ticks} ticks of 10 ms in {seconds:.1f} s")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    place = tempfile.mkdtemp(prefix="annot-bench-", dir="/dev/shm")
    environment = dict(os.environ, ANNOT_DIR=f"{place}/annot")
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed pyannot is compiled
    record = [str(build / "tools/annot"), "record", "--force", "-o", f"{place}/x.annot", "--"]
    sampler_parts(build)
    try:
        entries = start_up(build, record, place, environment)
        entries += children(record, environment)
        entries += inside(build, environment)
        sleep = str(IDLE_SECONDS + 2)
        entries.append(idle(record, ["sleep", sleep], "idle, command without annotations",
                            environment))
        emitter = [str(build / "tests/bench/bench_emitter"), "0", sleep, "pairs"]
        entries.append(idle(record, emitter, "idle, annotated command with 2 events/s",
                            environment))
    finally:
        shutil.rmtree(place)
    finish("start-up", entries)


if __name__ == "__main__":
    main()
