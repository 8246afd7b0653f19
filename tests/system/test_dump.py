#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`annot dump`: threads of known states are shown with these, their stacks and ranges."""

import json
import os
import signal
import subprocess
import sys
import time

from harness import ANNOT, Failed, Skip, case, check, equal, main, program
from samples import TARGET_PYTHON, interpreters, need_bpf

WAITS = {"sleeper": "sleep", "reader": "pipe", "locker": "lock"}
FUNCTIONS = {"sleeper": "<lambda>", "reader": "<lambda>", "burner": "burn_one"}


def blocked(home, python=sys.executable):
    target = home.start(python, TARGET_PYTHON, "blocked", stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE)
    equal(target.stdout.readline(), b"ready\n", "the first line of the program")
    time.sleep(0.3)
    return target


def end(target):
    target.stdin.close()
    equal(target.wait(20), 0, "how the program ended")


def dump(home, pid, *options):
    done = home.annot("dump", "-p", pid, "--json", *options).ok()
    return json.loads(done.out)


def by_function(threads):
    """The threads of target_python.py blocked, by function: their names are Python's own."""
    found = {}
    for thread in threads:
        functions = [frame["function"].split(".")[-1] for frame in thread["frames"]]
        if "burn_one" in functions or "forever_quietly" in functions:
            found["burner"] = thread
        elif thread["waits_for"] in WAITS.values() and "_bootstrap" in functions:
            found.setdefault({v: k for k, v in WAITS.items()}[thread["waits_for"]], thread)
        elif "blocked" in functions:
            found["main"] = thread
    return found


@case
def native_frames_have_their_lines(home):
    source = home.work / "lines.c"
    source.write_text("#include <unistd.h>\n"
                      "__attribute__((noinline)) static void inner(const char *text)\n{\n"
                      "    write(1, text, 6);\n    pause();\n    write(1, text, 6);\n}\n"
                      "int main(int argc, char **argv)\n{\n    inner(\"ready\\n\");\n"
                      "    return argv[argc] != 0;\n}\n")
    subprocess.run(["cc", "-g", "-O1", source, "-o", home.work / "lines"], check=True)
    target = home.start(home.work / "lines", stdout=subprocess.PIPE)
    try:
        equal(target.stdout.readline(), b"ready\n", "the first line of the program")
        time.sleep(0.1)
        frames = dump(home, target.pid)["threads"][0]["frames"]
        lines = {frame["function"]: (os.path.basename(frame.get("file", "")), frame.get("line"))
                 for frame in frames}
        equal(lines["inner"], ("lines.c", 5), "where inner is")
        equal(lines["main"], ("lines.c", 10), "where main called it")
        text = home.annot("dump", "-p", target.pid).ok().out
        check(b"lines.c:10)" in text, f"the text tells no line: {text!r}")
    finally:
        target.kill()
        target.wait()


@case
def states_of_python_threads(home):
    target = blocked(home)
    try:
        looked = dump(home, target.pid)
        equal(len(looked["threads"]), 5, "threads")
        threads = by_function(looked["threads"])
        equal(sorted(threads), ["burner", "locker", "main", "reader", "sleeper"],
              f"who was found in {json.dumps(looked)[:3000]}: the threads")
        for name, reason in WAITS.items():
            equal(threads[name]["waits_for"], reason, f"what {name} waits for")
            check(threads[name]["complete"], f"the stack of {name} is cut: {threads[name]}")
        equal(threads["main"]["waits_for"], "pipe", "what the main thread waits for")
        check(threads["burner"]["waits_for"] in ("", "the GIL"), threads["burner"])
        text = home.annot("dump", "-p", target.pid).ok().out.decode()
        for line in ("sleeps", "waits for a lock", "waits for a pipe", "(MainThread)"):
            check(line in text, f"{line!r} is not in\n{text}")
        check("_bootstrap" not in text, f"how threads begin is in\n{text}")
        text = home.annot("dump", "--native", target.pid).ok().out.decode()
        check("_bootstrap (" in text, f"how threads begin is not in\n{text}")
    finally:
        end(target)


