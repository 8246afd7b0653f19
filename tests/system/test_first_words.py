#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What people type first: a script, a process number, an output; and the messages at the end."""

import gzip
import json
import os
import re
import subprocess
import sys
import time

from harness import case, check, equal, main

PROGRAM = """
import sys, time
def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
print("ready", flush=True)
spin(float(sys.argv[1]))
"""


def script(home):
    path = home.work / "spinning.py"
    path.write_text(PROGRAM)
    return path


def said(done):
    """The whole lines at the end: they are broken where the terminal ends."""
    text = re.sub(r"\n +annot ", "  annot ", done.err.decode())
    return re.sub(r"\n +", " ", text).splitlines()


@case
def a_script_is_recorded_and_exported(home):
    path = script(home)
    for name in ("x.svg", "y.json", "z.json.gz", "p.pftrace"):
        done = home.annot("record", "-r", "499", "-o", home.work / name, path, "0.3").ok()
        stem = home.work / name.split(".")[0]
        check(stem.with_suffix(".annot").exists(), f"{name}: no recording beside it")
        equal(said(done)[0].split(" wall")[0][:7], "annot: ", "the beginning of the headline")
        check("spin (spinning.py:" in said(done)[0], f"the headline: {said(done)[0]}")
        equal(len(said(done)), 3, f"lines at the end, in {said(done)}")
        wide = [line for line in done.err.decode().splitlines()
                if len(line) > 80 and " annot " not in line]
        equal(wide, [], "lines that are wider than 80 columns")
        check("nothing lost" in said(done)[1], said(done)[1])
        check(f"annot report {stem}.annot" in said(done)[2], said(done)[2])
        check(f"annot html {stem}.annot" in said(done)[2], said(done)[2])
        equal("annot export" in said(done)[2], name != "p.pftrace", "whether a timeline is next")
    check(b"spin" in (home.work / "x.svg").read_bytes(), "the flame graph lacks spin")
    for text in ((home.work / "y.json").read_bytes(),
                 gzip.decompress((home.work / "z.json.gz").read_bytes())):
        check(json.loads(text)["traceEvents"], "the trace is empty")
    check(os.path.getsize(home.work / "p.pftrace") > 1000, "the trace is small")


@case
def what_is_next_works(home):
    path = script(home)
    done = home.annot("record", "-o", home.work / "r.annot", path, "0.3").ok()
    line = said(done)[-1].split("next: ")[1]
    for command in re.split("  +", line):
        home.annot(*command.split()[1:]).ok()
    check((home.work / "r.html").exists() and (home.work / "r.pftrace").exists(), line)


@case
def quiet_says_nothing(home):
    done = home.annot("record", "-q", "-o", home.work / "q.svg", script(home), "0.3").ok()
    equal(done.err, b"", "what was said")
    check((home.work / "q.svg").exists(), "there is no flame graph")


@case
def processes_by_their_numbers(home):
    targets = [home.start(sys.executable, script(home), "30", stdout=subprocess.PIPE)
               for _ in range(2)]
    try:
        for target in targets:
            equal(target.stdout.readline(), b"ready\n", "the first line of the program")
        time.sleep(0.1)
        pids = [target.pid for target in targets]
        done = home.annot("attach", *pids, "-d", "1", "-r", "199", "-o",
                          home.work / "a.json").ok()
        check("spin (" in said(done)[-3], said(done))
        report = json.loads(home.annot("report", "--json", home.work / "a.annot").ok().out)
        found = json.dumps(report)
        for pid in pids:
            check(str(pid) in found, f"process {pid} is not in the report")
        home.annot("flame", "--gil", "-o", home.work / "gil.svg", home.work / "a.annot").ok()
        check(b"spin" in (home.work / "gil.svg").read_bytes(), "spin holds no lock")
        text = home.annot("dump", *pids).ok().out.decode()
        for pid in pids:
            check(f"process {pid} (" in text, f"process {pid} is not in\n{text}")
        check(text.count("spin (") >= 2, f"calls of spin in\n{text}")
    finally:
        for target in targets:
            target.kill()
            target.communicate()


if __name__ == "__main__":
    main()
