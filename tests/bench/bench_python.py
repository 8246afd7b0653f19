# SPDX-License-Identifier: MIT
"""The cost of a Python annotation, beside the same statement with an empty C context manager and
with the nvtx package; and beside the least possible cost, which is an empty one, or a call that is
only passed on, with two time stamps and two 16-byte stores ("stamping").

    PYTHONPATH=build/pyannot:build/tests/bench annot record -o x.annot -- python3 bench_python.py

Run it under `annot record` for the costs while recording, and without for those without a
recording; `recording` in the output says which it was. The cases alternate within each round, in
bursts small enough for the buffers, so that all see the same machine; minima and medians are over
the rounds. The loop's own cost is subtracted. Prints one JSON object; times are nanoseconds per
statement.
"""

import argparse
import json
import statistics
import sys
import time

import empty_manager
import pyannot

try:
    import nvtx
except ImportError:
    nvtx = None

SETUP = """
def burst(loops):
    {setup}
    begin = clock()
    for _ in loops:
        {statement}
    return clock() - begin
"""

# case: (statement prepared once, timed statement)
CASES = {
    "loop": ("pass", "pass"),
    "call": ("f = lambda: None", "f()"),
    "forwarded call": ("f = forwarder(lambda: None, False)", "f()"),
    "stamping call": ("f = forwarder(lambda: None, True)", "f()"),
    "empty with": ("e = empty_manager", "with e('load'): pass"),
    "empty with, kept object": ("e = empty_manager('load')", "with e: pass"),
    "stamping with": ("e = stamping_manager", "with e('load'): pass"),
    "stamping with, kept object": ("e = stamping_manager('load')", "with e: pass"),
    "with": ("a = annotate", "with a('load'): pass"),
    "with, kept object": ("a = annotate('load')", "with a: pass"),
    "with, payload": ("a = annotate", "with a('load', payload=1): pass"),
    "decorated call": ("f = annotate('load')(lambda: None)", "f()"),
    "push and pop": ("push, pop = pyannot.push, pyannot.pop", "push('load'); pop()"),
    "start and end": ("start, end = pyannot.start, pyannot.end", "end(start('load'))"),
    "mark": ("mark = pyannot.mark", "mark('load')"),
    "counter": ("counter = pyannot.counter", "counter('load', 3)"),
    "nvtx with": ("a = nvtx.annotate", "with a('load'): pass"),
    "nvtx with, kept object": ("a = nvtx.annotate('load')", "with a: pass"),
}

# ratio: (numerator, denominator); the loop is subtracted from both
RATIOS = {
    "with / empty with": ("with", "empty with"),
    "with / empty with, kept object": ("with, kept object", "empty with, kept object"),
    "with / stamping with": ("with", "stamping with"),
    "with / stamping with, kept object": ("with, kept object", "stamping with, kept object"),
    "stamping with / empty with, kept object": (
        "stamping with, kept object", "empty with, kept object"),
    "nvtx with / with": ("nvtx with", "with"),
    "nvtx with / with, kept object": ("nvtx with, kept object", "with, kept object"),
}


def compile_cases():
    names = {
        "annotate": pyannot.annotate,
        "clock": time.perf_counter_ns,
        "empty_manager": empty_manager.empty_manager,
        "stamping_manager": empty_manager.stamping_manager,
        "forwarder": empty_manager.forwarder,
        "nvtx": nvtx,
        "pyannot": pyannot,
    }
    bursts = {}
    for case, (setup, statement) in CASES.items():
        if case.startswith("nvtx") and nvtx is None:
            continue
        scope = dict(names)
        exec(SETUP.format(setup=setup, statement=statement), scope)
        bursts[case] = scope["burst"]
    return bursts


def measure(rounds, loops, pause_seconds):
    bursts = compile_cases()
    times = {case: [] for case in bursts}
    for _ in range(rounds):
        for case, burst in bursts.items():
            times[case].append(burst(range(loops)) / loops)
        time.sleep(pause_seconds)  # for the collector to drain
    return times


def summarize(times):
    rows = {
        case: {"min_ns": round(min(t), 2), "median_ns": round(statistics.median(t), 2)}
        for case, t in times.items()
    }
    ratios = {}
    for title, (above, below) in RATIOS.items():
        if above in rows:
            ratios[title] = {
                kind: round(
                    (rows[above][kind + "_ns"] - rows["loop"][kind + "_ns"])
                    / (rows[below][kind + "_ns"] - rows["loop"][kind + "_ns"]),
                    2,
                )
                for kind in ("min", "median")
            }
    return rows, ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--loops", type=int, default=2000)
    parser.add_argument("--pause", type=float, default=0.005, metavar="SECONDS")
    options = parser.parse_args()
    times = measure(options.rounds, options.loops, options.pause)
    rows, ratios = summarize(times)
    result = {
        "bench": "python",
        "python": sys.version.split()[0],
        "recording": pyannot.enabled(),
        "status": pyannot.status(),
        "rounds": options.rounds,
        "loops": options.loops,
        "cases": rows,
        "ratios": ratios,
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
