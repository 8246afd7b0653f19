#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs, annot, or both in a time namespace with clocks ahead of the machine's or later: kernel,
/proc, programs and annot give one time in the recording for one instant."""

import json
import pathlib
import sys

from asked import Asked, Attached, attach_case, names, wait_until
from harness import ANNOT, NUMBERS, Skip, case, check, equal, main, needs_root, program
from samples import BPF

COUNT, BURN_MS = 20, 10
WORK = f"open step\nburn {BURN_MS}\nclose\n" * COUNT
REFUSED = 9  # place of the cause in the counts
FAR = int(float(pathlib.Path("/proc/uptime").read_text(encoding="ascii").split()[0])) // 2 + 1
# Takes two offsets ("SECONDS NANOSECONDS") and runs the remaining words in a namespace with them.
ENTER = """
import ctypes, os, sys
if ctypes.CDLL(None).unshare(0x80): # CLONE_NEWTIME
    sys.exit(1)
with open("/proc/self/timens_offsets", "w") as file:
    file.write(f"monotonic {sys.argv[1]}\\nboottime {sys.argv[2]}\\n")
child = os.fork()
if child == 0:
    os.execvp(sys.argv[3], sys.argv[3:])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def entering(home, monotonic, boot=None):
    """A command prefix; the same offset for both clocks, unless two are given."""
    home.environment["ANNOT_PYTHON"] = "none"
    words = [sys.executable, "-c", ENTER, monotonic, boot or monotonic]
    if home.run(*words, "true").status:
        raise Skip("time namespaces are not possible here")
    return words


def check_truth(home, path, message):
    """One process with one thread, all its ranges, inside of its life, and their CPU time."""
    dump = home.dump(path, "--samples").whole()
    check("LOST" not in message, message)  # stacks may be missing: an exec races with samples
    process, = (entry for entry in dump.processes if entry["comm"] == "emit_asked")
    thread, = (entry for entry in dump.threads if entry["process"] == process["ordinal"])
    events = [event for event in dump.kind("push", "pop") if event["thread"] == thread["ordinal"]]
    begun = [event["name"] for event in events if event["kind"] == "push"]
    equal(begun, ["step"] * COUNT, "ranges")
    times = [event["time"] for event in events]
    equal(len(times), 2 * COUNT, "begins and ends")
    end_ns = process["end"] or dump.session["end"]
    wall_ns = end_ns - process["start"]
    check(process["start"] <= min(times) and wall_ns < 6e10, f"{times} of {process}")
    check(dump.session["begin"] <= min(times) and max(times) <= dump.session["end"],
          f"{times} in a recording of {dump.session}")
    cpu_ns = sum(sample["weight"] for sample in dump.samples
                 if sample["thread"] == thread["ordinal"] and not sample["off"]
                 and dump.paths.get(sample["path"]) == ["step"])
    if dump.sampling["rung"] == BPF:
        check(max(times) <= end_ns, f"{times} of {process}")
        check(COUNT * BURN_MS * 5e5 <= cpu_ns <= wall_ns + 2e7,
              f"{cpu_ns} ns of CPU time are in ranges, of {wall_ns} ns")


def check_record(home, outer, inner, options=()):
    path = home.work / f"{next(NUMBERS)}.annot"
    done = home.run(*outer, ANNOT, "record", "-o", path, *options, "--", *inner,
                    program("emit_asked"), stdin=WORK.encode())
    check_truth(home, path, done.ok().err_text)


@case
def the_program_is_behind(home):
    check_record(home, [], entering(home, f"-{FAR} 0"))


@case
def the_program_is_ahead(home):
    check_record(home, [], entering(home, f"{FAR} 0"))


@case
def both_are_behind(home):
    check_record(home, entering(home, f"-{FAR} 0"), [])


@case
def both_are_ahead(home):
    check_record(home, entering(home, f"{FAR} 0"), [])


@case
def no_whole_ticks(home):
    offset = f"-{FAR} 123456789"
    check_record(home, [], entering(home, offset))
    check_record(home, entering(home, offset), [])


@case
def one_of_the_clocks_alone(home):
    check_record(home, [], entering(home, "0 0", f"{FAR} 0"))
    check_record(home, [], entering(home, f"-{FAR} 0", "0 0"))


@case
def annot_and_program_apart(home):
    check_record(home, entering(home, f"{FAR} 0"), entering(home, f"-{FAR} 0"))


@case
def read_from_outside(home):
    check_record(home, [], entering(home, f"{FAR} 987654321"), ["--sampling", "remote"])
    check_record(home, entering(home, f"-{FAR} 987654321"), [], ["--sampling", "remote"])


@case
def spans_with_times_of_the_program(home):
    for offset in f"-{FAR} 0", f"{FAR} 0":
        result = home.record(*entering(home, offset), program("emit_queues"), 50, "plain",
                             options=["--sampling=none"]).ok()
        emitted = sum(line.startswith(b"{") for line in result.out.splitlines())
        lines = home.annot("cat", "--json", result.path).ok().out.splitlines()
        spans = [row for row in map(json.loads, lines)
                 if row.get("kind") == "track" and row["name"] != "early"]
        check(emitted > 100, f"the program emitted {emitted} spans")
        equal(len(spans), emitted, "spans")


@case
def a_refused_program(home):
    for offset in f"-{FAR} 0", f"{FAR} 0":
        result = home.record(*entering(home, offset), program("emit_asked"),
                             stdin=f"size 4096\nsteps {COUNT}\n".encode()).ok()
        dump = home.dump(result.path)
        process, = (entry for entry in dump.processes if entry["comm"] == "emit_asked")
        equal(process["lost"][REFUSED], 2 * COUNT, "records that a refused process lost")
        check(dump.session["begin"] <= process["start"] <= dump.session["end"],
              f"{process} began outside of {dump.session}")


def child_of(pid):
    path = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    wait_until(lambda: path.read_text(encoding="ascii"), "the program runs")
    return int(path.read_text(encoding="ascii"))


@attach_case
@needs_root
def attaching(home):
    asked = Asked(home, *entering(home, f"{FAR} 5000000"), program("emit_asked"))
    attached = Attached(home, [child_of(asked.pid)])
    asked.ask(*WORK.splitlines())
    check_truth(home, attached.path, attached.stop())
    asked.end()


@attach_case
@needs_root
def attaching_to_what_starts_it(home):
    asked = Asked(home, "sh", "-c", 'echo ok; read go; "$@"; exit', "sh",
                  *entering(home, f"-{FAR} 5000000"), program("emit_asked"))
    attached = Attached(home, [asked.pid])
    asked.ask("go", *WORK.splitlines())
    attached.stop()
    equal(names(home, attached.path), {"step": COUNT}, "ranges")
    asked.end()


main()
