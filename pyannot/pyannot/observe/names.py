# SPDX-License-Identifier: MIT
"""Names that people know, and arrows from whoever started a process to its first event.

Processes of multiprocessing are called what it calls them (ForkPoolWorker-3), when they begin,
before any code of the program, and when they rename themselves. The others are named by their
command line, as ever. Threads are called what threading.Thread calls them, from their start on and
when they rename themselves; the main thread and threads of C keep their names. What the program
says itself (set_process_name, set_thread_name) stays, in that process and on that thread: a worker
that is forked later has a name of its own.

Wrapped: threading.Thread._set_native_id, the setters of threading.Thread.name and of
multiprocessing.process.BaseProcess.name, _posixsubprocess.fork_exec, os.posix_spawn(p) (by which
subprocess starts commands from 3.13 on). Used as they are: os.register_at_fork,
multiprocessing.util.register_after_fork.
"""
import os
import sys
from _thread import get_ident

import pyannot
from pyannot._native import observed, offer_process_name, offer_thread_name
from pyannot.observe import arrival
from pyannot.observe.when_imported import forget, when_imported

LEFT_MAX = 8  # reasons that are kept

_on = False
_registered = False  # with os.register_at_fork, which cannot be undone
_flows = {}  # of forks that are under way, by thread
_forks = 0  # of this process, while arrows were drawn
_undo = []  # functions that take back what was wrapped
_left = []  # what was left alone, and why


def install():
    global _on, _registered
    if _on:
        return
    _on = True
    if not _registered:
        os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent,
                            after_in_child=_after_in_child)
        _registered = True
    _wrap_starts()
    when_imported("threading", _wrap_threads)
    when_imported("multiprocessing.util", _watch_workers)
    when_imported("multiprocessing.process", _wrap_process_name)


def remove():
    global _on
    _on = False
    forget("threading", _wrap_threads)
    forget("multiprocessing.util", _watch_workers)
    forget("multiprocessing.process", _wrap_process_name)
    while _undo:
        _undo.pop()()
    _left.clear()
    _flows.clear()


def status():
    return "; ".join(_left)


# ---- Processes ----


def _watch_workers(util):
    """Called in each process that multiprocessing forks, when its name is known."""
    util.register_after_fork(_watch_workers, _name_worker)  # for as long as the first lives


def _name_worker(_ignored):
    process = sys.modules.get("multiprocessing.process")
    if _on and process is not None:
        offer_process_name(process.current_process().name)


def _wrap_process_name(process):
    """A spawned process is told its name by the setter, before the program is imported there."""

    def name_process(self):
        if self is process.current_process():
            offer_process_name(self.name)

    _wrap_setter(process.BaseProcess, "processes that are spawned or rename themselves",
                 name_process)


def _before_fork():
    if _on and pyannot.enabled():
        _quietly(_begin_fork)


def _begin_fork():
    flow = _flows[get_ident()] = pyannot.flow("fork")
    flow.begin()


def _after_in_parent():
    global _forks
    _forks += _flows.pop(get_ident(), None) is not None


def _after_in_child():
    flow = _flows.pop(get_ident(), None)
    _flows.clear()
    if flow is not None:
        flow.end()


def _start_ticks(pid):
    """When a process began, in ticks since boot; 0: not known."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        return int(os.read(fd, 1024).rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0
    finally:
        os.close(fd)


def _start_flow(pid, path):
    """The same in parent and child: by the number of the child, and by when it began."""
    return pyannot.flow("start", (pid << 40 ^ _start_ticks(path)) & (1 << 63) - 1)


def _begin_start(pid):
    _start_flow(pid, pid).begin()


def arrive():
    """The arrow of whoever started this process arrives, if there is one."""
    if _on and pyannot.enabled():
        _quietly(_end_start)


def _end_start():
    _start_flow(os.getpid(), "self").end()


def _starts(original):
    """The same, with an arrow from here to the process of which it returns the number.

    Not if it told of a fork (preexec_fn): that arrow leads there already.
    """

    def start(*args, **keywords):
        forks = _forks
        pid = original(*args, **keywords)
        if pid > 0 and forks == _forks and pyannot.enabled():
            _quietly(_begin_start, pid)
        return pid

    return observed("instead", original, start)


def _wrap_starts():
    import _posixsubprocess
    original = _posixsubprocess.fork_exec
    fork_exec = _starts(original)
    _put(_posixsubprocess, "fork_exec", original, fork_exec)
    # From 3.11 on it has a name of its own there.
    when_imported("subprocess", lambda module: _follow(module, original, fork_exec))
    for name in ("posix_spawn", "posix_spawnp"):
        original = getattr(os, name)
        replacement = _starts(original)
        _put(os, name, original, replacement)
        _put(sys.modules["posix"], name, original, replacement)  # where pickle looks for it


def _follow(subprocess, original, replacement):
    if not _on or getattr(subprocess, "_fork_exec", None) not in (original, replacement):
        return
    _put(subprocess, "_fork_exec", original, replacement)


def _put(owner, name, original, replacement):
    """Sets an attribute, and takes it back unless somebody else has changed it since."""

    def undo():
        if getattr(owner, name, None) is replacement or vars(owner).get(name) is replacement:
            setattr(owner, name, original)

    setattr(owner, name, replacement)
    _undo.append(undo)


# ---- Threads ----


def _wrap_threads(threading):
    thread = threading.Thread
    _wrap_start(thread)
    _wrap_rename(thread)


def _is_foreign(thread):
    """Not started by Python: named by somebody else."""
    return type(thread).__name__ in ("_MainThread", "_DummyThread")


def _name_started(thread):
    offer_thread_name(thread.name)
    arrival.thread_began()


def _wrap_start(thread):
    original = vars(thread).get("_set_native_id")
    code = getattr(original, "__code__", None)
    if code is None or code.co_varnames != ("self",):
        _left.append("threads are not named: threading.Thread._set_native_id() is another one")
        return

    def _set_native_id(self):
        original(self)
        if pyannot.enabled() and not _is_foreign(self):
            _quietly(_name_started, self)

    _put(thread, "_set_native_id", original, observed("instead", original, _set_native_id))


def _wrap_rename(thread):
    def name_thread(self):
        if self.ident == get_ident() and not _is_foreign(self):
            offer_thread_name(self.name)

    _wrap_setter(thread, "threads that rename themselves", name_thread)


# ---- What both need ----


def _wrap_setter(owner, who, follow):
    """follow(self) after each change of owner.name."""
    original = vars(owner).get("name")
    if not isinstance(original, property) or original.fset is None:
        _left.append(f"{who} keep their name: {owner.__name__}.name is no property")
        return

    def name(self, name):
        original.fset(self, name)
        if pyannot.enabled():
            _quietly(follow, self)

    setter = observed("instead", original.fset, name)
    _put(owner, "name", original,
         property(original.fget, setter, original.fdel, original.__doc__))


def _quietly(function, *arguments):
    """What goes wrong here is none of the program's business."""
    try:
        return function(*arguments)
    except Exception as error:
        if len(_left) < LEFT_MAX:
            _left.append(f"{function.__name__}: {type(error).__name__}: {error}")
        return None
