# SPDX-License-Identifier: MIT
"""More cases of leak_cases.py: the wrappers of pyannot.observe.pools around the queues of pools."""

import contextlib
import functools
import multiprocessing
import pickle
import types
from multiprocessing.pool import mapstar

import pyannot
from leak_cases import case
from pyannot.observe import pools_side

SCOPE = "pipe 1"


def task(number):
    if number == 3:
        raise ValueError(number)
    return number


@functools.lru_cache(maxsize=None)
def queues():
    context = multiprocessing.get_context("fork")
    return context.SimpleQueue(), context.SimpleQueue()


@case
def pool_over_pipes():
    """Repeats so often that the interpreter specializes the code in the first calls."""
    for _ in range(10):
        one_way()


def one_way():
    """Parent and worker in one thread."""
    tasks, results = queues()
    scope = pools_side.scope(tasks._reader)
    parent, worker = pools_side.make(scope, "Pool"), pools_side.make(scope)
    assign = parent.hook("assign", tasks._writer.send)
    result = parent.hook("result", results._reader.recv)
    pools_side.hook(parent, "receive", results._reader, "_recv_bytes")
    pools_side.hook_worker(worker, tasks, results)
    worker.initializing(task)
    parent.submitted(1, 2, 1, 4, "map")
    for number, function in enumerate([functools.partial(task, 2), functools.partial(task), task]):
        args = (3,) if number else ()
        assign((1, number, function, args, {}))
        job, index, function, args, keywords = tasks.get()
        try:
            answer = (True, function(*args, **keywords))
        except ValueError as error:
            answer = (False, error)
        results.put((job, index, answer))
        result()
    assign((2, 0, mapstar, ((task, (1, 2)),), {}))
    tasks.get()
    with contextlib.suppress(TypeError, AttributeError, pickle.PicklingError):
        results.put(lambda: 0)  # cannot be pickled
    del results._reader._recv_bytes, tasks._reader._recv_bytes, tasks.get, results.put


@case
def executor_items():
    """Tasks of threads, and the counts from a queue of work ids."""
    side = pools_side.make("", "threads", local=True)
    for item, error in ((types.SimpleNamespace(fn=task, args=(1,)), None),
                        (types.SimpleNamespace(task=(task, (1,), {})), ValueError("x")), (3, None)):
        with pyannot.annotate("open", domain="own"):
            offered = side.offer()
        side.take(offered, item)
        side.done(offered, error)
    side.offer()
    side.run(side.offer(), str, b"x", encoding="ascii")
    with contextlib.suppress(ValueError):
        side.run(side.offer(), int, "x")
    parent = pools_side.make(SCOPE, "Executor", workers=2)
    item = types.SimpleNamespace(work_id=1 << 70, exception=types.SimpleNamespace(exc=KeyError()))
    for value in (item, 5, None, "text", (1, "x", 2), types.SimpleNamespace(work_id=1)):
        parent.hook("submit", str)(value)
        parent.hook("result", lambda value=value: value)()
        worker = pools_side.make(SCOPE)
        worker.hook("task", lambda value=value: value)()
        worker.hook("answer", str)(value)


@case
def hooks_used_wrongly():
    side = pools_side.make(SCOPE)
    for wrong in (lambda: side.hook("nothing", str), lambda: side.hook("task", str, 5),
                  lambda: side.hook("task"), lambda: side.submitted(1), lambda: side.take(1),
                  lambda: side.done(True), lambda: side.done("x", None),
                  lambda: side.take("x", task), lambda: side.run("x", task),
                  lambda: side.run(1), lambda: side.pending(1, 2),
                  lambda: type(side)("x", "y", [], ()), lambda: type(side)(scope="x")):
        with contextlib.suppress(TypeError, ValueError):
            wrong()
            raise AssertionError("nothing was raised")
    owner = types.SimpleNamespace()
    owner.call = side.hook("task", print, multiprocessing.current_process())

    class Owner:
        def call(self, *values, **names):
            return values, names

    owner = Owner()
    hooked = side.hook("task", Owner.call, owner)
    assert hooked(*range(10), word=1) == (tuple(range(10)), {"word": 1})
    del owner
    with contextlib.suppress(ReferenceError):
        hooked()
        raise AssertionError("the owner is gone")
