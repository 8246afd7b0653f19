#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command under `annot record` is the command: its streams, its status, its descriptors.

Also both exports of a run, compared with the program's own account."""

import hashlib
import json
import os
import signal
import subprocess
import time

import traces
from harness import ANNOT, case, check, equal, main, program

NOISE = bytes(range(256)) * 8192  # 2 MiB, every byte value


@case
def binary_streams_pass_unchanged(home):
    result = home.record("cat", stdin=NOISE).ok()
    equal(hashlib.sha256(result.out).digest(), hashlib.sha256(NOISE).digest(), "what cat gave back")
    both = home.record("sh", "-c", "cat >&2; printf 'a\\0b\\377'", stdin=NOISE[:70000]).ok()
    equal(both.out, b"a\0b\xff", "standard output")
    check(both.err.startswith(NOISE[:70000]), "standard error is not the command's")
    check(b"\x1b" not in both.err[70000:], "the summary has escapes without a terminal")


@case
def streams_stay_the_same_files(home):
    """Descriptors are inherited, not copied through: the command sees the very same files."""
    script = "import os; print([(os.fstat(n).st_dev, os.fstat(n).st_ino) for n in (0, 1, 2)])"
    with open(home.work / "out", "wb") as out, open("/dev/null", "rb") as null:
        for prefix in ([], [ANNOT, "record", "-o", home.work / "x.annot", "--"]):
            process = home.start(*prefix, "python3", "-c", script, stdin=null, stdout=out,
                                 stderr=subprocess.DEVNULL)
            equal(process.wait(30), 0, "status")
    first, second = (home.work / "out").read_text().splitlines()
    equal(second, first, "the command's descriptors")


@case
def no_descriptor_leaks_into_the_command(home):
    listing = "ls -l /proc/self/fd | sed -n 's/.*[0-9] -> //p'"
    plain = home.run("sh", "-c", listing).ok().out.decode().splitlines()
    recorded = home.record("sh", "-c", listing).ok().out.decode().splitlines()
    equal(len(recorded), len(plain), f"descriptors of the command: {recorded}; their number")


@case
def signal_state_of_the_command_is_the_callers(home):
    script = "grep -E 'SigBlk|SigIgn|SigCgt' /proc/self/status"
    plain = home.run("sh", "-c", script).ok().out
    recorded = home.record("sh", "-c", script).ok().out
    equal(recorded, plain, "signal masks of the command")


@case
def a_launcher_may_ignore_or_block_signals(home):
    """The end of the command is noticed all the same, and the command gets its launcher's state."""
    signals = [signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP]

    def ignore():
        for number in signals:
            signal.signal(number, signal.SIG_IGN)

    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)

    script = ("import sys; print([line for line in open('/proc/self/status') if "
              "line.startswith(('SigBlk', 'SigIgn'))]); sys.exit(7)")
    command = ["python3", "-S", "-c", script]
    for change in (ignore, block):
        states = []
        for prefix in ([], [ANNOT, "record", "--force", "-o", home.work / "x.annot", "--"]):
            process = home.start(*prefix, *command, preexec_fn=change, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
            states.append(process.communicate(timeout=30)[0])
            equal(process.returncode, 7, f"status after {change.__name__}()")
        equal(states[1], states[0], f"signals of the command after {change.__name__}()")
        equal(home.dump(home.work / "x.annot").session["status"], 7 << 8, "status in the recording")


@case
def exit_status_is_the_commands(home):
    for status in (0, 1, 2, 77, 125, 126, 127, 128, 255):
        result = home.record("sh", "-c", f"exit {status}").ok(status)
        equal(home.dump(result.path).session["status"], status << 8, "status in the recording")


@case
def death_by_signal_is_the_commands(home):
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGINT):
        result = home.record("sh", "-c", f"ulimit -c 0; kill -{int(number)} $$")
        equal(result.status, -number, f"status after {number.name}")
        equal(home.dump(result.path).session["status"] & 127, number, "status in the recording")
        check(home.dump(result.path).session["complete"], "the recording is not complete")


@case
def standard_output_may_be_closed(home):
    for number, closed in enumerate(("<&-", ">&-", "2>&-", "<&- >&- 2>&-")):
        path = home.work / f"{number}.annot"
        home.run("sh", "-c", f"exec {closed}; {ANNOT} record -o {path} -- {program('emit_shapes')} "
                             "underflow; exit $?")
        equal(len(home.dump(path).whole().events), 8, f"events with {closed}")


@case
def broken_pipe_kills_the_command_not_the_recording(home):
    path = home.work / "x.annot"
    result = home.run("bash", "-c", f"{ANNOT} record -o {path} -- yes | head -1; "
                                    "echo ${PIPESTATUS[0]}").ok()
    equal(result.out, b"y\n141\n", "output and status")
    home.dump(path).whole()


@case
def terminate_reaches_the_command(home):
    """SIGTERM to annot is handed on; the recording is completed."""
    path = home.work / "x.annot"
    process = home.start(ANNOT, "record", "-o", path, "--", program("emit_ticks"), 20000,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(4096)  # the first full buffer, of some 40 ticks
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)
    check(process.returncode in (-signal.SIGTERM, 143), f"status {process.returncode}: {err}")
    check(len(home.dump(path).whole().kind("push")) > 30, "ticks before the signal")


@case
def both_exports_tell_what_the_program_counted(home):
    result = home.record(program("emit_ticks"), 400).ok()
    ticks = [json.loads(line) for line in result.out.decode().splitlines()][:-1]
    home.dump(result.path).whole()
    chrome = traces.read(home.export(result.path, ".json.gz"))
    perfetto = traces.read(home.export(result.path, ".pftrace"))
    equal(dict(chrome), dict(perfetto), "everything in Chrome and Perfetto")
    slices = {row[4]: row for row in perfetto["pushed"]}
    equal(len(slices), len(ticks) + 1, "slices")
    for tick in ticks:
        row = slices["outer/" + tick["name"]]
        shortest = tick["end"][0] - tick["begin"][1]
        longest = tick["end"][1] - tick["begin"][0]
        check(shortest - 1000 <= row[3] <= longest + 1000,
              f"{tick['name']} lasted {shortest} to {longest} ns, exported are {row[3]}")
        begin = row[2] + perfetto.origin
        check(tick["begin"][0] - 1000 <= begin <= tick["begin"][1] + 1000,
              f"{tick['name']} began in {tick['begin']}, exported is {begin}")


@case
def default_file_name_is_never_overwritten(home):
    for _ in range(3):
        home.annot("record", "--", "true").ok()
    names = [name for name in os.listdir(home.work) if name.endswith(".annot")]
    equal(len(names), 3, f"recordings {names}")
    check(all(name.startswith("true-") for name in names), f"names {names}")


if __name__ == "__main__":
    main()
