#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""1,000 threads in each of 64 processes, at the defaults: without losses, memory is printed.

kernel.pid_max and threads-max are raised for the test and put back."""

import contextlib
import json
import pathlib

from harness import Skip, case, check, equal, main, needs_root, program

PROCESSES, THREADS, PAIRS = 64, 1000, 120
PER_SECOND = 1_500_000
LIMITS = {"pid_max": 200_000, "threads-max": 200_000}


@contextlib.contextmanager
def raised_limits():
    """The kernel's limits at least as given, and as they were afterwards."""
    before = {}
    try:
        for name, wanted in LIMITS.items():
            path = pathlib.Path("/proc/sys/kernel", name)
            present = int(path.read_text())
            if present < wanted:
                before[path] = present
                path.write_text(str(wanted))
        yield
    except PermissionError as error:
        raise Skip(f"{error.filename} cannot be raised") from error
    finally:
        for path, value in before.items():
            path.write_text(str(value))


def enough_room():
    available = dict(line.split(":") for line in
                     pathlib.Path("/proc/meminfo").read_text().splitlines())["MemAvailable"]
    if int(available.split()[0]) < 6 << 20:
        raise Skip("needs 6 GiB of free memory")
    for path in pathlib.Path("/sys/fs/cgroup").glob("pids.max"):
        if path.read_text().strip().isdigit() and int(path.read_text()) < 70_000:
            raise Skip(f"{path} is {path.read_text().strip()}")


def crowd(home, processes, threads, timeout, may_lose=0):
    """Every record is in the file or counted as lost; returns the result and the dump."""
    result = home.record(program("emit_crowd"), processes, threads, PAIRS, PER_SECOND,
                         timeout=timeout).ok()
    account = json.loads(result.out)
    equal(account["threads"], processes * threads, "threads of the program")
    equal(account["records"], processes * threads * PAIRS * 2, "records of the program")
    dump = home.dump(result.path, "--no-events")
    session, lost = dump.session, dump.lost()
    mib = {"collector": result.peak_kib / 1024, "its own": result.own_kib / 1024,
           "largest process": account["peak_kib"] / 1024,
           "segments": session["peak_bytes"] / 2**20, "file": session["file_bytes"] / 2**20}
    print(f"  {account['records']} records, {lost} lost, "
          f"{session['file_bytes'] / account['records']:.2f} bytes each; MiB: "
          + ", ".join(f"{what} {size:.1f}" for what, size in mib.items()))
    equal(session["events"] + lost, account["records"], "recorded events and counted losses")
    check(lost <= may_lose, f"{lost} records were lost")
    equal(dump.damage, [], "damage")
    threads_told = [thread for thread in dump.threads if thread["events"] or any(thread["lost"])]
    equal(len(threads_told), processes * threads, "threads with events")
    if lost == 0:
        equal({thread["events"] for thread in threads_told}, {PAIRS * 2}, "events of one thread")
    busy = [process for process in dump.processes if process["events"]]
    equal(len(busy), processes, "processes with events")
    equal([process["pid"] for process in busy if process["how_text"] == "still running"], [],
          "processes called still running")
    return result, session


@case
def four_thousand_threads(home):
    crowd(home, 8, 500, 60)


@case
@needs_root
def sixty_four_thousand_threads(home):
    enough_room()
    with raised_limits():
        # On few processors a thread's first event may wait in vain for another that makes the
        # segment and gets no CPU; that is counted. One of a thousand threads may be so.
        few = PROCESSES * THREADS // 1000 * PAIRS * 2
        result, session = crowd(home, PROCESSES, THREADS, 240, may_lose=few)
    check(session["peak_bytes"] <= PROCESSES * 24 << 20, "segments beyond 24 MiB a process")
    check(result.own_kib < 128 << 10, f"the collector took {result.own_kib / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
