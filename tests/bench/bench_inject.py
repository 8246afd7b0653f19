#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of calls of NVTX and ITT through the injection library, beside the C pair of libannot.

    bench_inject.py BUILD [--json FILE]

bench_inject.c runs below `annot record` and without, a few times each; ratios are those of one
process, of which the median of the runs counts. "Forwarded": another copy of libannot serves, as in
a Python that annot observes; "alone": the library's own.

Without a recording, a call is one to another library, and its cost depends on the distance in
memory: an executable lies terabytes away from all libraries, these lie beside each other. So the
program runs a second time where the dynamic linker maps it among them, as for calls from a library.
The floor of both are calls of empty functions, in another library, from the same place.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from rows import finish, row

ROUNDS = 7
BUDGETS = {"registered": 1.3, "ASCII": 2.2, "payload": 2.5, "mark": None, "start and end": None,
           "ITT task": 1.3, "struct": None}


def run(build, place, recorded, *more, loader=()):
    program = ["taskset", "-c", str(max(os.sched_getaffinity(0))), *loader,
               build / "tests/bench/bench_inject", build / "libannot/libannot.so.0", *more]
    inject = build / "libannot/inject/libannot-inject.so"
    environment = dict(os.environ, ANNOT_DIR=f"{place}/annot", NVTX_INJECTION64_PATH=str(inject),
                       INTEL_LIBITTNOTIFY64=str(inject))
    if recorded:
        program = [build / "tools/annot", "record", "--sampling=none", "--force", "--pool-size",
                   "256M", "-o",
                   f"{place}/x.annot", "--", *program]
    done = subprocess.run(list(map(str, program)), env=environment, capture_output=True, text=True,
                          check=True)
    if recorded and "nothing lost" not in done.stderr:
        print(f"events were lost: {done.stderr.strip()}", file=sys.stderr)
    return json.loads(done.stdout)


def rows(build):
    entries = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        forwarded, alone, dormant, near = [], [], [], []
        for _ in range(ROUNDS):
            forwarded.append(run(build, place, True))
            alone.append(run(build, place, True, "first"))
            dormant.append(run(build, place, False))
            near.append(run(build, place, False, loader=["/lib64/ld-linux-x86-64.so.2"]))
    for case, most in BUDGETS.items():
        ratio = statistics.median(got[case][0] / got["C"][0] for got in forwarded)
        entries.append(row(f"forwarded: {case} / C pair", ratio, "x", most=most, against=median_ns(
            forwarded, case)))
    for case, most in BUDGETS.items():
        # There the C pair is the forwarded one: the floor ties both runs together.
        pair = statistics.median(got["C"][0] / got["floor"][0] for got in forwarded)
        ratio = statistics.median(got[case][0] / got["floor"][0] for got in alone) / pair
        entries.append(row(f"alone: {case} / C pair", ratio, "x", most=most, against=median_ns(
            alone, case)))
    return entries + dormant_rows("a library", near) + dormant_rows("the executable", dormant)


def dormant_rows(where, runs):
    def least(case):
        return min(got[case][0] for got in runs)
    floors = {"ITT task": "ITT empty"}
    return [row(f"dormant: {case}, from {where}", least(case), "ns", most=2.5,
                   against=f"two empty calls {least(floors.get(case, 'empty')):.1f} ns")
               for case in ("registered", "ASCII", "payload", "ITT task")]


def median_ns(runs, case):
    def of(which):
        return statistics.median(got[which][0] for got in runs)
    return f"{of(case):.1f} ns; C pair {of('C'):.1f} ns, floor {of('floor'):.1f} ns"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    finish("inject", rows(pathlib.Path(sys.argv[1]).resolve()))


if __name__ == "__main__":
    main()
