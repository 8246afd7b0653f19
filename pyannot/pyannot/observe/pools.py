# SPDX-License-Identifier: MIT
"""Pools of processes and threads, seen from both of their ends.

A task is a range on its worker, with the function's name, between "unpickle" and "send"; an arrow
leads to it from where it was handed over, and on to where its result is taken. Counters tell how
many tasks wait and how many workers are busy.
A task of a thread is work of whoever submitted it: around its range, the ranges that were open
there are opened again, also those of an asyncio task (pool_thread.c).
Marks tell what pool it is (its class, size and start method), and which threads are its workers;
calls tell their method and the size of chunks. `annot report` joins the two ends: how long tasks
were queued, unpickled, run, sent, and waiting to be fetched, and when each worker was busy.
Where threads are greenlets (gevent, eventlet), a task is a range on its greenlet's track, without
marks and arrows.

What is wrapped, wherever its parameters are the known ones (else status() names it):

    multiprocessing.pool        worker, Pool._setup_queues, ThreadPool._setup_queues,
                                ApplyResult, MapResult, IMapIterator: __init__
    multiprocessing.process     BaseProcess: start, _bootstrap, run
    multiprocessing.spawn       _main
    concurrent.futures.process  _process_worker, ProcessPoolExecutor: __init__, map
    concurrent.futures.thread   _WorkItem: __init__, run; _worker, ThreadPoolExecutor.__init__
    concurrent.futures          Executor.map
    joblib, loky                the same in their own executor; joblib.pool.PicklingPool
    anyio.to_thread             run_sync

Tasks and results pass as they are. Both ends know a task by the numbers that it has anyway, and
their pool by its pipe.
"""
from pyannot.observe import forget, pools_futures, pools_multiprocessing, pools_startup
from pyannot.observe import when_imported
from pyannot.observe.pools_patch import Patches

_patches = Patches()
_watched = []  # (module, function) as when_imported has them
_MODULES = {
    "multiprocessing.pool": pools_multiprocessing.patch,
    "joblib.pool": pools_multiprocessing.patch_joblib,
    "multiprocessing.process": pools_startup.patch_process,
    "multiprocessing.spawn": pools_startup.patch_spawn,
    "concurrent.futures.process": pools_futures.patch_processes,
    "concurrent.futures.thread": pools_futures.patch_threads,
    "joblib.externals.loky.process_executor": pools_futures.patch_processes,
    "loky.process_executor": pools_futures.patch_processes,
    "anyio.to_thread": pools_futures.patch_anyio,
}


def install():
    """Wraps what is imported already, and the rest as soon as it is."""
    if _watched:
        return
    for name, function in _MODULES.items():
        def patch(module, function=function):
            function(_patches, module)

        _watched.append((name, patch))
        when_imported(name, patch)


def remove():
    """Puts back what was there. Pools that were made meanwhile keep their hooks; those of
    workers end with them."""
    for name, function in _watched:
        forget(name, function)
    _watched.clear()
    _patches.undo()


def status():
    """What was left alone because it is not as expected, or ""."""
    return f"left alone: {', '.join(_patches.refused)}" if _patches.refused else ""
