# SPDX-License-Identifier: MIT
"""The two ends of a pool: which pipe they share, and where hooks go.

A pipe has the same number at both of its ends, whichever way the worker came by it.
"""
import itertools
import os
import sys

from pyannot._native import pool_side

_numbers = itertools.count(1)
_queue_numbers = itertools.count(1)
_queues = []  # their numbers, as soon as there is one


def scope(connection):
    """What both ends of a pipe call it."""
    return f"pipe {os.fstat(connection.fileno()).st_ino:x}"


def local_scope(queue):
    """What the threads of this process call a queue."""
    if not _queues:
        import weakref
        _queues.append(weakref.WeakKeyDictionary())
    return f"queue {os.getpid():x} {_queues[0].setdefault(queue, next(_queue_numbers)):x}"


def own_scope():
    """What the threads of this process call a pool that has nothing which they share alone."""
    return f"executor {os.getpid():x} {next(_queue_numbers):x}"


def label(pool):
    """A name for the counters of a pool: its class, and which it is."""
    return f"{type(pool).__name__} {next(_numbers)}"


def made(side, pool, name, workers, context):
    """Tells what pool this is. `context` is one of multiprocessing's, or None: threads."""
    method = "threads"
    if context is not None:
        try:
            method = context.get_start_method()
        except Exception:  # the context is the program's
            method = "?"
    side.made(name, type(pool).__name__, workers, method)


def make(scope, name="", *, local=False, workers=0):
    """A side that knows the functions which call the user's."""
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
    """Puts a hook before a method of this one object, which it does not keep alive. (Its __dict__
    is not asked for: once there, it makes all attributes of the object slower.)"""
    function = getattr(target, name)
    if getattr(function, "__self__", None) is target:
        setattr(target, name, side.hook(kind, function.__func__, target))
    else:
        setattr(target, name, side.hook(kind, function))


def with_attributes(queue):
    """An empty queue of the same kind that takes a hook: gevent's, which it puts in place of
    queue.Queue, has no attributes of its own. The queue was made just now, and only its owner has
    it."""
    kind = type(queue)
    if kind.__dictoffset__ or not queue.empty():
        return queue
    return type(kind.__name__, (kind,), {"__module__": kind.__module__})()


def hook_worker(side, tasks, results):
    """A worker's ends of two queues over pipes."""
    hook(side, "receive", tasks._reader, "_recv_bytes")
    hook(side, "task", tasks, "get")
    hook(side, "answer", results, "put")
