# SPDX-License-Identifier: MIT
"""Lines of functions that the program chooses: how often each runs, and how long.

    @pyannot.lines
    def parse(text): ...

    pyannot.lines(module_or_class)  # all functions that are defined there

For programs that are written for line_profiler, `from line_profiler import profile` gives the same
in a recording with --trace-lines or LINE_PROFILE=1, whether line_profiler is installed or not; with
--trace-lines `profile` is a builtin, too, as kernprof has it.
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

CHOSEN = "@profile"  # as a pattern of --trace-lines: nothing but what is chosen here
OFF = ("", "0", "off", "false", "no")  # of LINE_PROFILE

_Module = type(sys)


def lines(counted: Counted) -> Counted:
    """Counts the lines of a function, or of all functions that are defined in a class or module,
    while the process is recorded. Returns what it was given, unchanged."""
    codes = list(_trace.codes_of(counted, set()))
    if not codes and not isinstance(counted, (type, _Module)):
        raise TypeError(f"lines() takes a function, a class or a module, not {type(counted)}")
    if not _native.enabled():
        return counted
    try:
        _trace.count_lines(CHOSEN)
    except RuntimeError as error:  # the interpreter cannot: the program goes on without
        from pyannot import observe
        observe.tell("part", "trace-lines", error)
        return counted
    for code in codes:
        _native.trace_choose_lines(code)
    if sys.version_info >= (3, 12):
        sys.monitoring.restart_events()  # of code that ran before, and was of no interest
    return counted


# ---- line_profiler ----


class Profile:
    """`line_profiler.profile`. What it would print or write, the recording has."""

    def __call__(self, counted: Optional[Counted] = None, **options: object) -> object:
        if counted is None:
            return self
        try:
            return lines(counted)
        except TypeError:  # of no Python function, which the package would wrap
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
    """Loads the package, if there is one, and has our `profile` in place of its own."""

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
    """For the package line_profiler, when it is imported."""
    if as_builtin:
        import builtins
        builtins.profile = profile  # type: ignore[attr-defined]
    if not any(finder is _Finder for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder)  # type: ignore[arg-type]
