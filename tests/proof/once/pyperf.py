# SPDX-License-Identifier: MIT
"""Stands in for pyperf, for pyperformance_suite.py: runs the measured code of a benchmark once and
prints the outcome: a digest of the result, if there is one, and of the remaining random numbers."""

import argparse
import asyncio
import hashlib
import random
import time

perf_counter = time.perf_counter
random.seed(0)
PLAIN = (int, str, bytes, float, complex, type(None), bool)


def is_plain(value):
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(map(is_plain, value))
    return isinstance(value, PLAIN) or (isinstance(value, dict) and
                                        is_plain([*value, *value.values()]))


def digest(value):
    text = repr(value) if is_plain(value) else type(value).__name__
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Runner:
    def __init__(self, *ignored, **also_ignored):
        self.metadata = {}
        self.args = None
        self.argparser = argparse.ArgumentParser()

    def parse_args(self, *ignored):
        self.args = self.argparser.parse_args()
        return self.args

    def tell(self, name, result):
        print(name, digest(result), digest(random.getstate()), flush=True)

    def bench_func(self, name, function, *args, **ignored):
        self.tell(name, function(*args))

    def bench_time_func(self, name, function, *args, **ignored):
        self.tell(name, type(function(1, *args)).__name__)

    def bench_async_func(self, name, function, *args, **ignored):
        self.tell(name, asyncio.run(function(*args)))


def python_implementation():
    return "cpython"
