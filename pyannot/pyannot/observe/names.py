# SPDX-License-Identifier: MIT
"""Names that people know, and arrows from whoever started a process to its first event.

Processes of multiprocessing are called what it calls them (ForkPoolWorker-3), when they begin,
before any code of the program, and when they rename themselves. The others are named by their
command line, as ever. Threads are called what threading.Thread calls them, from their start on and
when they are renamed; the main thread and threads of C keep their names. What the program says
itself (set_process_name, set_thread_name) stays, in that process and on that thread: a worker that
is forked later has a name of its own.

A thread that never emits anything would need memory of its own to say what it is called: who starts
or renames it says that, among what that thread records. Only one that renames itself takes a block.

Wrapped: threading.Thread.start and _set_native_id, the setters of threading.Thread.name and of
multiprocessing.process.BaseProcess.name. Functions that start programs: see starts.c. Used as they
are: os.register_at_fork, multiprocessing.util.register_after_fork. What is needed at once stands in
__init__.py, which calls the functions here when their modules have been imported.
"""
import sys
from _thread import get_ident
from posix import getpid

from pyannot import observe
from pyannot._native import observed, offer_process_name, offer_thread_name, tell_thread_name

LEFT_MAX = 8  # reasons that are kept

_undo = []  # functions that take back what was wrapped
_left = []  # what was left alone, and why


def remove():
    while _undo:
        _undo.pop()()
    _left.clear()


def status():
    return "; ".join(_left)


# ---- Processes ----


def watch_workers(util):
    """Called in each process that multiprocessing forks, when its name is known."""
    util.register_after_fork(watch_workers, _NAME_WORKER)  # for as long as the first lives


def _name_worker(_ignored):
    process = sys.modules.get("multiprocessing.process")
    if observe.gives_names() and process is not None:
        offer_process_name(process.current_process().name)


_NAME_WORKER = observed("hidden", _name_worker)


def wrap_process_name(process):
    """A spawned process is told its name by the setter, before the program is imported there."""

    def name_process(self):
        if self is process.current_process():
            offer_process_name(self.name)

    _wrap_setter(process.BaseProcess, "processes that are spawned or rename themselves",
                 name_process)


def _put(owner, name, original, replacement):
    """Sets an attribute, and takes it back unless somebody else has changed it since."""

    def undo():
        if getattr(owner, name, None) is replacement or vars(owner).get(name) is replacement:
            setattr(owner, name, original)

    setattr(owner, name, replacement)
    _undo.append(undo)


# ---- Threads ----


def wrap_threads(threading):
    thread = threading.Thread
    _wrap_begin(thread)
    original = vars(thread)["start"]
    _put(thread, "start", original, observed("call", original, None, _started))
    _wrap_rename(thread)


def tell_threads(threading):
    """What threads that run already are called, for a recording that begins."""
    for thread in list(threading._active.values()):
        _quietly(_tell, thread)


def _is_foreign(thread):
    """Not started by Python: named by somebody else."""
    return type(thread).__name__ in ("_MainThread", "_DummyThread")


def _name_started(thread):
    if thread._native_id == getpid():
        return  # a greenlet of gevent's: the process's first thread runs it, among others
    offer_thread_name(thread.name)
    observe.thread_began()


def _is_running(_token, thread, _result, error):
    if error is None and not _is_foreign(thread):
        _quietly(_name_started, thread)


def _started(_token, thread, _result, error):
    if error is None:
        _quietly(_tell, thread)


def _tell(thread):
    number = getattr(thread, "_native_id", None)
    if number is not None and number != getpid() and not _is_foreign(thread):
        tell_thread_name(number, thread.name)


def _wrap_begin(thread):
    original = vars(thread).get("_set_native_id")
    code = getattr(original, "__code__", None)
    if code is None or code.co_varnames != ("self",):
        _left.append("threads are not named: threading.Thread._set_native_id() is another one")
        return

    _put(thread, "_set_native_id", original, observed("call", original, None, _is_running))


def _wrap_rename(thread):
    def name_thread(self):
        if self.ident == get_ident() and not _is_foreign(self):
            offer_thread_name(self.name)
        if self.is_alive():
            _tell(self)

    _wrap_setter(thread, "threads that are renamed", name_thread)


# ---- What both need ----


def _wrap_setter(owner, who, follow):
    """follow(self) after each change of owner.name."""
    original = vars(owner).get("name")
    if not isinstance(original, property) or original.fset is None:
        _left.append(f"{who} keep their name: {owner.__name__}.name is no property")
        return

    def named(_token, self, _result, error):
        if error is None:
            _quietly(follow, self)

    setter = observed("call", original.fset, None, named)
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
