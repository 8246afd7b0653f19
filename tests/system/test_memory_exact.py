#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`annot record --memory=exact`: every number against a program that counts what it allocates and
frees. All numbers must be equal; only a peak of several threads may differ, by 64 KiB a thread.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from cut_recordings import until
from harness import ANNOT, Skip, case, check, equal, main, program
from samples import interpreters

PYTHON = os.environ.get("ANNOT_TEST_PYTHON", sys.executable)
THREAD_BYTES = 65536
LARGEST = 1 << 17  # the largest block of target_heap
WORK = ("allocate", "change")
SUMS = """select pid, own_function as name, sum(json_extract(sample_values, '$."alloc-objects"'))
    as allocs, sum(json_extract(sample_values, '$."alloc-bytes"')) as bytes,
    sum(json_extract(sample_values, '$."free-objects"')) as frees,
    sum(json_extract(sample_values, '$."free-bytes"')) as freed
    from samples where sample_set = 'heap' and own_function is not null group by 1, 2"""


def record(home, *command, options=("--sampling", "none"), status=0, **rest):
    recording = home.work / "exact.annot"
    done = home.annot("record", "--memory=exact", "--force", *options, "-o", recording, "--",
                      *command, timeout=120, **rest)
    equal(done.status, status, f"exit status ({done.err.decode()})")
    return recording, done.out.decode()


def python(home, text, interpreter=PYTHON, environment=(), **rest):
    script = home.work / "program.py"
    script.write_text(text)
    variables = {**home.environment, "ANNOT_PYTHON": "default", **dict(environment)}
    return record(home, interpreter, script, env=variables, **rest)


def query(home, recording, sql=SUMS):
    done = home.annot("query", "--json", recording, sql).ok()
    return [json.loads(line) for line in done.out.decode().splitlines()]


def sums(home, recording, names=WORK):
    """Of all processes and these functions: {"allocs": ..., "bytes": ..., ...}."""
    rows = [row for row in query(home, recording) if row["name"].split(".")[0] in names]
    return {key: sum(row[key] for row in rows) for key in ("allocs", "bytes", "frees", "freed")}


def at_peak(home, recording, names=WORK):
    done = home.annot("report", "--table", "memory", "--json", recording).ok()
    return sum(row["peak_bytes"] for row in json.loads(done.out)["memory"]
               if row["function"].split(".")[0] in names)


def equal_to_truth(home, recording, truth, names=WORK):
    equal(sums(home, recording, names),
          {key: truth[key] for key in ("allocs", "bytes", "frees", "freed")}, "sums")


# ---- C -----------------------------------------------------------------------------------------


@case
def one_threads_counts_bytes_and_peak_are_those_of_the_program(home):
    recording, out = record(home, program("target_heap"), "churn", "1", "200000")
    truth = json.loads(out)
    equal_to_truth(home, recording, truth)
    equal(at_peak(home, recording), truth["peak"], "bytes at the peak")


@case
def four_threads_that_free_each_others_blocks_are_counted_alike(home):
    recording, out = record(home, program("target_heap"), "churn", "4", "200000")
    truth = json.loads(out)
    equal_to_truth(home, recording, truth)
    peak = at_peak(home, recording)
    check(abs(peak - truth["peak"]) <= 4 * (THREAD_BYTES + LARGEST),
          f"{peak} bytes at the peak, not {truth['peak']}")


@case
def a_difference_of_counts_is_sure(home):
    recordings = []
    for turns in ("20000", "22000"):
        recording, _ = record(home, program("target_heap"), "churn", "1", turns)
        recordings.append(recording.rename(home.work / f"{turns}.annot"))
    done = home.annot("diff", *recordings, "--fail-if", "heap allocated > +5%")
    check(b"FAILS" in done.out + done.err, f"the limit does not fail:\n{done.out.decode()}")


@case
def samples_of_time_and_memory_go_together(home):
    recording, out = record(home, program("target_heap"), "churn", "2", "100000", options=())
    equal_to_truth(home, recording, json.loads(out))


@case
def children_count_for_themselves_and_frees_of_inherited_blocks_apart(home):
    recording, _ = record(home, program("target_heap"), "fork")
    rows = query(home, recording)
    parents = [row for row in rows if row["name"] == "make_inherited"]
    children = [row for row in rows if row["name"] == "make_own"]
    equal([(row["allocs"], row["bytes"], row["frees"], row["freed"]) for row in parents],
          [(1000, 1_000_000, 1000, 1_000_000)], "the parent's blocks")
    equal([(row["allocs"], row["bytes"], row["frees"]) for row in children],
          [(2000, 1_000_000, 0)] * 3, "the children's blocks")
    info = home.info(recording)
    check(any("before a fork" in line and "1,500" in line for line in info.splitlines()),
          f"frees of inherited blocks are not counted apart:\n{info}")


