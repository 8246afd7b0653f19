# SPDX-License-Identifier: MIT
"""The two ends of a pool: the pipe that they share, and their hooks.

A pipe has the same number at both of its ends, however the worker got it.
"""
import itertools
import os
import sys

from pyannot._native import pool_side

_numbers = itertools.count(1)
_queue_numbers = itertools.count(1)
_queues = []  # the numbers of queues, once needed


def scope(connection):
    """Returns the name of a pipe, the same at both ends."""
    return f"pipe {os.fstat(connection.fileno()).st_ino:x}"


def local_scope(queue):
    """Returns the name of a queue among the threads of this process."""
    if not _queues:
        import weakref
        _queues.append(weakref.WeakKeyDictionary())
    return f"queue {os.getpid():x} {_queues[0].setdefault(queue, next(_queue_numbers)):x}"


def own_scope():
    """Returns a name for a pool that has no queue shared by its threads alone."""
    return f"executor {os.getpid():x} {next(_queue_numbers):x}"


def label(pool):
    """Returns a name for the counters of a pool: its class and number."""
    return f"{type(pool).__name__} {next(_numbers)}"


def made(side, pool, name, workers, context):
    """Reports the pool. `context` is one of multiprocessing's, or None: threads."""
    method = "threads"
    if context is not None:
        try:
            method = context.get_start_method()
        except Exception:  # the program's context may raise
            method = "?"
    side.made(name, type(pool).__name__, workers, method)


def make(scope, name="", *, local=False, workers=0):
    """Makes a side that knows the functions which call the user's."""
    stars = _functions("multiprocessing.pool", "mapstar", "starmapstar")
    chunkers = [
        function
        for module in _executors
        for function in _functions(module, "_process_chunk")
    ]
    return pool_side(scope, name, tuple(stars), tuple(chunkers), local, workers)


_executors = [
    "concurrent.futures.process",
    "joblib.externals.loky.process_executor",
    "loky.process_executor",
]


def _functions(module, *names):
    found = (getattr(sys.modules.get(module), name, None) for name in names)
    return [function for function in found if function is not None]


def hook(side, kind, target, name):
    """Hooks a method of this one object, without keeping it alive. (Does not read its __dict__:
    once that exists, it makes all attributes of the object slower.)"""
    function = getattr(target, name)
    if getattr(function, "__self__", None) is target:
        setattr(target, name, side.hook(kind, function.__func__, target))
    else:
        setattr(target, name, side.hook(kind, function))


def with_attributes(queue):
    """Returns an empty queue of the same kind that takes a hook: gevent's, which replaces
    queue.Queue, has no attributes. The queue was made just now, and only its owner has it."""
    kind = type(queue)
    if kind.__dictoffset__ or not queue.empty():
        return queue
    return type(kind.__name__, (kind,), {"__module__": kind.__module__})()


def hook_worker(side, tasks, results):
    """Hooks a worker's ends of two queues over pipes."""
    hook(side, "receive", tasks._reader, "_recv_bytes")
    hook(side, "task", tasks, "get")
    hook(side, "answer", results, "put")
