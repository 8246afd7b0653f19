#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`annot record --memory`: who allocated, and who held memory at the peak, against programs that
know it. Every number is an estimate with a standard deviation of sqrt(rate * bytes); five of them
are allowed.
"""

import json
import math
import os
import re
import shutil
import subprocess
import sys

from harness import Skip, case, check, equal, main

RATE = 512 * 1024
PYTHON = os.environ.get("ANNOT_TEST_PYTHON", sys.executable)
BYTES = """select coalesce(sum(json_extract(sample_values, '$."alloc-bytes"')), 0) as allocated,
    coalesce(sum(json_extract(sample_values, '$."free-bytes"')), 0) as freed
    from samples where sample_set like 'heap%' and (own_function = :name or :name = '')"""


def near(found, truth, what):
    allowed = 5 * math.sqrt(RATE * truth) + RATE
    check(abs(found - truth) <= allowed, f"{what}: {found / 1e6:.1f} MB, not {truth / 1e6:.1f} MB")


def record(home, text, *options, status=0):
    script = home.work / "program.py"
    script.write_text(text)
    recording = home.work / "memory.annot"
    done = home.annot("record", "--memory", "--force", *options, "-o", recording, "--", PYTHON,
                      script, env={"ANNOT_PYTHON": "default"})
    if b"needs eBPF" in done.err:
        raise Skip("no eBPF here")
    equal(done.status, status, f"exit status ({done.err.decode()})")
    return recording


def rows(home, recording):
    """The report's table, by function: {name: (bytes at the peak, allocated bytes)}."""
    done = home.annot("report", "--table", "memory", "--json", recording).ok()
    found = {}
    for row in json.loads(done.out)["memory"]:
        peak, allocated = found.get(row["function"], (0, 0))
        found[row["function"]] = (peak + row["peak_bytes"], allocated + row["allocated_bytes"])
    return found


def totals(home, recording, *options):
    """Sums of the report's table: {column: bytes}."""
    done = home.annot("report", "--memory", "--json", *options, recording).ok()
    found = json.loads(done.out)["memory"]
    return {name: sum(row[name] for row in found)
            for name in ("peak_bytes", "held_bytes", "allocated_bytes", "temporary_bytes")}


def folded(home, recording, value, *options):
    """Bytes by stack: {"root;...;leaf": bytes}."""
    stacks = home.work / "stacks.folded"
    home.annot("export", "--value", value, "--force", *options, "-o", stacks, recording).ok()
    lines = [line.rpartition(" ") for line in stacks.read_text().splitlines()]
    return {stack: int(number) for stack, _, number in lines}


def query(home, recording, sql):
    done = home.annot("query", "--json", recording, sql).ok()
    return [json.loads(line) for line in done.out.decode().splitlines()]


BLOCK = 5000
SIZE = sys.getsizeof(bytes(BLOCK))


@case
def allocated_and_held_bytes_are_those_of_the_program(home):
    recording = record(home, f"""
def hold(): return [bytes({BLOCK}) for _ in range(20000)]
def churn():
    for _ in range(40000):
        bytes({BLOCK})
kept = hold()
churn()
""")
    found = rows(home, recording)
    held = sum(found.get(name, (0, 0))[0] for name in ("hold", "hold.<listcomp>"))
    near(held, 20000 * SIZE, "held at the peak")
    near(found["churn"][1], 40000 * SIZE, "allocated by churn")
    check(found["churn"][0] < 5 * RATE, f"churn held {found['churn'][0]} bytes")


@case
def small_objects_count_one_by_one_not_by_arenas(home):
    recording = record(home, """
def first(): return [b"x%07d" % i + b"." * 56 for i in range(400_000)]
def second(): return [b"y%07d" % i + b"." * 56 for i in range(300_000)]
held = first()
for i in range(0, len(held), 2):
    held[i] = None
more = second()
""")
    found = rows(home, recording)
    one = sys.getsizeof(b"x" * 64)
    peak = {name: sum(value[0] for key, value in found.items() if key.startswith(name))
            for name in ("first", "second")}
    near(peak["first"], 200_000 * one + 400_000 * 8, "held by first")
    near(peak["second"], 300_000 * one + 300_000 * 8, "held by second")