@case
def what_a_killed_program_held_stays_known(home):
    recording, _ = record(home, program("target_heap"), "hold", "-1", status=-signal.SIGKILL)
    equal(sums(home, recording, ["make_inherited"]),
          {"allocs": 1000, "bytes": 1_000_000, "frees": 0, "freed": 0}, "held")


@case
def what_a_killed_collector_left_is_recovered(home):
    path, out = home.work / "cut.annot", home.work / "out"
    with out.open("w") as file:
        annot = home.start(ANNOT, "record", "--memory=exact", "--sampling", "none", "-o", path,
                           "--", program("target_heap"), "hold", "2", stdout=file)
    until(lambda: "held" in out.read_text(), "the allocation")
    children = pathlib.Path(f"/proc/{annot.pid}/task/{annot.pid}/children")
    holder, = map(int, children.read_text().split())
    os.kill(annot.pid, signal.SIGKILL)
    annot.wait()
    home.left = {"wake"}
    until(lambda: "{" in out.read_text(), "the program's end")
    until(lambda: not pathlib.Path(f"/proc/{holder}").exists(), "its removal")
    home.annot("recover").ok()
    home.annot("symbolize", path).ok()  # on a busy machine names come too late for the recovery
    rows = query(home, path, SUMS.replace("own_function", "function"))
    found = [row for row in rows if row["name"] == "make_inherited"]
    equal([(row["allocs"], row["bytes"], row["frees"]) for row in found], [(1000, 1_000_000, 0)],
          f"held, of {rows}")
    equal([name for name in os.listdir(home.directory) if name.startswith("heap")]
          if home.directory.exists() else [], [], "files in the directory")


@case
def a_recording_that_was_read_while_the_program_ran_is_not_counted_twice(home):
    path, out = home.work / "cut.annot", home.work / "out"
    with out.open("w") as file:
        annot = home.start(ANNOT, "record", "--memory=exact", "--sampling", "none", "-o", path,
                           "--", program("target_heap"), "hold", "6", stdout=file)
    until(lambda: "held" in out.read_text(), "the allocation")
    until(lambda: b"1000000" in home.annot("query", path, SUMS.replace(
        "own_function", "function")).out, "the first look")
    os.kill(annot.pid, signal.SIGKILL)
    annot.wait()
    home.left = {"wake"}
    until(lambda: "{" in out.read_text(), "the program's end")
    home.annot("recover").ok()
    home.annot("symbolize", path).ok()
    found = [row for row in query(home, path, SUMS.replace("own_function", "function"))
             if row["name"] == "make_inherited"]
    equal([(row["allocs"], row["bytes"]) for row in found], [(1000, 1_000_000)], "held")


@case
def limited_address_space_is_named_and_the_program_runs(home):
    recording, out = record(home, "sh", "-c", f"ulimit -v 60000; exec {program('target_heap')} "
                                              "churn 1 1000")
    equal(json.loads(out)["allocs"] > 0, True, "the program ran")
    info = home.info(recording)
    check("address space is limited" in info, f"the limit is not named:\n{info}")


@case
def a_preloaded_allocator_is_counted(home):
    found = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    names = ("libjemalloc.so", "libmimalloc.so", "libtcmalloc")
    libraries = [line.split()[-1] for line in found.splitlines()
                 if any(name in line for name in names)]
    if not libraries:
        raise Skip("no jemalloc, mimalloc or tcmalloc")
    for library in libraries:
        recording, out = record(home, program("target_heap"), "churn", "2", "50000",
                                env={**home.environment, "LD_PRELOAD": library})
        equal_to_truth(home, recording, json.loads(out))


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
    record(home, binary, status=7)


@case
def processes_that_follow_each_other_do_not_add_up(home):
    for options in (("--sampling", "none"), ()):
        recording, _ = python(home, """
import os, time
def hold(n):
    return [bytes(100_000) for _ in range(n)]
kept = hold(500)
for i in range(4):
    if os.fork() == 0:
        mine = hold(300)
        os._exit(0)
    os.wait()
""", options=options)
        peak = at_peak(home, recording, ["hold"])
        check(800 * 100_033 <= peak <= 801 * 100_033 + 20_000,
              f"{peak} bytes are held by the parent and one child")


@case
def twenty_thousand_short_threads_lose_nothing(home):
    recording, out = record(home, program("target_heap"), "brief", "20000")
    equal_to_truth(home, recording, json.loads(out), ["allocate_some"])


# ---- Python ------------------------------------------------------------------------------------

# Blocks of one function of objects of known size, and the list that holds them.
HOLDER = """import sys
def hold():
    kept = []
    for i in range(50_000):
        kept.append(b"%058d" % i)
    return kept
def churn():
    for i in range(20_000):
        bytes(5000)
held = hold()
churn()
print(sum(map(sys.getsizeof, held)) + sys.getsizeof(held))
"""
BLOCKS = 50_000


