#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`annot export --gpu` and `annot flame --gpu`: GPU time is below the line that launched it.

    test_stacks.py ANNOT FAKE_CUPTI PROGRAM

Launches are made up by a program that knows the launches of each of its lines. The result must be
exact if all stacks are taken, and close if one of many is taken.
"""

import base64
import collections
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import replay

ANNOT, FAKE, PROGRAM = (pathlib.Path(word).resolve() for word in sys.argv[1:])
SCRIPT = pathlib.Path(__file__).resolve().parent / "stacks_program.py"
LIBRARY = ANNOT.parent.parent / "libannot" / "gpu" / "libannot-gpu.so"
WARM = "warm"  # launched before everything else: annot finds the libraries around a launch
NOT_SAMPLED = "[stack not sampled]"
folder = pathlib.Path(tempfile.mkdtemp())
recording = folder / "out.annot"
INSTALLED = folder / "site-packages" / FAKE.name  # not the user's code, like the real one
INSTALLED.parent.mkdir()
shutil.copy(FAKE, INSTALLED)


def environment(**more):
    return {**os.environ, "ANNOT_CUPTI": str(INSTALLED), "FAKE_CUPTI": str(INSTALLED), **more}


def record(command, *options):
    """Return the program's output."""
    done = subprocess.run([ANNOT, "record", "--force", "--gpu", *options, "-o", recording, "--",
                           *command], env=environment(), capture_output=True, text=True,
                          timeout=100)
    assert done.returncode == 0, done
    return json.loads(done.stdout) if done.stdout else None


def python(scene, count):
    return [sys.executable, str(SCRIPT), scene, str(count)]