HOLDER = """
def a(): return [b"x%07d" % i + b"." * 56 for i in range(1_000_000)]
def c(): return [b"y%07d" % i + b"." * 56 for i in range(500_000)]
held = a()
for i in range(0, len(held), 2): held[i] = None
more = c() + c()
"""
UNIT = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def by_whom(screen):
    """The holders that the first screen names: {"a": bytes}."""
    found = re.findall(r"([0-9.]+) (\w?i?B)(?: ± [0-9.]+ \w?i?B)?(?: of it)? by (\w)",
                       " ".join(screen.split()))
    return {name: float(number) * UNIT[unit] for number, unit, name in found}


@case
def the_first_screen_names_the_holders_also_after_a_sigkill(home):
    one = sys.getsizeof(b"x" * 64)
    for last, status, phrase in (("", 0, "Held when it exited"),
                                 ("import os; os.kill(os.getpid(), 9)", -9,
                                  "Held when it was killed")):
        recording = record(home, HOLDER + last, status=status)
        screen = home.annot("report", recording).ok().out.decode()
        check(phrase in " ".join(screen.split()), screen)
        found = by_whom(screen)
        near(found["a"], 500_000 * one + 8_448_728, "held by a")
        near(found["c"], 1_000_000 * one + 2 * 4_167_352, "held by c")
        sums = totals(home, recording)
        near(sums["held_bytes"], 1_500_000 * one + 8_448_728 + 8_000_000, phrase)


@case
def exit_handlers_run_before_the_end(home):
    recording = record(home, f"""
import atexit
kept = [bytes({BLOCK}) for _ in range(10000)]
dropped = [bytes({BLOCK}) for _ in range(20000)]
atexit.register(dropped.clear)
""")
    near(totals(home, recording)["held_bytes"], 10000 * SIZE, "held after the exit handlers")


@case
def temporary_blocks_are_freed_soon_and_values_agree_with_the_table(home):
    recording = record(home, f"""
import pyannot, time
def churn():
    for _ in range(40000):
        bytes({BLOCK})
def keep(): return [bytes({BLOCK}) for _ in range(20000)]
def later():
    held = [bytes({BLOCK}) for _ in range(20000)]
    time.sleep(0.1)
with pyannot.annotate("load"):
    kept = keep()
later()
churn()
pyannot.mark("end")
import os
os._exit(0)
""")
    done = home.annot("report", "--memory", "--json", recording).ok()
    soon = {}
    for row in json.loads(done.out)["memory"]:
        name = row["function"].split(".")[0]
        soon[name] = soon.get(name, 0) + row["temporary_bytes"]
    near(soon["churn"], 40000 * SIZE, "temporary of churn")
    check(soon["keep"] < 12 * RATE, f"temporary of keep: {soon['keep']}")
    check(soon["later"] < 12 * RATE, f"temporary of later: {soon['later']}")
    sums = totals(home, recording)
    near(sums["held_bytes"], 20000 * SIZE, "held at _exit")
    for value in ("peak", "held", "allocated", "temporary"):
        stacks = folded(home, recording, f"heap:{value}")
        check(abs(sum(stacks.values()) - sums[f"{value}_bytes"]) <= 1,
              f"heap:{value} is {sum(stacks.values())}, the table has {sums}")
        check(all(number > 0 for number in stacks.values()), f"negative bytes of heap:{value}")
    done = home.annot("report", "--value", "heap:held", "--table", "ranges", "--json",
                      recording).ok()
    ranges = {row["path"]: row for row in json.loads(done.out)["ranges"]}
    near(ranges["load"]["value"], 20000 * SIZE, "allocated in the range and held at the end")


