# SPDX-License-Identifier: MIT
"""ProcessPoolExecutor, loky's, and ThreadPoolExecutor: see pools.py."""
import contextlib

from pyannot.observe import pools_side


def patch_processes(patches, module):
    patches.wrap(module, "_process_worker", _process_worker, ("call_queue", "result_queue"))
    patches.wrap(module.ProcessPoolExecutor, "__init__", _executor, ("self", "max_workers"))


def patch_threads(patches, module):
    side = pools_side.make("", "thread executors", local=True)
    item = module._WorkItem
    patches.wrap(item, "__init__", lambda original: _offered(original, side), ("self", "future"))
    patches.wrap(item, "run", lambda original: _taken(original, side), ("self",))


# ---- Processes


def _process_worker(original):
    def _process_worker(call_queue, result_queue, initializer, *args, **kwargs):
        with contextlib.suppress(Exception):
            side = pools_side.make(pools_side.scope(call_queue._reader))
            pools_side.hook_worker(side, call_queue, result_queue)
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
    reader = executor._result_queue._reader
    pools_side.hook(side, "receive", reader, "_recv_bytes")
    pools_side.hook(side, "result", reader, "recv")
    pools_side.hook(side, "submit", executor._work_ids, "put")


# ---- Threads


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
        opened = side.take(task, self.task if hasattr(self, "task") else self.fn)
        try:
            return original(self, *args)
        finally:
            side.done(opened, getattr(future, "_exception", None))
            self = future = None  # its traceback knows this frame, too: no circle

    return run
