# SPDX-License-Identifier: MIT
"""What pyannot sees of a program without a line of it being touched.

It comes in parts, each a module here with install() and remove(). Both may be called at any time
and twice; neither raises into the program; after remove() nothing is left. A part is imported when
the first of the modules that it watches is, so that a program without pools pays nothing for them.

    start("default,-gc,asyncio-slow=100ms")
    status()    # {"pools": "waits for multiprocessing", "asyncio": "on", "gc": "off", ...}
    stop()

Each interpreter below `annot record` runs this at its start, so that what has to happen then is all
in this file: a module of its own would cost more than most of what is here.

Threads: any, one at a time; functions that wait for an import are called by who imports.
"""
import os
import stat
import sys

from pyannot import _native

# Who tells pyannot's own ranges and marks, and as what: numbers of annot/observers.h. So reports
# know them without looking at texts.
SELFTEST = (1, 0)
POOL_START_UP = (6, 6)
POOL_START = (6, 7)
ASYNCIO_BLOCKED = (7, 2)
COMMAND_START = (8, 1)
COMMAND_RUN = (8, 2)
COMMAND_END = (8, 3)

# What it is called: (the module here, the modules whose import brings it in; none: at once).
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

# On request only: what it is called, and the part that it belongs to and brings along.
OPTIONS = {"asyncio-steps": "asyncio", "asyncio-slow": "asyncio"}

options: dict[str, str] = {}  # of OPTIONS, those that were asked for, with what follows "="

_states: dict[str, str] = {}  # of the parts that were asked for
_starters: dict[str, object] = {}  # of those that wait for a module


# ---- Parts ----


