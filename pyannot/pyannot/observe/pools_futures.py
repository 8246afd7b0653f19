# SPDX-License-Identifier: MIT
"""ProcessPoolExecutor, loky's, ThreadPoolExecutor, and anyio's threads: see pools.py."""
from _thread import _local

from pyannot.observe import pools_side

_here = _local()


def patch_processes(patches, module):
    patches.always(module, "_process_worker", ("call_queue", "result_queue"), _process_worker)
    executor = module.ProcessPoolExecutor
    patches.always(executor, "__init__", ("self", "max_workers"), None, _executor)
    patches.around(executor, "map", ("self", "fn"), _map, _mapped)


def patch_threads(patches, module):
    side = pools_side.make("", "thread executors", local=True)
    item = module._WorkItem
    patches.always(item, "__init__", ("self", "future"), None, _offered(side))
    patches.always(item, "run", ("self",), _taken(side), _done(side))
    executor = module.ThreadPoolExecutor
    patches.always(executor, "__init__", ("self", "max_workers"), None, _threads)
    patches.always(module, "_worker", ("executor_reference",), _thread_worker)
    patches.around(module._base.Executor, "map", ("self", "fn"), _thread_map(executor), _mapped)


def patch_anyio(patches, module):
    side = pools_side.make("", "anyio threads", local=True)
    patches.arguments(module, "run_sync", ("func",), _submitted(side))


# ---- Processes


def _process_worker(call_queue, result_queue, initializer=None, *_args, **_kwargs):
    side = pools_side.make(pools_side.scope(call_queue._reader))
    pools_side.hook_worker(side, call_queue, result_queue)
    side.joined()
    side.initializing(initializer)


def _executor(_token, executor, _result, error):
    if error is None:
        _watch_executor(executor)


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
    executor._work_ids = pools_side.with_attributes(executor._work_ids)
    pools_side.hook(side, "submit", executor._work_ids, "put")


def _map(self, _fn, *_iterables, chunksize=1, **_options):
    pool = getattr(self, "_annot_pool", None)
    if pool is None:
        return None
    call = pool[0].call("map", chunksize)
    return call and (pool[0], call)


def _mapped(begun, *_ignored):
    side, call = begun
    side.called(call)


# ---- Threads


def _threads(_token, executor, _result, error):
    if error is None:
        scope = pools_side.own_scope()
        side = pools_side.make(scope, local=True)
        name = pools_side.label(executor)
        pools_side.made(side, executor, name, executor._max_workers, None)
        executor._annot_pool = side, scope


def _thread_worker(executor_reference, *_args, **_kwargs):
    _join(executor_reference())


def _join(executor):
    pool = getattr(executor, "_annot_pool", None)
    if pool is not None:
        _here.side = pools_side.make(pool[1], local=True)
        _here.side.joined()


def _thread_map(kind):
    def _begin(self, *args, **_options):
        return _map(self, *args) if isinstance(self, kind) else None  # a chunk is one item there

    return _begin


def _offered(side):
    def offered(_token, item, _result, error):
        if error is None:
            item._annot_task = side.offer()  # if it is dropped with the item, it counts as done

    return offered


def _taken(side):
    """Returns the task and its future, which keeps its exception until the range has ended."""
    def taken(item, *_args):
        task = vars(item).pop("_annot_task", None)
        future = item.future
        if task is None or future.cancelled():  # submitted before install(), or cancelled
            return None
        worker = getattr(_here, "side", None)
        if worker is not None:
            worker.joined()  # for a recording that began meanwhile
        side.take(task, item)
        return task, future

    return taken


def _done(side):
    def done(taken, _item, _result, _error):
        task, future = taken
        side.done(task, getattr(future, "_exception", None))

    return done


def _submitted(side):
    """Wraps the function for anyio, which has its own workers."""
    from functools import partial

    def submitted(func, *_args, **_options):
        return (partial(side.run, side.offer(), func),)

    return submitted
