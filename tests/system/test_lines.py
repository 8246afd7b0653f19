#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Time of a program, line by line: the right lines, on every installed CPython, and the text of the
source wherever the recording is read."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import samples
from harness import ANNOT, SOURCE, Skip, case, check, equal, main

sys.path.insert(0, str(SOURCE / "tests/golden"))
import read_recording  # noqa: E402  pylint: disable=wrong-import-position

QUADRATIC = """import sys


def quadratic(n):
    found = 0
    for i in range(n):
        for j in range(n):
            if (i * j) % 7 == 3:
                found += i
    return found


def nap():
    import time
    time.sleep(0.05)


nap()
print(quadratic(int(sys.argv[1])))
"""
LOOP = range(6, 10)  # the lines of both loops


def record(home, python, *options):
    script = pathlib.Path(home.work, "quadratic.py")
    script.write_text(QUADRATIC, encoding="utf-8")
    result = home.record(python, script, "3000", options=["--no-preload", "--rate", "999",
                                                          *options]).ok()
    return script, str(result.path)


def lines_of(home, path, *options):
    done = home.run(ANNOT, "report", "--json", "--lines", *options, path).ok()
    return json.loads(done.out)["lines"]


def check_lines(home, version, python):
    _script, path = record(home, python)
    rows = [row for row in lines_of(home, path) if "quadratic (" in (row["function"] or "")]
    whole = sum(row["cpu_self_ns"] for row in rows)
    right = sum(row["cpu_self_ns"] for row in rows if row["line"] in LOOP)
    hits = sum(row["sample_count"] for row in rows)
    if hits < 20:
        raise Skip("hardly a sample here")
    check(right >= 0.95 * whole, f"{version}: {right} of {whole} ns are on the lines of the loop")
    inner = [row for row in rows if row["line"] == 8]
    equal([row["text"] for row in inner], ["if (i * j) % 7 == 3:"], f"{version}: text of line 8")
    check(inner[0]["cpu_self_ns"] == max(row["cpu_self_ns"] for row in rows),
          f"{version}: the hottest line is another one")


@case
def a_quadratic_loop_is_found_by_its_lines_in_every_interpreter(home):
    interpreters = samples.interpreters()
    if not interpreters:
        raise Skip("no CPython here")
    for version, python in interpreters:
        check_lines(home, version, python)


C_PROGRAM = """#include <stdio.h>

static inline unsigned twist(unsigned seed, unsigned i)
{
    return seed * 1664525u + (seed >> 13) + i;
}

static inline unsigned mix(unsigned seed, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        seed = twist(seed, i);
    return seed;
}

static __attribute__((noinline)) unsigned work(unsigned seed)
{
    unsigned all = 0;
    for (unsigned k = 0; k < 3000; k++)
        all += mix(seed + k, 100000);
    return all;
}

int main(int argc, char **argv)
{
    (void)argv;
    return printf("%u\\n", work((unsigned)argc)) < 0;
}
"""
CXX_PROGRAM = C_PROGRAM.replace("static inline unsigned twist", "namespace hot {\n"
                                "struct Wheel {\nstatic inline unsigned twist").replace(
                                    "+ i;\n}", "+ i;\n}\n};\n}").replace(
                                        "= twist(", "= hot::Wheel::twist(")


def build(home, compiler, text, name):
    if not shutil.which(compiler):
        raise Skip("no compiler")
    source = pathlib.Path(home.work, name)
    source.write_text(text, encoding="utf-8")
    program = source.with_suffix("")
    subprocess.run([compiler, "-O2", "-g", "-Wl,--build-id", str(source), "-o", str(program)],
                   check=True)
    return program


def functions_of(home, path):
    return json.loads(home.run(ANNOT, "report", "--json", path).ok().out)["functions"]


def record_program(home, program):
    path = str(home.record(program, options=["--no-preload", "--rate", "999"]).ok().path)
    functions = functions_of(home, path)
    if sum(row["sample_count"] or 0 for row in functions if row.get("owner") == "own") < 20:
        raise Skip("no native samples here")
    return path, functions


def self_of(rows, name):
    return sum(row["cpu_self_ns"] for row in rows if row.get("name") == name)


def check_inlined(home, path, functions, innermost):
    own = sum(row["cpu_self_ns"] for row in functions if row["owner"] == "own")
    lined = lines_of(home, path)
    if not any(row["line"] for row in lined):
        raise Skip("built without libdw")
    inner = self_of(functions, innermost)
    check(inner + self_of(functions, "mix") >= 0.95 * own,
          f"{innermost} and mix have {inner} of {own} ns: {functions}")
    check(inner > 0.5 * own, f"{innermost}, the innermost, has {inner} of {own} ns")
    rows = [row for row in lined if row.get("name") == innermost]
    texts = {row["text"].strip() for row in rows if row["cpu_self_ns"]}
    equal(texts, {"return seed * 1664525u + (seed >> 13) + i;"}, "the text of its line")
    called = {row["text"].strip() for row in lined
              if row.get("name") in ("work", "work(unsigned int)") and row["cpu_total_ns"]}
    equal(called, {"all += mix(seed + k, 100000);"}, "the line that calls what was inlined")


@case
def inlined_functions_of_c_are_found_with_their_lines(home):
    path, functions = record_program(home, build(home, "cc", C_PROGRAM, "work.c"))
    check_inlined(home, path, functions, "twist")
    tree = json.loads(home.run(ANNOT, "report", "--json", path).ok().out)["call_tree"]
    chain = [row["name"] for row in tree if row["owner"] == "own"]
    equal(chain[:4], ["main", "work", "mix", "twist"], "who called whom")


