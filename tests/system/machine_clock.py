# SPDX-License-Identifier: MIT
"""CPU time of this machine that a test did not get."""

import os
import resource


def cpus_ns(*numbers):
    """These fields of all CPUs so far, to one tick of /proc/stat."""
    with open("/proc/stat", encoding="ascii") as stat:
        fields = stat.readline().split()
    return sum(int(fields[n]) for n in numbers) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def taken_ns():
    """Time that hosts and interrupts took from the CPUs so far: timers go on meanwhile, but no
    thread's clock counts it."""
    return cpus_ns(6, 7, 8)


def others_ns():
    """CPU time of all processes except our children so far."""
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    return cpus_ns(1, 2, 3) - int((own.ru_utime + own.ru_stime) * 1e9)
