#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of an annotation by pyannot, by pyannot.nvtx and by the nvtx package: recorded, the last
through the injection library if the build has it, else without a tool.

    bench_nvtx.py BUILD [--json FILE]

Each statement is timed with and without a recorder, in rounds in which the cases alternate, so that
all see the same machine; the loop is taken off. A budget is a ratio of medians within one run.
`Profile` is measured by the time that it adds to a call.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from rows import finish, row

ROUNDS, LOOPS = 100, 1000
STATEMENTS = {  # case: (prepared once, statement), of a module {m}
    "with a name": ("a = {m}.annotate", "with a('load'): pass"),
    "with name and domain": ("a = {m}.annotate", "with a('load', domain='io'): pass"),
    "with, kept object": ("a = {m}.annotate('load')", "with a: pass"),
    "decorated call": ("f = {m}.annotate('load')(lambda: None)", "f()"),
}
NVTX_STATEMENTS = {  # pyannot says these otherwise
    "push and pop": ("push, pop = {m}.push_range, {m}.pop_range", "push('load'); pop()"),
    "domain's push and pop": (
        "d = {m}.get_domain('io'); e = d.get_event_attributes('load')",
        "d.push_range(e); d.pop_range()"),
    "mark": ("mark = {m}.mark", "mark('load')"),
}
SOURCE = """
def burst(loops):
    {prepare}
    begin = clock()
    for _ in loops:
        {statement}
    return clock() - begin
"""


def bursts():
    """{(module, case): a function that times it}"""
    import pyannot
    import pyannot.nvtx

    scope = {"clock": time.perf_counter_ns, "pyannot": pyannot}
    modules = ["pyannot", "pyannot.nvtx"]
    try:
        import nvtx
        scope["nvtx"] = nvtx
        modules.append("nvtx")
    except ImportError:
        pass
    made = {("", "loop"): compiled(scope, "pass", "pass"),
            ("", "call"): compiled(scope, "f = lambda: None", "f()"),
            ("", "Profile"): compiled(
                scope, "f, p = lambda: None, pyannot.nvtx.Profile(); p.enable()", "f()")}
    for module in modules:
        more = {} if module == "pyannot" else NVTX_STATEMENTS
        for what, (prepare, statement) in {**STATEMENTS, **more}.items():
            made[module, what] = compiled(scope, prepare.format(m=module), statement)
    return made


def compiled(scope, prepare, statement):
    names = dict(scope)
    exec(SOURCE.format(prepare=prepare, statement=statement), names)
    return names["burst"]


def measure():
    """Medians in ns a statement, without the loop: {"module: case": ns}."""
    import pyannot

    made = bursts()
    times = {case: [] for case in made}
    for _ in range(ROUNDS):
        for case, burst in made.items():
            times[case].append(burst(range(LOOPS)) / LOOPS)
            sys.setprofile(None)
        time.sleep(0.005)  # for the collector to drain
    loop = statistics.median(times.pop(("", "loop")))
    costs = {case: statistics.median(t) - loop for case, t in times.items()}
    return {"costs": [[*case, cost] for case, cost in costs.items()],
            "recording": pyannot.enabled()}


def run(build, recorded):
    command = [sys.executable, __file__, build, "--measure"]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        if recorded:
            command = [build / "tools/annot", "record", "--sampling=none", "-o", f"{place}/x.annot",
                       "--", *command]
        environment = dict(os.environ, ANNOT_DIR=f"{place}/annot",
                           PYTHONPATH=f"{build}/pyannot:{os.environ.get('PYTHONPATH', '')}")
        done = subprocess.run(list(map(str, command)), env=environment, stdout=subprocess.PIPE,
                              check=True)
        got = json.loads(done.stdout)
        assert got["recording"] == recorded
        lost = lost_in(build, f"{place}/x.annot") if recorded else 0
    return {(module, what): cost for module, what, cost in got["costs"]}, lost


def lost_in(build, recording):
    info = subprocess.run([str(build / "tools/annot"), "info", recording], stdout=subprocess.PIPE,
                          check=True).stdout.decode()
    found = re.search(r"^lost\s+(nothing|[\d,]+)", info, re.M)
    return 0 if found.group(1) == "nothing" else int(found.group(1).replace(",", ""))


def rows(build):
    entries = []
    for state, recorded in (("on", True), ("off", False)):
        costs, lost = run(build, recorded)
        if recorded:
            entries.append(row("on: records lost", lost, "records", most=0))
        call, profile = costs.pop(("", "call")), costs.pop(("", "Profile"))
        for (module, what), cost in costs.items():
            entries.append(row(f"{state}: {what}, {module}", cost, "ns", against="median"))
            if ("nvtx", what) in costs and module != "nvtx":
                entries.append(row(f"{state}: nvtx / {module}, {what}",
                                   costs["nvtx", what] / cost, "x",
                                   least=8 if what == "with a name" else None))
        entries.append(row(f"{state}: Profile adds to a call", profile - call, "ns"))
    return entries


def main():
    if "--measure" in sys.argv:
        print(json.dumps(measure()))
    else:
        finish("nvtx", rows(pathlib.Path(sys.argv[1]).resolve()))


if __name__ == "__main__":
    main()
