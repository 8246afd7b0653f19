# SPDX-License-Identifier: MIT
"""Compares the parts of a task's time with clocks that the tasks read themselves.

Each task stamps CLOCK_MONOTONIC where its argument is unpickled, where it begins and ends, and
where its result is pickled; the parent stamps submission, and where the result is unpickled. The
stamps lie inside of the parts, or outside, so that sums are bounded from both sides however busy
the machine is; in the best of several runs the distance between both bounds must be below 1 %.
"""

import json

import harness
from harness import ANNOT, RecordingTest

PROGRAM = """
    import json, multiprocessing, sys, time
    from concurrent.futures import ProcessPoolExecutor
    from time import monotonic_ns as now
    from pyannot import observe
    observe.start("pools")

    pickled = []

    class Argument:
        "Tells when it was pickled, and unpickled."
        def __init__(self, number):
            self.number = number
        def __getstate__(self):
            begun = now()
            time.sleep(0.001)
            pickled.append(now() - begun)
            return {"number": self.number, "text": "x" * 100_000}
        def __setstate__(self, state):
            self.__dict__.update(state)
            time.sleep(0.001)
            self.unpickled = now()

    class Result:
        "Tells when it was pickled, and unpickled."
        def __init__(self, stamps):
            self.stamps = stamps
        def __getstate__(self):
            self.stamps["pickling"] = now()
            time.sleep(0.001)
            return {"stamps": dict(self.stamps, pickled=now())}
        def __setstate__(self, state):
            self.stamps = dict(state["stamps"], fetching=now())
            time.sleep(0.001)
            self.stamps["fetched"] = now()

    def task(argument):
        begun = now()
        time.sleep(0.004)
        return Result({"unpickled": argument.unpickled, "begun": begun, "ended": now()})

    def run(kind, context, tasks):
        arguments = [Argument(number) for number in range(tasks)]
        if kind == "executor":
            with ProcessPoolExecutor(2, mp_context=context) as executor:
                executor.submit(abs, 1).result()
                before = now()
                futures = [executor.submit(task, argument) for argument in arguments]
                after = now()
                results = [future.result() for future in futures]
        else:
            with context.Pool(2) as pool:
                pool.apply(abs, (1,))
                before = now()
                if kind == "map":
                    result = pool.map_async(task, arguments, chunksize=1)
                else:
                    result = [pool.apply_async(task, (argument,)) for argument in arguments]
                after = now()
                results = result.get() if kind == "map" else [one.get() for one in result]
                pool.close()
                pool.join()
        wall = now() - before
        stamps = [dict(result.stamps, before=before, after=after) for result in results]
        print(json.dumps({"stamps": stamps, "wall": wall, "pickled": sum(pickled)}))

    if __name__ == "__main__":
        run(sys.argv[1], multiprocessing.get_context(sys.argv[2]), int(sys.argv[3]))
"""
SLOW_START = """
    import multiprocessing, time
    from pyannot import observe
    observe.start("pools")

    def prepare():
        time.sleep(0.2)

    def meet(number):
        time.sleep(0.1)

    if __name__ == "__main__":
        with multiprocessing.get_context("spawn").Pool(2, initializer=prepare) as pool:
            pool.map(meet, range(2), chunksize=1)
            pool.close()
            pool.join()
"""
TASKS, WORKERS, TRIES = 50, 2, 6
CLOCK_NS = 2_000  # error of a conversion of clocks, per task


