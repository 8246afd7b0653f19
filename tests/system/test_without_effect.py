#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Options of annot record without effect: a message says so, before the command if it is known by
then, and "nothing lost" is not printed."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from harness import ANNOT, Skip, case, check, equal, main, program

WORK = """
def work(number):
    return number + 1

for i in range(1000):
    work(i)
"""
NOTE = "option without effect: "


def recorded(home, *command, options=()):
    home.environment.pop("ANNOT_PYTHON", None)
    result = home.record(*command, options=["--sampling=none", *options])
    result.ok()
    notes = json.loads(home.annot("info", "--json", result.path).ok().out)["sampling"]["notes"]
    result.idle = [note[len(NOTE):] for note in notes if note.startswith(NOTE)]
    return result


def is_idle(home, *command, options, said):
    result = recorded(home, *command, options=options)
    equal(len(result.idle), 1, f"notes {result.idle}: their number")
    check(result.idle[0].startswith(said), result.idle[0])
    check(said in " ".join(result.err_text.split()), result.err_text)
    check("nothing lost" not in result.err_text, result.err_text)
    check("nothing lost" not in home.annot("report", result.path).out.decode(), "the report")


def has_effect(home, *command, options):
    result = recorded(home, *command, options=options)
    equal(result.idle, [], "options without effect")
    return result


def python(home):
    (home.work / "work.py").write_text(WORK)
    return [sys.executable, "work.py"]


@case
def tracing_of_a_program_that_is_not_python(home):
    is_idle(home, "true", options=["--trace-functions"],
            said="--trace-functions: no Python process loaded pyannot")
    is_idle(home, "true", options=["--trace-lines", "work"],
            said="--trace-lines work: no Python process loaded pyannot")
    is_idle(home, "true", options=["--python", "gc"],
            said="--python gc: no Python process loaded pyannot")


@case
def tracing_without_the_environment(home):
    is_idle(home, "env", "-i", *python(home), options=["--trace-functions=exact"],
            said="--trace-functions: no Python process loaded pyannot")


@case
def selection_that_selects_nothing(home):
    is_idle(home, *python(home), options=["--trace-functions", "--trace-select", "nosuch"],
            said="--trace-select nosuch: no function that it selects was called")
    is_idle(home, *python(home), options=["--trace-functions=exact", "--trace-select", "nosuch"],
            said="--trace-select nosuch: no function that it selects was called")
    is_idle(home, *python(home), options=["--trace-lines", "nosuch"],
            said="--trace-lines nosuch: no line of such a function ran")


@case
def selection_that_selects_something(home):
    has_effect(home, *python(home), options=["--trace-functions", "--trace-lines", "work"])
    has_effect(home, *python(home), options=["--trace-functions=exact", "--trace-select", "*work"])


@case
def filters_of_names_that_are_not_there(home):
    emit = ["sh", "-c", f"echo steps 20 | {program('emit_asked')}"]
    for option in "enable", "disable":
        is_idle(home, *emit, options=[f"--{option}", "nosuch"],
                said=f"--{option} nosuch: no domain or category of that name was there")
    is_idle(home, *emit, options=["--enable", "default,nosuch/category"],
            said="--enable nosuch/category: no domain or category of that name was there")
    is_idle(home, *emit, options=["--functions", "nosuch"],
            said="--functions nosuch: no function of that name was called")
    is_idle(home, *emit, options=["--capture-range", "nosuch"],
            said="--capture-range nosuch: no such range began")
    has_effect(home, *emit, options=["--enable", "def*"])
    has_effect(home, *emit, options=["--capture-range", "step"])


def said_before(home, options, *command, said):
    """The result of a recording with the command after these words of annot."""
    path = home.work / "before.annot"
    result = home.annot("record", "--force", "--sampling=none", *options, "-o", path, "--", "sh",
                        "-c", f"echo begun >&2; {' '.join(map(str, command))}").ok()
    at, begun = (result.err_text.find(text) for text in (said, "begun"))
    check(0 <= at < begun, result.err_text)
    equal(result.err_text.count(said), 1, "how often it is said")
    return result


@case
def gpus_without_a_driver(home):
    if os.path.exists("/proc/driver/nvidia/version"):
        raise Skip("there is one")
    refused = home.annot("record", "--gpu", "-o", home.work / "x.annot", "true")
    if "without the headers of CUDA" in refused.err_text:
        raise Skip("built without the headers of CUDA")
    is_idle(home, "true", options=["--gpu"], said="--gpu: no process loaded the CUDA driver")
    said_before(home, ["--gpu"], "true", said="this machine has no driver of NVIDIA")


