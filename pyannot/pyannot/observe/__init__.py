# SPDX-License-Identifier: MIT
"""Observes a program without changes to its code.

It consists of parts, each a module here with install() and remove(). Both may be called at any time
and twice; they never raise into the program, and remove() leaves no trace. A part is imported with
the first of the modules that it watches, so that programs without pools do not pay for them.

    start("default,-gc,asyncio-slow=100ms")
    status()    # {"pools": "waits for multiprocessing", "asyncio": "on", "gc": "off", ...}
    stop()

Each interpreter below `annot record` runs this at its start. Code for the start is in this file,
because another module would cost more than most of it.

Threads: any, one at a time; functions that wait for an import are called by the thread that
imports.
"""
import builtins
import os
import stat
import sys
from posix import close, fstat, getpid, pread, read, write

import _frozen_importlib as bootstrap  # importlib._bootstrap; importlib is slow to import
import _frozen_importlib_external as bootstrap_external
import pyannot
from pyannot import _native

# Observers and roles of pyannot's own ranges and marks: numbers of annot/observers.h, by which
# reports recognize them without looking at texts.
SELFTEST = (1, 0)
POOL_START_UP = (6, 6)
POOL_START = (6, 7)
ASYNCIO_BLOCKED = (7, 2)
COMMAND_START = (8, 1)
COMMAND_RUN = (8, 2)
COMMAND_END = (8, 3)

# Name of a part: (the module here, the modules with which it is imported; empty: at once).
PARTS = {
    "names": ("names", ()),
    "pools": ("pools", ("multiprocessing", "concurrent.futures", "joblib", "loky", "anyio")),
    "asyncio": ("tasks", ("asyncio",)),
    "greenlets": ("greenlets", ("greenlet",)),
    "gc": ("collections", ()),
    "imports": ("imports", ()),
    "subprocess": ("commands", ("subprocess",)),
}
DEFAULT = ("names", "pools", "asyncio", "greenlets", "gc", "imports", "subprocess")

# On request only: the name of an option, and the part that it belongs to and starts.
OPTIONS = {"asyncio-steps": "asyncio", "asyncio-slow": "asyncio"}

options: dict[str, str] = {}  # requested ones of OPTIONS, with the text after "="

_states: dict[str, str] = {}  # of the requested parts
_waiting: dict[str, object] = {}  # of waiting parts: the functions that will start them


# ---- Modules of this package ----
#
# They are imported inside the program's own imports, and must not meet the program's changes to
# sys.modules, sys.meta_path, builtins or audit hooks: they are loaded from here, without a finder,
# and have their own builtins, in which an import returns the modules that are loaded.

_own = {"pyannot": pyannot, "pyannot._native": _native, __name__: sys.modules[__name__]}
_import_any = builtins.__import__


def load(name):
    """Returns the module of this package with that name. Raises errors of its loader and its
    code."""
    full_name = f"{__name__}.{name}"
    if full_name not in _own:
        _own[full_name] = sys.modules.get(full_name) or _load(full_name, f"{name}.py")
        setattr(_own[__name__], name, _own[full_name])
    return _own[full_name]


def _load(full_name, file):
    path = f"{__path__[0]}/{file}"
    loader = bootstrap_external.SourceFileLoader(full_name, path)
    loader.get_data, loader.set_data = _read, _write
    module = bootstrap.module_from_spec(
        bootstrap_external.spec_from_file_location(full_name, path, loader=loader))
    module.__builtins__ = _builtins
    code = loader.get_code(full_name)
    sys.modules.setdefault(full_name, module)
    exec(code, vars(module))
    return module


def _read(path):
    fd = _native.open_file(path, os.O_RDONLY)
    try:
        return read(fd, fstat(fd).st_size)
    finally:
        close(fd)


