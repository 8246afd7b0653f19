# SPDX-License-Identifier: MIT
"""Programs compiled against the frozen header of version 0.1 run with the present libannot.so, and
programs of today that use only its functions need no newer one.

Besides the harness's environment: ANNOT_SOURCE, ANNOT_LIBRARIES (the folder of libannot.so).
"""

import hashlib
import os
import pathlib
import re
import subprocess

from harness import Failed, case, check, equal, main

SOURCE = pathlib.Path(os.environ["ANNOT_SOURCE"])
PRESENT = pathlib.Path(os.environ["ANNOT_LIBRARIES"])
ABI = SOURCE / "tests" / "abi"
LISTED = [line.split() for line in (ABI / "symbols_0_1.txt").read_text().splitlines()
          if not line.startswith("#")]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False)
    if done.returncode:
        raise Failed(f"{command}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def program(home, name, header, libraries):
    path = home.work / name
    run("cc", "-std=gnu17", f"-DANNOT_HEADER=<{header}>", f"-I{ABI}",
        f"-I{SOURCE}/libannot/include", ABI / "program_0_1.c", "-o", path, f"-L{libraries}",
        "-lannot")
    return path


def story(home, path, libraries):
    home.environment["LD_LIBRARY_PATH"] = str(libraries)
    try:
        result = home.record("env", f"LD_LIBRARY_PATH={libraries}", path)
    finally:
        del home.environment["LD_LIBRARY_PATH"]
    dump = home.dump(result.ok().path).whole()
    equal({process["name"] for process in dump.processes} - {""}, {"program of 0.1"},
          "names of processes")
    keys = ("kind", "name", "domain", "category", "level", "color", "value_kind", "value")
    in_order = sorted(dump.events, key=lambda event: event["time"])
    return [tuple(event.get(key) for key in keys) for event in in_order]


EXPECTED = [
    ("push", "scope"), ("push", "text"), ("push", "interned"), ("pop", ""), ("push", "macro"),
    ("pop", ""), ("pop", ""), ("pop", ""), ("push", "again"), ("pop", ""), ("push", "event"),
    ("mark", "event"), ("pop", ""), ("start", "event"), ("end", ""), ("start", "started"),
    ("end", ""), ("mark", "mark"), ("mark", "macro mark"), ("counter", "counter"),
    ("counter", "macro counter"), ("counter", "event"), ("mark", "in the child")]


@case
def what_was_exported_is_still(home):
    del home
    names = run("nm", "-D", "--defined-only", "--with-symbol-versions",
                PRESENT / "libannot.so").decode()
    present = {tuple(re.split("@@?", line.split()[-1])) for line in names.splitlines()}
    missing = [(name, version) for kind, version, name in LISTED
               if kind == "symbol" and (name, version) not in present]
    equal(missing, [], "symbols that are gone")


@case
def a_program_of_then_runs_with_the_library_of_today(home):
    """Compiled against the frozen header; sizes are asserted in it."""
    old = program(home, "old-program", "annot_0_1.h", PRESENT)
    events = story(home, old, PRESENT)
    equal([event[:2] for event in events], EXPECTED, "events")
    pushed = events[10]
    equal(pushed[2:6], ("io", "reads", 3, 0xff102030), "what an event carries")


@case
def a_program_of_old_calls_needs_no_newer_library(home):
    new = program(home, "new-program", "annot/annot.h", PRESENT)
    events = story(home, new, PRESENT)
    equal([event[:2] for event in events], EXPECTED, "events")
    needed = run("readelf", "-V", new).decode()
    check("ANNOT_0.2" not in needed, "a program of old calls needs a newer library")


def wire_headers():
    """The text of the wire format's headers without comments and blanks, in which all builds of one
    version must agree: their programs and collectors share memory."""
    headers = sorted((SOURCE / "libannot" / "wire").glob("annot_wire*.h"))
    text = "".join(header.read_text() for header in headers)
    return re.sub(r"\s+", "", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))


@case
def the_wire_format_changes_with_its_version(home):
    del home
    text = wire_headers()
    version = ".".join(re.search(rf"#defineANNOT_WIRE_{part}(\d+)", text)[1]
                       for part in ("MAJOR", "MINOR"))
    known = dict(line.split() for line in (ABI / "wire_versions.txt").read_text().splitlines()
                 if not line.startswith("#"))
    equal(f"{version} {hashlib.sha256(text.encode()).hexdigest()}", f"{version} {known[version]}",
          "the headers of the wire format (an addition raises ANNOT_WIRE_MINOR, another change "
          "ANNOT_WIRE_MAJOR; then add a line to tests/abi/wire_versions.txt)")


if __name__ == "__main__":
    main()
