# SPDX-License-Identifier: MIT
"""Names processes and threads as the program does, and draws arrows from the thread that started a
process to its first event.

Processes of multiprocessing get its names (ForkPoolWorker-3) when they begin, before any code of
the program, and when they rename themselves. Others are named by their command line. Threads get
the names of threading.Thread, from their start on and when they are renamed; the main thread and C
threads keep their names. Names that the program sets (set_process_name, set_thread_name) stay, in
that process and on that thread: a worker that is forked later gets its own name.

A thread that never emits anything would need a block for its name alone: the thread that starts or
renames it records the name among its own events. Only a thread that renames itself takes a block.

Wrapped: threading.Thread.start and _set_native_id, the setters of threading.Thread.name and of
multiprocessing.process.BaseProcess.name. Functions that start programs: see starts.c. Used
unchanged: os.register_at_fork, multiprocessing.util.register_after_fork. Code for the start is in
__init__.py, which calls the functions here when their modules have been imported.
"""
import sys
from _thread import get_ident
from posix import getpid

from pyannot import observe
from pyannot._native import name_thread_of, observed, offer_process_name, offer_thread_name

LEFT_MAX = 8  # number of reasons kept

_undo = []  # functions that restore the wrapped ones
_left = []  # functions that were left alone, and why


def remove():
    while _undo:
        _undo.pop()()
    _left.clear()


def status():
    return "; ".join(_left)


# ---- Processes ----


def watch_workers(util):
    """Runs in each process that multiprocessing forks, when its name is known."""
    util.register_after_fork(watch_workers, _NAME_WORKER)  # as long as the first lives


def _name_worker(_ignored):
    process = sys.modules.get("multiprocessing.process")
    if observe.gives_names() and process is not None:
        offer_process_name(process.current_process().name)


_NAME_WORKER = observed("hidden", _name_worker)


def wrap_process_name(process):
    """Names a spawned process in the setter, which runs there before the program is imported."""

    def name_process(self):
        if self is process.current_process():
            offer_process_name(self.name)

    _wrap_setter(process.BaseProcess, "processes that are spawned or rename themselves",
                 name_process)


def _put(owner, name, original, replacement):
    """Sets an attribute; restores it later, unless other code has changed it since."""

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


def report_threads(threading):
    """Records the names of threads that run already, for a recording that begins."""
    for thread in list(threading._active.values()):
        _quietly(_record_name, thread)


def _is_foreign(thread):
    """True if Python did not start the thread; other code names it."""
    return type(thread).__name__ in ("_MainThread", "_DummyThread")


def _name_started(thread):
    if thread._native_id == getpid():
        return  # a greenlet of gevent's: the process's first thread runs several
    offer_thread_name(thread.name)
    observe.thread_began()


def _is_running(_token, thread, _result, error):
    if error is None and not _is_foreign(thread):
        _quietly(_name_started, thread)


def _started(_token, thread, _result, error):
    if error is None:
        _quietly(_record_name, thread)


def _record_name(thread):
    number = getattr(thread, "_native_id", None)
    if number is not None and number != getpid() and not _is_foreign(thread):
        name_thread_of(number, thread.name)


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
            _record_name(self)

    _wrap_setter(thread, "threads that are renamed", name_thread)


# ---- Common to both ----


def _wrap_setter(owner, who, follow):
    """Calls follow(self) after each change of owner.name."""
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
    """Keeps our errors away from the program."""
    try:
        return function(*arguments)
    except Exception as error:
        if len(_left) < LEFT_MAX:
            _left.append(f"{function.__name__}: {type(error).__name__}: {error}")
        return None