def _write(path, data, _mode=0o644):
    """Writes bytecode, beside that of this file. On failure, modules are compiled again."""
    try:
        fd = _native.open_file(f"{path}.{getpid()}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            write(fd, data)
        finally:
            close(fd)
        os.replace(f"{path}.{getpid()}", path)
    except Exception:  # no folder, no space, an audit hook
        pass


def _import(name, namespace=None, names=None, attributes=(), level=0):
    """The __import__ of these modules."""
    package, _, part = name.rpartition(".")
    if package == __name__:
        module = load(part)
        return module if attributes else pyannot
    module = _own.get(name) or sys.modules.get(name)
    missing = [word for word in attributes or () if not hasattr(module, word)]
    if name == __name__:
        missing = [word for word in missing if not load(word)]
    if module is None or level or missing:
        return _import_any(name, namespace, names, attributes, level)
    return module if attributes else sys.modules[name.partition(".")[0]]


_builtins = {**vars(builtins), "__import__": _import}
__builtins__ = _builtins  # for the functions below


# ---- Parts ----


def parse(text):
    """Returns the parts and options of a list: ({name}, {option: value}).

    A list that begins with "default" or "-NAME" changes the default; any other names all wanted
    parts. "none" is the empty list. Raises ValueError for unknown names.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    parts = set(DEFAULT) if not words or words[0][0] == "-" else set()
    requested = {}
    for word in words:
        name, _, value = word.partition("=")
        if word == "default":
            parts.update(DEFAULT)
        elif word == "none":
            parts.clear()
        elif name in OPTIONS:
            requested[name] = value
            parts.add(OPTIONS[name])
        elif name.lstrip("-") not in PARTS or value:
            known = ", ".join((*PARTS, *OPTIONS))
            raise ValueError(f"{word!r} is no part of what pyannot observes: {known}, none")
        elif name[0] == "-":
            parts.discard(name[1:])
        else:
            parts.add(name)
    return parts, requested


def start(parts=""):
    """Observes the parts in the list ("": the default), and stops all others."""
    wanted, requested = parse(parts if isinstance(parts, str) else ",".join(parts))
    stop()
    options.update(requested)
    for name, (_, modules) in PARTS.items():
        if name not in wanted:
            continue
        if not modules or any(module in sys.modules for module in modules):
            _install(name)
        else:
            _wait(name, modules)


def start_late():
    """Observes tasks of asyncio, for a recording that met some, unless the program has chosen the
    parts itself. Returns true if tasks are observed."""
    if not _states:
        start("asyncio")
    return _states.get("asyncio") == "on"


def stop():
    """Removes all parts."""
    for name in reversed(list(PARTS)):
        starter = _waiting.pop(name, None)
        for module in PARTS[name][1] if starter else ():
            forget(module, starter)
        if _states.pop(name, "") == "on":
            _try(name, "remove")
    options.clear()


def status():
    """Returns the state of each part: "on", "off", "waits for ...", or why it is not on.

    A part may add details (its status(): functions of the standard library that it left alone).
    """
    states = dict.fromkeys(PARTS, "off")
    states.update(_states)
    for name, state in _states.items():
        module = _own.get(f"{__name__}.{PARTS[name][0]}")
        more = module.status() if state == "on" and hasattr(module, "status") else ""
        if more:
            states[name] = f"on; {more}"
    return states


def _wait(name, modules):
    def starter(_module):
        if _waiting.pop(name, None) is starter:
            _install(name)

    _waiting[name] = starter
    _states[name] = f"waits for {' or '.join(modules)}"
    for module in modules:
        when_imported(module, starter)


def _install(name):
    _states[name] = _try(name, "install")
    _report_part(name, _states[name])


def _try(name, what):
    """Calls a function of a part. Returns "on", or the error."""
    module = PARTS[name][0]
    try:
        if module in _AT_HAND:
            _AT_HAND[module][what]()
        else:
            getattr(load(module), what)()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "on"


# ---- Functions that are called as soon as a module is imported ----
#
# The interpreter calls importlib._bootstrap._find_and_load for each module that is not loaded, by
# looking it up there; -X importtime measures that very call. Our replacement calls it in C
# (observed.c): no frame is added to any traceback, and finders, loaders and sys.modules are
# unchanged. A name that is not watched costs one look into a dict.

failures: list[str] = []  # "MODULE: FUNCTION: the exception"

_watched: dict[str, list] = {}


_placed = []  # the replacement of _find_and_load, and the original
_import_ranges = False  # are wanted


def _followed(name, module):
    """Called after the module was imported."""
    for function in _watched.pop(name, ()):
        _call(name, function, module)
    _place()


def _place():
    """Installs the replacement while it is needed, and removes it."""
    if bool(_watched or _import_ranges) == bool(_placed):
        return
    if _placed:
        if bootstrap._find_and_load is _placed[0]:
            bootstrap._find_and_load = _placed[1]
        _placed.clear()
        return
    function = bootstrap._find_and_load
    if getattr(getattr(function, "__code__", None), "co_varnames", ())[:2] != ("name", "import_"):
        raise RuntimeError("importlib._bootstrap._find_and_load is not the one that is known")
    _placed[:] = [_native.observed("import", function, _watched, _followed), function]
    bootstrap._find_and_load = _placed[0]


def when_imported(name, function):
    """Calls function(module) once: now if the module is loaded, else right after its import."""
    module = sys.modules.get(name)
    if module is not None:
        _call(name, function, module)
        return
    _watched.setdefault(name, []).append(function)
    _place()


def forget(name, function):
    """Cancels a call by when_imported(), if it is still to come."""
    functions = _watched.get(name, [])
    if function in functions:
        functions.remove(function)
    if not functions:
        _watched.pop(name, None)
    _place()


def _call(name, function, module):
    try:
        function(module)
    except Exception as error:
        where = getattr(function, "__qualname__", "?")
        failures.append(f"{name}: {where}: {type(error).__name__}: {error}")


# ---- The parts in this file ----


def _watch_collections():
    """Records garbage collections as ranges of the thread that they interrupt: one name per
    generation; the end has the number of objects collected."""
    import gc
    if _native.collected not in gc.callbacks:
        gc.callbacks.append(_native.collected)


def _leave_collections():
    import gc
    if _native.collected in gc.callbacks:
        gc.callbacks.remove(_native.collected)


def _watch_imports():
    """Records imports as nested ranges: "import json" with "import json.decoder" inside, so that
    the self time in a report is that of the module alone."""
    global _import_ranges
    _import_ranges = True
    _place()
    _native.imports_watch(True)


def _leave_imports():
    global _import_ranges
    _import_ranges = False
    _native.imports_watch(False)
    _place()


# Modules, and the functions of names.py that follow their import.
_NAMED = {
    "threading": "wrap_threads",
    "multiprocessing.util": "watch_workers",
    "multiprocessing.process": "wrap_process_name",
}
_followers = {}  # those of _NAMED, by module, while names are given
_starters = []  # observed C functions that start programs
_watches_starts = False  # os.register_at_fork was called, which cannot be undone


def _watch_names():
    """Draws arrows to started processes. Names: see names.py."""
    global _watches_starts
    if _followers:
        return
    if not _watches_starts:
        os.register_at_fork(before=_native.starts_before_fork,
                            after_in_parent=_native.starts_after_fork_in_parent,
                            after_in_child=_native.starts_after_fork_in_child)
        _watches_starts = True
    _native.starts_watch(True)
    _observe_starters(os, "posix_spawn", "posix_spawnp")
    _followers["_posixsubprocess"] = lambda module: _observe_starters(module, "fork_exec")
    when_imported("_posixsubprocess", _followers["_posixsubprocess"])
    for module, function in _NAMED.items():
        _followers[module] = _follower(function)
        when_imported(module, _followers[module])


def _observe_starters(module, *names):
    for name in names:
        function = getattr(module, name, None)
        if _native.starts_observe(function):
            _starters.append(function)


def _follower(function):
    return lambda module: getattr(load("names"), function)(module)


def _leave_names():
    _native.starts_watch(False)
    for module, follower in _followers.items():
        forget(module, follower)
    _followers.clear()
    while _starters:
        _native.starts_leave(_starters.pop())
    names = _own.get(f"{__name__}.names")
    if names is not None:
        names.remove()


def gives_names():
    """True if the part "names" is on."""
    return bool(_followers)


_AT_HAND = {
    "collections": {"install": _watch_collections, "remove": _leave_collections},
    "imports": {"install": _watch_imports, "remove": _leave_imports},
    "names": {"install": _watch_names, "remove": _leave_names},
}


# ---- Reports of a process to its session beside events, and known events that must arrive ----
#
# Lines at the end of the session's file report that pyannot is loaded, which parts run, and why
# others do not. Events go another way, through shared memory, and the collector compares both:
# `annot info` names a process that reported an event but delivered no events. These functions do
# not raise; a line that cannot be written is dropped.

LINE_BYTES = 1000
FILE_BYTES = 1 << 20  # limit of the file: a million forks need no line each
LINES_OFFSET = 8192  # after the collector's part

_begun = False
_reports = False
_watches_forks = False
_thread_reported = False


def begin():
    """Starts, once, the parts that annot requested for an interpreter that it started. Never
    raises."""
    global _begun
    wanted = os.environ.get("ANNOT_PYTHON", "none")
    if wanted == "none" or _begun:
        return
    _begun = True
    try:
        try:
            start(wanted)
        except ValueError as error:
            report("part", "ANNOT_PYTHON", error)
        if not arrive():
            stop()  # without a reader, do not disturb the program
        elif os.environ.get("ANNOT_TRACE") or os.environ.get("LINE_PROFILE"):
            _trace(os.environ.get("ANNOT_TRACE", ""))
    except Exception:  # the program comes first
        pass


def _trace(text):
    try:
        from pyannot import _trace as tracer
        tracer.begin(text)
    except Exception as error:
        report("part", "trace-functions", error)


def arrive():
    """Emits a known event on this thread; the first other thread and children do so later.

    Returns true if this process delivers, false if a recording runs that it could not join.
    """
    global _reports, _watches_forks
    _reports = True
    states = status()
    if gives_names():
        if _was_started_by_python():
            _native.starts_arrived()
        if "threading" in sys.modules:
            load("names").report_threads(sys.modules["threading"])
    report("python", sys.executable or "?", _build(), _known_event("started"), _running(states))
    for name, state in states.items():
        if not state.startswith(("on", "off", "waits")):
            report("part", name, state)
    if not _watches_forks:
        os.register_at_fork(after_in_child=_native.observed("hidden", _forked))
        _watches_forks = True
    if not _native.enabled() or _native.status() == "recording":
        return True
    report("part", "this program", f"it cannot record: {_native.status()}")
    _reports = False
    return False


def leave():
    """Stops reports to the session."""
    global _reports
    _reports = False


def thread_began():
    """Called by each thread that Python starts: emits a known event on the first one of a process,
    and makes known calls on the first one that is traced."""
    global _thread_reported
    _test_calls("a second thread")
    if _reports and not _thread_reported:
        import _thread
        _thread_reported = True
        report("thread", _thread.get_native_id(), _known_event("second thread"))


def report(kind, *fields):
    """Writes a line: the kind, this process, and the fields, separated by tabs."""
    words = (str(field).translate({9: 32, 10: 32}) for field in (kind, getpid(), *fields))
    line = "\t".join(words).encode("utf-8", "replace")[:LINE_BYTES] + b"\n"
    fd = _open_session(os.O_WRONLY | os.O_APPEND)
    if fd < 0:
        return
    try:
        if fstat(fd).st_size < FILE_BYTES:
            write(fd, line)
    except OSError:
        pass
    finally:
        close(fd)


def _open_session(flags):
    """Opens the session's file; returns -1 without one."""
    session = os.environ.get("ANNOT_SESSION")
    for folder in _folders() if session else ():
        try:
            fd = _native.open_file(f"{folder}/session-{session}",
                                   flags | os.O_NOFOLLOW | os.O_NONBLOCK)
            found = fstat(fd)
            if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():  # a pipe could block
                return fd
            close(fd)
        except (OSError, ValueError):
            continue
    return -1


def _was_started_by_python():
    """True if the parent has drawn an arrow to this process: it does so if pyannot runs in it, as
    its line here shows. An exec draws no arrow: then the line is from this very process.
    """
    fd = _open_session(os.O_RDONLY)
    if fd < 0:
        return False
    try:
        size = fstat(fd).st_size
        lines = b"\n" + pread(fd, max(size - LINES_OFFSET, 0), LINES_OFFSET)
    except OSError:
        return False
    finally:
        close(fd)
    has_room = size < FILE_BYTES  # else the parent may have had no room for its line
    return (_is_reported(os.getppid(), lines) or not has_room) and not _is_reported(getpid(), lines)


def _is_reported(pid, lines):
    return b"\npython\t%d\t" % pid in lines or b"\nforked\t%d\t" % pid in lines


def _report_part(name, state):
    """Reports a part that began later, or failed."""
    if _reports:
        report("part", name, state)


def _folders():
    """Returns the folders where programs and annot meet, by docs/wire-format.md."""
    chosen = os.environ.get("ANNOT_DIR")
    if chosen:
        return (chosen,)
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    shared = tuple(f"/dev/shm/annot-{os.geteuid()}{number}" for number in ("", ".1", ".2", ".3"))
    return (*shared, f"{runtime}/annot") if runtime[:1] == "/" else shared


def _running(states):
    return ",".join(name for name, state in states.items() if state.startswith("on"))


def _build():
    from _imp import extension_suffixes
    return extension_suffixes()[0].strip(".").rpartition(".")[0]


def _known_event(name):
    """Emits a known event. Returns 1, or 0 without a recording."""
    if not _native.enabled():
        return 0
    _native.observed_domain("python", *SELFTEST).mark(name, category="selftest")
    return 1


def _test_calls(where):
    tracer = sys.modules.get("pyannot._trace")
    if tracer:
        tracer.test(where)


def _forked():
    global _thread_reported
    _thread_reported = False
    _test_calls("a forked child")
    if _reports:
        report("forked", _known_event("forked"), _running(status()))