VALUES = """
import collections, enum, threading, time
from concurrent.futures import ThreadPoolExecutor
class Job:
    pass
class Text(str): pass
class Wide(str): pass
class Number(int): pass
class Part(float): pass
class Items(list): pass
class Table(dict): pass
class Raw(bytes): pass
class Color(enum.Enum): RED = 1
class Level(enum.IntEnum): LOW = 3
class Mood(str, enum.Enum): GLAD = "glad"
Pair = collections.namedtuple("Pair", "left right")
gate = threading.Lock()
gate.acquire()
def waits(items, table, big, small=-5, ratio=0.25, none=None, flag=True):
    text, raw, pair, deep = "h\u00e9llo", b"\\x00a", (1, "two"), [[[[1]]]]
    shared, job, unset = 17, Job(), {3}
    label, none_at_all = Text("ascii"), Text()
    wide = Wide("h\u00e9 \u2713 \U0001f600")
    number, part, some, mapped = Number(-7), Part(0.5), Items([1, "a"]), Table(k=Text("v"))
    octets, color, level, mood = Raw(b"ab"), Color.RED, Level.LOW, Mood.GLAD
    named, count = Pair(1, Text("r")), collections.Counter("aab")
    def inner():
        return shared
    gate.acquire()
    later = inner
def spins():
    while True:
        pass
threading.Thread(target=waits, args=(list(range(100)), {"a": 1, 2: "b"}, 2**90), name="waiter",
                 daemon=True).start()
threading.Thread(target=spins, name="spinner", daemon=True).start()
pool = ThreadPoolExecutor(1, thread_name_prefix="pool")
pool.submit(int)
print("ready", flush=True)
time.sleep(60)
"""
SHOWN = {"items": "[0, 1, 2, 3, 4, 5, 6, 7, … 100 items]", "table": "{'a': 1, 2: 'b'}",
         "big": str(2**90), "small": "-5", "ratio": "0.25", "none": "None", "flag": "True",
         "text": "'héllo'", "raw": "b'\\x00a'", "pair": "(1, 'two')", "deep": "[[[…]]]",
         "label": "Text('ascii')", "wide": "Wide('hé ✓ 😀')", "none_at_all": "Text('')",
         "number": "Number(-7)", "part": "Part(0.5)", "some": "Items([1, 'a'])",
         "mapped": "Table({'k': Text('v')})", "octets": "Raw(b'ab')", "color": "Color.RED",
         "level": "Level(3)", "mood": "Mood('glad')", "named": "Pair((1, Text('r')))",
         "count": "Counter({'a': 2, 'b': 1})", "shared": "17", "job": "<Job>",
         "unset": "<set>", "inner": "<function>"}


def is_debug(python):
    """Before 3.13, frames of these are read with pyannot only."""
    code = "import sys; sys.exit(hasattr(sys, 'gettotalrefcount') and sys.version_info < (3, 13))"
    return subprocess.run([python, "-c", code], check=False).returncode == 1


def check_values(home, version, python):
    source = home.work / "values.py"
    source.write_text(VALUES)
    target = home.start(python, source, stdout=subprocess.PIPE)
    try:
        equal(target.stdout.readline(), b"ready\n", "the first line of the program")
        time.sleep(0.3)
        threads = {thread["name"]: thread for thread in dump(home, target.pid)["threads"]}
        equal(sorted(threads), ["MainThread", "pool_0", "spinner", "waiter"],
              f"{version}: names of threads")
        check("locals" not in json.dumps(threads), "locals were not asked for")
        looked = dump(home, target.pid, "--locals")
        equal([thread["name"] for thread in looked["threads"] if thread.get("holds_gil")],
              ["spinner"], f"{version}: who holds the GIL")
        waiter, = (thread for thread in looked["threads"] if thread["name"] == "waiter")
        equal(waiter["waits_for"], "lock", f"{version}: what it waits for")
        frame, = (frame for frame in waiter["frames"] if frame["function"].endswith("waits"))
        shown = dict(SHOWN)
        if tuple(map(int, version.split(".")[:2])) < (3, 11):
            del shown["shared"]  # variables used by inner functions come after the others
        equal(frame["locals"], shown, f"{version}: the local variables")
        text = home.annot("dump", "--locals", target.pid).ok().out.decode()
        check("        text = 'héllo'\n" in text, text)
        check(len(text.splitlines()) < 60, f"more than a screen:\n{text}")
    finally:
        target.kill()
        target.communicate()


@case
def names_locals_and_the_holder_of_the_gil_in_every_interpreter(home):
    found = [(version, python) for version, python in interpreters() if not is_debug(python)]
    if not found:
        raise Skip("no CPython here")
    for version, python in found:
        check_values(home, version, python)


@case
def python_stacks_without_ebpf(home):
    target = blocked(home)
    try:
        threads = by_function(dump(home, target.pid, "--sampling", "remote")["threads"])
        for name, reason in WAITS.items():
            equal(threads[name]["waits_for"], reason, f"what {name} waits for")
        check("main" in threads, f"the main thread is missing: {sorted(threads)}")
    finally:
        end(target)


