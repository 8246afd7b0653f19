# SPDX-License-Identifier: MIT
"""Compares times of calls with the functions' own readings of clocks; and no call, line or share of
a thread is longer than the time that passed."""

import concurrent.futures
import contextlib
import json
import subprocess
import time
import unittest

import elsewhere
import harness
from harness import ANNOT, HERE, RecordingTest

PROGRAM = HERE / "truth_program.py"
NAMES = ("main", "heavy", "light", "waits", "again", "pieces")
# On a busy machine a thread may lose the CPU between two readings of a clock; the cost of tracing
# lies inside of a call, but outside of the program's own measurement.
ALLOWED_NS, ALLOWED_SHARE = 12000000, 0.03
SLEEP_NS = 30000000  # in waits()
TRIES = 6
LIMIT_S = 60


class Truth(RecordingTest):
    def run_program(self, interpreter, package, *options):
        output = self.folder / f"{'.'.join(map(str, interpreter.version))}{options[0]}.annot"
        environment = dict(self.environment, PYTHONPATH=f"{package}:{HERE}")
        environment.pop("ANNOT_PYTHON", None)
        before = time.perf_counter_ns()
        done = subprocess.run([ANNOT, "record", "--force", "--python", "names", *options,
                               "--trace-select", ",".join(NAMES), "-o", str(output), "--",
                               interpreter.command, str(PROGRAM)], env=environment,
                              capture_output=True, text=True, timeout=LIMIT_S, check=True)
        wall = time.perf_counter_ns() - before
        report = json.loads(harness.run([ANNOT, "report", "--json", str(output)]).stdout)
        return json.loads(done.stdout), report, wall

    def assert_near(self, told, expected, about):
        allowed = ALLOWED_NS + ALLOWED_SHARE * expected
        self.assertLess(abs(told - expected), allowed,
                        f"{about}: {told / 1e6:.1f} ms, not {expected / 1e6:.1f}")

    def check_cpu(self, row, cpu, mode):
        """Counted calls know a thread's waits, but not the time when others have the CPU."""
        if row["own_cpu_ns"] is None:  # sampling is impossible here
            return
        if mode == "exact":
            self.assert_near(row["own_cpu_ns"], cpu, f"CPU of {row['name']}")
        self.assertLessEqual(row["own_cpu_ns"], row["own_ns"])
        if row["name"] == "waits":
            self.assertGreater(row["own_off_ns"], 0.9 * SLEEP_NS)

    def check(self, interpreter, package, mode):
        told, report, wall = self.run_program(interpreter, package, f"--trace-functions={mode}",
                                              "--trace-lines", ",".join(NAMES))
        rows = {row["name"]: row for row in report["calls"]}
        for name in NAMES:
            calls, total, own, cpu = told[name]
            row, about = rows[name], f"{interpreter} {mode} {name}"
            if name == "pieces":  # it is left and resumed
                calls = 1
            self.assertEqual(row["call_count"], calls, about)
            self.assert_near(row["total_ns"], total, f"total of {about}")
            self.assert_near(row["own_ns"], own, f"own of {about}")
            self.assertLessEqual(row["own_ns"], row["total_ns"], about)
            self.assertLessEqual(row["total_ns"], 2 * wall, about)  # two threads
            self.check_cpu(row, cpu, mode)
        self.assertLessEqual(sum(row["own_ns"] for row in report["calls"]), 2 * wall)
        for name in NAMES:
            lines = sum(row["total_ns"] for row in report["line_counts"] if row["name"] == name)
            self.assertLessEqual(lines, rows[name]["total_ns"] + ALLOWED_NS, name)
            self.assert_near(lines, told[name][1], f"lines of {name} {interpreter} {mode}")

    def try_often(self, *arguments):
        """Retries: a real fault fails each time, a busy machine does not."""
        for _ in range(TRIES - 1):
            with contextlib.suppress(AssertionError):
                self.check(*arguments)
                return
        self.check(*arguments)

    def test_times_are_those_of_clocks(self):
        with concurrent.futures.ThreadPoolExecutor(2) as workers:
            done = [workers.submit(self.try_often, *one, mode)
                    for one in elsewhere.this_oldest_newest() for mode in ("exact", "aggregate")]
            for one in done:
                one.result()


if __name__ == "__main__":
    harness.main()
