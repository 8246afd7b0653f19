# SPDX-License-Identifier: MIT
"""Counts and times the lines of functions that the program chooses.

    @pyannot.lines
    def parse(text): ...

    pyannot.lines(module_or_class)  # all functions that are defined there

In programs written for line_profiler, `from line_profiler import profile` does the same in a
recording with --trace-lines or LINE_PROFILE=1, whether line_profiler is installed or not; with
--trace-lines `profile` is also a builtin, as under kernprof.
"""

from __future__ import annotations

import os
import sys

from pyannot import _native, _trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Optional, TypeVar

    Counted = TypeVar("Counted")

CHOSEN = "@profile"  # as a pattern of --trace-lines: only the functions chosen here
OFF = ("", "0", "off", "false", "no")  # values of LINE_PROFILE

_Module = type(sys)


def lines(counted: Counted) -> Counted:
    """Counts the lines of a function, or of all functions that are defined in a class or module,
    while the process is recorded. Returns its argument unchanged."""
    codes = list(_trace.codes_of(counted, set()))
    if not codes and not isinstance(counted, (type, _Module)):
        raise TypeError(f"lines() takes a function, a class or a module, not {type(counted)}")
    if not _native.enabled():
        return counted
    try:
        _trace.count_lines(CHOSEN)
    except RuntimeError as error:  # unsupported by the interpreter: the program continues without
        from pyannot import observe
        observe.report("part", "trace-lines", error)
        return counted
    for code in codes:
        _native.trace_choose_lines(code)
    if sys.version_info >= (3, 12):
        sys.monitoring.restart_events()  # for code that ran before it was chosen
    return counted


# ---- line_profiler ----


class Profile:
    """Stands in for `line_profiler.profile`. The recording holds the results, so printing and
    dumping have no effect."""

    def __call__(self, counted: Optional[Counted] = None, **options: object) -> object:
        if counted is None:
            return self
        try:
            return lines(counted)
        except TypeError:  # not a Python function; the package would wrap it
            return counted

    wrap_callable = wrap_function = wrap_class = __call__

    def add_function(self, counted: object) -> int:
        lines(counted)
        return 1

    add_callable = add_class = add_module = add_function

    def __enter__(self) -> Profile:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def _nothing(self, *args: object, **options: object) -> None:
        pass

    enable = disable = enable_by_count = disable_by_count = show = _nothing
    print_stats = dump_stats = _nothing


profile = Profile()


def _absent(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(f"line_profiler is not installed; annot stands in for profile, not {name}")


class _Loader:
    """Loads the package, if it is installed, and replaces its `profile` by ours."""

    def __init__(self, loader: object) -> None:
        self.loader = loader

    def create_module(self, spec: object) -> Optional[ModuleType]:
        return self.loader.create_module(spec) if self.loader else None  # type: ignore

    def exec_module(self, module: ModuleType) -> None:
        if self.loader:
            self.loader.exec_module(module)  # type: ignore[attr-defined]
        else:
            module.__getattr__ = _absent  # type: ignore[method-assign]
        module.profile = profile  # type: ignore[attr-defined]


class _Finder:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> object:
        if name != "line_profiler":
            return None
        from importlib.machinery import ModuleSpec
        finders = [finder for finder in sys.meta_path if finder is not _Finder]
        specs = (finder.find_spec(name, None) for finder in finders)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is None or spec.loader is None:
            return ModuleSpec(name, _Loader(None))  # type: ignore[arg-type]
        spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
        return spec


def is_wanted_by_environment() -> bool:
    return os.environ.get("LINE_PROFILE", "").lower() not in OFF


def stand_in(as_builtin: bool) -> None:
    """Provides `profile` to programs that import line_profiler, and optionally as a builtin."""
    if as_builtin:
        import builtins
        builtins.profile = profile  # type: ignore[attr-defined]
    if not any(finder is _Finder for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder)  # type: ignore[arg-type]
