#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost to a Python program at its start, in memory, and at its end.

    bench_python_life.py BUILD [--json FILE]

Import: CPU time of an interpreter that imports pyannot, beside one that does not, in turn.
Start-up: children of a recorded program, in turn with children whose environment annot left alone.
Memory: private pages of a program and of its pool's workers, without the files that annot shares
with it, beside the same program alone. End: from the last instant of the last worker to the end of
annot, when the recording is complete.
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from rows import finish, row

ROUNDS, CHILDREN, ENDS = 40, 40, 15
# With site: without it, modules that it imports anyhow (os) would count as ours.
INTERPRETER = [sys.executable, "-c"]
OURS = ("LD_PRELOAD", "ANNOT_PYTHON", "ANNOT_PYTHON_PATH")


def cpu_ms(command, environment):
    """CPU time of a command until its end."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise SystemExit(f"{command} ended with {status}")
    return 1e3 * (used.ru_utime + used.ru_stime)


def in_turn(plain, ours, rounds):
    """The extra cost of the second over the first: the differences of the rounds, and a text."""
    pairs = [(plain(), ours()) for _ in range(rounds)][1:]
    least = min(mine for _, mine in pairs) - min(its for its, _ in pairs)
    beside = statistics.median(its for its, _ in pairs)
    return [mine - its for its, mine in pairs], (
        f"median difference of {rounds} turns, beside {beside:.1f}; of minima {least:.2f}")


def extra_row(what, differences, against, most):
    """No verdict where the differences scatter by more than the budget."""
    low, extra, high = statistics.quantiles(differences, n=4)
    if high - low <= most:
        return row(what, extra, "ms CPU", most=most, against=against)
    return row(what, extra, "ms CPU",
               against=f"NO VERDICT on {most}: half of them lie {high - low:.2f} apart; {against}")


def import_row(environment):
    def of(statement):
        return lambda: cpu_ms([*INTERPRETER, statement], environment)

    return extra_row("import pyannot", *in_turn(of("pass"), of("import pyannot"), ROUNDS), 1.5)


def children():
    """The program that starts the measured children; under `annot record`."""
    alone = {name: value for name, value in os.environ.items() if name not in OURS}
    command = [*INTERPRETER, "pass"]
    print(json.dumps(in_turn(lambda: cpu_ms(command, alone), lambda: cpu_ms(command, None),
                             CHILDREN)))


def start_row(record, environment):
    done = subprocess.run([*record, sys.executable, __file__, "children"], env=environment,
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return extra_row("start-up of a child interpreter", *json.loads(done.stdout), 2)


def private_kib():
    """Private memory of this process, without files that are shared with annot."""
    total, counts = 0, True
    for line in pathlib.Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            counts = os.environ["ANNOT_DIR"] not in line
        elif counts and words[0] in ("Private_Clean:", "Private_Dirty:"):
            total += int(words[1])
    return total


def busy_worker(_):
    annotate = busy_worker.annotate
    for number in range(20_000):
        with annotate(f"name {number % 100}"):
            pass
    return private_kib()


def memory(annotated):
    """The program of the memory measurement: threads and a pool, ranges with a hundred names."""
    import contextlib
    import multiprocessing
    import threading

    busy_worker.annotate = contextlib.nullcontext
    if annotated:
        from pyannot import annotate
        busy_worker.annotate = annotate
    threads = [threading.Thread(target=busy_worker, args=(0,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        workers = pool.map(busy_worker, range(8), chunksize=1)
    print(json.dumps([busy_worker(0), max(workers)]))


def memory_rows(record, environment):
    def of(command, *arguments):
        done = subprocess.run([*command, sys.executable, __file__, "memory", *arguments],
                              env=environment, check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
        return json.loads(done.stdout)

    rounds = [(of([]), of(record), of(record, "annotated")) for _ in range(5)]
    entries = []
    for index, who in enumerate(("program", "worker of its pool")):
        plain, seen, annotated = (
            statistics.median(got[index] for got in column) for column in zip(*rounds))
        for what, kib in (("unchanged", seen), ("annotated", annotated)):
            entries.append(row(f"memory of a {who}, {what}", (kib - plain) / 1024, "MiB", most=2,
                               against=f"beside segments; medians: {kib:.0f}, {plain:.0f} KiB"))
    return entries


def worker_ends():
    """The program with four workers; prints their last instant."""
    from pyannot import annotate

    def work():
        for _ in range(1000):
            with annotate("work"):
                pass
        os.write(writer, b"%20d" % time.monotonic_ns())
        os._exit(0)

    reader, writer = os.pipe()
    for _ in range(4):
        if os.fork() == 0:
            work()
    for _ in range(4):
        os.wait()
    text = os.read(reader, 1000).decode()
    print(max(int(text[at : at + 20]) for at in range(0, len(text), 20)), flush=True)
    os._exit(0)


def end_row(record, environment, what):
    taken = []
    for _ in range(ENDS):
        done = subprocess.run([*record, sys.executable, __file__, "ends"], env=environment,
                              check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        taken.append((time.monotonic_ns() - int(done.stdout)) / 1e6)
    return row(f"last worker's end to a whole recording, {what}", statistics.median(taken), "ms",
               most=50, against=f"median of {ENDS}; {min(taken):.1f} to {max(taken):.1f}")


def main():
    if sys.argv[1] in ("children", "memory", "ends"):
        part = {"children": children, "memory": lambda: memory("annotated" in sys.argv),
                "ends": worker_ends}[sys.argv[1]]
        return part()
    build = pathlib.Path(sys.argv[1]).resolve()
    place = tempfile.mkdtemp(prefix="annot-bench-", dir="/dev/shm")
    environment = dict(os.environ, ANNOT_DIR=f"{place}/annot", PYTHONPATH=str(build / "pyannot"),
                       PYTHONPYCACHEPREFIX=f"{place}/compiled")
    record = [str(build / "tools/annot"), "record", "--force", "-o", f"{place}/x.annot"]
    try:
        entries = [import_row(environment), start_row([*record, "--"], environment),
                   *memory_rows([*record, "--"], environment),
                   end_row([*record, "--"], environment, "sampled"),
                   end_row([*record, "--sampling=none", "--"], environment, "not sampled")]
    finally:
        shutil.rmtree(place)
    finish("python-life", entries)


if __name__ == "__main__":
    main()
