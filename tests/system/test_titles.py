#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes are named by the titles that they write over their arguments, as setproctitle does."""

import json
import os
import sys

from harness import ANNOT, Skip, case, equal, main

PROGRAM = r"""
import ctypes, os, sys, time

def title(text):
    words = open("/proc/self/stat").read().rpartition(")")[2].split()
    begin, end = int(words[45]), int(words[46])
    ctypes.memmove(begin, text.encode().ljust(end - begin, b"\0"), end - begin)

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(100))

if "emit" in sys.argv:
    import pyannot
    pyannot.mark("here")
title("server: master")
children = 2 if "emit" in sys.argv else 3
for number in range(children):
    if os.fork() == 0:
        if number == 2:
            os.execvp("sleep", ["sleep", "0.6"])
        title(f"server: worker {number}")
        if "emit" in sys.argv:
            pyannot.mark("here")
            if number == 1:
                pyannot.set_process_name("named")
        burn(0.3)
        time.sleep(0.3)
        title("")
        os._exit(0)
time.sleep(0.7)
for _ in range(children):
    os.wait()
"""


def names(home, *arguments, options=()):
    environment = dict(home.environment, PYTHONPATH=os.environ.get("ANNOT_PYANNOT", ""))
    result = home.record(sys.executable, "-c", PROGRAM + "\n" + 100 * "#", *arguments,
                         options=options, env=environment).ok()
    facts = json.loads(home.run(ANNOT, "info", "--json", result.path).ok().out)
    commands = {process["process"]: process["command"] for process in facts["processes"]
                if process["ended"] != "exec"}
    return facts, commands


@case
def titles_name_sampled_processes_and_commands_stay(home):
    facts, commands = names(home)
    if facts["sampling"]["way"] != "eBPF":
        raise Skip("no samples here")
    equal(set(commands), {"server: master", "server: worker 0", "server: worker 1", "sleep"},
          "names")
    equal(commands["server: worker 1"], commands["server: master"], "the command of a fork")
    equal("import ctypes" in commands["server: master"], True, "the command line is kept")
    equal(commands["sleep"], "sleep 0.6", "a program that the child became has no title")


LATE = PROGRAM.partition("if ")[0] + """
title("server: early")
time.sleep(1.8)
title("server: late")
time.sleep(2.5)
"""


@case
def a_title_that_is_new_after_a_long_time_is_seen_twice_soon(home):
    """The process is looked at rarely by then, and ends before the next look."""
    result = home.record(sys.executable, "-c", LATE + "\n" + 100 * "#").ok()
    facts = json.loads(home.run(ANNOT, "info", "--json", result.path).ok().out)
    if facts["sampling"]["way"] != "eBPF":
        raise Skip("no samples here")
    equal([process["process"] for process in facts["processes"]], ["server: late"], "names")


@case
def names_that_the_program_sets_come_first(home):
    """Without samples an exec shows at the next look only, which comes once a second: no child has
    one here."""
    if not os.environ.get("ANNOT_PYANNOT"):
        raise Skip("pyannot is not built")
    _, commands = names(home, "emit", options=["--sampling=none"])
    equal(set(commands), {"server: master", "server: worker 0", "named"}, "names")


main()
