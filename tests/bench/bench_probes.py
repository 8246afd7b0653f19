#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of a call that annot record --probe makes a range, beside bpftrace's pair of probes.

    bench_probes.py BUILD [--json FILE]

The program of bpftrace is the shortest that times calls: an entry and a return probe, a map by
thread, a sum. The two take turns; each gives the median of its rounds. Without bpftrace annot is
measured alone. The recording takes the ranges to its file meanwhile.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from rows import finish, row

TURNS = 5
PAIR = """uprobe:{0}:bench_probed {{ @begin[tid] = nsecs; }}
uretprobe:{0}:bench_probed {{ @sum = sum(nsecs - @begin[tid]); delete(@begin[tid]); }}"""


def rounds(command, work):
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=work,
                          env={**os.environ, "ANNOT_DIR": str(pathlib.Path(work) / "annot")})
    return [float(line) for line in done.stdout.split("\n") if line.replace(".", "", 1).isdigit()]


def measure(build, work):
    program = str((build / "tests/bench/bench_probed").resolve())
    annot = [str((build / "tools/annot").resolve()), "record", "-q", "--sampling=none", "--force",
             "-o",
             "probes.annot", "--probe-budget", "10000", "--probe", f"{program}:bench_probed", "--",
             program]
    bpftrace = shutil.which("bpftrace")
    pair = [bpftrace, "-e", PAIR.format(program), "-c", program]
    plain, ours, theirs = [], [], []
    for _ in range(TURNS):
        plain += rounds([program], work)
        ours += rounds(annot, work)
        theirs += rounds(pair, work) if bpftrace else []
    base = statistics.median(plain)
    cost = statistics.median(ours) - base
    entries = [row("call that is a range", cost, "ns", against=f"a plain call takes {base:.1f} ns")]
    if bpftrace:
        other = statistics.median(theirs) - base
        entries += [row("call with bpftrace's entry and return", other, "ns"),
                    row("annot / bpftrace", cost / other, "", most=1.2, against="the same run")]
    return entries


def main():
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as work:
        finish("probes", measure(build, work))


main()
