# SPDX-License-Identifier: MIT
"""Calls each case of leak_cases.py, or of leak_reading.py if a recording is given, many times and
prints the growth of a thousand calls as JSON: {case: [references, blocks of memory]}. References
are 0 on builds that do not count them. Runs on any interpreter; test_leaks.py judges. With 0 CALLS
each case is called once, without counting.

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
    """Least of several tries: caches of limited size, such as the interpreter's cache of attribute
    names, are not leaks."""
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
    for i in range(5000):  # fills the cache of names in advance
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
