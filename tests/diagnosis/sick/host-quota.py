# SPDX-License-Identifier: MIT
"""One thread that never waits, in a control group that may use 30 % of a processor."""
import pathlib
import sys
import time

CPU = pathlib.Path("/sys/fs/cgroup/cpu")  # of version 1


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def own_group():
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            return CPU / path[1:]
    sys.exit(77)


def enter(group):
    try:
        group.mkdir()
        (group / "cpu.cfs_quota_us").write_text("30000")
        (group / "cgroup.procs").write_text("0")
    except OSError:
        sys.exit(77)


outside = own_group()
inside = outside / f"annot-quota-{time.monotonic_ns()}"
enter(inside)
work(0.6)
(outside / "cgroup.procs").write_text("0")
inside.rmdir()
