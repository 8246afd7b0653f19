# SPDX-License-Identifier: MIT
"""asyncio: each task is a track, with a range for its whole life.

Ranges inside of a task go to its track (pyannot/src/tasks/task.h). The start and end of a task are
seen where the loop calls its callbacks, asyncio.events.Handle._run; loops with other handles
(uvloop) show a task from its first range until its object is freed.

A task that was suspended for 1 ms or longer makes a mark when it resumes: where it waited, for
which object and how long (pyannot/src/tasks/task_await.c).

A callback that blocks the loop for 50 ms or longer makes a mark when it ends; samples and waits of
that time have the stack.

A task keeps the ranges that were open where it was made (create_task of asyncio's own loops):
threads that work for it show them around their work (pools.py).

Options: "asyncio-steps" makes each step of a task a range of the loop's thread;
"asyncio-slow=100ms" is another threshold, and the mark has the stack, which a thread takes.

Threads: install and remove by one at a time.
"""
import asyncio.base_events
import asyncio.events
import asyncio.tasks
import os
import sys

from pyannot import _native
from pyannot.observe import options

BLOCKED_NS = 50_000_000  # shorter turns of a loop are not reported

_state = ["off"]
_placed = []  # the replacement of Handle._run, and the original
_creating = []  # the same for create_task


def install():
    """Watches tasks from now on, of all loops."""
    if _placed or _state[0] == "on":
        _options()
        return
    _native.tasks_watch(asyncio.events._get_running_loop, _current_task())
    _state[0] = "on"
    _options()
    run = asyncio.events.Handle.__dict__.get("_run")
    if getattr(getattr(run, "__code__", None), "co_varnames", ("",))[:1] != ("self",):
        _state[0] = "on; asyncio.events.Handle._run is not the one that is known: " \
            "the lives and steps of tasks are not seen"
        return
    observed = _native.observed("step", run)
    asyncio.events.Handle._run = observed
    _placed[:] = [observed, run]
    create = asyncio.base_events.BaseEventLoop.create_task
    _creating[:] = [_native.observed("create", create), create]
    asyncio.base_events.BaseEventLoop.create_task = _creating[0]


def remove():
    """Stops watching. Open ranges are closed by the code that opened them."""
    if _placed and asyncio.events.Handle.__dict__.get("_run") is _placed[0]:
        asyncio.events.Handle._run = _placed[1]
    loop = asyncio.base_events.BaseEventLoop
    if _creating and loop.__dict__.get("create_task") is _creating[0]:
        loop.create_task = _creating[1]
    _placed.clear()
    _creating.clear()
    _native.tasks_unwatch()
    _native.tasks_types((), False)
    _native.tasks_libraries(())
    _native.tasks_blocked_threshold(0)
    _state[0] = "off"
    slow = sys.modules.get("pyannot.observe.slow_turns")
    if slow:
        slow.stop()


def status():
    """Returns the parts left out, if any."""
    return _state[0].partition("; ")[2]


def _current_task():
    """Returns the source of a loop's running task: a C function, or (before 3.12) a dict."""
    if sys.version_info < (3, 12):
        return asyncio.tasks._current_tasks
    return asyncio.tasks.current_task


def _libraries():
    """Folders of code that is not the user's, besides installed packages: those of the standard
    library and pyannot."""
    files = (getattr(asyncio, "__file__", None), __file__)
    return tuple(os.path.dirname(os.path.dirname(file)) for file in files if file)


def _options():
    types = {asyncio.tasks.Task, getattr(asyncio.tasks, "_PyTask", asyncio.tasks.Task)}
    _native.tasks_types(tuple(types), "asyncio-steps" in options)
    _native.tasks_libraries(_libraries())
    _native.tasks_blocked_threshold(0 if "asyncio-slow" in options else BLOCKED_NS)
    if "asyncio-slow" in options:
        from pyannot.observe import slow_turns

        slow_turns.start(options["asyncio-slow"])
