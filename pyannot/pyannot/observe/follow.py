# SPDX-License-Identifier: MIT
"""The import of a module that a function waits for: see when_imported() in __init__.py. A class of
its own costs 0.1 ms, which programs that import none of these modules need not pay.

Threads: any; a module is followed by the thread that imports it.
"""
import sys

from pyannot import observe


def find_spec(name, path, target):
    """What the other finders find, with an end that is told."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if not find or finder is observe.finder:
            continue
        spec = find(name, path, target)
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
        # A module may put another one in its place.
        observe.followed(name, sys.modules.get(name, module))
