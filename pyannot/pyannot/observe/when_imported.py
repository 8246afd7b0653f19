# SPDX-License-Identifier: MIT
"""Calls a function as soon as a module has been imported, without importing it.

A finder in front of sys.meta_path knows the watched names: any other import costs one look into a
dict. The module itself looks as ever: the loader that tells of its end is taken out of its spec
before its first line runs.

Threads: any. Functions are called by the thread that imports, under the module's import lock, and
what they raise goes into `failures`, never into the program.
"""
import sys

failures: list[str] = []  # "MODULE: FUNCTION: what it raised"

_watched: dict[str, list] = {}


class _Finder:
    """Finds nothing by itself: asks the others, and follows what they found."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in _watched:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not _finder else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader:
    """Stands in for a module's loader until the module's first line runs."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        create = getattr(self._loader, "create_module", None)
        return create(spec) if create else None

    def exec_module(self, module):
        module.__spec__.loader = self._loader
        if getattr(module, "__loader__", None) is self:
            module.__loader__ = self._loader
        self._loader.exec_module(module)
        name = module.__spec__.name
        for function in _watched.pop(name, ()):
            # A module may put another one in its place.
            _call(name, function, sys.modules.get(name, module))
        _tidy()


_finder = _Finder()


def when_imported(name, function):
    """Calls function(module) now if the module is there, else right after its import, once."""
    module = sys.modules.get(name)
    if module is not None:
        _call(name, function, module)
        return
    _watched.setdefault(name, []).append(function)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


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
    if not _watched and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
