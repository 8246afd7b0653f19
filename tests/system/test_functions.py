# SPDX-License-Identifier: MIT
"""Programs compiled with -finstrument-functions: the recorded calls equal the functions' own
counts, by each compiler, with and without optimization, for every way to leave a function.

Besides the harness's environment: ANNOT_SOURCE, ANNOT_LIBRARIES (the folder of libannot.so).
"""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from harness import Failed, Skip, case, check, equal, main

SOURCE = pathlib.Path(os.environ["ANNOT_SOURCE"])
LIBRARIES = pathlib.Path(os.environ["ANNOT_LIBRARIES"])
BUILT = pathlib.Path(tempfile.mkdtemp(prefix="annot-functions-"))
VARIANTS = [(compiler, level) for compiler in ("g++", "clang++") for level in ("-O0", "-O2")
            if shutil.which(compiler)]
ANNOTATED = r"""
#include <annot/annot.hpp>
#include <string_view>
struct io { static constexpr const char *name = "io"; };
static void inner() {}
static void leaves() { annot_push("left"); } // ends with the function
static void after() { ANNOT_PUSH("macro"); ANNOT_POP(); }
static void work(std::string_view text)
{
    annot_push("plain"); annot_pop();
    annot::range scoped("scoped", annot::arg("key", 1));
    annot::in<io>::range typed("typed", annot::color(0xff0000));
    annot::range made(text);
    inner();
}
int main() { for (int i = 0; i < 3; i++) { work("text"); leaves(); after(); } }
"""
LIBRARY = r"""
extern "C" void library_entry(void (*count)(const char *));
static __attribute__((noinline)) void NAME(void (*count)(const char *)) { count("NAME"); }
extern "C" void library_entry(void (*count)(const char *))
{ count("library_entry"); for (int i = 0; i < 5; i++) NAME(count); }
"""


