#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stripped program with a debug file that appears long after the recording."""

import shutil
import signal
import subprocess

from harness import ANNOT, Skip, case, check, equal, main, program
from samples import need_bpf, record

PROGRAM = """
#include <time.h>
__attribute__((noinline)) static double inner_work(double x)
{
    for (int i = 0; i < 2000; i++)
        x = x * 1.0000001 + 1e-9;
    return x;
}
__attribute__((noinline)) static double outer_work(double x) { return inner_work(x) + 1; }
int main(void)
{
    struct timespec now;
    double x = 1;
    do {
        x = outer_work(x);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (now.tv_nsec < 700000000);
    return x < 0;
}
"""


def build(home, salt=0):
    """The stripped program and, elsewhere, its debug file."""
    for tool in ("cc", "objcopy", "strip"):
        if not shutil.which(tool):
            raise Skip(f"{tool} is missing")
    source = home.work / "worker.c"
    source.write_text(f"int salt = {salt};\n{PROGRAM}")
    worker, away = home.work / "worker", home.work / f"away{salt}"
    away.mkdir()
    run = [["cc", "-O1", "-g", "-Wl,--build-id", source, "-o", worker],
           ["objcopy", "--only-keep-debug", worker, away / "worker.debug"],
           ["strip", worker]]
    for command in run:
        subprocess.run([str(word) for word in command], check=True)
    return worker, away


def functions(home, path):
    """Functions of the program in the report, by their names."""
    report = home.run(ANNOT, "report", "--all", "--wide", path).ok().out.decode()
    return {line.split()[0] for line in report.splitlines() if "worker" in line or "_work" in line}


def recorded(home):
    need_bpf(home)
    worker, away = build(home)
    done = record(home, worker, options=["--rate", "499"])
    check(not any(name.startswith("inner_work") for name in functions(home, done.path)),
          "the stripped program's functions have names")
    return worker, away, done.path


@case
def late_debug_file_names_the_functions(home):
    _worker, away, path = recorded(home)
    before = path.read_bytes()
    home.run(ANNOT, "symbolize", path).ok()
    check("inner_work" not in functions(home, path), "the function has a name")
    before = path.read_bytes()  # with the lines of other files
    home.run(ANNOT, "symbolize", "--debug-dir", away, path).ok()
    after = path.read_bytes()
    check("inner_work" in functions(home, path), "the function has no name")
    equal(after[:len(before)], before, "what was there before")
    home.run(ANNOT, "info", path).ok()
    home.run(ANNOT, "symbolize", "--debug-dir", away, path).ok()
    equal(path.read_bytes(), after, "a recording in which all is named")


@case
def another_machine_needs_only_the_debug_file(home):
    worker, away, path = recorded(home)
    worker.unlink()
    home.run(ANNOT, "symbolize", "--debug-dir", away, path).ok()
    check("inner_work" in functions(home, path), "the function has no name")


@case
def another_build_names_nothing(home):
    worker, _away, path = recorded(home)
    worker.unlink()
    _other, other_away = build(home, salt=1)
    before = path.read_bytes()
    home.run(ANNOT, "symbolize", "--debug-dir", other_away, path).ok()
    equal(path.read_bytes(), before, "a recording whose program is not here")


@case
def killed_at_any_byte_it_leaves_a_readable_recording(home):
    _worker, away, path = recorded(home)
    before = path.read_bytes()
    home.run(ANNOT, "symbolize", "--debug-dir", away, path).ok()
    after = path.read_bytes()
    cut = home.work / "cut.annot"
    for size in sorted({len(before) + 1, len(before) + 63, len(before) + 64, len(before) + 65,
                        (len(before) + len(after)) // 2, len(after) - 1}):
        cut.write_bytes(after[:size])
        report = home.run(ANNOT, "report", cut)
        check("worker+0x" in report.out.decode(), f"{size} bytes: the report has no functions")
        home.run(ANNOT, "symbolize", "--debug-dir", away, cut)
        check("inner_work" in functions(home, cut), f"{size} bytes: it cannot be named any more")


@case
def collector_killed_while_names_are_on_their_way_leaves_a_recording(home):
    worker, away, _path = recorded(home)
    gate = home.work / "gate"
    gate.touch()
    for point in ("asked 1", "asked 2", "named 1", "named 2"):
        preload = {"LD_PRELOAD": program("libat_hand_over.so"), "HAND_OVER": point,
                   "HAND_OVER_GATE": str(gate)}
        done = home.record(worker, options=["--no-preload", "--rate", "499"],
                           env={**home.environment, **preload})
        equal(done.status, -signal.SIGKILL, f"status at the point {point!r}")
        home.annot("recover").ok()
        home.annot("symbolize", "--debug-dir", away, done.path).ok()
        home.info(done.path)


if __name__ == "__main__":
    main()
