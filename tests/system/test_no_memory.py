# SPDX-License-Identifier: MIT
"""Allocations of annot that fail, one after the other: it ends with a status and a message that say
so, or has done all of its work; it never crashes, and losses are counted.

ANNOT_ALLOCATIONS (default 40): how many of the allocations of each command fail in turn, evenly
spread; 0 for every one. Besides the harness's environment: ANNOT_MODEL (folder of model_program).
"""

import os
import pathlib
import random
import re
import time

from harness import ANNOT, Failed, case, check, equal, main, program

SAMPLES = int(os.environ.get("ANNOT_ALLOCATIONS", "40"))
MODEL = pathlib.Path(os.environ["ANNOT_MODEL"])
STEPS = 3000


def annot(home, *arguments, fail_at=0, count=1, counts=None):
    environment = dict(home.environment, LD_PRELOAD=str(pathlib.Path(program("libfail_malloc.so"))),
                       FAIL_AT=str(fail_at), FAIL_COUNT=str(count))
    if counts:
        environment["FAIL_COUNTS"] = str(counts)
    return home.run(ANNOT, *arguments, env=environment, timeout=120)


def allocations(home, *arguments):
    counts = home.work / "counts"
    annot(home, *arguments, counts=counts).ok()
    return int(counts.read_text())


def places(total, samples=SAMPLES):
    """Numbers of allocations: one of each stretch, or all."""
    if SAMPLES == 0 or total <= samples:
        return list(range(1, total + 1))
    step = total / samples
    return sorted({1 + int(step * (i + random.random())) for i in range(samples)})


def says_so(result, where):
    """Ended by itself, and if not well, with a message."""
    check(result.status >= 0, f"{where}: ended by signal {-result.status}: {result.err_text}")
    check(result.status == 0 or "annot" in result.err_text,
          f"{where}: status {result.status} without a message")


def record_with_failures(home, options, more):
    log, recording = home.work / "log", home.work / "recording.annot"
    arguments = ["record", "--force", "-o", recording, *options, "--enable", "*:5", "--disable",
                 "noise", "--", MODEL / "model_program", log, "77", STEPS]
    total = allocations(home, *arguments)
    for place in places(total):
        for path in (log, recording):
            path.unlink(missing_ok=True)
        where = f"allocation {place} of {total}"
        result = annot(home, *arguments, fail_at=place, count=more)
        says_so(result, where)
        home.annot("recover").ok()
        if result.status != 0 or "annot record: " in result.err_text:  # what is there is readable
            check(not recording.exists() or home.annot("info", recording).status == 0,
                  f"{where}: the recording cannot be read; {result.err_text}")
            if not recording.exists() or not log.exists() or "cannot write" not in result.err_text:
                continue  # it did not begin
        compared = home.run(MODEL / "model_check", log, recording)
        if compared.status != 0:
            raise Failed(f"{where}: it says nothing, but {compared.out.decode()}"
                         f"{compared.err_text}\n{result.err_text}")
    tidy(home)


def tidy(home):
    """Programs that annot had to leave running end; then the directory is unused."""
    deadline = time.monotonic() + 60
    while home.leftovers() and time.monotonic() < deadline:
        time.sleep(0.1)
        home.annot("recover").ok()


@case
def record_says_what_it_could_not_do(home):
    record_with_failures(home, ("--sampling=none",), 1)


@case
def record_says_so_when_all_memory_is_gone(home):
    record_with_failures(home, ("--sampling=none",), 1 << 30)


@case
def sampling_goes_on_or_says_why_not(home):
    record_with_failures(home, (), 1)


TOLD = re.compile(rb"lower bounds|left out|out of memory|not (all|known)")


def made_twice(home, arguments, out, samples=SAMPLES):
    """A command on a recording: the same output as with all memory, or a remark in it, or no
    output."""
    def output():
        return out.read_bytes() if out.exists() else b""
    total = allocations(home, *arguments)
    expected = (annot(home, *arguments).ok().out, output())
    check(any(expected), f"{arguments} writes nothing: tests nothing")
    done, chosen = 0, places(total, samples)
    for place in chosen:
        out.unlink(missing_ok=True)
        where = f"{arguments[0]}, allocation {place} of {total}"
        result = annot(home, *arguments, fail_at=place)
        says_so(result, where)
        if result.status == 0:
            done += 1
            told = TOLD.search(result.out) or TOLD.search(result.err)
            # Perfetto traces spell a name out without memory to number it.
            if not told and "perfetto" not in arguments:
                equal((result.out, output()), expected, f"{where}: what it wrote")
        else:
            check(not out.exists(), f"{where}: half an output is left")
    check(done < len(chosen), f"{arguments[0]} fails at no allocation")


@case
def outputs_are_whole_or_there_is_a_message(home):
    recording, log = home.work / "recording.annot", home.work / "log"
    home.annot("record", "--sampling=none", "-o", recording, "--", MODEL / "model_program", log,
               "5", STEPS).ok()
    out = home.work / "out.json"
    for arguments in (["report", recording], ["info", recording],
                      ["export", recording, "-o", out, "--force"],
                      ["export", recording, "-o", out, "--force", "-f", "perfetto"],
                      ["html", recording, "-o", home.work / "out.html", "--force"]):
        made_twice(home, arguments, arguments[3] if len(arguments) > 3 else out)


@case
def pages_of_samples_are_whole_or_there_is_a_message(home):
    recording, page = home.work / "recording.annot", home.work / "out.html"
    home.run(program("make_trace"), "sampled", recording).ok()
    made_twice(home, ["html", recording, "-o", page, "--force"], page)


@case
def every_format_is_whole_or_there_is_a_message(home):
    """A few places of each: `outputs_are_whole...` has many of the two that are used most."""
    recordings = {}
    for shape in ("sets", "lined"):
        recordings[shape] = home.work / f"{shape}.annot"
        home.run(os.environ["ANNOT_MAKE_RECORDING"], shape, recordings[shape]).ok()
    lines = home.annot("export", "--list").ok().out.decode().splitlines()[1:]
    for name in (line.split()[0] for line in lines):
        recording = recordings["lined" if name == "lprof" else "sets"]
        out = home.work / f"out.{name}"
        written = out / "stream" if name == "ctf" else out  # a folder
        made_twice(home, ["export", recording, "-o", out, "--force", "-f", name], written,
                   samples=SAMPLES // 4)


if __name__ == "__main__":
    main()