def parse(text):
    """The parts and options that a list asks for: ({name}, {option: value}).

    A list that begins with "default" or "-NAME" changes the default; any other names all that is
    wanted. "none" is nothing. Raises ValueError for what is not known.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    parts = set(DEFAULT) if not words or words[0][0] == "-" else set()
    asked = {}
    for word in words:
        name, _, value = word.partition("=")
        if word == "default":
            parts.update(DEFAULT)
        elif word == "none":
            parts.clear()
        elif name in OPTIONS:
            asked[name] = value
            parts.add(OPTIONS[name])
        elif name.lstrip("-") not in PARTS or value:
            known = ", ".join((*PARTS, *OPTIONS))
            raise ValueError(f"{word!r} is no part of what pyannot observes: {known}, none")
        elif name[0] == "-":
            parts.discard(name[1:])
        else:
            parts.add(name)
    return parts, asked


def start(parts=""):
    """Observes what the list names ("": the default), and no longer what it does not."""
    wanted, asked = parse(parts if isinstance(parts, str) else ",".join(parts))
    stop()
    options.update(asked)
    for name, (_, modules) in PARTS.items():
        if name not in wanted:
            continue
        if not modules or any(module in sys.modules for module in modules):
            _install(name)
        else:
            _wait(name, modules)


def stop():
    """Takes all of it away."""
    for name in reversed(list(PARTS)):
        starter = _starters.pop(name, None)
        for module in PARTS[name][1] if starter else ():
            forget(module, starter)
        if _states.pop(name, "") == "on":
            _try(name, "remove")
    options.clear()


def status():
    """What became of each part: "on", "off", "waits for ...", or why it is not on.

    A part may say more of itself (its status(): what of the standard library it left alone).
    """
    told = dict.fromkeys(PARTS, "off")
    told.update(_states)
    for name, state in _states.items():
        module = sys.modules.get(f"{__name__}.{PARTS[name][0]}")
        more = module.status() if state == "on" and hasattr(module, "status") else ""
        if more:
            told[name] = f"on; {more}"
    return told


def _wait(name, modules):
    def starter(_module):
        if _starters.pop(name, None) is starter:
            _install(name)

    _starters[name] = starter
    _states[name] = f"waits for {' or '.join(modules)}"
    for module in modules:
        when_imported(module, starter)


def _install(name):
    _states[name] = _try(name, "install")
    _tell_part(name, _states[name])


def _try(name, what):
    """Calls a function of a part. "on", or why that could not be done."""
    module = PARTS[name][0]
    try:
        if module in _AT_HAND:
            _AT_HAND[module][what]()
        else:
            full_name = f"{__name__}.{module}"
            __import__(full_name)
            getattr(sys.modules[full_name], what)()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "on"


# ---- What waits for an import: functions that are called as soon as a module is there ----
#
# A finder in front of sys.meta_path knows the watched names: any other import costs one look into
# a dict. The module itself looks as ever: the loader that tells of its end (follow.py) is taken out
# of its spec before its first line runs.

failures: list[str] = []  # "MODULE: FUNCTION: what it raised"

_watched: dict[str, list] = {}


def _find_spec(name, path=None, target=None):
    if name not in _watched:
        return None
    from pyannot.observe import follow
    return follow.find_spec(name, path, target)


finder = type(sys.implementation)(find_spec=_find_spec)  # a class takes 0.1 ms


def followed(name, module):
    """The module was imported."""
    for function in _watched.pop(name, ()):
        _call(name, function, module)
    _tidy()


def when_imported(name, function):
    """Calls function(module) now if the module is there, else right after its import, once."""
    module = sys.modules.get(name)
    if module is not None:
        _call(name, function, module)
        return
    _watched.setdefault(name, []).append(function)
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)


def forget(name, function):
    """The function is not called any more; nothing happens if it would not have been."""
    functions = _watched.get(name, [])
    if function in functions:
        functions.remove(function)
    if not functions:
        _watched.pop(name, None)
    _tidy()


def _call(name, function, module):
    try:
        function(module)
    except Exception as error:
        where = getattr(function, "__qualname__", "?")
        failures.append(f"{name}: {where}: {type(error).__name__}: {error}")


def _tidy():
    if not _watched and finder in sys.meta_path:
        sys.meta_path.remove(finder)


# ---- The parts that are at hand ----


def _watch_collections():
    """Collections of garbage, as ranges of the thread that they interrupt: one name a generation,
    and with its end how many objects were collected."""
    import gc
    if _native.collected not in gc.callbacks:
        gc.callbacks.append(_native.collected)


def _leave_collections():
    import gc
    if _native.collected in gc.callbacks:
        gc.callbacks.remove(_native.collected)


_import_placed = []  # what stands there now, and what stood there


def _watch_imports():
    """Imports, as nested ranges: "import json" with "import json.decoder" inside of it, so that
    what a report calls self time is that of the module alone.

    The interpreter calls importlib._bootstrap._find_and_load for each module that it has not, by
    looking it up, and -X importtime measures that very call. What stands in its place calls it, in
    C: no frame is added to any traceback, and finders, loaders and sys.modules are left alone.
    """
    import _frozen_importlib as bootstrap  # importlib._bootstrap; importlib takes its time
    function = bootstrap._find_and_load
    if _import_placed:
        return
    if getattr(getattr(function, "__code__", None), "co_varnames", ())[:2] != ("name", "import_"):
        raise RuntimeError("importlib._bootstrap._find_and_load is not the one that is known")
    replacement = _native.observed("import", function)
    _import_placed[:] = [replacement, function]
    bootstrap._find_and_load = replacement


def _leave_imports():
    import _frozen_importlib as bootstrap
    if _import_placed and bootstrap._find_and_load is _import_placed[0]:
        bootstrap._find_and_load = _import_placed[1]
    _import_placed.clear()


# Modules, and the functions of names.py that follow their import.
_NAMED = {
    "_posixsubprocess": "wrap_fork_exec",
    "subprocess": "wrap_subprocess",
    "threading": "wrap_threads",
    "multiprocessing.util": "watch_workers",
    "multiprocessing.process": "wrap_process_name",
}
_followers = {}  # those of _NAMED, by module, while names are given
_SPAWNERS = (os, sys.modules["posix"])  # where pickle looks for them
_spawns = []  # (module, name, what stands there now, what stood there)
_watches_starts = False  # by os.register_at_fork, which cannot be undone


def _watch_names():
    """Arrows to processes that are started. Names: see names.py."""
    global _watches_starts
    if _followers:
        return
    if not _watches_starts:
        os.register_at_fork(before=_native.starts_before_fork,
                            after_in_parent=_native.starts_after_fork_in_parent,
                            after_in_child=_native.starts_after_fork_in_child)
        _watches_starts = True
    _native.starts_watch(True)
    for name in ("posix_spawn", "posix_spawnp"):
        original = getattr(os, name)
        replacement = _native.observed("start", original)
        for module in _SPAWNERS:
            setattr(module, name, replacement)
            _spawns.append((module, name, replacement, original))
    for module, function in _NAMED.items():
        _followers[module] = _follower(function)
        when_imported(module, _followers[module])


def _follower(function):
    def follow(module):
        from pyannot.observe import names
        getattr(names, function)(module)

    return follow


def _leave_names():
    _native.starts_watch(False)
    for module, follower in _followers.items():
        forget(module, follower)
    _followers.clear()
    while _spawns:
        module, name, replacement, original = _spawns.pop()
        if getattr(module, name) is replacement:
            setattr(module, name, original)
    names = sys.modules.get(f"{__name__}.names")
    if names is not None:
        names.remove()


def gives_names():
    """Whether the part "names" is on."""
    return bool(_followers)


_AT_HAND = {
    "collections": {"install": _watch_collections, "remove": _leave_collections},
    "imports": {"install": _watch_imports, "remove": _leave_imports},
    "names": {"install": _watch_names, "remove": _leave_names},
}


# ---- What a process tells its session beside events, and known events that must arrive ----
#
# Lines at the end of the session's file: that pyannot is here, which parts run, why one does not.
# Events go another way, through shared memory; so the collector compares: a process that said that
# it recorded something, and of which nothing arrived, is named by `annot info`. Nothing raises; a
# line that cannot be written is not told.

LINE_BYTES = 1000
FILE_BYTES = 1 << 20  # no longer than this: a million forks need no line each
LINES_OFFSET = 8192  # behind what is the collector's

_begun = False
_telling = False
_watches_forks = False
_thread_told = False


def begin():
    """Starts what annot asked for in an interpreter that it started, once. Never raises."""
    global _begun
    wanted = os.environ.get("ANNOT_PYTHON", "none")
    if wanted == "none" or _begun:
        return
    _begun = True
    try:
        try:
            start(wanted)
        except ValueError as error:
            tell("part", "ANNOT_PYTHON", error)
        if not arrive():
            stop()  # without a reader, nothing is to be in the way
        elif os.environ.get("ANNOT_TRACE") or os.environ.get("LINE_PROFILE"):
            _trace(os.environ.get("ANNOT_TRACE", ""))
    except Exception:  # the program is what matters
        pass


def _trace(text):
    try:
        from pyannot import _trace as tracer
        tracer.begin(text)
    except Exception as error:
        tell("part", "trace-functions", error)


def arrive():
    """A known event on this thread; those of the first other thread and of children follow.

    Returns whether this process delivers: not if somebody records and it could not join.
    """
    global _telling, _watches_forks
    _telling = True
    states = status()
    if gives_names():
        if _was_started_by_python():
            _native.starts_arrived()
        if "threading" in sys.modules:
            from pyannot.observe import names
            names.tell_threads(sys.modules["threading"])
    tell("python", sys.executable or "?", _build(), _known_event("started"), _running(states))
    for name, state in states.items():
        if not state.startswith(("on", "off", "waits")):
            tell("part", name, state)
    if not _watches_forks:
        os.register_at_fork(after_in_child=_forked)
        _watches_forks = True
    if not _native.enabled() or _native.status() == "recording":
        return True
    tell("part", "this program", f"it cannot record: {_native.status()}")
    _telling = False
    return False


def leave():
    """Nothing more is told."""
    global _telling
    _telling = False


def thread_began():
    """By each thread that Python starts: a known event on the first one of a process, and known
    calls on the first one that is traced."""
    global _thread_told
    _test_calls("a second thread")
    if _telling and not _thread_told:
        import _thread
        _thread_told = True
        tell("thread", _thread.get_native_id(), _known_event("second thread"))


def tell(kind, *fields):
    """A line: the kind, this process, and the fields, parted by tabs."""
    words = (str(field).translate({9: 32, 10: 32}) for field in (kind, os.getpid(), *fields))
    line = "\t".join(words).encode("utf-8", "replace")[:LINE_BYTES] + b"\n"
    fd = _open_session(os.O_WRONLY | os.O_APPEND)
    if fd < 0:
        return
    try:
        if os.fstat(fd).st_size < FILE_BYTES:
            os.write(fd, line)
    except OSError:
        pass
    finally:
        os.close(fd)


def _open_session(flags):
    """The session's file; -1 if there is none."""
    session = os.environ.get("ANNOT_SESSION")
    for folder in _folders() if session else ():
        try:
            fd = os.open(f"{folder}/session-{session}",
                         flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            if stat.S_ISREG(os.fstat(fd).st_mode):  # a pipe would have us wait
                return fd
            os.close(fd)
        except (OSError, ValueError):
            continue
        except Exception:  # an audit hook of the program that allows no files
            break
    return -1


def _was_started_by_python():
    """Whether somebody has drawn an arrow to this process: its parent does if pyannot is in it, as
    it has said here. An exec draws none: then it was this very process that said so.
    """
    fd = _open_session(os.O_RDONLY)
    if fd < 0:
        return False
    try:
        size = os.fstat(fd).st_size
        lines = b"\n" + os.pread(fd, max(size - LINES_OFFSET, 0), LINES_OFFSET)
    except OSError:
        return False
    finally:
        os.close(fd)
    has_room = size < FILE_BYTES  # else the parent may have found none
    return (_is_told(os.getppid(), lines) or not has_room) and not _is_told(os.getpid(), lines)


def _is_told(pid, lines):
    return b"\npython\t%d\t" % pid in lines or b"\nforked\t%d\t" % pid in lines


def _tell_part(name, state):
    """A part began later, or could not."""
    if _telling:
        tell("part", name, state)


def _folders():
    """Where programs and annot meet, as docs/wire-format.md has it."""
    chosen = os.environ.get("ANNOT_DIR")
    if chosen:
        return (chosen,)
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return (f"/dev/shm/annot-{os.geteuid()}", f"{runtime}/annot" if runtime[:1] == "/" else "/")


def _running(states):
    return ",".join(name for name, state in states.items() if state.startswith("on"))


def _build():
    from _imp import extension_suffixes
    return extension_suffixes()[0].strip(".").rpartition(".")[0]


def _known_event(name):
    """Whether it was emitted: not while nobody records."""
    if not _native.enabled():
        return 0
    _native.observed_domain("python", *SELFTEST).mark(name, category="selftest")
    return 1


def _test_calls(where):
    tracer = sys.modules.get("pyannot._trace")
    if tracer:
        tracer.test(where)


def _forked():
    global _thread_told
    _thread_told = False
    _test_calls("a forked child")
    if _telling:
        tell("forked", _known_event("forked"), _running(status()))