@case
def frees_count_for_the_range_of_their_allocation(home):
    recording = record(home, f"""
import pyannot
def make(): return [bytes({BLOCK}) for _ in range(20000)]
with pyannot.annotate("load"):
    kept = make()
with pyannot.annotate("drop"):
    del kept
with pyannot.annotate("again"):
    kept = make()
import os
os._exit(0)
""")
    done = home.annot("report", "--value", "heap:held", "--json", recording).ok()
    report = json.loads(done.out)
    ranges = {row["path"]: row["value"] for row in report["ranges"]}
    check(ranges["load"] < 5 * RATE, f"held of load: {ranges['load']}")
    check(ranges["drop"] < 5 * RATE, f"held of drop: {ranges['drop']}")
    near(ranges["again"], 20000 * SIZE, "held of again")
    screen = home.annot("report", recording).ok().out
    check(b"contradict" not in screen, screen.decode())


@case
def a_part_of_the_time_has_the_blocks_of_that_time(home):
    recording = record(home, f"""
import pyannot, time
def early(): return [bytes({BLOCK}) for _ in range(20000)]
def late(): return [bytes({BLOCK}) for _ in range(10000)]
first = early()
time.sleep(0.3)
pyannot.mark("one")
time.sleep(0.3)
second = late()
time.sleep(0.3)
pyannot.mark("two")
time.sleep(0.3)
del first, second
""")
    marks = query(home, recording,
                  "select time_ns from marks where name in ('one', 'two') order by 1")
    one, two = (f"{row['time_ns'] / 1e9:.6f}s" for row in marks)
    near(totals(home, recording, "--to", one)["held_bytes"], 20000 * SIZE, "held at the mark one")
    near(totals(home, recording, "--to", two)["held_bytes"], 30000 * SIZE, "held at the mark two")
    near(totals(home, recording, "--from", one, "--to", two)["held_bytes"], 10000 * SIZE,
         "allocated between the marks and held at two")
    held = folded(home, recording, "heap:held", "--to", two)
    near(sum(number for stack, number in held.items() if "late" in stack), 10000 * SIZE,
         "held by late at the mark two")


@case
def frees_of_blocks_from_missing_volumes_are_left_out(home):
    recording = record(home, f"""
import pyannot
kept = []
def keep(): kept.append([bytes({BLOCK}) for _ in range(4000)])
def work(): [pyannot.mark("m", k=i * i * 7919) for i in range(1_000_000)]
keep()
work()
keep()
del kept[0]
import os
os._exit(0)
""", "--volume-size", "1M")
    near(totals(home, recording)["held_bytes"], 4000 * SIZE, "held with all volumes")
    recording.unlink()
    first = recording.with_suffix(".1.annot")
    check(first.exists(), "the recording has one volume")
    done = home.annot("report", "--memory", "--json", first)
    held = sum(row["held_bytes"] for row in json.loads(done.out)["memory"])
    near(held, 4000 * SIZE, "held without the first volume")


@case
def processes_have_their_own_peaks(home):
    recording = record(home, f"""
import multiprocessing
def work(count):
    kept = [bytes({BLOCK}) for _ in range(count)]
if __name__ == "__main__":
    for count in (4000, 20000):
        child = multiprocessing.Process(target=work, args=(count,))
        child.start()
        child.join()
""")
    done = home.annot("report", "--memory", "--json", recording).ok()
    found = sorted(row["own_peak_bytes"] for row in json.loads(done.out)["memory_processes"])
    near(found[-1], 20000 * SIZE, "peak of the larger child")
    check(any(abs(peak - 4000 * SIZE) <= 5 * math.sqrt(RATE * 4000 * SIZE) + 6 * RATE
              for peak in found), f"peak of the smaller child: {found}")


@case
def threads_that_allocate_once_are_sampled_as_often(home):
    recording = record(home, f"""
import threading
kept = []
def one(): kept.append(bytes(100_000))
for _ in range(100):
    threads = [threading.Thread(target=one) for _ in range(20)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
""")
    near(rows(home, recording)["one"][1], 2000 * 100_033, "allocated by 2,000 threads")