@case
def the_program_goes_on_meanwhile(home):
    """A hundred looks at a program that counts: it loses hardly any time."""
    target = home.start(sys.executable, TARGET_PYTHON, "forever", stdout=subprocess.PIPE)
    try:
        target.stdout.readline()
        for _ in range(5):
            dump(home, target.pid)
            equal(target.poll(), None, "the status of the program")
    finally:
        target.kill()
        target.communicate()


def child_called(parent, name):
    for _ in range(100):
        time.sleep(0.05)
        children = subprocess.run(["pgrep", "-P", str(parent), name], capture_output=True,
                                  text=True, check=False).stdout.split()
        if children:
            return int(children[0])
    raise Failed(f"{name} did not start")


@case
def ranges_that_are_open(home):
    path = home.work / "r.annot"
    recorder = home.start(ANNOT, "record", "-o", path, "--", program("target_shares"),
                          "4000", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        pid = child_called(recorder.pid, "target_shares")
        time.sleep(0.3)
        threads = dump(home, pid)["threads"]
        for thread in threads:
            check(thread["ranges"][:1] == ["round"] and len(thread["ranges"]) <= 2, thread)
        equal(len(threads), 2, "threads")
    finally:
        recorder.wait(60)


@case
def ranges_of_a_program_that_was_replaced_are_not_open(home):
    """Its segment lies there until the recorder, which is stopped, sees the exec."""
    recorder = home.start(ANNOT, "record", "-o", home.work / "r.annot", "--",
                          program("target_images"), "leave", "01", stderr=subprocess.DEVNULL)
    try:
        pid = child_called(recorder.pid, "sleep")
        threads = dump(home, pid)["threads"]
        equal([thread["ranges"] for thread in threads], [[]], "the open ranges of sleep")
        os.kill(pid, signal.SIGTERM)
    finally:
        recorder.send_signal(signal.SIGCONT)
        recorder.wait(60)


@case
def frame_pointers_of_a_thread_that_waits(home):
    """Code without optimization keeps its caller in rbp, which only the kernel can read."""
    need_bpf(home)
    source = home.work / "deep.c"
    source.write_text("#include <unistd.h>\n"
                      "static int deep(int n)\n{\n    return n ? deep(n - 1) + 1 : pause();\n}\n"
                      "int main(void)\n{\n    write(1, \"ready\\n\", 6);\n"
                      "    return deep(9);\n}\n")
    subprocess.run(["cc", "-O0", source, "-o", home.work / "deep"], check=True)
    target = home.start(home.work / "deep", stdout=subprocess.PIPE)
    try:
        equal(target.stdout.readline(), b"ready\n", "the first line of the program")
        time.sleep(0.2)
        thread, = dump(home, target.pid)["threads"]
        functions = [frame["function"] for frame in thread["frames"]]
        equal(functions.count("deep"), 10, f"calls of deep in {functions}")
        equal(functions[-1], "_start", "the root")
        check(thread["complete"], f"not complete, with {functions}")
        thread, = dump(home, target.pid, "--sampling", "remote")["threads"]
        check(not thread["complete"], "complete without rbp")
    finally:
        target.kill()
        target.wait()


@case
def what_is_not_known_of_a_stack_is_not_taken_for_its_root(home):
    """The caller of code without a table is in a register that /proc does not show."""
    target = home.start(program("wait_in_made_code"), stdout=subprocess.PIPE)
    try:
        equal(target.stdout.readline(), b"ready\n", "the first line of the program")
        time.sleep(0.2)
        thread, = dump(home, target.pid)["threads"]
        functions = [frame["function"] for frame in thread["frames"]]
        check("wait_here" in functions and "main" not in functions, functions)
        check(not thread["complete"], f"complete, with {functions}")
    finally:
        target.kill()
        target.communicate()


@case
def a_program_that_ended_has_no_stack(home):
    """A zombie: it exists, but does not run."""
    target = home.start("true")
    time.sleep(0.2)
    thread = dump(home, target.pid)["threads"][0]
    equal((thread["state"], thread["frames"]), ("ended", []), "state and frames")
    equal(target.wait(10), 0, "its end")


@case
def what_cannot_be_looked_at(home):
    home.annot("dump").complains(2, "pgrep")
    home.annot("dump", "-p", "999999999").complains(1, "999999999")


if __name__ == "__main__":
    main()
