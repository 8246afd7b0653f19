# SPDX-License-Identifier: MIT
"""multiprocessing.Pool and ThreadPool (see pools.py), and the start of processes."""
import os
import sys

from pyannot import pop
from pyannot._native import observed_domain, pool_side
from pyannot.observe import POOL_START, POOL_START_UP, pools_side

_START = observed_domain("python", *POOL_START)
_START_UP = observed_domain("python", *POOL_START_UP)
_HOOK = pool_side.hook_type
_SHARED = type(sys.implementation)  # types.SimpleNamespace


def patch(patches, module):
    pool = module.Pool
    patches.arguments(module, "worker", ("inqueue", "outqueue", "initializer"), _watch_worker)
    patches.always(pool, "_setup_queues", ("self",), None, _has_queues)
    patches.always(module.ThreadPool, "_setup_queues", ("self",), None, _has_queues)
    patches.always(module.ApplyResult, "__init__", ("self", "pool"), _pool_of,
                   _one_task(module.MapResult))
    patches.always(module.MapResult, "__init__", ("self", "pool", "chunksize", "length"), _pool_of,
                   _chunks)
    patches.always(module.IMapIterator, "__init__", ("self", "pool"), _pool_of,
                   _one_by_one(module.IMapUnorderedIterator))


def patch_joblib(patches, module):
    patches.always(module.PicklingPool, "_setup_queues", ("self",), None, _has_queues)


# ---- The worker


def _watch_worker(inqueue, outqueue, initializer=None, *_args, **_kwargs):
    """Returns the queues for the worker, with hooks."""
    if hasattr(inqueue, "_reader"):
        side = pools_side.make(pools_side.scope(inqueue._reader))
        pools_side.hook_worker(side, inqueue, outqueue)
    else:  # of threads, which share them
        side = pools_side.make(pools_side.local_scope(inqueue), local=True)
        inqueue = _SHARED(get=side.hook("task", inqueue.get))
        outqueue = _SHARED(put=side.hook("answer", outqueue.put))
    side.joined()
    side.initializing(initializer)
    return inqueue, outqueue


# ---- The parent


def _has_queues(_token, pool, _result, error):
    if error is None:
        _watch_pool(pool)


def _watch_pool(pool):
    if isinstance(pool._quick_put, _HOOK):  # done for its base class
        return
    reader = getattr(pool._inqueue, "_reader", None)
    if reader is None:
        scope = pools_side.local_scope(pool._inqueue)
    else:
        scope = pools_side.scope(reader)
    name = pools_side.label(pool)
    side = pools_side.make(scope, name, local=reader is None)
    pools_side.made(side, pool, name, 0, None if reader is None else pool._ctx)
    put, get = side.hook("assign", pool._quick_put), side.hook("result", pool._quick_get)
    if reader is not None:
        pools_side.hook(side, "receive", pool._outqueue._reader, "_recv_bytes")
    pool._quick_put, pool._quick_get = put, get


def _pool_of(_job, pool, *_args, **_kwargs):
    return pool


def _one_task(map_result):
    """Reports a job of one task: apply. The constructor of a map's result calls it as well, and
    reports the job itself."""
    def made(pool, job, _result, error):
        if error is None and not isinstance(job, map_result):
            _submitted(job, pool, 1, 0, "apply")

    return made


def _chunks(pool, job, _result, error):
    if error is None and job._number_left:
        _submitted(job, pool, job._number_left, job._chunksize, "map")


def _one_by_one(unordered):
    def made(pool, job, _result, error):
        if error is None:
            _submitted(job, pool, 0, 0,
                       "imap_unordered" if isinstance(job, unordered) else "imap")

    return made


def _submitted(job, pool, tasks, chunk, method):
    if isinstance(pool._quick_put, _HOOK):
        pool._quick_put.side.submitted(job._job, tasks, chunk, pool._processes, method)


# ---- The start of a process
#
# Its time is recorded in the parent and in the process itself. Exceptions of these functions are
# printed with their traceback, in which no frame of this module may appear.

_in_startup = 0  # process id while its range "start-up" is open
_run = None  # the current BaseProcess.run


def patch_process(patches, module):
    global _run
    process = module.BaseProcess
    patches.around(process, "start", ("self",), _starts, _started)
    patches.around(process, "_bootstrap", ("self",), _is_bootstrapped)
    patches.around(process, "run", ("self",), _runs)
    _run = process.run


def patch_spawn(patches, module):
    patches.around(module, "_main", ("fd",), _begin)


def _starts(process):
    _START.push("start process", category="pool", payload=process._name)
    return True


def _started(*_ignored):
    pop()


def _is_bootstrapped(process, *_args, **_kwargs):
    if type(process).run is _run:
        _begin()
    else:  # its own run() does not report its start
        _runs()


def _begin(*_args, **_kwargs):
    global _in_startup
    if _in_startup != os.getpid():
        _in_startup = os.getpid()
        _START_UP.push("start-up", category="pool")


def _runs(*_ignored):
    global _in_startup
    if _in_startup == os.getpid():
        pop()
    _in_startup = 0
