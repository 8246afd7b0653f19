# SPDX-License-Identifier: MIT
"""Time of this machine's CPUs that no thread had."""

import os


def taken_ns():
    """What hosts and interrupts took from the CPUs so far: timers go on meanwhile, but no thread's
    clock counts it. Known to one tick of /proc/stat."""
    with open("/proc/stat", encoding="ascii") as stat:
        fields = stat.readline().split()
    return sum(int(fields[n]) for n in (6, 7, 8)) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
