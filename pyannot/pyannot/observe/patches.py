# SPDX-License-Identifier: MIT
"""Wraps functions of the standard library, and restores them.

Threads: as observe, one at a time.
"""
from pyannot._native import observed


class Patches:
    """The functions that were replaced, and those left alone because they differ."""

    def __init__(self):
        self._refused = []
        self._done = []  # (owner, name, original, replacement)

    def around(self, where, name, parameters, before, after=None):
        """Calls before and after where.name, if its first parameters have these names, without a
        further frame in tracebacks (observed.c). Without a before, after is always called."""
        self._replace(where, name, parameters,
                      lambda function: observed("call", function, before, after))

    def always(self, where, name, parameters, before, after=None):
        """As around(), also without a recording, because one may begin later."""
        self._replace(where, name, parameters,
                      lambda function: observed("always", function, before, after))

    def arguments(self, where, name, parameters, before):
        """Replaces the first arguments by the result of before()."""
        self._replace(where, name, parameters,
                      lambda function: observed("arguments", function, before))

    def _replace(self, where, name, parameters, make):
        function = vars(where).get(name)
        code = getattr(function, "__code__", None)
        if code is None or code.co_varnames[:code.co_argcount][:len(parameters)] != parameters:
            self._refused.append(f"{where.__name__}.{name}")
            return
        wrapper = make(function)
        setattr(where, name, wrapper)
        self._done.append((where, name, function, wrapper))

    def undo(self):
        """Restores the functions that are still ours."""
        while self._done:
            where, name, function, wrapper = self._done.pop()
            if vars(where).get(name) is wrapper:
                setattr(where, name, function)
        self._refused.clear()

    def status(self):
        """Returns the functions that were left alone because they differ, or ""."""
        return f"left alone: {', '.join(self._refused)}" if self._refused else ""
