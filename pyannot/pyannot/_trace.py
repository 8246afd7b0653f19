# SPDX-License-Identifier: MIT
"""Tracing of every call, for `annot record --trace-functions` and for the program itself.

    @pyannot.trace                      # each call of the function is a range, in any recording
    def parse(text): ...

    @pyannot.trace(min_duration=0.001)  # only calls of a millisecond or more, or with events inside
    def check(text): ...

    pyannot.trace(module_or_class)      # all functions that are defined there

    with pyannot.tracing("aggregate"):  # all calls of the process, while this is open
        work()

    @pyannot.trace(print=True)          # without a recording: at exit, prints a table of calls
    def read(path): ...                 # of the function and its callees

    with pyannot.tracing("aggregate", print=True):  # prints it at the end of the block
        work()

Requests from outside are in ANNOT_TRACE, one a line: functions=exact|adaptive|aggregate, c-calls=1,
select=PATTERN,-PATTERN, stdlib=box|all|off, max-depth=N, min-duration=NS, lines=PATTERN,-PATTERN,
captured=1 (only ranges of --capture-range are recorded).

Threads: any; one at a time changes the settings. Tracing covers all threads of the process, and
children that it forks.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock

from pyannot import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType, TracebackType
    from typing import Callable, Iterator, Optional, TypeVar, Union, overload

    from pyannot._printed import Table, Wanted

    Traced = TypeVar("Traced")

MODES = {"none": 0, "exact": 1, "adaptive": 2, "aggregate": 3}
LIBRARY = {"all": 0, "box": 1, "off": 2}
VALUES = {"args": 1, "return": 2, "exceptions": 4, "ranges": 8, "callees": 16}

SWITCHED = (3, 0)  # observer and role of the tracer's marks, of annot/observers.h

_lock = RLock()  # held while the variables below or the extension's settings change
os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]
_settings: dict[str, str] = {}  # current settings; empty: tracing is off
_own: dict[str, str] = {}  # those of them that trace() and lines() request
_watches_end = False
_watches_greenlets = False
_chosen: list[tuple[CodeType, int, bool]] = []  # (code, minimum ns, with callees)
_tested: set[str] = set()  # places that made known calls since tracing began


def parse(text: str) -> dict[str, str]:
    """Returns the settings of ANNOT_TRACE, by name; raises ValueError."""
    settings = {}
    for line in text.split("\n"):
        name, equals, value = line.partition("=")
        if equals:
            settings[name] = value
    for name, known in (("functions", MODES), ("stdlib", LIBRARY)):
        if settings.get(name, next(iter(known))) not in known:
            raise ValueError(f"{name}={settings[name]}: one of {', '.join(known)}")
    return settings


def mode_of(settings: dict[str, str]) -> str:
    """Returns the mode that this interpreter supports."""
    mode = settings.get("functions", "none")
    if mode == "adaptive" and sys.version_info < (3, 12):
        # Single functions cannot be switched off, and sums have no ranges.
        return "exact" if "captured" in settings else "aggregate"
    return mode


def begin(text: str) -> None:
    """Starts tracing according to ANNOT_TRACE. Raises RuntimeError if the interpreter cannot."""
    settings = parse(text)
    if "lines" in settings or os.environ.get("LINE_PROFILE"):
        from pyannot import _lines
        if "lines" in settings or _lines.is_wanted_by_environment():
            _lines.stand_in(as_builtin="lines" in settings)
    if "functions" in settings or "lines" in settings:
        start(settings)


def request(text: str) -> str:
    """Applies a request that `annot set` or `annot attach` makes while the program runs, in the
    form of ANNOT_TRACE; with neither functions nor lines, only the program's own requests remain.
    Children that begin later apply it, too. Returns the current state as a text."""
    settings = parse(text)
    is_on = "functions" in settings or "lines" in settings
    with _lock:
        wanted = dict(_own)
        if "functions" in settings:  # all functions, not only those that trace() chose
            wanted.pop("chosen", None)
            wanted.pop("min-duration", None)
            wanted.pop("c-calls", None)
        wanted.update(settings if is_on else {})
        if "ANNOT_PYTHON" in os.environ:
            os.environ["ANNOT_TRACE"] = text if is_on else ""
        if "lines" in settings:
            from pyannot import _lines
            _lines.stand_in(as_builtin=True)
        if wanted:
            start(wanted)
        else:
            stop()
        _record_switch(is_on)
    return ", ".join(f"{name} {_settings[name]}" for name in ("functions", "lines")
                     if name in _settings) or "off"


def _record_switch(is_on: bool) -> None:
    domain = _native.observed_domain("python calls", *SWITCHED)
    domain.mark(f"calls of Python: {mode_of(_settings) if 'functions' in _settings else 'off'}")
    if "lines" in _settings:
        domain.mark(f"lines of Python: {_settings['lines']}")
    _native.trace_switched(is_on)
    _check_collections(is_on or "callees" in _settings)


def _check_collections(is_on: bool) -> None:
    """Sets whether garbage collections check for recordings that begin or end."""
    import gc
    if is_on != (_native.trace_check in gc.callbacks):
        (gc.callbacks.append if is_on else gc.callbacks.remove)(_native.trace_check)


def count_lines(patterns: str) -> None:
    """Counts lines in addition to other tracing, unless they are counted already."""
    with _lock:
        _own["lines"] = patterns
        if "lines" not in _settings:
            start(dict(_settings, lines=patterns))


def start(settings: dict[str, str]) -> None:
    from pyannot.observe import when_imported  # before tracing, as imports call functions
    with _lock:
        _start(settings)
        _watch_others(when_imported)


def _start(settings: dict[str, str]) -> None:
    _native.trace_begin(
        MODES[mode_of(settings)], LIBRARY[settings.get("stdlib", "all")],
        settings.get("c-calls", "") == "1", int(settings.get("max-depth", "0")),
        settings.get("select", ""), settings.get("lines", ""),
        os.path.dirname(os.__file__), os.path.dirname(__file__), "chosen" in settings,
        sum(bit for name, bit in VALUES.items() if settings.get(name, "") == "1"),
        int(settings.get("min-duration", "0")))
    _settings.clear()
    _settings.update(settings)
    if "callees" in settings:
        _check_collections(True)
    for code, least_ns, callees in _chosen:
        _native.trace_choose(code, least_ns, callees)
    _tested.clear()
    _native.trace_know(known.__code__)
    test("the thread that began it")


def _watch_others(when_imported: Callable[[str, Callable[[ModuleType], None]], None]) -> None:
    global _watches_end, _watches_greenlets
    if not _watches_greenlets:
        when_imported("greenlet", _know_greenlets)
        _watches_greenlets = True
    if not _watches_end:
        import atexit
        atexit.register(stop)
        os.register_at_fork(after_in_child=_native.trace_forked)
        _watches_end = True


def _know_greenlets(_greenlet: ModuleType) -> None:
    from pyannot.observe import load
    load("greenlets").know()


def known() -> None:
    """Called to test whether the interpreter reports calls."""


def test(where: str) -> None:
    """Makes known calls on the calling thread, once in each place. The recording notes those that
    are not reported: the interpreter may have missed a thread, or another tool may have taken our
    place in sys.monitoring. Takes 2 us."""
    if _settings and where not in _tested:
        _tested.add(where)
        _native.trace_test(known, where)


def stop() -> None:
    """Stops all tracing."""
    with _lock:
        _native.trace_end()
        _settings.clear()


# ---- For programs ----


def nanoseconds(min_duration: float) -> int:
    """Converts min_duration from seconds; raises ValueError."""
    if not 0 <= min_duration <= 1:
        raise ValueError(f"min_duration is from 0 to 1 (seconds), not {min_duration!r}")
    return round(min_duration * 1e9)


if TYPE_CHECKING:

    @overload
    def trace(traced: Traced, *, min_duration: float = 0, print: Wanted = False,
              callees: Optional[bool] = None, c_calls: bool = False) -> Traced: ...

    @overload
    def trace(*, min_duration: float = 0, print: Wanted = False, callees: Optional[bool] = None,
              c_calls: bool = False) -> Callable[[Traced], Traced]: ...


def trace(traced: Optional[Traced] = None, *, min_duration: float = 0, print: Wanted = False,
          callees: Optional[bool] = None,
          c_calls: bool = False) -> Union[Traced, Callable[[Traced], Traced]]:
    """Records each call of a function as a range, in addition to other tracing; with a class or a
    module, each call of the functions defined there. Returns its argument unchanged.

    min_duration: seconds; shorter calls are left out of the recording, unless they contain other
    events. This saves space in the recording, but hardly any time in the program.

    print: prints a table of the calls of all such functions to that file (True: standard output)
    when the program ends, unless it is recorded by others. Calls are only counted for it, except
    where trace() without print, or a min_duration, needs ranges.

    callees: also traces calls that the function makes on its thread, and their callees; on by
    default with print. Excludes calls of a generator that it returns to others, and of tasks and
    threads that it starts. Before CPython 3.12, this does not slow down calls elsewhere; from 3.12
    on, it does so only for some hundred calls after the function has returned.

    c_calls: with callees, also traces functions that are not written in Python. Before CPython
    3.12, this slows down all code of the process.
    """
    how = _How(nanoseconds(min_duration), print, bool(print) if callees is None else callees,
               c_calls)
    if traced is None:
        return lambda given: _trace_it(given, how)
    return _trace_it(traced, how)


class _How:
    """Arguments of trace()."""

    def __init__(self, least_ns: int, to: Wanted, callees: bool, c_calls: bool) -> None:
        self.least_ns, self.to, self.callees, self.c_calls = least_ns, to, callees, c_calls


def _trace_it(traced: Traced, how: _How) -> Traced:
    codes = list(codes_of(traced, set()))
    if not codes:
        raise TypeError(f"trace() takes a function, a class or a module, not {traced!r}")
    try:
        with _lock:
            _choose(codes, how)
    except RuntimeError as error:  # unsupported by the interpreter: the program continues without
        import warnings
        warnings.warn(f"calls are not traced: {error}", RuntimeWarning, stacklevel=3)
        return traced
    if sys.version_info >= (3, 12):
        sys.monitoring.restart_events()  # for code that ran before it was chosen
    return traced


def _choose(codes: list[CodeType], how: _How) -> None:
    if how.to:
        from pyannot import _printed
        _printed.at_exit(how.to, stop)
    counts = how.to and not how.least_ns and _own.get("functions", "aggregate") == "aggregate"
    _own.update(functions="aggregate" if counts else "exact", chosen="1")
    if how.callees:
        _choose_callees(how)
    if _settings.get("functions", "none") == "none" or (
            "chosen" in _settings and {**_settings, **_own} != _settings):
        start({**_settings, **_own})
    for code in codes:
        _native.trace_choose(code, how.least_ns, how.callees)
        _chosen.append((code, how.least_ns, how.callees))


def _choose_callees(how: _How) -> None:
    """Callees are recorded from the smallest min_duration of all functions with callees on."""
    before = int(_own["min-duration"]) if "callees" in _own else how.least_ns
    _own.update({"callees": "1", "min-duration": str(min(before, how.least_ns))})
    if how.c_calls:
        _own["c-calls"] = "1"


def codes_of(traced: object, seen: set[int]) -> Iterator[CodeType]:
    """Yields the code of a function, or of all functions defined in a class or module."""
    if id(traced) in seen:
        return
    seen.add(id(traced))
    while not hasattr(traced, "__code__") and hasattr(traced, "__wrapped__"):
        traced = traced.__wrapped__
    traced = getattr(traced, "__func__", traced)  # of methods, of classes or static
    code = getattr(traced, "__code__", None)
    if isinstance(code, type(stop.__code__)):
        yield code
    elif isinstance(traced, property):
        for part in (traced.fget, traced.fset, traced.fdel):
            yield from codes_of(part, seen)
    elif isinstance(traced, (type, type(sys))):
        is_module = isinstance(traced, type(sys))
        home = traced.__name__ if is_module else traced.__module__
        for member in list(vars(traced).values()):
            if not is_module or getattr(member, "__module__", None) == home:
                yield from codes_of(member, seen)


class tracing:
    """Traces all calls of the process while it is open: a context manager. Calls that other threads
    have open at its end are recorded until then, as unfinished.

    mode: "exact", "adaptive" or "aggregate", as --trace-functions. select: patterns separated by
    commas, as --trace-select. min_duration: seconds, as in trace(); only with exact. args, returns,
    exceptions: as --trace-functions=args,return,exceptions. print: at the end, prints a
    table of the calls to that file (True: standard output). Has no effect while calls are traced
    already.
    """

    def __init__(self, mode: str = "exact", *, select: str = "", stdlib: str = "all",
                 c_calls: bool = False, max_depth: int = 0, min_duration: float = 0,
                 args: bool = False, returns: bool = False, exceptions: bool = False,
                 print: Wanted = False) -> None:
        if mode not in MODES or stdlib not in LIBRARY:
            raise ValueError(f"tracing: mode is one of {', '.join(MODES)}, stdlib of "
                             f"{', '.join(LIBRARY)}")
        if min_duration and mode != "exact":
            raise ValueError("tracing: min_duration goes with mode exact")
        self._wanted = {"functions": mode, "select": select, "stdlib": stdlib,
                        "c-calls": str(int(c_calls)), "max-depth": str(max_depth),
                        "min-duration": str(nanoseconds(min_duration)),
                        "args": str(int(args)), "return": str(int(returns)),
                        "exceptions": str(int(exceptions))}
        self._is_ours = False
        self._before: dict[str, str] = {}
        self._print, self._table = print, None  # type: Wanted, Optional[Table]

    def __enter__(self) -> tracing:
        with _lock:
            if _settings.get("functions", "none") == "none" or "chosen" in _settings:
                self._begin()
        return self

    def _begin(self) -> None:
        self._before = dict(_settings)
        if self._print:
            from pyannot._printed import Table
            self._table = Table(self._print)
            self._table.begin()
        lines = {"lines": _settings["lines"]} if "lines" in _settings else {}
        start({**lines, **self._wanted})
        self._is_ours = True

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        if not self._is_ours:
            return
        self._is_ours = False
        stop()
        if self._table:
            self._table.end()
        if self._before:
            start(self._before)
