#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of observing a pool: 10,000 empty tasks, Pool(4), chunksize 1.

    bench_pool.py BUILD [--rounds N] [--tasks N] [--json FILE]

The same unchanged program runs without a tool, under `annot record` as it is, under the same
without the observation of Python, and under viztracer (with and without C functions), one after the
other in each round. Wall time is that of pool.map; CPU time is the program's and its workers',
start and end of the pool included, the collector's not.

As Python has it, the thread that looks after a pool's workers runs in circles for as long as a
result lies in the pipe, and competes with the two that carry tasks and results: any delay of these
lets it run longer. So the same is measured with a pool in which that thread sleeps ("calm"): there,
the added time is annot's own. The owners of the CPU time while the tasks run, annot included,
follow: on two otherwise idle processors, wall time is half of the sum.

The first rows are of one thread that plays parent and worker over the same pipes, with hooks and
without, in bursts that alternate: there is no scheduler in them, so they hold on a busy machine.
"""

import argparse
import importlib.util
import json
import multiprocessing
import multiprocessing.pool
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from multiprocessing.pool import mapstar

from rows import finish, row

BUDGET_WALL_PERCENT, BUDGET_CPU_US = 15, 3
SHARES = {"hands_over": "thread that hands tasks over", "takes": "thread that takes results",
          "looks_after": "thread that looks after workers", "workers": "workers",
          "annot": "annot itself"}


def task(_):
    return None


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


class CalmPool(multiprocessing.pool.Pool):
    """Its worker handler wakes up when a worker ends, and not for results."""

    def _get_sentinels(self):
        return [self._change_notifier._reader]


def share_seconds(pool):
    """CPU time by now, {key of SHARES: seconds}."""
    parent = pathlib.Path(f"/proc/{os.getppid()}")
    is_annot = (parent / "comm").read_text() == "annot\n"
    threads = {
        "hands_over": [pool._task_handler.native_id], "takes": [pool._result_handler.native_id],
        "looks_after": [pool._worker_handler.native_id],
        "workers": [worker.pid for worker in pool._pool],
        "annot": [int(task.name) for task in (parent / "task").iterdir()] if is_annot else [],
    }
    return {key: sum(int(pathlib.Path(f"/proc/{number}/schedstat").read_text().split()[0])
                     for number in numbers) / 1e9
            for key, numbers in threads.items()}


def program(tasks, is_calm):
    """The measured program; prints its measurements."""
    before = cpu_seconds()
    kind = CalmPool if is_calm else multiprocessing.pool.Pool
    with kind(4, context=multiprocessing.get_context("fork")) as pool:
        pool.map(task, range(100), chunksize=1)
        shares, begin = share_seconds(pool), time.perf_counter()
        pool.map(task, range(tasks), chunksize=1)
        wall = time.perf_counter() - begin
        shares = {key: used - shares[key] for key, used in share_seconds(pool).items()}
        pool.close()
        pool.join()
    result = {"wall_us": wall, "cpu_us": cpu_seconds() - before, **shares}
    print(json.dumps({key: 1e6 * value / tasks for key, value in result.items()}), flush=True)


# ---- One thread --------------------------------------------------------------------------------


def make_burst(is_hooked):
    """A function that takes n tasks all the way; returns microseconds of CPU time a task."""
    context = multiprocessing.get_context("fork")
    tasks, results = context.SimpleQueue(), context.SimpleQueue()
    assign, result = tasks._writer.send, results._reader.recv
    if is_hooked:
        from pyannot.observe import pools_lane
        scope = pools_lane.scope(tasks._reader)
        parent, worker = pools_lane.make(scope, "Pool", workers=4), pools_lane.make(scope)
        assign, result = parent.hook("assign", assign), parent.hook("result", result)
        pools_lane.hook(parent, "receive", results._reader, "_recv_bytes")
        pools_lane.hook_worker(worker, tasks, results)
        parent.submitted(1, 1_000_000_000, 1, 4)

    def burst(count, keep=(tasks, results)):
        get, put = keep[0].get, keep[1].put
        begin = time.thread_time()
        for number in range(count):
            assign((1, number, mapstar, ((task, (1,)),), {}))
            job, index, function, args, keywords = get()
            put((job, index, (True, function(*args, **keywords))))
            result()
        return 1e6 * (time.thread_time() - begin) / count

    return burst


def one_thread(rounds):
    bursts = {"plain": make_burst(False), "hooked": make_burst(True)}
    times = {name: [] for name in bursts}
    for _ in range(rounds):
        for name, burst in bursts.items():
            times[name].append(burst(200))
            time.sleep(0.005)  # for the collector to drain
    print(json.dumps(times), flush=True)


def rows_of_one_thread(build, environment, rounds):
    for state, record in (("on", [build / "tools/annot", "record", "--force", "--sampling=none",
                                  "--python=none", "-o", environment["OUTPUT"], "--"]),
                          ("off", [])):
        command = [*record, sys.executable, __file__, "--one-thread", rounds]
        times = run(command, environment)
        added = [hooked - plain for hooked, plain in zip(times["hooked"], times["plain"])]
        fastest = min(times["hooked"]) - min(times["plain"])
        yield row(f"one thread, {state}: CPU added", statistics.median(added), "us/task",
                  most=BUDGET_CPU_US if state == "on" else None,
                  against=f"of {min(times['plain']):.3g}; of minima {fastest:+.3g}")


# ---- Whole programs ----------------------------------------------------------------------------


def commands(build, place):
    """{name: command}; each ends with the program."""
    record = [build / "tools/annot", "record", "--force", "-o", place]
    viztracer = [sys.executable, "-m", "viztracer", "--quiet", "-o", f"{place}.json"]
    found = {
        "no tool": [sys.executable],
        "annot": [*record, "--", sys.executable],
        "annot --python=none": [*record, "--python=none", "--", sys.executable],
    }
    if importlib.util.find_spec("viztracer"):
        found["viztracer"] = viztracer
        found["viztracer --ignore_c_function"] = [*viztracer, "--ignore_c_function"]
    return found


def run(command, environment):
    done = subprocess.run([str(word) for word in command], env=environment, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout.decode().partition("}")[0] + "}")


def measure(build, environment, options):
    results = {}
    for _ in range(options.rounds):
        for name, command in commands(build, environment["OUTPUT"]).items():
            got = run([*command, __file__, "--program", options.tasks], environment)
            results.setdefault(name, []).append(got)
            if name in ("no tool", "annot"):
                got = run([*command, __file__, "--calm", "--program", options.tasks], environment)
                results.setdefault(f"{name}, calm", []).append(got)
    return results


def rows_of_programs(results):
    for name, runs in results.items():
        for key, what in (("wall_us", "wall"), ("cpu_us", "CPU")):
            values = [run[key] for run in runs]
            yield row(f"{name}: {what}", statistics.median(values), "us/task",
                      against=f"median of {len(runs)}; fastest {min(values):.3g}")
    for name in results:
        if not name.startswith("no tool"):
            yield from added(name, results)
    for key, what in SHARES.items():
        bare, seen = ([run[key] for run in results[name]] for name in ("no tool", "annot"))
        yield row(f"{what}: CPU added", statistics.median(seen) - statistics.median(bare),
                  "us/task", against=f"of {statistics.median(bare):.3g}; of minima "
                                     f"{min(seen) - min(bare):+.3g}")


def added(name, results):
    """By pairs of one round: the machine's effect on both cancels out."""
    without = results["no tool, calm" if name.endswith(", calm") else "no tool"]
    pairs = list(zip(results[name], without))
    wall = [100 * (run["wall_us"] / bare["wall_us"] - 1) for run, bare in pairs]
    cpu = [run["cpu_us"] - bare["cpu_us"] for run, bare in pairs]
    fastest = [min(run[key] for run in results[name]) - min(run[key] for run in without)
               for key in ("wall_us", "cpu_us")]
    is_judged = name == "annot"
    yield row(f"{name}: wall added", statistics.median(wall), "%",
              most=BUDGET_WALL_PERCENT if is_judged else None,
              against=f"median of pairs; of minima {fastest[0]:+.3g} us/task")
    yield row(f"{name}: CPU added", statistics.median(cpu), "us/task",
              most=BUDGET_CPU_US if is_judged else None,
              against=f"median of pairs; of minima {fastest[1]:+.3g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--program", type=int, metavar="TASKS", help=argparse.SUPPRESS)
    parser.add_argument("--calm", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one-thread", type=int, metavar="ROUNDS", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if options.program:
        return program(options.program, options.calm)
    if options.one_thread:
        return one_thread(options.one_thread)
    build = options.build.resolve()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        environment = dict(os.environ, PYTHONPATH=str(build / "pyannot"),
                           ANNOT_DIR=f"{place}/annot", OUTPUT=f"{place}/x.annot")
        entries = list(rows_of_one_thread(build, environment, 150))
        entries += rows_of_programs(measure(build, environment, options))
    finish("pool", entries)


if __name__ == "__main__":
    main()
