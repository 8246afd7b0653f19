# SPDX-License-Identifier: MIT
"""All eight tasks of a pool are in the recording, however the workers start and end, and the
program behaves as it does without a recorder.

Each kind of pool and each ending is run with one of the ways to start processes, in turn; with
ANNOT_POOL_MATRIX=whole with all of them. `pool_matrix.py` prints the table for other tools, too.
"""

import os
import sys

import harness
import pool_matrix
from harness import RecordingTest
from pool_program import ENDINGS, KINDS, METHODS

WHOLE = os.environ.get("ANNOT_POOL_MATRIX") == "whole"
LOKY = ("close, join", "_exit in a task", "SIGKILL")


def chosen_cells(kind):
    cells = [cell for cell in pool_matrix.all_cells() if cell.kind == kind]
    there = [cell for cell in cells if pool_matrix.missing(cell) is None]
    if WHOLE:
        return there
    if kind == "joblib/loky":  # takes seconds to start
        return [cell for cell in there if cell.method == "loky" and cell.ending in LOKY]
    turn = KINDS.index(kind)
    methods = {e: METHODS[(turn + n) % len(METHODS)] for n, e in enumerate(ENDINGS)}
    return [cell for cell in there if cell.method == methods[cell.ending]]


class PoolMatrix(RecordingTest):
    def check(self, kind):
        cells = chosen_cells(kind)
        if not cells:
            self.skipTest(pool_matrix.missing(pool_matrix.Cell(kind, "loky", ENDINGS[0])))
        results = pool_matrix.measure(cells, ["annot"])
        pool_matrix.print_matrix(cells, results, ["annot"])
        for (cell, _), (result, plain) in results.items():
            with self.subTest(" ".join(cell)):
                self.assertIsNone(pool_matrix.failure(result, plain), result.complaint[-2000:])
                self.assertNotEqual(plain.status, "hangs", plain.complaint[-2000:])

    def test_pool(self):
        self.check("Pool")

    def test_process_pool_executor(self):
        self.check("ProcessPoolExecutor")

    def test_process(self):
        self.check("Process")

    def test_fork(self):
        self.check("os.fork")

    def test_subprocess(self):
        self.check("subprocess")

    def test_loky(self):
        self.check("joblib/loky")


if __name__ == "__main__":
    harness.run_where_there_are("joblib")
    harness.main()
