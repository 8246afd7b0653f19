#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the benches of a build folder and print one table; JSON goes to BUILD/bench/.

    run.py BUILD [NAME...]

Without names, all of them: a few minutes on a quiet machine; "large" is the longest. README.md
describes each. Exit status 1 if a bench failed or missed a budget.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from rows import is_met, print_table, row

HERE = pathlib.Path(__file__).resolve().parent


class Failed(Exception):
    """A bench that failed."""


def output_of(command, **environment):
    done = subprocess.run([str(word) for word in command], env=dict(os.environ, **environment),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise Failed(f"{command[0]} ended with {done.returncode}: "
                     f"{done.stderr.decode(errors='replace')[-500:]}")
    return done.stdout.decode()


def with_json_file(build, name, *arguments):
    """Programs that write JSON to the file named by ANNOT_BENCH_JSON."""
    path = build / "bench" / f"{name}.raw.json"
    output_of([build / "tests/bench" / name, *arguments], ANNOT_BENCH_JSON=str(path))
    return json.loads(path.read_text())


# Of the program that links the shared library.
SHARED_TOO = re.compile(r"floor:|pair by |one disabled|drained")


def pair(build):
    entries = []
    for name, linkage in (("bench-pair", "static"), ("bench-pair-shared", "shared")):
        for what, got in with_json_file(build, name).items():
            limit = got["limit"]
            if linkage == "static" or SHARED_TOO.match(what):
                entries.append(row(what, got["value"], got["unit"],
                                   most=limit if limit > 0 else None,
                                   least=-limit if limit < 0 else None,
                                   against=f"libannot is {linkage}"))
    return entries


def report(build):
    entries = []
    for got in with_json_file(build, "bench_report"):
        what = got["name"]
        entries.append(row(what, 1e3 / got["median_ns"], "M events/s", least=10,
                           against=f"per core, median; fastest {1e3 / got['min_ns']:.0f}"))
        entries.append(row(f"{what}, memory", got["peak_kib"] / 1024, "MiB", most=256))
    return entries


def store(build):
    entries = []
    lines = output_of([build / "tests/bench/bench_store", "--json"]).splitlines()
    for got in map(json.loads, lines):
        stream = got["stream"]
        entries.append(row(f"{stream}, on disk", got["bytes_per_record"], "bytes/record",
                           most=8 if stream == "values" else 4))
        for key, verb in (("write_ns", "write"), ("read_ns", "read"), ("pair_ns", "pair")):
            entries.append(row(f"{stream}, {verb}", got[key], "ns/record",
                               against="CPU time, best of the runs"))
    return entries


def seek(build):
    got = json.loads(output_of([build / "tests/bench/bench_seek", "--json"]))
    return [row("opened", got["seek_open_ms"], "ms", against="1 GiB, most of the places"),
            row("first result, mean", got["seek_mean_ms"], "ms"),
            row("first result, most", got["seek_worst_ms"], "ms", most=100),
            row("first result inside of a range, half way", got["seek_inside_ms"], "ms")]


# Plain formats: million ranges a second of one core. Compressed: also bytes a range.
EXPORT_BUDGETS = {"perfetto": (10, None), "chrome": (5, None), "perfetto.gz": (1, 13),
                  "chrome.gz": (0.7, 13)}


def export(build):
    result = json.loads(output_of([build / "tests/bench/bench_export", "--json"]))
    entries = []
    for got in result["results"]:
        rate, size = EXPORT_BUDGETS.get(got["name"], (None, None))
        entries.append(row(got["name"], got["ranges_per_second"] / 1e6, "M ranges/s", least=rate,
                           against="one core"))
        if got["bytes_per_range"]:
            entries.append(row(f"{got['name']}, size", got["bytes_per_range"], "bytes/range",
                               most=size))
    entries.append(row("memory", result["peak_memory_kib"] / 1024, "MiB", most=256))
    return entries


def collector(build):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        here = os.getcwd()
        os.chdir(place)  # its recording is made here
        try:
            lines = output_of([build / "tests/bench/bench_collector"]).splitlines()
        finally:
            os.chdir(here)
    results = {got["what"]: got for got in map(json.loads, lines)}
    paced = results["paced"]
    rate = paced["records"] / paced["wall_s"] / 1e6
    entries = [
        row("ring to file", paced["records_per_cpu_s"] / 1e6, "M records/s", least=20,
            against=f"per CPU second; producer paced at {rate:.1f} M/s"),
        row("ring to file, main thread", paced["records_per_main_cpu_s"] / 1e6, "M records/s",
            least=60, against="per CPU second of the thread that drains"),
        row("lost at that rate", paced["lost"], "records", most=0),
    ]
    for what in ("flows", "tracks", "values"):
        entries.append(row(f"ring to file, {what}", results[what]["records_per_cpu_s"] / 1e6,
                           "M records/s", against="per CPU second"))
    entries.append(row("idle", 100 * results["idle"]["cpu_share"], "% of a core", most=1))
    return entries


def library(build):
    compiler = shutil.which("clang")
    if not compiler:
        raise Failed("needs clang")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        source = pathlib.Path(place, "many.c")
        source.write_text("".join(f"int f{i}(int *a) {{ return a[{i}] * {i}; }}\n"
                                  for i in range(20000)))
        command = [build / "tests/bench/bench_library", "20e6", "3", compiler, "-O2", "-c", source,
                   "-o", "/dev/null"]
        here = os.getcwd()
        os.chdir(place)  # its recording is made here
        try:
            lines = output_of(command).splitlines()
        finally:
            os.chdir(here)
    entries = []
    for got in map(json.loads, lines):
        what = got["what"]
        entries += [
            row(f"lost at 20 M/s, {what}", got["lost"], "records", most=0),
            row(f"stacks cut for want of rows, {what}", got["cut_for_rows"], "samples",
                against=f"of {got['samples']}"),
            row(f"longest look, {what}", got["longest_look_ms"], "ms",
                against=f"{got['longest_look_cpu_ms']:.1f} ms of it on a CPU"),
        ]
    return entries


def lost_in(build, recording):
    """Records that `annot info` counts as lost: a dropped event would be a cheap one."""
    info = output_of([build / "tools/annot", "info", recording])
    found = re.search(r"^lost\s+(nothing|[\d,]+)", info, re.M)
    return 0 if found.group(1) == "nothing" else int(found.group(1).replace(",", ""))


def python_run(build, recorded, name="bench_python"):
    """A bench of annotations, under `annot record` or without."""
    path = f"{build}/pyannot:{build}/tests/bench:{os.environ.get('PYTHONPATH', '')}"
    command = [sys.executable, HERE / f"{name}.py"]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        if recorded:
            command = [build / "tools/annot", "record", "--force", "--python=none", "-o",
                       f"{place}/x.annot", "--", *command]
        got = json.loads(output_of(command, PYTHONPATH=path, ANNOT_DIR=f"{place}/annot"))
        got["lost"] = lost_in(build, f"{place}/x.annot") if recorded else 0
    if got["recording"] != recorded:
        raise Failed(f"{name}: recording is {got['recording']}: {got.get('status')}")
    return got


def python_budget(ratio, recorded):
    if ratio.startswith("nvtx"):
        return {"least": 8} if ratio == "nvtx with / with" else {}
    if "stamping" in ratio:  # the least possible: it has no budget
        return {}
    if recorded:  # 3.9 enters an empty manager in C at less cost
        return {"most": 1.4 if "kept" in ratio and sys.version_info < (3, 10) else 1.3}
    return {"most": 1.1}


def decorator_rows(cases, recorded):
    """Rows for a decorator, and for any object that calls a function from C, without and with two
    time stamps."""
    def added(what, call, **budget):
        median, least = (cases[call][kind] - cases["call"][kind]
                         for kind in ("median_ns", "min_ns"))
        return row(f"{state}: {what} adds", median, "ns", **budget,
                   against=f"to a call; of minima {least:.1f}")

    state = "on" if recorded else "off"
    floor = ("passing on, with two time stamps,", "stamping call") if recorded else \
        ("passing on", "forwarded call")
    return [added("a decorator", "decorated call", most=30 if recorded else 8), added(*floor)]


def python(build):
    if not (build / "pyannot").exists():
        raise Failed("built without Python")
    entries = []
    for recorded, state in ((True, "on"), (False, "off")):
        got = python_run(build, recorded)
        if recorded:
            entries.append(row("on: records lost", got["lost"], "records", most=0))
        entries += decorator_rows(got["cases"], recorded)
        for case, times in got["cases"].items():
            entries.append(row(f"{state}: {case}", times["median_ns"], "ns",
                               against=f"median, loop included; fastest {times['min_ns']}"))
        for ratio, values in got["ratios"].items():
            entries.append(row(f"{state}: {ratio}", values["median"], "x",
                               **python_budget(ratio, recorded),
                               against=f"medians, loop taken off; of minima {values['min']}"))
    return entries


def tasks(build):
    """bench_tasks.py, under `annot record` and without."""
    entries = []
    for recorded, state in ((True, "on"), (False, "off")):
        got = python_run(build, recorded, "bench_tasks")
        if recorded:
            entries.append(row("on: records lost", got["lost"], "records", most=0))
        for case, times in got["rows"].items():
            entries.append(row(f"{state}: {case}", times["median_ns"], "ns",
                               against=f"median, loop included; fastest {times['min_ns']}"))
        for ratio, values in got["ratios"].items():
            limit = {"most": 2} if ratio.startswith("task: with") else {}
            entries.append(row(f"{state}: {ratio} / plain", values["median_ns"], "x", **limit,
                               against=f"medians, loop taken off; of minima {values['min_ns']}"))
    return entries


def script(name):
    """A bench that is a program of Python and gives rows itself."""
    def run(build):
        path = build / "bench" / f"{name}.rows.json"
        output_of([sys.executable, HERE / name, build, "--json", path])
        return json.loads(path.read_text())
    return run


BENCHES = {
    "pair": pair,
    "linked": script("bench_linked.py"),
    "python": python,
    "tasks": tasks,
    "pool": script("bench_pool.py"),
    "nvtx": script("bench_nvtx.py"),
    "inject": script("bench_inject.py"),
    "python-life": script("bench_python_life.py"),
    "startup": script("bench_startup.py"),
    "top": script("bench_top.py"),
    "probes": script("bench_probes.py"),
    "sampler": script("bench_sampler.py"),
    "sampler-cost": script("bench_sampler_cost.py"),
    "collector": collector,
    "library": library,
    "store": store,
    "seek": seek,
    "disk": script("bench_disk.py"),
    "report": report,
    "export": export,
    "query": script("bench_query.py"),
    "large": script("bench_large.py"),
    "page": script("bench_page.py"),
}


def machine():
    known = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        known.setdefault(key.strip(), value.strip())
    model = known.get("model name", os.uname().machine)
    if "vendor_id" in known:
        model = (f"{known['vendor_id']}, {model} "
                 f"(family {known.get('cpu family')}, model {known.get('model')})")
    load = os.getloadavg()[0]
    return f"{model}, {os.cpu_count()} processors, Linux {os.uname().release}, load {load:.2f}"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    names = sys.argv[2:] or list(BENCHES)
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        sys.exit(f"run.py: no bench {unknown[0]}\nhint: there are {', '.join(BENCHES)}")
    shutil.rmtree(build / "bench", ignore_errors=True)
    (build / "bench").mkdir()
    print(machine())
    failed, missed, measured = 0, 0, 0
    for name in names:
        try:
            entries = BENCHES[name](build)
        except (Failed, OSError, ValueError, KeyError) as error:
            print(f"\n{name}\n  FAILED: {error}")
            failed += 1
            continue
        print_table(name, entries)
        (build / "bench" / f"{name}.json").write_text(
            json.dumps({"machine": machine(), "rows": entries}, indent=1) + "\n")
        verdicts = [is_met(entry) for entry in entries]
        measured += len(verdicts)
        missed += verdicts.count(False)
    print(f"\n{measured} values, {missed} budgets missed, {failed} benches failed; "
          f"JSON in {os.path.relpath(build / 'bench')}")
    return 1 if missed or failed else 0


if __name__ == "__main__":
    sys.exit(main())
