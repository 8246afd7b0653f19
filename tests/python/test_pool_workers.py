# SPDX-License-Identifier: MIT
"""Compares the tables of pools and workers with the workers' own clocks: the tasks of each worker
and the time in them. The parts of a worker's time are exact."""

import collections
import json

import harness
from harness import ANNOT, RecordingTest

PROGRAM = """
    import json, multiprocessing, multiprocessing.pool, os, sys, threading, time
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
    from time import monotonic_ns as now
    from pyannot import observe
    observe.start("pools")

    def task(milliseconds):
        begun = now()
        time.sleep(milliseconds / 1000)
        return os.getpid(), threading.get_native_id(), begun, now()

    LENGTHS = [60, 20, 20, 20, 20, 20, 20, 20]

    def pool(context):
        with context.Pool(3) as workers:
            results = workers.map(task, LENGTHS, chunksize=1)
            results += workers.imap(task, LENGTHS)
            results.append(workers.apply(task, (10,)))
            workers.close()
            workers.join()
        return results

    def executor(context):
        with ProcessPoolExecutor(3, mp_context=context) as workers:
            results = list(workers.map(task, LENGTHS))
            return results + [workers.submit(task, 10).result()]

    def threads(_):
        with ThreadPoolExecutor(3) as workers:
            results = list(workers.map(task, LENGTHS))
            return results + [workers.submit(task, 10).result()]

    def two(context):
        "One behind the other, and a pool with a worker too many."
        results = pool(context)
        with multiprocessing.pool.ThreadPool(2) as workers:
            results.append(workers.apply(task, (30,)))
        return results

    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[2]) if sys.argv[2] != "threads" else None
        print(json.dumps({"parent": os.getpid(), "tasks": globals()[sys.argv[1]](context)}))
"""
PART = 0.03  # of a worker's busy time may lie outside of its functions, with
TASK_NS = 1_000_000  # for each task: pickling, and the observer itself


class PoolWorkers(RecordingTest):
    def measure(self, kind, method):
        """The rows of pools, of workers, and {(pid, tid): [(begin, end) of tasks]}"""
        recording = self.record(PROGRAM, kind, method, options=["--sampling=none"])
        self.assertEqual(recording.lost(), 0)
        path = str(self.folder / "out.annot")
        report = json.loads(harness.run([ANNOT, "report", "--json", path]).stdout)
        told = json.loads(self.output)
        truth = collections.defaultdict(list)
        for pid, tid, begun, ended in told["tasks"]:
            truth[pid, tid].append((begun, ended))
        return report["pools"], report["pool_workers"], truth

    def check_worker(self, row, truth):
        """Checks one worker; `truth` are its tasks."""
        self.assertEqual(row["task_count"], len(truth))
        self.assertEqual(row["item_count"], len(truth))
        self.assertEqual(row["worker_ns"], row["busy_ns"] + row["idle_before_ns"] +
                         row["idle_between_ns"] + row["idle_after_ns"])
        ran = sum(end - begin for begin, end in truth)
        self.assertGreaterEqual(row["run_ns"], ran)
        self.assertGreaterEqual(row["busy_ns"], row["run_ns"])
        self.assertLessEqual(row["run_ns"], ran * (1 + PART) + TASK_NS * len(truth))
        if truth:
            between = sum(after[0] - before[1] for before, after in zip(truth, truth[1:]))
            self.assertLessEqual(row["idle_between_ns"], between)
            self.assertGreaterEqual(row["max_ns"], max(end - begin for begin, end in truth))
        else:
            self.assertEqual(row["worker_ns"], row["idle_before_ns"])
            self.assertNotIn("last_end_ns", row)

    def check(self, kind, method):
        pools, workers, truth = self.measure(kind, method)
        seen = {(row["pid"], row["tid"]): sorted(truth[row["pid"], row["tid"]]) for row in workers}
        self.assertEqual({key for key in seen if seen[key]}, {key for key in truth if truth[key]})
        for row in workers:
            self.check_worker(row, seen[row["pid"], row["tid"]])
        for pool in pools:
            mine = [row for row in workers if row["pool"] == pool["pool"]]
            self.assertEqual(pool["worker_count"], len(mine))
            for key in ("task_count", "item_count", "worker_ns", "busy_ns", "run_ns",
                        "idle_before_ns", "idle_between_ns", "idle_after_ns"):
                self.assertEqual(pool[key], sum(row[key] for row in mine), key)
            self.assertLessEqual(max(row["worker_ns"] for row in mine), pool["wall_ns"])
        self.check_use(pools[0], [task for row in workers for task in seen[row["pid"], row["tid"]]
                                  if row["pool"] == pools[0]["pool"]])
        return pools

    def check_use(self, pool, tasks):
        """The pool was in use from before the first task until after the last one."""
        wall = max(end for _, end in tasks) - min(begin for begin, _ in tasks)
        self.assertGreaterEqual(pool["wall_ns"], wall)

    def facts(self, pool):
        return tuple(pool[key] for key in ("kind", "size", "start_method", "methods",
                                           "call_count", "task_count"))

    def test_pool(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method=method):
                pool, = self.check("pool", method)
                self.assertEqual(self.facts(pool),
                                 ("Pool", 3, method, "map, imap, apply", 3, 17))
                self.assertEqual((pool["pool"], pool["chunk_min"], pool["chunk_max"]),
                                 ("Pool 1", 1, 1))

    def test_executor(self):
        for method in ("fork", "spawn"):
            with self.subTest(method=method):
                pool, = self.check("executor", method)
                self.assertEqual(self.facts(pool),
                                 ("ProcessPoolExecutor", 3, method, "map, submit", 2, 9))

    def test_threads(self):
        pool, = self.check("threads", "threads")
        self.assertEqual(self.facts(pool),
                         ("ThreadPoolExecutor", 3, "threads", "map, submit", 2, 9))

    def test_two_pools_and_a_worker_without_a_task(self):
        pools = self.check("two", "fork")
        self.assertEqual([pool["pool"] for pool in pools], ["Pool 1", "ThreadPool 2"])
        self.assertEqual(self.facts(pools[1]), ("ThreadPool", 2, "threads", "apply", 1, 1))
        self.assertEqual(pools[1]["idle_worker_count"], 1)


if __name__ == "__main__":
    harness.main()
