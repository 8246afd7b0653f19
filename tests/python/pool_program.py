# SPDX-License-Identifier: MIT
"""The program of test_pool_matrix.py: eight tasks in four workers, that end in one of many ways.

    pool_program.py KIND METHOD ENDING FOLDER

A task commits one event, called "task NUMBER" (for tools that trace functions: a call of
`commit`), and then writes its number and process into FOLDER/ledger; so each task of the ledger has
committed its event. Each worker gets one of the tasks 0 to 3, which return, and one of the tasks 4
to 7, in which the worker ends. Prints the outcome of the tasks, which must not depend on a tool.
"""

import concurrent.futures
import contextlib
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback

from pyannot import annotate

KINDS = ["Pool", "ProcessPoolExecutor", "Process", "os.fork", "subprocess", "joblib/loky"]
METHODS = ["fork", "spawn", "forkserver"]
ENDINGS = ["close, join", "terminate", "_exit in a task", "SIGTERM", "SIGKILL", "maxtasksperchild",
           "exception in a task", "KeyboardInterrupt", "parent dies first", "daemon children"]
WORKERS, TASKS = 4, 8
PATIENCE_SECONDS = 100


class Cell:
    """A task's parameters: its ending and the ledger's path. Is sent to the workers."""

    def __init__(self, ending, folder):
        self.ending, self.folder = ending, pathlib.Path(folder)

    def note(self, file, text):
        with open(self.folder / file, "a") as lines:
            lines.write(f"{text}\n")

    def lines(self, file):
        try:
            return (self.folder / file).read_text().splitlines()
        except FileNotFoundError:
            return []

    def wait_for(self, condition):
        until = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            if time.monotonic() > until:
                self.note("late", f"{os.getpid()}: {self.ending}")
                os._exit(99)
            time.sleep(0.005)

    def wait_for_lines(self, file, count):
        self.wait_for(lambda: len(self.lines(file)) >= count)

    def workers(self):
        """Processes that run one of the last tasks."""
        return [int(line.split()[1]) for line in self.lines("ledger") if int(line.split()[0]) >= 4]


def commit(number):
    with annotate(f"task {number}"):
        pass


def task(cell, number):
    if number >= WORKERS and cell.ending == "parent dies first":
        cell.note("begun", number)
        owner = int(cell.lines("owner")[0])
        cell.wait_for(lambda: not lives(owner))
    commit(number)
    cell.note("ledger", f"{number} {os.getpid()}")
    if cell.ending == "maxtasksperchild":
        return number
    if number < WORKERS:
        cell.wait_for_lines("ledger", WORKERS)  # each worker gets one of these
    else:
        cell.wait_for_lines("ledger", TASKS)
        end(cell, number)
    return number


def end(cell, number):
    """The end of one of the last tasks, when all events are committed."""
    ending = cell.ending
    if ending in ("_exit in a task", "parent dies first"):
        os._exit(3)
    if ending == "exception in a task":
        raise ValueError(f"task {number}")
    if ending == "KeyboardInterrupt" and number == TASKS - 1:
        cell.wait_for_lines("waiting", 1)
        os.killpg(0, signal.SIGINT)
    if ending in ("terminate", "SIGTERM", "SIGKILL", "KeyboardInterrupt", "daemon children"):
        # Until the signal; a daemon that is not joined: until the recording is over.
        cell.wait_for((cell.folder / "over").exists)


def lives(pid):
    """Returns true if a process exists and is not a zombie."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def outcome(function, *arguments):
    """The outcome of a call, as one line."""
    try:
        return f"returned {function(*arguments)}"
    except Exception as error:
        return f"raised {type(error).__name__}"


def kill_workers(cell):
    cell.wait_for_lines("ledger", TASKS)
    for pid in cell.workers():
        # An executor that lost one worker ends the others, possibly before they end themselves.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, getattr(signal, cell.ending))


class Pool:
    """multiprocessing.Pool. It replaces workers that died, but the results of their tasks never
    arrive, so the program does not wait for these."""

    def __init__(self, context, cell):
        each = 1 if cell.ending == "maxtasksperchild" else None
        self.cell, self.pool = cell, context.Pool(WORKERS, maxtasksperchild=each)

    def start(self):
        self.results = [self.pool.apply_async(task, (self.cell, n)) for n in range(TASKS)]

    def outcomes(self):
        kept = TASKS
        if self.cell.ending in ("terminate", "_exit in a task", "SIGTERM", "SIGKILL"):
            kept = WORKERS
            self.cell.wait_for_lines("ledger", TASKS)
        if self.cell.ending in ("_exit in a task", "SIGTERM", "SIGKILL"):
            old = self.cell.workers()
            self.cell.wait_for(lambda: not any(map(lives, old)))
        return [outcome(result.get) for result in self.results[:kept]]

    def finish(self):
        if self.cell.ending in ("close, join", "maxtasksperchild", "exception in a task"):
            self.pool.close()
        else:
            self.pool.terminate()
        self.pool.join()

    def abandon(self):
        self.pool.terminate()


class ProcessPoolExecutor:
    def __init__(self, context, cell):
        more = {"max_tasks_per_child": 1} if cell.ending == "maxtasksperchild" else {}
        self.cell = cell
        self.pool = concurrent.futures.ProcessPoolExecutor(WORKERS, mp_context=context, **more)

    def start(self):
        """Submits the last tasks after the first are done, else a worker may get two of them."""
        first = [self.pool.submit(task, self.cell, n) for n in range(WORKERS)]
        concurrent.futures.wait(first)
        self.results = first + [self.pool.submit(task, self.cell, n) for n in range(WORKERS, TASKS)]

    def outcomes(self):
        if self.cell.ending == "terminate":
            self.cell.wait_for_lines("ledger", TASKS)
            self.terminate()
        return [outcome(future.result) for future in self.results]

    def terminate(self):
        self.pool.terminate_workers()

    def finish(self):
        self.pool.shutdown()

    def abandon(self):
        self.pool.shutdown()


class Loky(ProcessPoolExecutor):
    """The default kind of joblib's workers; through joblib if only the tasks are needed."""

    def __init__(self, context, cell):
        from joblib.externals import loky

        self.cell, self.get_pool = cell, loky.get_reusable_executor
        if cell.ending != "close, join":
            self.pool = self.get_pool(WORKERS, context=context)

    def start(self):
        if self.cell.ending != "close, join":
            super().start()

    def outcomes(self):
        if self.cell.ending != "close, join":
            return super().outcomes()
        import joblib

        calls = [joblib.delayed(task)(self.cell, n) for n in range(TASKS)]
        numbers = joblib.Parallel(WORKERS, batch_size=1, pre_dispatch="all")(calls)
        self.pool = self.get_pool()
        return [f"returned {number}" for number in numbers]

    def terminate(self):
        self.pool.shutdown(kill_workers=True)


