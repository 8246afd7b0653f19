#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A FIFO or a device where annot expects a file: annot does not block, and no recording is lost."""

import json
import os
import signal
import time

from cut_recordings import cut_short
from harness import ANNOT, case, check, equal, main, program

LIMIT_S = 30
NAMES = ("session-0123456789abcdef", "target-1-00000000efffffff",
         "1-00000000efffffff-0123456789abcdef.seg", "extra")


@case
def a_pipe_at_the_place_of_a_dead_recording_stops_nobody(home):
    path, after = home.work / "dead.annot", home.work / "after.annot"
    run, = cut_short(home, "dead")
    path.unlink()
    os.mkfifo(path)
    done = home.annot("record", "--sampling=none", "-o", after, "--", "true", timeout=LIMIT_S).ok()
    check(f"{path} was cut short and is gone" in done.err_text, done.err_text)
    done = home.annot("recover", "--json", timeout=LIMIT_S).ok()
    row, = map(json.loads, done.out.decode().splitlines())
    equal(row["state"], "made", "the state")
    names = {event["name"] for event in home.dump(home.work / row["recording"]).kind("push")}
    told = {line["name"] for line in run.lines()}
    check(names and names <= told, f"{names - told} was never emitted")


@case
def pipes_in_the_directory_stop_nobody(home):
    """Under the names of a session, of a process's session and of a segment."""
    home.directory.mkdir(mode=0o700)
    for name in NAMES:
        os.mkfifo(home.directory / name)
    home.left = {"wake", *NAMES}
    path = home.work / "r.annot"
    for command in (("ls",), ("doctor",), ("recover",), ("set", "--off", "*"), ("tail",),
                    ("record", "--sampling=none", "-o", path, "--", program("emit_ticks"), "10")):
        home.annot(*command, timeout=LIMIT_S)
    check(home.dump(path).kind("push"), "the recording is empty")


@case
def signals_end_the_wait_for_a_reader(home):
    pipe = home.work / "pipe.annot"
    os.mkfifo(pipe)
    target = home.start("sleep", "60")
    for words, number in ((["record"], signal.SIGTERM), (["record"], signal.SIGINT),
                          (["attach", "-p", target.pid], signal.SIGTERM)):
        command = ["--", "true"] if words[0] == "record" else []
        waits = home.start(ANNOT, *words, "--force", "-o", pipe, *command)
        time.sleep(0.5)
        equal(waits.poll(), None, "the status of what waits")
        waits.send_signal(number)
        equal(waits.wait(LIMIT_S), -number, f"status of {words[0]}")
    target.kill()
    target.wait()


@case
def commands_refuse_a_recording_that_is_no_file(home):
    pipe = home.work / "pipe.annot"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero"):
        for command in (("info",), ("report",), ("cat",), ("flame", "-o", "x.svg"),
                        ("export", "-o", "x.json"), ("tail",)):
            home.annot(command[0], path, *command[1:], timeout=LIMIT_S).complains(1, "pipe")
        check(not (home.work / "x.json").exists(), "an output")


if __name__ == "__main__":
    main()