def compile_it(compiler, *arguments):
    done = subprocess.run(
        [compiler, "-g0", "-finstrument-functions", f"-I{SOURCE}/libannot/include", *arguments,
         f"-L{LIBRARIES}", "-lannot-functions", "-lannot", f"-Wl,-rpath,{LIBRARIES}", "-pthread",
         "-ldl"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{compiler} {arguments}: {done.stderr}")


def target(compiler, level):
    path = BUILT / f"target-{compiler}{level}"
    if not path.exists():
        compile_it(compiler, level, str(SOURCE / "tests/system/functions_target.cpp"), "-o",
                   str(path))
    return path


def base(name):
    """"shapes::Circle<double>::area() const" is called area in the program."""
    name = re.sub(r" \[clone.*|\(.*", "", re.sub(r"<[^<>]*>", "", name))
    return name.split("::")[-1].split(".")[0]


def counted(out):
    truth = collections.Counter()
    for line in out.decode().splitlines():
        pid, name, count = line.split() if line.count(" ") == 2 else (None, None, None)
        if pid and pid.isdigit():
            truth[int(pid), name] += int(count)
    return truth


def calls(dump):
    pid_of = {thread["ordinal"]: dump.processes[thread["process"]]["pid"]
              for thread in dump.threads}
    seen = collections.Counter()
    for event in dump.kind("push"):
        seen[pid_of[event["thread"]], base(event["name"])] += 1
    return seen


def parents(dump):
    """Of each name, below which names it was called."""
    found, stacks = collections.defaultdict(collections.Counter), collections.defaultdict(list)
    for event in dump.kind("push", "pop"):
        stack = stacks[event["thread"]]
        if event["kind"] == "push":
            name = base(event["name"])
            found[name][stack[-1] if stack else ""] += 1
            stack.append(name)
        else:
            check(stack, "a return without a call")
            stack.pop()
    return found, stacks


def every_variant(*scenes, whole=True):
    """Yields the recording of each way to compile it, when its counts are right."""
    def decorate(function):
        def run(home):
            if not VARIANTS:
                raise Skip("no C++ compiler")
            for compiler, level in VARIANTS:
                result = home.record(target(compiler, level), *scenes)
                dump = home.dump(result.ok().path)
                try:
                    if whole:
                        dump.whole()
                    equal(calls(dump), counted(result.out), "calls")
                    function(dump)
                except Failed as failure:
                    raise Failed(f"{compiler} {level}: {failure}") from failure
        run.__name__ = function.__name__
        return case(run)
    return decorate


@every_variant("calls")
def every_call_is_a_range(dump):
    found, stacks = parents(dump)
    equal([stack for stack in stacks.values() if stack], [], "open at the end")
    equal(set(found["scene_calls"]), {"main"}, "callers of scene_calls")
    equal(set(found["area"]), {"scene_calls"}, "callers of area")
    check(set(found["outlined"]) <= {"tail"}, f"callers of outlined: {found['outlined']}")
    names = {event["name"] for event in dump.kind("push")}
    check("shapes::Circle<double>::area() const" in names, f"demangled names: {sorted(names)}")
    equal({event["level"] for event in dump.kind("push")}, {4}, "levels")
    equal({event["observer"] for event in dump.kind("push")}, {2}, "who told them")


@every_variant("left")
def what_exceptions_and_jumps_left_is_closed(dump):
    found, stacks = parents(dump)
    equal([stack for stack in stacks.values() if stack], [], "open at the end")
    equal(set(found["catcher"]), {"scene_left"}, "callers of catcher")
    equal(set(found["landed"]), {"jumps"}, "callers of landed")
    equal(set(found["jumps"]), {"scene_left", "jumps"}, "callers of jumps")
    equal(found["jumps"]["scene_left"], 20, "first jumps")
    equal(set(found["leaf"]), {"catcher", "scene_left", "main"}, "callers of leaf")


@every_variant("signals")
def handlers_on_any_stack_nest(dump):
    found, stacks = parents(dump)
    equal([stack for stack in stacks.values() if stack], [], "open at the end")
    equal(found["handled"], {"with_stack": 20}, "callers of handlers")
    equal(found["leaf"], {"handled": 20, "scene_signals": 1, "main": 1}, "callers of leaf")


@every_variant("fork", "threads")
def children_and_threads_have_their_own_calls(dump):
    found, stacks = parents(dump)
    equal([stack for stack in stacks.values() if stack], [], "open at the end")
    equal(set(found["forked_child"]), {""}, "callers of the child's functions")
    equal(found["threaded"], {"": 4}, "callers of threads")
    equal(len(dump.processes), 2, "processes")


@every_variant("vfork")
def a_vfork_child_leaves_nothing_open(dump):
    found, stacks = parents(dump)
    equal([stack for stack in stacks.values() if stack], [], "open at the end")
    equal(found["leaf"]["in_vfork"], 1, "calls in the child")
    check(found["leaf"]["in_vfork"] + found["leaf"]["scene_vfork"] + found["leaf"]["main"] == 3,
          f"callers of leaf: {found['leaf']}")


@case
def a_library_where_another_one_was_has_its_own_names(home):
    """dlclose, then another library at the same addresses."""
    for compiler, level in VARIANTS:
        libraries = []
        for name in "first", "other":
            source, library = BUILT / f"{name}.cpp", BUILT / f"lib{name}-{compiler}{level}.so"
            source.write_text(LIBRARY.replace("NAME", name))
            compile_it(compiler, level, "-shared", "-fPIC", str(source), "-o", str(library))
            libraries.append(str(library))
        result = home.record(target(compiler, level), "libraries=" + ":".join(libraries * 2))
        dump = home.dump(result.ok().path).whole()
        equal(calls(dump), counted(result.out), f"calls of {compiler} {level}")
        places = {line for line in result.out.decode().splitlines() if line.startswith("at ")}
        check(len(places) < 4, "no library came to lie where another one was: tests nothing")


@case
def functions_are_chosen_by_name(home):
    """Wanted ones to the last call; others only until their names were found."""
    program = target(*VARIANTS[0])
    wanted = {"recurse", "outlined", "area"}
    result = home.record(program, "calls", "pause", *["calls"] * 5, options=[
        "--functions", "recurse*,outlined*,shapes::*", "--functions", "-*Circle*~*,-*::Circle(*"])
    dump = home.dump(result.ok().path).whole()
    truth = {name: count for (_, name), count in counted(result.out).items() if name in wanted}
    pushes = dump.kind("push")
    seen = collections.Counter(base(event["name"]) for event in pushes)
    equal({name: seen[name] for name in wanted}, truth, "calls of wanted functions")
    times = sorted(event["time"] for event in pushes)
    pause = max(range(1, len(times)), key=lambda i: times[i] - times[i - 1])
    late = {base(event["name"]) for event in pushes if event["time"] >= times[pause]}
    equal(late, wanted, "functions after the pause")
    equal([stack for stack in parents(dump)[1].values() if stack], [], "open at the end")


@case
def functions_are_switched_off_as_a_domain(home):
    for options in ("--disable", "functions"), ("--enable", "*:3"), ("--functions", "none"):
        result = home.record(target(*VARIANTS[0]), "calls", "left", options=options)
        pushes = home.dump(result.ok().path).whole().kind("push")
        if options[1] == "none":
            check(all(base(event["name"]) != "none" for event in pushes), "a function called none")
        else:
            equal(pushes, [], f"calls with {options}")


@case
def annotations_in_such_programs_stay_what_they_are(home):
    """No function of annot's headers is one of the program's, and ranges are within functions."""
    for compiler, level in VARIANTS:
        program = home.work / f"annotated-{compiler}{level}"
        source = home.work / "annotated.cpp"
        source.write_text(ANNOTATED)
        compile_it(compiler, level, "-std=c++17", str(source), "-o", str(program))
        dump = home.dump(home.record(program).ok().path).whole()
        found, stacks = parents(dump)
        equal([stack for stack in stacks.values() if stack], [], "open at the end")
        named = {name: dict(found[name]) for name in ("plain", "scoped", "typed", "text", "inner",
                                                      "left", "after", "macro")}
        equal(named, {"plain": {"work": 3}, "scoped": {"work": 3}, "typed": {"scoped": 3},
                      "text": {"typed": 3}, "inner": {"text": 3}, "left": {"leaves": 3},
                      "after": {"main": 3}, "macro": {"after": 3}}, f"{compiler} {level}: ranges")
        strange = {event["name"] for event in dump.kind("push") if "annot" in event["name"]}
        equal(strange, set(), f"{compiler} {level}: functions of annot")


@case
def the_library_by_preload_and_a_binary_without_annot(home):
    """Hooks of the C library are empty; ours take their place."""
    if not VARIANTS:
        raise Skip("no C++ compiler")
    program = home.work / "bare"
    subprocess.run([VARIANTS[0][0], "-O1", "-finstrument-functions",
                    str(SOURCE / "tests/system/functions_target.cpp"), "-o", str(program),
                    "-pthread", "-ldl"], check=True)
    preload = f"LD_PRELOAD={LIBRARIES / 'libannot-functions.so'}"
    result = home.record("env", preload, program, "calls", "left")
    equal(calls(home.dump(result.ok().path).whole()), counted(result.out), "calls")


@case
def a_file_that_was_replaced_names_nothing(home):
    """The program's file was replaced before its functions are named: no wrong names."""
    program = home.work / "replaced"
    shutil.copy(target(*VARIANTS[0]), program)
    script = f"rm {program}; cp {target(*VARIANTS[-1])} {program}; exec sleep 0"
    result = home.record("/bin/sh", "-c", f"{program} calls > out; {script}")
    dump = home.dump(result.ok().path)
    truth = {name for _, name in counted((home.work / "out").read_bytes())}
    names = {base(event["name"]) for event in dump.kind("push")}
    wrong = {name for name in names if name not in truth and not name.startswith("replaced+0x")}
    equal(wrong, set(), "names that no function has")


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(BUILT, ignore_errors=True)