class Processes:
    """Kinds that start each worker as a separate process with two tasks."""

    def __init__(self, context, cell):
        self.context, self.cell, self.workers = context, cell, []

    def start(self):
        self.workers = [self.start_worker(number) for number in range(WORKERS)]

    def outcomes(self):
        if self.cell.ending == "terminate":
            self.cell.wait_for_lines("ledger", TASKS)
            for worker in self.workers:
                worker.terminate()
        return [f"exited {self.wait(worker)}" for worker in self.workers]

    def finish(self):
        pass

    def abandon(self):
        for worker in self.workers:
            with contextlib.suppress(KeyboardInterrupt):
                self.wait(worker)


def two_tasks(cell, number):
    task(cell, number)
    task(cell, number + WORKERS)


class Process(Processes):
    def start_worker(self, number):
        daemon = self.cell.ending == "daemon children"
        worker = self.context.Process(target=two_tasks, args=(self.cell, number), daemon=daemon)
        worker.start()
        return worker

    def wait(self, worker):
        worker.join()
        return worker.exitcode


class Fork(Processes):
    def start_worker(self, number):
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            if self.cell.ending == "daemon children":
                os.setsid()
                if os.fork():
                    os._exit(0)
            two_tasks(self.cell, number)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def wait(self, worker):
        return os.waitpid(worker, 0)[1]


class Subprocess(Processes):
    def start_worker(self, number):
        arguments = ["worker", str(number), self.cell.ending, str(self.cell.folder)]
        daemon = self.cell.ending == "daemon children"
        return subprocess.Popen([sys.executable, __file__, *arguments], start_new_session=daemon)

    def wait(self, worker):
        return worker.wait()


MAKERS = {"Pool": Pool, "ProcessPoolExecutor": ProcessPoolExecutor, "Process": Process,
          "os.fork": Fork, "subprocess": Subprocess, "joblib/loky": Loky}
NO_METHOD = ("os.fork", "subprocess")


def own(kind, method, cell):
    """Runs the process that owns the workers."""
    context = multiprocessing.get_context(method) if method in METHODS else None
    if kind == "joblib/loky":
        context = method
    cell.note("owner", os.getpid())
    owned = MAKERS[kind](context, cell)
    owned.start()
    if cell.ending == "parent dies first":
        cell.wait_for_lines("begun", TASKS - WORKERS)
        os.kill(os.getpid(), signal.SIGKILL)
    if cell.ending == "daemon children":
        leave(kind, owned)
        return
    if cell.ending in ("SIGTERM", "SIGKILL"):
        kill_workers(cell)
    try:
        cell.note("waiting", os.getpid())
        print(*[f"{n} {text}" for n, text in enumerate(owned.outcomes())], sep="\n")
    except KeyboardInterrupt:
        owned.abandon()
        raise
    owned.finish()


kept_alive = []


def leave(kind, owned):
    """Ends the parent without notice to its workers; executors wait for theirs nevertheless."""
    kept_alive.append(owned)
    owned.cell.wait_for_lines("ledger", TASKS)
    if kind in ("ProcessPoolExecutor", "joblib/loky"):
        owned.cell.note("over", "")


def main():
    kind, method, ending, folder = sys.argv[1:5]
    if kind == "worker":
        return two_tasks(Cell(ending, folder), int(method))
    cell = Cell(ending, folder)
    if ending == "parent dies first" and kind not in NO_METHOD and len(sys.argv) == 5:
        owner = subprocess.Popen([sys.executable, *sys.argv, "owner"])
    elif kind in NO_METHOD:
        owner = multiprocessing.get_context(method).Process(target=own, args=(kind, method, cell))
        owner.start()
        owner.wait = lambda: owner.join() or owner.exitcode
    else:
        return own(kind, method, cell)
    print("owner exited", owner.wait())
    if ending == "parent dies first":
        cell.wait_for_lines("ledger", TASKS)
        cell.wait_for(lambda: not any(map(lives, cell.workers())))


if __name__ == "__main__":
    main()
