#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Functions that become ranges in unchanged programs, by annot record --probe.

The programs call known functions a known number of times, in threads and a fork, recursively, left
by longjmp, by exceptions, by tail calls; each call must be a range, on its own thread, as long as
the program's own clock says. Where there is Go, also a Go program, whose stacks move.
"""

import collections
import json
import re
import shutil
import subprocess
import time

from harness import ANNOT, Skip, case, check, equal, go_program, main, program

NO_LIMIT = ["--probe-budget", "10000"]


def counted(home, path):
    begun, ended = collections.Counter(), collections.Counter()
    for line in home.annot("cat", path).ok().out.decode().splitlines():
        found = re.match(r'\s*\S+ \S+ +begin ("[^"]*"|\S+) domain=functions(.*)', line)
        if found:
            begun[found[1].strip('"')] += 1
            ended[found[1].strip('"')] += "ended=" in found[2]
    return begun, ended


def record(home, *command, ranges, options=(), status=0):
    words = [word for text in ranges for word in ("--probe", text)]
    done = home.record(*command, options=["--sampling=none", *words, *options])
    if "CAP_BPF" in done.err_text or "eBPF" in done.err_text:
        raise Skip(done.err_text.splitlines()[0])
    return done.ok(status)


CALLS = {"probed_work": 67, "probed_deep": 3 * 128, "probed_jumps": 15, "probed_lands": 3,
         "probed_target": 6 + 3 + 1, "probed_tail": 6, "probed_maybe": 6, "probed_picks": 6,
         "probed_leaves": 1, "main": 1}
LEFT = {"probed_jumps": 15, "probed_leaves": 1}


def same_calls(home, path, work=CALLS):
    begun, ended = counted(home, path)
    equal({name: begun[name] for name in work}, work, "calls that became ranges")
    left = {name: number for name, number in ended.items() if number}
    equal(left, LEFT, "left without return")


@case
def every_call_is_a_range(home):
    file = program("target_probed")
    ranges = [f"{file}:{name}" for name in CALLS]
    done = record(home, file, "calls", ranges=ranges, options=NO_LIMIT)
    check("each call of one takes about" in done.err_text, f"no cost in {done.err_text}")
    same_calls(home, done.path)
    info = home.info(done.path)
    check(" 219 ranges of functions: more than 128 were open" in info, f"no depth in {info}")


@case
def arguments_are_those_of_the_calls(home):
    file = program("target_probed")
    done = record(home, file, "asked", options=NO_LIMIT,
                  ranges=[f"{file}:probed_asked@1,2=str,3=long,4=uint", f"{file}:probed_deep@1",
                          f"{file}:probed_jumps@1", f"{file}:probed_lands"])
    told = collections.Counter()
    for line in home.annot("cat", "--json", done.path).ok().out.decode().splitlines():
        row = json.loads(line)
        if row["event"] == "begin":
            told[(row["name"], *(row["args"][key] for key in sorted(row.get("args", {}))))] += 1
    calls = {("probed_asked", -i, "two words", -5000000000 - i, 4000000000): 3 for i in range(50)}
    for number, text in ((100, "x" * 127), (101, "NULL"), (102, "(cannot be read)"),
                         (103, "\ufffd\"\n")):
        calls["probed_asked", number, text, 1, 2] = 3
    calls.update({("probed_deep", n): 3 for n in range(4)})
    calls.update({("probed_jumps", n, "without a return"): 1 for n in range(3)})
    equal(dict(told), {**calls, ("probed_lands",): 1}, "calls with their arguments")


@case
def a_forked_child_survives_a_probed_nop_of_five_bytes(home):
    file = program("target_probed")
    done = record(home, file, "forks", ranges=[f"{file}:probed_nop"], options=NO_LIMIT)
    begun, _ = counted(home, done.path)
    equal(begun["probed_nop"], 6, "calls that became ranges")


@case
def attached_programs_too(home):
    file = program("target_probed")
    path = home.work / "attached.annot"
    process = home.start(file, "waits", stdin=subprocess.PIPE)
    words = [word for name in CALLS if name != "main" for word in ("--probe", f"*_probed:{name}")]
    attach = home.start(ANNOT, "attach", "-v", "-o", path, *words, *NO_LIMIT, process.pid,
                        stderr=subprocess.PIPE, text=True)
    for line in attach.stderr:
        if "CAP_BPF" in line:
            process.kill()
            raise Skip(line)
        if "threads are sampled" in line or "attached.annot" in line:
            break
    process.communicate(b"\n")
    attach.communicate()
    equal(attach.returncode, 0, "status of annot attach")
    same_calls(home, path, {name: number for name, number in CALLS.items() if name != "main"})


@case
def added_while_the_program_is_recorded(home):
    file = program("target_probed")
    path = home.work / "added.annot"
    process = home.start(file, "waits", stdin=subprocess.PIPE)
    attach = home.start(ANNOT, "attach", "-v", "-o", path, *NO_LIMIT, process.pid,
                        stderr=subprocess.PIPE, text=True)
    for line in attach.stderr:
        if "CAP_BPF" in line:
            process.kill()
            raise Skip(line)
        if "threads are sampled" in line or "added.annot" in line:
            break
    refused = home.annot("set", "--probe", f"{file}:no_such_function", path).ok(1)
    check("no_such_function" in refused.err_text, f"why not: {refused.err_text}")
    for name in CALLS:
        if name != "main":
            done = home.annot("set", "--probe", f"{file}:{name}", path).ok()
            check("1 functions are ranges: each call of one takes about" in done.err_text,
                  f"no cost in {done.err_text}")
    process.communicate(b"\n")
    attach.communicate()
    equal(attach.returncode, 0, "status of annot attach")
    same_calls(home, path, {name: number for name, number in CALLS.items() if name != "main"})


@case
def nothing_is_added_without_a_sampler(home):
    path = home.work / "unsampled.annot"
    recorder = home.start(ANNOT, "record", "--sampling=none", "-o", path, "--", "sleep", "60")
    while b"unsampled.annot" not in home.annot("set").out:
        time.sleep(0.02)
    done = home.annot("set", "--probe", "/bin/sh:main", path)
    done.ok(1)
    check("no sampler" in done.err_text, f"why not: {done.err_text}")
    recorder.terminate()
    recorder.wait()


@case
def times_are_those_of_the_program(home):
    file = program("target_probed")
    done = record(home, file, "times", ranges=[f"{file}:probed_timed"], options=NO_LIMIT)
    own = [int(line) for line in done.out.split()]
    times = [round(float(found) * 1e9) for found in
             re.findall(r"end probed_timed dur=(\S+)", home.annot("cat", done.path).out.decode())]
    equal(len(times), len(own), "ranges")
    beyond = sorted(told - inside for told, inside in zip(times, own))
    check(beyond[0] >= 0, f"a range is {-beyond[0]} ns shorter than what lies inside")
    check(beyond[len(beyond) // 4] < 100_000, f"ranges are longer by {beyond}")


@case
def exceptions_pass_probed_functions(home):
    file = program("target_thrown")
    done = record(home, file, options=NO_LIMIT,
                  ranges=[f"{file}:probed::worker::*", f"{file}:probed::twice*",
                          f"{file}:probed::throws_again"])
    equal(done.out, b"13\n", "what the program lived through")
    begun, ended = counted(home, done.path)
    equal(dict(begun), {"probed::worker::throws(int)": 60, "probed::worker::catches(int)": 10,
                        "int probed::twice<int>(int)": 4, "probed::throws_again()": 3}, "calls")
    equal({name: number for name, number in ended.items() if number},
          {"probed::worker::throws(int)": 60, "probed::throws_again()": 3}, "left by exceptions")


@case
def libraries_are_probed_when_they_are_loaded(home):
    library = program("library_probed.so")
    for name in (library, "library_prob*.so"):
        done = record(home, program("target_probed"), "loads", library,
                      ranges=[f"{name}:probed_loaded"], options=NO_LIMIT)
        equal(counted(home, done.path)[0]["probed_loaded"], 9, f"calls of {name}")


@case
def static_probes_are_ranges_and_marks(home):
    file = program("target_static")
    pairs = [f"{file}:shop:{name}__start..{name}__done" for name in ("request", "phase")]
    done = record(home, file, ranges=[*pairs, f"{file}:shop:ti*"], options=NO_LIMIT)
    equal(done.out, b"1\n", "those that watch, as the program is told")
    check("2 places are watched: each visit of one takes" in done.err_text, done.err_text)
    begun, ended, marks = collections.Counter(), 0, 0
    for line in home.annot("cat", done.path).out.decode().splitlines():
        begun.update(re.findall(r" begin (shop:\S+) domain=probes", line))
        ended += 'ended="without a return"' in line
        marks += " mark shop:tick " in line
    deepest = 128  # of 200
    equal(dict(begun), {"shop:request": 20 + deepest + 1, "shop:phase": 20}, "ranges")
    equal((ended, marks), (1, 4), "left without an end, and marks")
    check(" 72 ranges of functions: more than 128 were open" in home.info(done.path), "no depth")


@case
def static_probes_of_libraries(home):
    file = program("target_thrown")
    done = record(home, file, ranges=["libstdc++.so.6:libstdcxx:*"], options=NO_LIMIT)
    equal(done.out, b"13\n", "what the program lived through")
    names = re.findall(r" mark (libstdcxx:\S+) ", home.annot("cat", done.path).out.decode())
    if not names:
        raise Skip("this C++ library has no static probes")
    known = {"libstdcxx:throw": 13, "libstdcxx:catch": 16, "libstdcxx:rethrow": 3}
    equal(collections.Counter(names), known, "marks")


@case
def what_is_hot_is_switched_off(home):
    file = program("target_probed")
    little = ["--probe-budget", "1"]  # a busy machine gives the program little of a processor
    done = record(home, file, "hot", ranges=[f"{file}:probed_target"], options=little)
    info = home.info(done.path)
    check("functions that were switched off" in info, f"not counted in {info}")
    check(re.search(r'range "probed_target" was switched off: \d+ calls a second', info),
          f"not told in {info}")
    check("switched off" in done.err_text, f"not told at the end: {done.err_text}")
    check(counted(home, done.path)[0]["probed_target"] > 100, "nothing was recorded before")


@case
def what_cannot_be_probed_is_refused(home):
    file, stripped = program("target_probed"), home.work / "stripped"
    shutil.copy(file, stripped)
    subprocess.run(["strip", stripped], check=True)
    refused = [(f"{stripped}:probed_work", "stripped"), (f"{file}:probed_none", "has no function"),
               ("./none:work", "no file"), (f"{home.work}:work", "no file"),
               ("nothing", "FILE:FUNCTION"),
               (f"{file}:shop:none", "no static probe"),
               (f"{file}:probed_work@7", "arguments as in"),
               (f"{file}:probed_work@1=float", "arguments as in"),
               (f"{file}:probed_work@1,2,3,4,5,6,1", "arguments as in"),
               (f"{program('target_static')}:shop:tick..none", "none that ends it")]
    refused.append((f"{file}:probed_work@1", "probed_work is a range already"))
    for text, words in refused:
        path = home.work / "refused.annot"
        first = ["--probe", f"{file}:probed_work"] if "already" in words else []
        done = home.annot("record", "-o", path, *first, "--probe", text, "--", "true")
        equal(done.status, 125, f"status of {text}")
        if "CAP_BPF" in done.err_text:
            raise Skip(done.err_text)
        check(words in done.err_text, f"{words!r} is not in {done.err_text!r}")
        check(not path.exists(), "a recording was left")


@case
def names_that_are_spelt_like_it_are_hints(home):
    file, thrown = program("target_probed"), program("target_thrown")
    for text, word in ((f"{file}:probed_wrok", "probed_work"),
                       (f"{file}:Probed_Work", "probed_work"), (f"{thrown}:throw", "throws"),
                       (f"{thrown}:probed::worker::throw", "throws")):
        done = home.annot("record", "-o", "x.annot", "--probe", text, "--", "true")
        equal(done.status, 125, f"status of {text}")
        if "CAP_BPF" in done.err_text:
            raise Skip(done.err_text)
        hint = done.err_text.splitlines()[1]
        check(hint.startswith("hint: did you mean") and word in hint, done.err_text)


@case
def ranges_without_effect_are_said(home):
    file = program("target_probed")
    for text, said in (("nosuch-lib*.so:foo", "no such function was loaded"),
                       (f"{program('target_thrown')}:main", "it was not called")):
        done = home.record(file, "calls", options=["--sampling=none", "--probe", text])
        if "CAP_BPF" in done.err_text:
            raise Skip(done.err_text)
        words = " ".join(done.err_text.split())
        check(f"option without effect: --probe {text}: {said}" in words, done.err_text)
        check("nothing lost" not in words, done.err_text)


@case
def goroutines_that_move_close_their_ranges(home):
    file = go_program(home, "target_moves.go")
    done = record(home, file, ranges=[f"{file}:main.grow", f"{file}:main.work"], options=NO_LIMIT)
    equal(done.err_text.count("lived"), 1, "the program's last word")
    begun, ended = counted(home, done.path)
    equal(dict(begun), {"main.grow": 204, "main.work": 40}, "calls")
    equal(sum(ended.values()), 0, "left without return")


main()