@case
def ranges_of_python_functions_that_are_not_there(home):
    command = python(home)
    is_idle(home, *command, options=["--probe", "work:wrok"],
            said="--probe work:wrok: no function of that name was called")
    is_idle(home, *command, options=["--probe", "json:dump_s", "--probe", "work:work"],
            said="--probe json:dump_s: no function of that name was called")
    is_idle(home, "true", options=["--probe", "work:work"],
            said="--probe work:work: no Python process loaded pyannot")
    found = has_effect(home, *command, options=["--probe", "work:work"])
    check("defines no function" not in found.err_text, found.err_text)
    result = recorded(home, *command, options=["--probe", "__main__:work"])
    check("hint: --probe work:work means the script's" in result.err_text, result.err_text)
    result = said_before(home, ["--probe", "work:Class.wrok"], *command,
                         said='work.py defines no function "wrok"')
    check("hint: did you mean work?" in result.err_text, result.err_text)
    refused = home.annot("record", "-o", "x.annot", "--probe", "./work.py:work", "--", *command)
    refused.complains(125, "named by their module", "--probe work:work")


@case
def ranges_of_a_stripped_library(home):
    """Names can only be compared with its exported ones."""
    source, library = home.work / "lib.c", home.work / "libwork.so"
    source.write_text("int compute(int a) { return a + 1; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-s", "-o", library, source], check=True)
    refused = home.annot("record", "-o", "x.annot", "--probe", f"{library}:computte", "--", "true")
    refused.complains(125, "is stripped, and exports no function", "did you mean compute?")
    refused = home.annot("record", "-o", "x.annot", "--probe", f"{library}:zzzz", "--", "true")
    refused.complains(125, "is stripped, and exports no function", "install its debug symbols")


def installed(home, folder):
    """annot in a folder of that name, with its package."""
    place = home.work / folder
    (place / "tools").mkdir(parents=True)
    shutil.copy2(ANNOT, place / "tools/annot")
    package = pathlib.Path(os.environ["ANNOT_PYANNOT"]) / "pyannot"
    shutil.copytree(package, place / "pyannot/pyannot", symlinks=True)
    home.environment["XDG_CACHE_HOME"] = str(home.work / "cache")
    (home.work / "cache").mkdir(exist_ok=True)
    return place / "tools/annot"


@case
def folder_with_characters_of_lists(home):
    home.environment.pop("ANNOT_PYTHON", None)
    for folder in "a blank", "a:colon", "a$dollar[x]":
        path = home.work / "traced.annot"
        home.run(installed(home, folder), "record", "--force", "--sampling=none",
                 "--trace-functions", "-o", path, "--", *python(home)).ok()
        sets = json.loads(home.annot("info", "--json", path).ok().out)["sample_sets"]
        equal([row["set"] for row in sets], ["calls"], f"sets of samples of annot in {folder!r}")


@case
def without_pyannot_it_is_said_before_the_command(home):
    home.environment.pop("ANNOT_PYTHON", None)
    annot = installed(home, "bare")
    shutil.rmtree(annot.parents[1] / "pyannot")
    result = home.run(annot, "record", "--sampling=none", "--trace-functions", "-o",
                      home.work / "bare.annot", "--", "sh", "-c", "echo begun >&2").ok()
    said, begun, *_ = (result.err_text.find(text) for text in ("no pyannot beside", "begun"))
    check(0 <= said < begun, result.err_text)


@case
def a_program_that_embeds_python_is_named_before_it_runs(home):
    """As uWSGI does, it calls Py_Initialize of a library."""
    library, server = home.work / "libpython3.99.so", home.work / "server"
    (home.work / "lib.c").write_text("void Py_Initialize(void) { }\n")
    (home.work / "server.c").write_text(
        "#include <stdio.h>\nvoid Py_Initialize(void);\n"
        "int main(void) { Py_Initialize(); fputs(\"begun\\n\", stderr); return 0; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", home.work / "lib.c", "-o", library], check=True)
    subprocess.run(["gcc", home.work / "server.c", "-o", server, library], check=True)
    home.environment["LD_LIBRARY_PATH"] = str(home.work)
    said = "server embeds Python, and an embedded interpreter loads pyannot only where"
    for options in ["--trace-functions"], ["--python", "gc"]:
        result = home.record(server, options=["--sampling=none", *options]).ok()
        text = " ".join(result.err_text.split())
        check(0 <= text.find(said) < text.find("begun"), result.err_text)
    for command in [server], python(home):
        options = [] if command == [server] else ["--trace-functions"]
        result = home.record(*command, options=["--sampling=none", *options]).ok()
        check("embeds Python" not in result.err_text, result.err_text)


@case
def waits_without_samples_are_refused(home):
    home.annot("record", "--sampling=none", "--off-cpu", "true").complains(125, "--off-cpu")


main()
