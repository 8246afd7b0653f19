# SPDX-License-Identifier: MIT
"""Imports, as nested ranges: "import json" with "import json.decoder" inside of it, so that what a
report calls self time is that of the module alone.

The interpreter calls importlib._bootstrap._find_and_load for each module that is not there yet, by
looking it up, and -X importtime measures that very call. Here something stands in its place that
calls it, in C: no frame is added to any traceback, and finders, loaders and sys.modules are left
alone. Threads: any.
"""
import _frozen_importlib as _bootstrap  # importlib._bootstrap; importlib takes its time

from pyannot._native import observed

_placed = []  # what stands there now, and what stood there


def install():
    """Sees each import from now on."""
    function = _bootstrap._find_and_load
    if _placed:
        return
    if getattr(getattr(function, "__code__", None), "co_varnames", ())[:2] != ("name", "import_"):
        raise RuntimeError("importlib._bootstrap._find_and_load is not the one that is known")
    replacement = observed("import", function)
    _placed[:] = [replacement, function]
    _bootstrap._find_and_load = replacement


def remove():
    """Sees no more."""
    if _placed and _bootstrap._find_and_load is _placed[0]:
        _bootstrap._find_and_load = _placed[1]
    _placed.clear()
