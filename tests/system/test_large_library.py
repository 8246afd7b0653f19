#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program emits while another one, which spends its time in large libraries, is sampled: their
unwind rows and names are read beside the collector's main thread, so no event is lost meanwhile."""

import json
import os
import pathlib
import shutil
import subprocess

from harness import Skip, case, check, equal, main
from samples import BPF

RATE, SECONDS = "1e6", "3"


@case
def nothing_is_lost_while_a_large_library_is_read(home):
    clang = shutil.which("clang")
    if not clang:
        raise Skip("needs clang")
    place = home.work
    source = pathlib.Path(place, "many.c")
    source.write_text("".join(f"int f{i}(int *a) {{ return a[{i}] * {i}; }}\n"
                              for i in range(20000)))
    out = subprocess.run([os.environ["ANNOT_BENCH_LIBRARY"], RATE, SECONDS, clang, "-O2", "-c",
                          str(source), "-o", "/dev/null"], cwd=place, check=True,
                         stdout=subprocess.PIPE, timeout=100).stdout
    for got in map(json.loads, out.splitlines()):
        if got["rung"] != BPF:
            raise Skip("no sampling by eBPF here")
        equal(got["lost"], 0, f"records lost, {got['what']}")
        equal(got["ring_full"], 0, "samples that found no room")
        check(got["samples"] > 0, "no sample of the compiler")
        check(got["rows"] > 0, "no rows were read")


if __name__ == "__main__":
    main()
