# SPDX-License-Identifier: MIT
"""Programs that run without a tool and with each of several tools in turn: the cost of each tool.

A program prints "BENCH NAME SECONDS EVENTS" for each of its parts. Ratios of processor time and
nanoseconds for each event are those of one round, so that the machine's other load falls on both.
"""

import collections
import os
import statistics
import subprocess

import rows


def can(interpreter, statement):
    return subprocess.run([interpreter, "-c", statement], capture_output=True,
                          check=False).returncode == 0


def run(command, package):
    """Seconds and events by part."""
    done = subprocess.run(command, env=dict(os.environ, PYTHONPATH=package), capture_output=True,
                          text=True, check=True)
    parts = (line.split() for line in done.stdout.splitlines() if line.startswith("BENCH "))
    return {name: (float(seconds), int(events)) for _, name, seconds, events in parts}


def measure(tools, plain, package, rounds):
    """Lists of ratios and of nanoseconds an event, by tool and part. Fails if a tool cannot be
    imported, because it would appear free."""
    subprocess.run([plain[0], "-c", "import pyannot._native"], check=True,
                   env=dict(os.environ, PYTHONPATH=package))
    ratios, costs = collections.defaultdict(list), collections.defaultdict(list)
    for _ in range(rounds):
        bare = run(plain, package)
        taken = {(tool, name): part for tool, command in tools.items()
                 for name, part in run(command, package).items()}
        for key, (seconds, events) in taken.items():
            before = bare[key[1]][0]
            ratios[key].append(seconds / before)
            if events:
                costs[key].append((seconds - before) / events * 1e9)
    return ratios, costs


def rows_of(ratios, costs):
    """Rows of medians, with the least that was seen beside them."""
    for key, values in ratios.items():
        what = " ".join(key)
        yield rows.row(what, statistics.median(values), "x", against=f"least {min(values):.3f}")
        if key in costs:
            yield rows.row(what, statistics.median(costs[key]), "ns an event",
                           against=f"least {min(costs[key]):.0f}")
