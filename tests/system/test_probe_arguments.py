#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Arguments of functions and static probes that annot record --probe names.

The programs call known functions with known values, built with and without optimisation. Each range
must have the values of its call, by the names, types and places of the debug information, or the
reason for a missing one. Probes of an interpreter are compared with its program's own counts.
"""

import collections
import json
import os
import shutil
import subprocess
import textwrap

from harness import Skip, case, check, equal, go_program, main, program

NO_LIMIT = ["--probe-budget", "10000"]
VECTOR, GONE = "(in a vector register)", "(optimised out)"
PARTS = "(in several parts)"


def needs_libdw():
    if os.environ.get("ANNOT_HAVE_LIBDW", "1") == "0":
        raise Skip("annot is built without libdw")


def record(home, *command, ranges, status=0):
    words = [word for text in ranges for word in ("--probe", text)]
    done = home.record(*command, options=["--sampling=none", *words, *NO_LIMIT])
    if "CAP_BPF" in done.err_text or "eBPF" in done.err_text:
        raise Skip(done.err_text.splitlines()[0])
    return done.ok(status)


def rows(home, done, events=("begin",)):
    lines = home.annot("cat", "--json", done.path).ok().out.decode().splitlines()
    return [row for row in map(json.loads, lines)
            if row["event"] in events and row.get("domain") in ("functions", "probes")]


def told(home, done):
    """The number of ranges by name and values."""
    return collections.Counter(
        (row["name"].split("(")[0], *sorted(row.get("args", {}).items()))
        for row in rows(home, done))


def calls(name, every):
    return collections.Counter((name, *sorted(values.items())) for values in every)


@case
def values_have_the_types_of_c(home):
    needs_libdw()
    for level in "02":
        file = program(f"target_typed_c{level}")
        done = record(home, file, ranges=[f"{file}:typed_all@small,shade,text,ratio,flag,large",
                                          f"{file}:typed_large@behind"])
        expected = calls("typed_all", [
            {"small": -i, "shade": "SHADE_DARK" if i % 2 else "SHADE_LIGHT",
             "text": "odd" if i % 2 else "even", "ratio": VECTOR, "flag": bool(i % 2),
             "large": str(0xfedcba9876543210 + i)} for i in range(20)])
        expected += calls("typed_all", [{"small": 1, "shade": 5, "text": "no such shade",
                                         "ratio": VECTOR, "flag": True, "large": 0}])
        expected += calls("typed_large", [{"behind": 70 + i} for i in range(4)])
        equal(told(home, done), expected, f"calls at -O{level}")


@case
def what_is_on_the_stack_is_read_there(home):
    needs_libdw()
    for level in "02":
        file = program(f"target_typed_c{level}")
        done = record(home, file, ranges=[f"{file}:typed_all@letter,seventh,eighth",
                                          f"{file}:typed_floats@ninth,tenth,a"])
        expected = calls("typed_all", [
            {"letter": 97 + i, "seventh": -1000000 - i, "eighth": 200 + i} for i in range(20)])
        expected += calls("typed_all", [{"letter": ord("x"), "seventh": 0, "eighth": 0}])
        expected += calls("typed_floats", [
            {"ninth": i + 9.25, "tenth": i + 10.5, "a": VECTOR} for i in range(5)])
        equal(told(home, done), expected, f"calls at -O{level}")


@case
def what_cannot_be_known_is_said(home):
    needs_libdw()
    plain, good = (program(f"target_typed_c{level}") for level in "02")
    refused = [(f"{plain}:typed_odd@behind", "its place is not known"),
               (f"{plain}:typed_floats@*", "in a vector register"),
               (f"{good}:typed_all@small,none", 'no argument "none": it has small, shade, text'),
               (f"{good}:main@*", "main has no arguments")]
    stripped = home.work / "stripped"
    shutil.copy(good, stripped)
    subprocess.run(["strip", "--strip-debug", stripped], check=True)
    refused.append((f"{stripped}:typed_all@small", "no debug information tells where \"small\""))
    for text, words in refused:
        path = home.work / "refused.annot"
        done = home.annot("record", "-o", path, "--probe", text, "--", "true")
        equal(done.status, 125, f"status of {text}")
        if "CAP_BPF" in done.err_text:
            raise Skip(done.err_text)
        check(words in done.err_text, f"{words!r} is not in {done.err_text!r}")
        check(not path.exists(), "a recording was left")
    done = record(home, good, ranges=[f"{good}:typed_odd@behind", f"{good}:typed_part@used,unused"])
    found = told(home, done)
    equal(found & calls("typed_odd", [{"behind": i} for i in range(4)]),
          calls("typed_odd", [{"behind": i} for i in range(4)]), "with optimisation it is known")
    parts = [key for key in found if key[0].startswith("typed_part")]
    equal(sum(found[key] for key in parts), 4, "calls of typed_part")
    equal({value for key in parts for name, value in key[1:] if name == "unused"} <= {9, GONE},
          True, f"what is not passed: {parts}")


@case
def separate_debug_files_are_found(home):
    needs_libdw()
    file, debug = home.work / "typed", home.work / "typed.debug"
    shutil.copy(program("target_typed_c2"), file)
    subprocess.run(["objcopy", "--only-keep-debug", file, debug], check=True)
    subprocess.run(["strip", "--strip-debug", file], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", file], check=True, cwd=home.work)
    done = record(home, file, ranges=[f"{file}:typed_large@behind"])
    equal(told(home, done), calls("typed_large", [{"behind": 70 + i} for i in range(4)]), "calls")


@case
def methods_and_texts_of_cxx(home):
    needs_libdw()
    for level in "02":
        file = program(f"target_typed_cpp{level}")
        done = record(home, file, ranges=[f"{file}:Maker::make@this,colour,name",
                                          f"{file}:typed_fat@number"])
        found = rows(home, done)
        makers = {row["args"].pop("this") for row in found if "this" in row["args"]}
        equal(len(makers), 1, f"objects, of {makers}")
        values = [row["args"] for row in found]
        equal([row for row in values if "name" in row],
              [{"colour": "green" if i % 2 else "red", "name": "abcdefghij"[:i]}
               for i in range(10)], f"methods at -O{level}")
        equal([row for row in values if "number" in row], [{"number": 40 + i} for i in range(10)],
              f"functions with large results at -O{level}")


@case
def functions_of_rust(home):
    needs_libdw()
    for level in "02":
        try:
            file = program(f"target_typed_rs{level}")
        except AssertionError:
            raise Skip("rustc is missing") from None
        done = record(home, file, ranges=[f"{file}:*::typed_rust@*"])
        equal([row["args"] for row in rows(home, done)],
              [{"name": "abcdefghij"[:i], "way": "Down" if i % 2 else "Up",
                "number": 4000000000 + i, "flag": i % 2 == 0, "large": -5000000000}
               for i in range(10)], f"calls at opt-level {level}")


@case
def functions_of_go(home):
    needs_libdw()
    for flags in ([], ["-gcflags=-N -l"]):
        file = go_program(home, "target_typed.go", *flags)
        done = record(home, file, ranges=[f"{file}:main.typed@*", f"{file}:main.registers@a,i,h",
                                          f"{file}:main.(*Shop).serve@who,many",
                                          f"{file}:main.parts@*"])
        expected = collections.Counter()
        for i in range(20):
            expected += calls("main.typed", [
                {"small": -i, "shade": i, "text": "odd" if i % 2 else "even", "ratio": VECTOR,
                 "flag": i % 2 == 1, "large": str((1 << 63) + i)}])
            expected += calls("main.registers", [{"a": 1, "h": 8, "i": i}])
            expected += calls("main.", [{"who": f"customer {i}", "many": i}])
            expected += calls("main.parts", [{"bytes": PARTS, "behind": 65000 + i, "err": PARTS}])
        equal(told(home, done), expected, f"calls of Go, built with {flags}")
    done = record(home, file, ranges=[f"{file}:main.registers@1=long,6=long"])
    equal(told(home, done), calls("main.registers", [{"arg1": 1, "arg6": 6}] * 20), "by number")


@case
def static_probes_tell_their_arguments(home):
    file = program("target_static")
    done = record(home, file, ranges=[f"{file}:shop:request__start..request__done"])
    found = collections.Counter()
    for row in rows(home, done):
        values = row["args"]
        check(values["arg1"] == values.get("end_arg1", values["arg1"]), f"two calls: {values}")
        found[values["arg1"]] += 1
    expected = collections.Counter(range(20)) + collections.Counter(range(72, 200))
    expected[0] += 1
    equal(found, expected, "numbers of requests")
    done = record(home, file, ranges=[f"{file}:shop:request__done@1=long", f"{file}:shop:tick"])
    marks = rows(home, done, ["mark"])
    equal(sum("args" not in row for row in marks), 4, "marks of a probe without arguments")
    equal(collections.Counter(row["args"]["arg1"] for row in marks if "args" in row),
          collections.Counter(range(20)) + collections.Counter(range(200)), "marks")


PYTHON_PROGRAM = """
import gc, json, sys
seen = []
gc.callbacks.append(lambda phase, info: phase == "stop" and seen.append(
    [info["generation"], info["collected"] + info["uncollectable"]]))
