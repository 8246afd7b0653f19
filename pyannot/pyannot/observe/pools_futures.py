# SPDX-License-Identifier: MIT
"""ProcessPoolExecutor, loky's, ThreadPoolExecutor, and anyio's threads: see pools.py."""
import contextlib
import functools
import threading

from pyannot import pop
from pyannot.observe import pools_side

_here = threading.local()


def patch_processes(patches, module):
    patches.wrap(module, "_process_worker", _process_worker, ("call_queue", "result_queue"))
    executor = module.ProcessPoolExecutor
    patches.wrap(executor, "__init__", _executor, ("self", "max_workers"))
    patches.around(executor, "map", ("self", "fn"), _map, _mapped)


def patch_threads(patches, module):
    side = pools_side.make("", "thread executors", local=True)
    item = module._WorkItem
    patches.wrap(item, "__init__", lambda original: _offered(original, side), ("self", "future"))
    patches.wrap(item, "run", lambda original: _taken(original, side), ("self",))
    executor = module.ThreadPoolExecutor
    patches.wrap(executor, "__init__", _threads, ("self", "max_workers"))
    patches.wrap(module, "_worker", _thread_worker, ("executor_reference",))
    patches.around(module._base.Executor, "map", ("self", "fn"), _thread_map(executor), _mapped)


def patch_anyio(patches, module):
    side = pools_side.make("", "anyio threads", local=True)
    patches.wrap(module, "run_sync", lambda original: _asked(original, side), ("func",))


# ---- Processes


def _process_worker(original):
    def _process_worker(call_queue, result_queue, initializer, *args, **kwargs):
        with contextlib.suppress(Exception):
            side = pools_side.make(pools_side.scope(call_queue._reader))
            pools_side.hook_worker(side, call_queue, result_queue)
            side.joined()
            side.initializing(initializer)
        return original(call_queue, result_queue, initializer, *args, **kwargs)

    return _process_worker


def _executor(original):
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        with contextlib.suppress(Exception):
            _watch_executor(self)

    return __init__


def _watch_executor(executor):
    scope = pools_side.scope(executor._call_queue._reader)
    name = pools_side.label(executor)
    side = pools_side.make(scope, name, workers=executor._max_workers)
    side.pending(executor._pending_work_items)
    context = getattr(executor, "_mp_context", None) or getattr(executor, "_context", None)
    pools_side.made(side, executor, name, executor._max_workers, context)
    executor._annot_pool = side, scope
    reader = executor._result_queue._reader
    pools_side.hook(side, "receive", reader, "_recv_bytes")
    pools_side.hook(side, "result", reader, "recv")
    pools_side.hook(side, "submit", executor._work_ids, "put")


def _map(self, _fn, *_iterables, chunksize=1, **_options):
    pool = getattr(self, "_annot_pool", None)
    if pool is None:
        return None
    pool[0].call("map", chunksize)
    return True


def _mapped(*_ignored):
    pop()


# ---- Threads


def _threads(original):
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        with contextlib.suppress(Exception):
            scope = pools_side.own_scope()
            side = pools_side.make(scope, local=True)
            name = pools_side.label(self)
            pools_side.made(side, self, name, self._max_workers, None)
            self._annot_pool = side, scope

    return __init__


def _thread_worker(original):
    def _worker(executor_reference, *args, **kwargs):
        with contextlib.suppress(Exception):
            _join(executor_reference())
        return original(executor_reference, *args, **kwargs)

    return _worker


def _join(executor):
    pool = getattr(executor, "_annot_pool", None)
    if pool is not None:
        _here.side = pools_side.make(pool[1], local=True)
        _here.side.joined()


def _thread_map(kind):
    def _begin(self, *args, **_options):
        return _map(self, *args) if isinstance(self, kind) else None  # where a chunk is one item

    return _begin


def _offered(original, side):
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        self._annot_task = side.offer()  # dropped with the item, it counts as done with

    return __init__


def _taken(original, side):
    def run(self, *args):
        task = self.__dict__.pop("_annot_task", None)
        future = self.future  # keeps its exception until the range has ended
        if task is None or future.cancelled():  # from before this was here, or never to run
            return original(self, *args)
        worker = getattr(_here, "side", None)
        if worker is not None:
            worker.joined()  # a recording that began meanwhile does not know
        side.take(task, self)
        try:
            return original(self, *args)
        finally:
            side.done(task, getattr(future, "_exception", None))
            self = future = None  # its traceback knows this frame, too: no circle

    return run


def _asked(original, side):
    """anyio has workers of its own: the function that it is given tells."""
    def run_sync(func, *args, **options):
        return original(functools.partial(side.run, side.offer(), func), *args, **options)

    return run_sync