class Truth(RecordingTest):
    def measure(self, kind, method):
        """(the report's row of the function, the stamps, the wall time)"""
        recording = self.record(PROGRAM, kind, method, TASKS, options=["--sampling=none"])
        self.assertEqual(recording.lost(), 0)
        told = json.loads(self.output)
        path = str(self.folder / "out.annot")
        report = json.loads(harness.run([ANNOT, "report", "--json", path]).stdout)
        rows = [row for row in report["tasks"] if row["function"] == "task"]
        self.assertEqual(len(rows), 1)
        self.assertEqual(rows[0]["count"], TASKS)
        parts = {part["part"]: part for part in rows[0]["parts"]}
        self.assertEqual(sum(part["total_ns"] for part in parts.values()), rows[0]["total_ns"])
        self.check_way_to_worker(kind, parts, told["pickled"])
        return {"whole": rows[0], **parts}, told["stamps"], told["wall"]

    def check_way_to_worker(self, kind, parts, pickled):
        """The pool's thread pickles before a worker has the task; an executor's is not recorded."""
        if kind == "executor":
            self.assertNotIn("hand over", parts)
            return
        hand_over = parts["hand over"]["total_ns"]
        self.assertGreaterEqual(hand_over, pickled - TASKS * CLOCK_NS)
        self.assertLess(hand_over, pickled + parts["queued"]["total_ns"])
        # Separates the parts; the stamps below only give the time until the worker has the task.
        for part in ("hand over", "worker start"):
            parts["queued"]["total_ns"] += parts.pop(part, {"total_ns": 0})["total_ns"]

    def bounds(self, stamps):
        """{part: (least, most)} of the sums. No stamp separates "queued" and "waiting" from one
        neighbour each: the library's own reading of the pipe."""
        def total(begin, end):
            return sum(stamp[end] - stamp[begin] for stamp in stamps)

        least = {
            "queued": 0, "unpickle": TASKS * 1_000_000, "run": total("begun", "ended"),
            "send": total("pickling", "pickled"), "waiting": 0,
            "fetch": total("fetching", "fetched"), "whole": total("after", "fetched"),
        }
        most = {
            "queued": total("before", "unpickled") - TASKS * 1_000_000,
            "unpickle": total("before", "begun"), "run": total("unpickled", "pickling"),
            "send": total("ended", "fetching"), "waiting": total("pickled", "fetching"),
            "fetch": total("pickled", "fetched") + TASKS * 1_000_000,
            "whole": float("inf"),
        }
        return {part: (least[part], most[part]) for part in least}

    def check_bounds(self, row, stamps, wall):
        for part, (least, most) in self.bounds(stamps).items():
            got = row[part]["total_ns"]
            self.assertGreaterEqual(got, least - TASKS * CLOCK_NS, part)
            self.assertLessEqual(got, most + TASKS * CLOCK_NS, part)
        work = sum(row[part]["total_ns"] for part in ("unpickle", "run", "send"))
        self.assertLessEqual(work, WORKERS * wall)
        self.assertLessEqual(row["whole"]["max_ns"], wall)

    def error(self, row, stamps):
        """The largest relative deviation of a part from the stamps."""
        def total(begin, end):
            return sum(stamp[end] - stamp[begin] for stamp in stamps)

        middle = sum((stamp["before"] + stamp["after"]) / 2 for stamp in stamps)
        unpickled = sum(stamp["unpickled"] for stamp in stamps)
        pairs = [
            (row["run"]["total_ns"], total("begun", "ended")),
            (row["send"]["total_ns"] + row["waiting"]["total_ns"] + row["fetch"]["total_ns"],
             total("ended", "fetched")),
            (row["queued"]["total_ns"] + row["unpickle"]["total_ns"], unpickled - middle),
        ]
        return max(abs(got - true) / true for got, true in pairs)

    def check(self, kind, method):
        errors = []
        for _ in range(TRIES):
            row, stamps, wall = self.measure(kind, method)
            self.check_bounds(row, stamps, wall)
            errors.append(self.error(row, stamps))
            if errors[-1] < 0.01:
                break
        print(f"{kind}, {method}: off by {100 * min(errors):.2f} %, of {len(errors)}", flush=True)
        self.assertLess(min(errors), 0.01)

    def test_workers_that_start_slowly(self):
        """Two tasks, one for each worker: neither waits for the other."""
        self.record(SLOW_START, options=["--sampling=none"])
        path = str(self.folder / "out.annot")
        report = json.loads(harness.run([ANNOT, "report", "--json", path]).stdout)
        row, = (row for row in report["tasks"] if row["function"] == "meet")
        parts = {part["part"]: part["total_ns"] for part in row["parts"]}
        self.assertGreaterEqual(parts["worker start"], 2 * 200_000_000)
        self.assertLess(parts["queued"], 0.25 * parts["worker start"])

    def test_map_fork(self):
        self.check("map", "fork")

    def test_apply_spawn(self):
        self.check("apply", "spawn")

    def test_executor_fork(self):
        self.check("executor", "fork")


if __name__ == "__main__":
    harness.main()