gc.disable()
def garbage(count):
    for _ in range(count):
        one = []
        one.append(one)
for generation in (0, 1, 2, 0):
    garbage(10 * generation + 3)
    gc.collect(generation)
for number in range(4):
    __import__(f"module_{number}")
try:
    import module_that_is_not
except ImportError:
    pass
for number in range(3):
    sys.audit("annot.test", number)
gc.callbacks.clear()
print(json.dumps(seen))
"""


@case
def probes_of_an_interpreter(home):
    python = shutil.which("python3", path="/usr/bin:/bin") or "python3"
    for number in range(4):
        (home.work / f"module_{number}.py").touch()
    (home.work / "probed.py").write_text(textwrap.dedent(PYTHON_PROGRAM))
    ranges = [f"{python}:python:{begin}..{end}" for begin, end in (
        ("gc__start", "gc__done"), ("import__find__load__start", "import__find__load__done"))]
    words = [word for text in [*ranges, f"{python}:python:audit@event"]
             for word in ("--probe", text)]
    done = home.record(python, "-S", home.work / "probed.py",
                       options=["--sampling=none", *words, *NO_LIMIT])
    if "CAP_BPF" in done.err_text or "has no static probe" in done.err_text:
        raise Skip(done.err_text.splitlines()[0])
    seen = json.loads(done.ok().out)
    found = collections.defaultdict(list)
    for row in rows(home, done, ["begin", "mark"]):
        found[row["name"]].append(row["args"])
    collections_told = [[one["generation"], one["collected"]] for one in found["python:gc"]]
    check(any(collections_told[at:at + len(seen)] == seen for at in range(len(collections_told))),
          f"collections of garbage are {collections_told}, without {seen}")
    imports = {one["module"]: one["found"] for one in found["python:import__find__load"]}
    equal({name: imports.get(name) for name in (*(f"module_{i}" for i in range(4)),
                                                "module_that_is_not")},
          {**{f"module_{i}": 1 for i in range(4)}, "module_that_is_not": 0}, "imports")
    equal(sum(one["event"] == "annot.test" for one in found["python:audit"]), 3, "audit events")


main()
