# SPDX-License-Identifier: MIT
"""Functions of the standard library with others around them, and without again.

Threads: as observe, one at a time.
"""
from pyannot._native import observed


class Patches:
    """What was replaced, and what was not because it looked different."""

    def __init__(self):
        self.refused = []
        self._done = []  # (where, name, what was there or None, what is there now)

    def around(self, where, name, parameters, before, after=None):
        """Calls before and after where.name, if its first parameters have these names; they add no
        frame to tracebacks (observed.c). Without a before, after is always called."""
        self._replace(where, name, parameters,
                      lambda function: observed("call", function, before, after))

    def always(self, where, name, parameters, before, after=None):
        """The same also while nobody records: a recording may begin later."""
        self._replace(where, name, parameters,
                      lambda function: observed("always", function, before, after))

    def arguments(self, where, name, parameters, before):
        """What before() returns stands in the place of the first arguments."""
        self._replace(where, name, parameters,
                      lambda function: observed("arguments", function, before))

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
