#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Resource limits of a recorded program are the program's: annot uses little of them, and all
ranges arrive."""

import json
import re

from harness import case, check, equal, main, program

MIB = 1 << 20
LIMITS = (("as", 60 * MIB), ("as", 500 * MIB), ("data", 40 * MIB), ("fsize", MIB), ("nofile", 8),
          ("nproc", 1), ("memlock", 0))
LARGEST_PART = 0.04
SMALL = "processes with a smaller buffer"


@case
def the_limits_are_for_the_program(home):
    for name, limit in LIMITS:
        command = (program("emit_limits"), name, str(limit))
        alone = json.loads(home.run(*command).ok().out)
        recorded = home.record(*command, options=["--sampling=none"]).ok()
        told = json.loads(recorded.out)
        least = alone["kib"] * (1 - LARGEST_PART)
        check(told["kib"] >= least,
              f"{name} {limit}: {told['kib']} KiB of memory, where {alone['kib']} are there alone")
        info = home.info(recorded.path)
        pushes = int(re.search(r"pushes +([\d,]+)", info)[1].replace(",", ""))
        equal(pushes, told["ranges"], f"ranges under {name} {limit}")
        equal(SMALL in info, name in ("as", "fsize"), f"a smaller buffer under {name} {limit}")


if __name__ == "__main__":
    main()