@case
def children_count_what_they_allocate_and_free_nothing_of_their_parent(home):
    recording = record(home, f"""
import os
def inherited(): return [bytes({BLOCK}) for _ in range(20000)]
def own(): return [bytes({BLOCK}) for _ in range(10000)]
kept = inherited()
for _ in range(2):
    child = os.fork()
    if child == 0:
        del kept
        mine = own()
        os._exit(0)
    os.waitpid(child, 0)
""")
    found = query(home, recording, """select pid, own_function as name,
        sum(json_extract(sample_values, '$."alloc-bytes"')) as allocated,
        sum(json_extract(sample_values, '$."free-bytes"')) as freed
        from samples where sample_set like 'heap%' and own_function glob '[io]*' group by 1, 2""")
    by_name = {}
    for row in found:
        by_name.setdefault(row["name"].split(".")[0], []).append(row)
    equal(len(by_name["inherited"]), 1, "processes that allocated in inherited")
    near(by_name["inherited"][0]["allocated"], 20000 * SIZE, "allocated by the parent")
    equal(len(by_name["own"]), 2, "children that allocated")
    for row in by_name["own"]:
        near(row["allocated"], 10000 * SIZE, "allocated by a child")
    held = rows(home, recording)
    peak = sum(value[0] for key, value in held.items() if key.startswith(("inherited", "own")))
    near(peak, 30000 * SIZE, "held by the parent and one child at a time")


@case
def reallocated_blocks_are_freed_and_allocated(home):
    recording = record(home, """
def grow():
    data = bytearray()
    for _ in range(64):
        data += bytes(1 << 20)
    return data
kept = grow()
""")
    near(rows(home, recording)["grow"][0], 72 << 20, "held by grow")


@case
def every_setting_of_pythonmalloc_runs_and_tells_the_truth(home):
    text = f"""
def hold(): return [b"%058d" % i for i in range(300_000)]
kept = hold()
"""
    one = sys.getsizeof(b"0" * 58)
    for value in ("malloc", "pymalloc", "debug", "malloc_debug", "pymalloc_debug"):
        os.environ["PYTHONMALLOC"] = value
        try:
            recording = record(home, text)
        finally:
            del os.environ["PYTHONMALLOC"]
        found = rows(home, recording)
        held = sum(row[0] for name, row in found.items() if name.startswith("hold"))
        near(held, 300_000 * one + 300_000 * 8, f"held with PYTHONMALLOC={value}")


@case
def ranges_and_flame_graphs_count_allocated_bytes(home):
    recording = record(home, f"""
import pyannot
def make(): return [bytes({BLOCK}) for _ in range(20000)]
with pyannot.annotate("load"):
    kept = make()
""")
    done = home.annot("report", "--value", "heap:allocated", "--table", "ranges", "--json",
                      recording).ok()
    ranges = {row["path"]: row for row in json.loads(done.out)["ranges"]}
    near(ranges["load"]["value"], 20000 * SIZE, "allocated in the range")
    folded = home.work / "stacks.folded"
    home.annot("export", "--value", "heap:allocated", "-o", folded, recording).ok()
    stacks = folded.read_text().splitlines()
    check(all("libannot-heap" not in line and "annot_heap" not in line for line in stacks),
          "annot's own functions stand in the stacks")
    near(sum(int(line.rpartition(" ")[2]) for line in stacks if "make" in line), 20000 * SIZE,
         "allocated in the flame graph")


@case
def a_sure_difference_of_two_recordings_fails_a_limit_and_chance_does_not(home):
    def hold(count, name):
        path = record(home, f"""
import os
def hold(): return [bytes({BLOCK}) for _ in range({count})]
kept = hold()
os._exit(0)
""")
        return path.rename(home.work / name)

    def status(one, other, limit):
        done = home.annot("diff", "--undecided", "--fail-if", limit, one, other)
        return done.status, done.out.decode()

    small, same, large = hold(20000, "a.annot"), hold(20000, "b.annot"), hold(40000, "c.annot")
    for limit in ("heap peak > +5%", "heap held > +5%", "heap allocated > +20MiB",
                  "memory:hold* peak > +5%"):
        found, text = status(small, large, limit)
        equal(found, 1, f"twice as much, {limit}: {text}")
        found, text = status(small, same, limit)
        check(found in (0, 3), f"the same, {limit}: {text}")
    for limit in ("heap peak > +90%", "heap peak > 200MB", "heap allocated > +90%"):
        found, text = status(small, same, limit)
        equal(found, 0, f"the same, {limit}: {text}")


