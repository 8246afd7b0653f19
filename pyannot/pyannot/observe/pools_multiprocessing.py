# SPDX-License-Identifier: MIT
"""multiprocessing.Pool and ThreadPool: see pools.py."""
import contextlib
import types

from pyannot._native import pool_side
from pyannot.observe import pools_side

_HOOK = pool_side.hook_type


def patch(patches, module):
    pool = module.Pool
    patches.wrap(module, "worker", _worker, ("inqueue", "outqueue", "initializer"))
    patches.wrap(pool, "_setup_queues", _setup_queues, ("self",))
    patches.wrap(module.ThreadPool, "_setup_queues", _setup_queues, ("self",))
    patches.wrap(module.ApplyResult, "__init__", _one_task(module.MapResult),
                 ("self", "pool"))
    patches.wrap(module.MapResult, "__init__", _chunks, ("self", "pool", "chunksize", "length"))
    patches.wrap(module.IMapIterator, "__init__", _one_by_one(module.IMapUnorderedIterator),
                 ("self", "pool"))


def patch_joblib(patches, module):
    patches.wrap(module.PicklingPool, "_setup_queues", _setup_queues, ("self",))


# ---- The worker


def _worker(original):
    def worker(inqueue, outqueue, initializer=None, *args, **kwargs):
        with contextlib.suppress(Exception):
            inqueue, outqueue = _watch_worker(inqueue, outqueue, initializer)
        return original(inqueue, outqueue, initializer, *args, **kwargs)

    return worker


def _watch_worker(inqueue, outqueue, initializer):
    """The queues that the worker is to use."""
    if hasattr(inqueue, "_reader"):
        side = pools_side.make(pools_side.scope(inqueue._reader))
        pools_side.hook_worker(side, inqueue, outqueue)
    else:  # of threads: shared by all of them
        side = pools_side.make(pools_side.local_scope(inqueue), local=True)
        inqueue = types.SimpleNamespace(get=side.hook("task", inqueue.get))
        outqueue = types.SimpleNamespace(put=side.hook("answer", outqueue.put))
    side.joined()
    side.initializing(initializer)
    return inqueue, outqueue


# ---- The parent


def _setup_queues(original):
    def _setup_queues(self):
        original(self)
        with contextlib.suppress(Exception):
            _watch_pool(self)

    return _setup_queues


def _watch_pool(pool):
    if isinstance(pool._quick_put, _HOOK):  # by the class below it
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


def _one_task(map_result):
    """A job of one task: apply. That of a map calls the same, and tells for itself."""
    def make(original):
        def __init__(self, pool, *args, **kwargs):
            original(self, pool, *args, **kwargs)
            if not isinstance(self, map_result):
                _submitted(self, pool, 1, 0, "apply")

        return __init__

    return make


def _chunks(original):
    def __init__(self, pool, *args, **kwargs):
        original(self, pool, *args, **kwargs)
        if self._number_left:
            _submitted(self, pool, self._number_left, self._chunksize, "map")

    return __init__


def _one_by_one(unordered):
    def make(original):
        def __init__(self, pool):
            original(self, pool)
            _submitted(self, pool, 0, 0,
                       "imap_unordered" if isinstance(self, unordered) else "imap")

        return __init__

    return make


def _submitted(job, pool, tasks, chunk, method):
    with contextlib.suppress(Exception):
        if isinstance(pool._quick_put, _HOOK):
            pool._quick_put.side.submitted(job._job, tasks, chunk, pool._processes, method)
