#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The last moments of a recording: other starts and kills while it is completed.

at_the_end.c, preloaded into annot, makes these moments long enough or ends them."""

import os
import signal
import subprocess

from harness import ANNOT, case, check, equal, main, program


def start(home, path, **moments):
    """A recording that ends before its command, so that a segment is in use then."""
    environment = dict(home.environment, LD_PRELOAD=program("libat_the_end.so"), **moments)
    return home.start(ANNOT, "record", "-o", path, "--duration", "150ms", "--",
                      program("emit_ticks"), "300", env=environment, stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL)


def ticks(home, path):
    dump = home.dump(path).whole()
    names = [event["name"] for event in dump.kind("push")]
    equal(len(set(names)), len(names), "different names of pushed ranges")
    check(len(names) > 10, f"only {len(names)} ranges are there")
    return dump


def another_begins(home, **moments):
    path = home.work / "first.annot"
    first = start(home, path, **moments)
    while first.poll() is None:
        second = home.record(program("emit_ticks"), "5").ok()
        check("recovered" not in second.err_text, second.err_text)
        equal(len(home.dump(second.path).whole().processes), 1, "processes of the second")
    equal(first.returncode, 0, "status of the first")
    check(not ticks(home, path).session["recovered"], "a whole recording was recovered")
    equal([name for name in os.listdir(home.work) if name.startswith("recovered")], [],
          "recovered files")


@case
def another_begins_when_the_gate_is_shut(home):
    another_begins(home, AT_NANOSLEEP="wait")


@case
def another_begins_when_all_is_in_the_file(home):
    another_begins(home, AT_UNLINKAT="wait")


@case
def a_recording_begins_while_the_directory_goes(home):
    environment = dict(home.environment, LD_PRELOAD=program("libat_the_end.so"),
                       AT_OPENAT="session")
    result = home.record(program("emit_ticks"), "5", env=environment).ok()
    equal(home.dump(result.path).refusals, [], "refusals")
    equal(len(home.dump(result.path).whole().kind("push")), 2, "ranges")


@case
def a_program_starts_while_the_directory_goes(home):
    environment = dict(home.environment, LD_PRELOAD=program("libat_the_end.so"), AT_OPENAT="wake")
    home.run(program("emit_ticks"), "5", env=environment).ok()
    equal(os.listdir(home.directory), ["wake"], "the directory of a program that has run")
    home.left = {"wake"}


@case
def a_program_starts_while_a_collector_looks_for_others(home):
    """It waits for the lock of the wake page, which is held for at most the search's duration."""
    look = f"flock -x $ANNOT_DIR/wake sleep 0.06 & sleep 0.02; exec {program('emit_ticks')} 100"
    result = home.record("sh", "-c", look).ok()
    equal(len(home.dump(result.path).whole().kind("push")), len(result.out.splitlines()), "ranges")


def killed(home, **moments):
    path = home.work / "killed.annot"
    home.left = {"wake"}  # its maker is dead
    process = start(home, path, **moments)
    equal(process.wait(20), -signal.SIGKILL, "annot's end")
    before = len(home.dump(path).events)
    home.annot("recover").ok()
    equal(os.listdir(home.work), ["killed.annot"], "files after the recovery")
    dump = ticks(home, path)
    check(dump.session["recovered"], "the recording does not say that it was recovered")
    return before, len(dump.events)


@case
def killed_when_the_gate_is_shut(home):
    before, after = killed(home, AT_NANOSLEEP="die")
    check(after >= before, f"{before} events became {after}")


@case
def killed_when_all_is_in_the_file(home):
    before, after = killed(home, AT_UNLINKAT="die")
    equal(after, before, "events after the recovery")


main()
