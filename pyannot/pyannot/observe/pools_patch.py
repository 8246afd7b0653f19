# SPDX-License-Identifier: MIT
"""Functions of the standard library put behind others, and back.

Threads: as observe, one at a time.
"""
from pyannot._native import observed


class Patches:
    """What was replaced, and what was not because it looked different."""

    def __init__(self):
        self.refused = []
        self._done = []  # (where, name, what was there or None, what is there now)

    def wrap(self, where, name, make, parameters):
        """Replaces where.name by make(it), if its first parameters have these names."""
        self._replace(where, name, parameters,
                      lambda function: observed("instead", function, make(function)))

    def around(self, where, name, parameters, before, after=None):
        """Calls before and after it, which add no frame to tracebacks (observed.c)."""
        self._replace(where, name, parameters,
                      lambda function: observed("call", function, before, after or before))

    def _replace(self, where, name, parameters, make):
        function = vars(where).get(name)
        code = getattr(function, "__code__", None)
        if code is None or code.co_varnames[:code.co_argcount][:len(parameters)] != parameters:
            self.refused.append(f"{where.__name__}.{name}")
            return
        wrapper = make(function)
        setattr(where, name, wrapper)
        self._done.append((where, name, function, wrapper))

    def undo(self):
        """Puts everything back that is still there."""
        while self._done:
            where, name, function, wrapper = self._done.pop()
            if vars(where).get(name) is wrapper:
                setattr(where, name, function)
        self.refused.clear()