def check_holder(home, recording, out, what):
    peak = at_peak(home, recording, ["hold"])
    # The list itself may have come from the interpreter's free list.
    check(-64 <= peak - int(out) <= 4096, f"{what}: hold has {peak} bytes at the peak, not {out}")
    held = sums(home, recording, ["hold"])
    check(abs(held["bytes"] - held["freed"] - peak) <= 4096,
          f"{what}: hold holds {held} at the end")
    found = sums(home, recording, ["churn"])
    check(20_000 * 5033 <= found["bytes"] <= 20_000 * 5033 + 20_000 * 64,
          f"{what}: churn allocated {found['bytes']} bytes")
    check(found["bytes"] - found["freed"] <= 4096, f"{what}: churn holds {found}")


@case
def every_python_counts_its_objects(home):
    for version, interpreter in interpreters():
        recording, out = python(home, HOLDER, interpreter)
        check_holder(home, recording, out, version)


@case
def every_setting_of_pythonmalloc_tells_the_truth(home):
    for value in ("malloc", "pymalloc", "debug", "malloc_debug", "pymalloc_debug"):
        recording, out = python(home, HOLDER, environment={"PYTHONMALLOC": value})
        check_holder(home, recording, out, value)


@case
def small_objects_count_one_by_one_not_by_arenas(home):
    """Every second object is dropped; later ones fill the holes of the arenas."""
    recording, out = python(home, """import sys
def first(): return [b"x%07d" % i + b"." * 56 for i in range(100_000)]
def second(): return [b"y%07d" % i + b"." * 56 for i in range(50_000)]
held = first()
for i in range(0, len(held), 2):
    held[i] = None
more = second()
print(sum(sys.getsizeof(x) for x in held if x) + sys.getsizeof(held))
print(sum(map(sys.getsizeof, more)) + sys.getsizeof(more))
""")
    first, second = map(int, out.split())
    for name, truth in (("first", first), ("second", second)):
        peak = at_peak(home, recording, [name])
        check(abs(peak - truth) <= 4096, f"{name} has {peak} bytes at the peak, not {truth}")


@case
def lines_and_callers_are_those_of_the_allocation(home):
    recording, _ = python(home, """
kept = []
def leaf(size):
    kept.append(bytes(size))
def one(): leaf(3_000_000)
def two(): leaf(5_000_000)
one(); two()
""")
    rows = query(home, recording, """select s.stack, sum(json_extract(sample_values,
        '$."alloc-bytes"')) as bytes, own_line from samples s where sample_set = 'heap'
        and own_function = 'leaf' group by 1 having bytes > 1000000 order by 2""")
    equal([row["own_line"] for row in rows], [4, 4], "lines")
    folded = home.work / "stacks.folded"
    home.annot("export", "--value", "heap:alloc-bytes", "-o", folded, recording).ok()
    stacks = folded.read_text().splitlines()
    for name, size in (("one", 3_000_000), ("two", 5_000_000)):
        found = sum(int(line.rpartition(" ")[2]) for line in stacks
                    if f"{name}" in line and "leaf" in line)
        check(size <= found <= size + 1000, f"{found} bytes by {name}, not {size}")


@case
def code_objects_that_were_freed_give_no_name_to_later_ones(home):
    """Each function is made where an earlier one was."""
    recording, _ = python(home, """
kept = []
def make(i):
    space = {"kept": kept}
    text = f"def made_{i}():\\n    kept.append(bytes(10_000 + {i}))\\n"
    exec(compile(text, "made", "exec"), space)
    return space[f"made_{i}"]
for i in range(200):
    function = make(i)
    function()
    del function
""")
    rows = query(home, recording)
    found = {row["name"]: row["bytes"] for row in rows if row["name"].startswith("made_")}
    expected = {f"made_{i}": 10_033 + i for i in range(200)}
    wrong = {name: (found.get(name), size) for name, size in expected.items()
             if not size <= found.get(name, 0) <= size + 4096}
    equal(wrong, {}, "functions with wrong sums")


@case
def pools_and_threads_of_python_are_counted(home):
    recording, _ = python(home, """
import multiprocessing, threading
def child(i):
    return len([bytes(10_000) for _ in range(100)])
def thread():
    kept.append([bytes(20_000) for _ in range(50)])
kept = []
if __name__ == "__main__":
    threads = [threading.Thread(target=thread) for _ in range(20)]
    [one.start() for one in threads]
    [one.join() for one in threads]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(child, range(10))
""")
    for name, blocks, size in (("child", 1000, 10_033), ("thread", 1000, 20_033)):
        found = sums(home, recording, [name])
        check(blocks * size <= found["bytes"] <= blocks * size + 200_000,
              f"{name} allocated {found}, not {blocks * size} bytes")


main()
