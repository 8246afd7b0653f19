#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `annot record` adds to a command, and what it takes while nothing happens.

    bench_startup.py BUILD [--json FILE]

Start-up: `true` and `annot record -- true` in turn, wall time of the whole command; medians.
Children: CPU time of a Python that does nothing, and of /bin/true, below `annot record`, in turn
with the same without what annot adds to the environment.
Idle: CPU time of annot while its command sleeps, as the kernel counts it.
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
IDLE_SECONDS = 5


def timed(command, environment):
    begin = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1e3


def start_up(record, environment):
    plain, recorded = [], []
    for _ in range(ROUNDS):
        plain.append(timed(["true"], environment))
        recorded.append(timed(record + ["true"], environment))
    extra = statistics.median(recorded) - statistics.median(plain)
    return [row("annot record -- true, over true", extra, "ms", most=30,
                against=f"medians of {ROUNDS}: {statistics.median(recorded):.2f} and "
                        f"{statistics.median(plain):.2f} ms; fastest {min(recorded):.2f} ms")]


def children(record, environment):
    script = pathlib.Path(__file__).with_name("children_startup.py")
    result = subprocess.run(
        record[:-1] + ["--no-sample", "--", sys.executable, str(script), str(CHILDREN)],
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
    record = [str(build / "tools/annot"), "record", "--force", "-o", f"{place}/x.annot", "--"]
    try:
        entries = start_up(record, environment)
        entries += children(record, environment)
        sleep = str(IDLE_SECONDS + 2)
        entries.append(idle(record, ["sleep", sleep], "idle, command without annotations",
                            environment))
        emitter = [str(build / "tests/bench/bench_emitter"), "0", sleep]
        entries.append(idle(record, emitter, "idle, annotated command with 2 events/s",
                            environment))
    finally:
        shutil.rmtree(place)
    finish("start-up", entries)


if __name__ == "__main__":
    main()