@case
def inlined_functions_of_cxx_are_found_by_their_whole_names(home):
    path, functions = record_program(home, build(home, "c++", CXX_PROGRAM, "work.cc"))
    check_inlined(home, path, functions, "hot::Wheel::twist(unsigned int, unsigned int)")


@case
def lines_come_later_where_debug_information_was_apart(home):
    if not shutil.which("strip"):
        raise Skip("no strip")
    program = build(home, "cc", C_PROGRAM, "work.c")
    folder = pathlib.Path(home.work, "debug")
    folder.mkdir()
    shutil.copy(program, folder / "work.debug")
    subprocess.run(["strip", "--strip-debug", str(program)], check=True)
    path, functions = record_program(home, program)
    equal({row["line"] for row in lines_of(home, path) if row.get("name") == "work"}, {0},
          "lines without debug information")
    check(self_of(functions, "work") > 0, f"work has what was inlined into it: {functions}")
    for _ in range(2):  # the second time has no new names
        home.run(ANNOT, "symbolize", "--debug-dir", folder, "--add-source", path).ok()
        check_inlined(home, path, functions_of(home, path), "twist")


@case
def lines_add_up_to_the_time_of_functions(home):
    _script, path = record(home, samples.interpreters()[-1][1])
    done = home.run(ANNOT, "report", "--json", "--lines", path).ok()
    report = json.loads(done.out)
    whole = sum(row["cpu_self_ns"] for row in report["functions"])
    equal(sum(row["cpu_self_ns"] for row in report["lines"]), whole, "time of all lines")
    totals = {}
    for row in report["functions"]:
        totals[row["function"]] = totals.get(row["function"], 0) + (row["cpu_total_ns"] or 0)
    for row in report["lines"]:
        if row["function"]:
            check((row["cpu_total_ns"] or 0) <= totals.get(row["function"], 0),
                  f"{row['function']}:{row['line']} has more time than its function")


WAITS = """import json
import time


def call_api():
    time.sleep(0.04)


def render():
    return json.dumps(list(range(20000)))


for _ in range(8):
    call_api()
    render()
"""


@case
def a_line_that_only_waits_is_the_first_and_has_callers(home):
    script = pathlib.Path(home.work, "waits.py")
    script.write_text(WAITS, encoding="utf-8")
    python = samples.interpreters()[-1][1]
    path = str(home.record(python, script, options=["--no-preload"]).ok().path)
    if not any(row["own_blocked_ns"] for row in lines_of(home, path)):
        raise Skip("waits are not known here")
    text = home.run(ANNOT, "report", "--lines", path).ok().out.decode().strip().splitlines()
    check(text[2].startswith("waits.py:6 ") and text[2].endswith("time.sleep(0.04)"), text)
    check(" 0 " not in " ".join(text[2:-1]) and "libpython" not in " ".join(text), text)
    done = home.run(ANNOT, "report", "--json", "--callers", "call_api", path).ok()
    callers = json.loads(done.out)["callers"]
    equal([row["function"] for row in callers], ["<module>"], "who calls call_api")
    check(callers[0]["blocked_ns"] >= 8 * 40_000_000, f"{callers} lacks waits")


@case
def the_source_is_shown_where_the_file_is_gone(home):
    script, path = record(home, samples.interpreters()[-1][1])
    script.unlink()
    text = home.run(ANNOT, "report", "--source", path).ok().out.decode()
    check(re.search(r"ms .* 8  +if \(i \* j\) % 7 == 3:", text), text)
    check("def quadratic(n):" in text and "import sys" not in text, text)
    whole = home.run(ANNOT, "report", "--source-of", "quadratic.py", path).ok().out.decode()
    check("import sys" in whole and "time.sleep(0.05)" in whole, whole)
    home.run(ANNOT, "report", "--source-of", "no_such", path).complains(1, "no_such")


@case
def a_recording_keeps_no_text_that_it_was_told_to_leave_out(home):
    script, path = record(home, samples.interpreters()[-1][1], "--no-source")
    equal({row["text"] for row in lines_of(home, path)}, {""}, "texts of lines")
    text = home.run(ANNOT, "report", "--source-of", script.name, path).ok().out.decode()
    check("its text is not in the recording" in text and "found += i" not in text, text)
    with open(path, "rb") as file:
        payloads = [chunk.payload for chunk in read_recording.chunks(file.read())]
    check(payloads and not any(b"found += i" in bytes(payload) for payload in payloads),
          "a line of the source is in the recording")


@case
def a_file_that_changed_since_is_not_shown(home):
    script = pathlib.Path(home.work, "changes.py")
    script.write_text("import os, time\n"
                      "open(__file__, 'a').write('# changed\\n')\n"
                      "begin = time.thread_time()\n"
                      "while time.thread_time() - begin < 0.3: pass\n", encoding="utf-8")
    python = samples.interpreters()[-1][1]
    path = str(home.record(python, script, options=["--no-preload", "--rate", "999"]).ok().path)
    mine = [row for row in lines_of(home, path) if os.path.basename(row["file"]) == script.name]
    check(mine and all(row["text"] == "" for row in mine), f"{mine}")
    info = home.run(ANNOT, "info", path).ok().out.decode()
    check("source files that changed after the program began" in info, info)
    check("not in the recording: changes.py\n" in info, info)


@case
def a_flame_graph_has_a_frame_for_each_line(home):
    _script, path = record(home, samples.interpreters()[-1][1])
    done = home.run(ANNOT, "export", "--format", "folded", "--lines", "-o", "-", path).ok()
    frames = set(re.findall(r"quadratic \([^)]*quadratic\.py:(\d+)\)", done.out.decode()))
    check({"7", "8"} <= frames, f"lines {frames}")


main()
