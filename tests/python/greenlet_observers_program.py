# SPDX-License-Identifier: MIT
"""Thread pools and imports in interleaved greenlets; prints the expected content of a recording.

    greenlet_observers_program.py gevent|eventlet executor|thread_pool|imports

Prints a JSON object: {"took": {name of a range that the work itself opens: [least and most
nanoseconds of its duration]}}. The work sleeps, so that other greenlets run in the middle; the main
greenlet opens ranges in the same time.
"""

import sys

LIBRARY, KIND = sys.argv[1:3]
if LIBRARY == "gevent":
    from gevent import monkey
    monkey.patch_all()
else:
    import eventlet
    eventlet.monkey_patch()

import concurrent.futures  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import multiprocessing.pool  # noqa: E402
import pathlib  # noqa: E402
import tempfile  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402

import pyannot  # noqa: E402
from pyannot import annotate, observe  # noqa: E402

WORKERS, TASKS = 8, 40
OUTER = """
import time, pyannot
with pyannot.annotate("outer {0}"):
    time.sleep(0.01 + {0} % 3 * 0.007)
    import inner_{0}
    time.sleep(0.005)
"""
INNER = """
import time, pyannot
with pyannot.annotate("inner {0}"):
    time.sleep(0.02)
"""

took = {}


def work(number):
    begin_ns = time.monotonic_ns()
    with annotate(f"work {number}"):
        inside_ns = time.monotonic_ns()
        time.sleep(0.01 + number % 4 * 0.005)
        if number % 5 == 0:
            with annotate("part"):
                time.sleep(0.003)
        least_ns = time.monotonic_ns() - inside_ns
    took[f"work {number}"] = least_ns, time.monotonic_ns() - begin_ns
    return number


def main_ranges(is_over):
    number = 0
    while not is_over():
        with annotate("main"):
            time.sleep(0.004)
            with annotate("main part"):
                time.sleep(0.004)
        number += 1
    return number


def run_executor():
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as executor:
        futures = [executor.submit(work, number) for number in range(TASKS)]
        turns = main_ranges(lambda: all(future.done() for future in futures))
        assert [future.result() for future in futures] == list(range(TASKS))
        assert list(executor.map(work, range(TASKS, TASKS + 4)))
    return turns


def run_thread_pool():
    with multiprocessing.pool.ThreadPool(WORKERS) as pool:
        result = pool.map_async(work, range(TASKS), chunksize=1)
        turns = main_ranges(result.ready)
        assert result.get() == list(range(TASKS))
    return turns


def run_imports():
    folder = pathlib.Path(tempfile.mkdtemp())
    sys.path.insert(0, str(folder))
    for number in range(WORKERS):
        (folder / f"outer_{number}.py").write_text(OUTER.format(number))
        (folder / f"inner_{number}.py").write_text(INNER.format(number))

    def load(number):
        begin_ns = time.monotonic_ns()
        importlib.import_module(f"outer_{number}")
        took[f"import outer_{number}"] = 0, time.monotonic_ns() - begin_ns

    threads = [threading.Thread(target=load, args=(number,)) for number in range(WORKERS)]
    for thread in threads:
        thread.start()
    turns = main_ranges(lambda: not any(thread.is_alive() for thread in threads))
    for thread in threads:
        thread.join()
    return turns


observe.start("greenlets,pools,imports")
run = {"executor": run_executor, "thread_pool": run_thread_pool, "imports": run_imports}
main_turns = run[KIND]()
observe.stop()
print(json.dumps({"enabled": pyannot.enabled(), "took": took, "turns": main_turns}))