def folded(*options):
    """Return the value of each stack."""
    done = subprocess.run([ANNOT, "export", "--gpu", *options, "-f", "folded", "-o", "-",
                           recording], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    stacks = {}
    for line in done.stdout.splitlines():
        stack, value = line.rsplit(" ", 1)
        stacks[tuple(stack.split(";"))] = int(value)
    return {stack: value for stack, value in stacks.items() if stack[-1] != WARM}


def by_line(stacks):
    """Return sums by function, line and kernel, for the innermost Python function."""
    sums = collections.Counter()
    for stack, value in stacks.items():
        place = re.fullmatch(r"(\S+) \(.*:(\d+)\)", stack[-2])
        assert place, stack
        sums[place[1], int(place[2]), stack[-1]] += value
    return dict(sums)


def wanted(told, which):
    return {(function, line, name): (ns, count)[which] for function, line, name, ns, count in told}


def check_exact(told):
    for value, which in ("time", 0), ("launches", 1):
        stacks = folded("--gpu-value", value, "--python-only", "--lines")
        assert by_line(stacks) == wanted(told, which), (value, by_line(stacks), wanted(told, which))


def each_line_has_its_kernels_to_the_nanosecond():
    told = record(python("lines", 300), "--gpu=all-stacks")
    check_exact(told)
    real = collections.defaultdict(collections.Counter)
    for function, _, name, ns, _ in told:
        real[name][function] += ns
    report = subprocess.run([ANNOT, "report", "--json", recording], capture_output=True, text=True)
    for row in json.loads(report.stdout)["gpu_kernels"]:
        if row.get("rest") or row["name"] == WARM:
            continue
        (function, ns), = real[row["name"]].most_common(1)
        assert (row["function"], row["function_ns"]) == (function, ns), (row, real)
        assert row["stacks_ns"] == sum(real[row["name"]].values()), (row, real)
        assert row["location"].startswith("stacks_program.py:"), row
    callers = {stack for stack in folded("--python-only")
               if any(f.startswith("nested") for f in stack)}
    assert callers and all(sum(f.startswith("nested") for f in stack) == 6 for stack in callers)


def threads_and_processes_have_their_own():
    check_exact(record(python("threads", 300), "--gpu=all-stacks"))
    check_exact(record(python("processes", 200), "--gpu=all-stacks"))
    stacks = folded("--by", "thread", "--python-only")
    assert len({stack[:2] for stack in stacks}) == 1 + 4, {stack[:2] for stack in stacks}


def one_of_many_tells_the_shares():
    told = record(python("shares", 100000))
    stacks = folded("--python-only", "--lines")
    whole = sum(ns for _, _, _, ns, _ in told)
    assert sum(stacks.values()) == whole == 30_000_000, (sum(stacks.values()), whole)
    found, real = by_line(stacks), wanted(told, 0)
    assert found.keys() == real.keys() and len(real) == 4, (found, real)
    for line, ns in real.items():
        assert abs(found[line] - ns) < 0.02 * whole, (line, found[line], ns)
    facts = json.loads(subprocess.run([ANNOT, "info", "--json", recording], capture_output=True,
                                      text=True).stdout)
    taken = next(each for each in facts["sample_sets"] if each["set"] == "launches")["sample_count"]
    assert 100000 / 40 < taken < 100000 / 20, taken


def a_job_that_runs_is_attached_to():
    settings = environment(CUDA_INJECTION64_PATH=str(LIBRARY), ANNOT_GPU="on,stacks=exact")
    with subprocess.Popen(python("wait", 300), env=settings, stdout=subprocess.PIPE,
                          text=True) as job:
        done = subprocess.run([ANNOT, "attach", "--force", "-o", recording, str(job.pid)],
                              capture_output=True, text=True, timeout=60)
        told = json.loads(job.stdout.read())
    assert done.returncode == 0, done
    check_exact(told)


def c_functions_are_told_apart():
    record([PROGRAM, "500"], "--gpu=all-stacks")
    stacks = collections.Counter()
    for stack, ns in folded().items():
        stacks[stack[-2].split(" ")[0], stack[-1]] += ns
    assert stacks == {("launch_small", "small"): 50_000, ("launch_large", "large"): 500_000,
                      ("launch_large", "small"): 150_000}, stacks
    paths = collections.Counter()
    for stack, ns in folded("--by", "range").items():
        paths[stack[:stack.index("_start")], stack[-1]] += ns
    assert paths == {(("outer", "inner"), "small"): 50_000, (("outer",), "large"): 500_000,
                     (("outer",), "small"): 150_000}, paths


def without_stacks_there_are_ranges():
    for options in ["--gpu=-stacks"], ["--sampling", "remote"], ["--sampling=none"]:
        record([PROGRAM, "500"], *options)
        stacks = folded()
        assert stacks == {("outer", "inner", NOT_SAMPLED, "small"): 50_000,
                          ("outer", NOT_SAMPLED, "large"): 500_000,
                          ("outer", NOT_SAMPLED, "small"): 150_000}, stacks
        assert sum(folded("--by", "range").values()) == 700_000


def the_picture_says_how_many():
    record([PROGRAM, "2000"])
    picture = folder / "out.svg"
    done = subprocess.run([ANNOT, "flame", "--gpu", "--force", "-o", picture, recording],
                          capture_output=True, text=True)
    text = picture.read_text()
    assert done.returncode == 0 and "stacks of launches sampled: 1 of " in text, done
    assert "2.80 ms of GPU time in 6001 launches" in text, re.findall(r'class="sub".*', text)


def the_page_has_the_same():
    told = record(python("lines", 300), "--gpu=all-stacks")
    page = folder / "out.html"
    done = subprocess.run([ANNOT, "flame", "--gpu", "--force", "-o", page, recording],
                          capture_output=True, text=True)
    assert done.returncode == 0, done
    text = re.search(r'id="data">([^<]*)<', page.read_text())[1]
    data = json.loads(gzip.decompress(base64.b64decode(text)))
    sums = collections.Counter()
    for node, ns in zip(data["cpu"]["node"], data["cpu"]["ns"]):
        function, *_ = data["functions"][data["nodes"]["function"][node]]
        caller = data["nodes"]["parent"][node]
        while data["functions"][data["nodes"]["function"][caller]][5] != "python":
            caller = data["nodes"]["parent"][caller]
        sums[data["functions"][data["nodes"]["function"][caller]][0], function] += ns
    real = collections.Counter()
    for function, _, name, ns, _ in told:
        real[function, name] += ns
    assert {key: ns for key, ns in sums.items() if key[1] != WARM} == real, (sums, real)
    assert data["gpu"] and data["headline"][0].endswith("; stacks of all launches.")


CASES = [each_line_has_its_kernels_to_the_nanosecond, threads_and_processes_have_their_own,
         one_of_many_tells_the_shares, a_job_that_runs_is_attached_to, c_functions_are_told_apart,
         the_picture_says_how_many, the_page_has_the_same]
ANYWHERE = [without_stacks_there_are_ranges]


def has_ebpf():
    record([PROGRAM, "1"])
    facts = subprocess.run([ANNOT, "info", recording], capture_output=True, text=True).stdout
    return "sampling   eBPF" in facts


if __name__ == "__main__":
    sys.exit(replay.run_cases(ANYWHERE + (CASES if has_ebpf() else [])))
