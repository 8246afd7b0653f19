# SPDX-License-Identifier: MIT
"""Calls each case of leak_cases.py, or of leak_reading.py if a recording is given, many times and
prints as JSON what a thousand calls left behind: {case: [references, blocks of memory]}. A build
that counts no references has 0 of them. Run it by any interpreter; test_leaks.py judges. With 0
CALLS each case is called once, and nothing is counted.

    leak_program.py CALLS [FILE]"""

import gc
import json
import sys

import leak_observers  # noqa: F401 (adds cases)
import leak_pools  # noqa: F401
import leak_reading
import pyannot
from leak_cases import CASES

CALLS = 1000
TRIES = 15


def totals():
    gc.collect()
    references = sys.gettotalrefcount() if hasattr(sys, "gettotalrefcount") else 0
    return references, sys.getallocatedblocks()


def growth(function, calls):
    """Least of several tries: what is kept up to some number, as the interpreter's own caches keep
    names of attributes, is no leak."""
    least = [calls * 1000] * 2
    for _ in range(TRIES):
        before = totals()
        for _ in range(calls):
            function()
        after = totals()
        least = [min(known, b - a) for known, a, b in zip(least, before, after)]
        if max(least) * 10 < calls:
            break
    return [round(value * CALLS / calls) for value in least]


def main():
    for i in range(5000):  # the cache of names is full from the beginning
        pyannot.annotate(f"name {i}")
    calls = int(sys.argv[1])
    results = {}
    cases = leak_reading.cases(sys.argv[2]) if len(sys.argv) > 2 else CASES
    for name, function in cases.items():
        function()
        results[name] = growth(function, calls) if calls else [0, 0]
    print(json.dumps({"enabled": pyannot.enabled(), "growth": results}))


if __name__ == "__main__":
    main()
