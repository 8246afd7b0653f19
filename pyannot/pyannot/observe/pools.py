# SPDX-License-Identifier: MIT
"""Observes pools of processes and threads at both of their ends.

A task is a range on its worker, with the function's name, between "unpickle" and "send"; an arrow
leads to it from its submission, and on to where its result is taken. Counters show the number of
waiting tasks and of busy workers. A task of a thread is work of its submitter: the ranges that were
open there, also those of an asyncio task, are opened again around its range (pool_side_threads.c).
Marks describe the pool (its class, size and start method) and its worker threads; calls record
their method and the size of chunks. `annot report` joins the two ends: how long tasks were queued,
unpickled, run, sent, and waiting to be fetched, and when each worker was busy. If threads are
greenlets (gevent, eventlet), a task is a range on its greenlet's track, without marks and arrows.

Wrapped functions, if their parameters are the known ones (status() lists the others):

  multiprocessing.pool        worker, Pool._setup_queues, ThreadPool._setup_queues,
                              ApplyResult, MapResult, IMapIterator: __init__
  multiprocessing.process     BaseProcess: start, _bootstrap, run
  multiprocessing.spawn       _main
  concurrent.futures.process  _process_worker, ProcessPoolExecutor: __init__, map
  concurrent.futures.thread   _WorkItem: __init__, run; _worker, ThreadPoolExecutor.__init__
  concurrent.futures          Executor.map
  joblib, loky                the same in their own executor; joblib.pool.PicklingPool
  anyio.to_thread             run_sync

Tasks and results pass unchanged. Both ends identify a task by its existing numbers, and their pool
by its pipe.
"""
from pyannot.observe import forget, pools_futures, pools_multiprocessing, when_imported
from pyannot.observe.patches import Patches

_patches = Patches()
_watched = []  # (module, function) for when_imported
_MODULES = {
    "multiprocessing.pool": pools_multiprocessing.patch,
    "joblib.pool": pools_multiprocessing.patch_joblib,
    "multiprocessing.process": pools_multiprocessing.patch_process,
    "multiprocessing.spawn": pools_multiprocessing.patch_spawn,
    "concurrent.futures.process": pools_futures.patch_processes,
    "concurrent.futures.thread": pools_futures.patch_threads,
    "joblib.externals.loky.process_executor": pools_futures.patch_processes,
    "loky.process_executor": pools_futures.patch_processes,
    "anyio.to_thread": pools_futures.patch_anyio,
}


def install():
    """Wraps functions of imported modules, those of others as soon as they are imported."""
    if _watched:
        return
    for name, function in _MODULES.items():
        def patch(module, function=function):
            function(_patches, module)

        _watched.append((name, patch))
        when_imported(name, patch)


def remove():
    """Restores the originals. Pools that were made meanwhile keep their hooks; those of workers end
    with them."""
    for name, function in _watched:
        forget(name, function)
    _watched.clear()
    _patches.undo()


def status():
    """Returns the functions left alone because they differ from the known ones, or ""."""
    return _patches.status()