@case
def pprof_has_allocated_and_held_bytes(home):
    recording = record(home, f"""
def hold(): return [bytes({BLOCK}) for _ in range(20000)]
def churn():
    for _ in range(40000):
        bytes({BLOCK})
kept = hold()
churn()
""")
    if not shutil.which("go"):
        raise Skip("no go")
    profile = home.work / "memory.pb.gz"
    home.annot("export", "-f", "pprof", "-o", profile, recording).ok()

    def flat(kind, name):
        done = home.run("go", "tool", "pprof", "-top", "-cum", "-unit=B", "-nodecount=1000",
                        f"-sample_index={kind}", profile).ok()
        rows = [line.split() for line in done.out.decode().splitlines()]
        cells = [row[3] for row in rows if len(row) > 5 and row[5] == name]
        return int(cells[0].rstrip("B")) if cells else 0

    near(flat("alloc_space", "hold"), 20000 * SIZE, "alloc_space of hold")
    near(flat("alloc_space", "churn"), 40000 * SIZE, "alloc_space of churn")
    near(flat("peak_space", "hold"), 20000 * SIZE, "peak_space of hold")
    check(flat("inuse_space", "churn") < 5 * RATE, "inuse_space of churn")


@case
def a_preloaded_allocator_is_seen(home):
    found = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    names = ("libjemalloc.so", "libmimalloc.so", "libtcmalloc")
    libraries = [line.split()[-1] for line in found.splitlines()
                 if any(name in line for name in names)]
    if not libraries:
        raise Skip("no jemalloc, mimalloc or tcmalloc")
    os.environ["LD_PRELOAD"] = libraries[0]
    try:
        recording = record(home, f"""
def hold(): return [bytes({BLOCK}) for _ in range(20000)]
kept = hold()
""")
    finally:
        del os.environ["LD_PRELOAD"]
    held = sum(row[0] for name, row in rows(home, recording).items() if name.startswith("hold"))
    near(held, 20000 * SIZE, f"held with {libraries[0]}")


@case
def a_program_with_addresssanitizers_shared_runtime_runs(home):
    compiler = shutil.which("gcc")
    if not compiler:
        raise Skip("no gcc")
    source, binary = home.work / "asan.c", home.work / "asan"
    source.write_text("#include <stdlib.h>\nint main(void) { free(malloc(9)); return 7; }\n")
    built = subprocess.run([compiler, "-fsanitize=address", "-o", binary, source],
                           capture_output=True, check=False)
    if built.returncode:
        raise Skip("no runtime of AddressSanitizer")
    done = home.annot("record", "--memory", "--force", "-o", home.work / "asan.annot", "--", binary)
    if b"needs eBPF" in done.err:
        raise Skip("no eBPF here")
    equal(done.status, 7, f"exit status ({done.err.decode()})")


@case
def without_ebpf_the_command_does_not_start(home):
    done = home.annot("record", "--memory", "--sampling", "remote", "-o", home.work / "x.annot",
                      "--", "touch", home.work / "ran")
    equal(done.status, 125, f"exit status ({done.err.decode()})")
    check(b"--memory needs eBPF" in done.err, done.err.decode())
    check(not (home.work / "ran").exists(), "the command ran")


@case
def memory_alone_needs_no_samples_of_time(home):
    recording = record(home, f"""
def hold(): return [bytes({BLOCK}) for _ in range(20000)]
kept = hold()
""", "--sampling", "none")
    held = sum(row[0] for name, row in rows(home, recording).items() if name.startswith("hold"))
    near(held, 20000 * SIZE, "held")


main()
