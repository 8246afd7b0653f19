# SPDX-License-Identifier: MIT
"""Records every call of a Python function as a range, by sys.setprofile.

For short programs and for comparing with the nvtx package: each call costs an additional call of
this module, about a microsecond. Sampling (on by default in `annot record`) shows the same
functions for a thousandth of that.

Ranges are opened and closed with the frames of a thread: calls that were entered before enable()
have no range, ranges of calls that last longer end at disable(). Threads that were started before
enable() are not seen, as with every sys.setprofile.
"""

import os
import sys
import threading

from pyannot._native import observed_domain
from pyannot.nvtx._domain import DomainHandle, leave

DOMAIN = "nvtx.py"  # as in the nvtx package
CALLS = observed_domain(DOMAIN, 3, 0)  # observer and role: annot/observers.h
KEPT_NAMES = 65536  # of functions


class _Open(threading.local):
    """The number of this thread's open ranges that are calls."""

    count = 0


class Profile:
    """Annotates function calls between enable() and disable(), in this thread and in those that
    it starts.

    linenos          names are "file:line(function)" instead of "function"
    annotate_cfuncs  calls of builtin and C functions too
    """

    def __init__(self, linenos: bool = True, annotate_cfuncs: bool = True) -> None:
        self.linenos = linenos
        self.annotate_cfuncs = annotate_cfuncs
        self.domain_enabled = DomainHandle(DOMAIN).enabled()
        self._on = False
        self._open = _Open()
        self._of_codes = {}  # id -> (__enter__ of the code's annotation, the code)
        self._of_names = {}  # of C functions: name -> __enter__

    def enable(self) -> None:
        """Starts. Replaces a function that sys.setprofile was given."""
        if self.domain_enabled:
            self._on = True
            threading.setprofile(self._profile)
            sys.setprofile(self._profile)

    def disable(self) -> None:
        """Stops. Other threads stop at their next call."""
        if self.domain_enabled:
            sys.setprofile(None)
            threading.setprofile(None)
            self._on = False
            self._close()

    def _profile(self, frame, event, arg):
        if not self._on:
            sys.setprofile(None)
            self._close()
        elif event == "call":
            self._call(frame.f_code)
        elif event == "return":
            self._leave()
        elif self.annotate_cfuncs:
            self._c_call(arg) if event == "c_call" else self._leave()

    def _call(self, code):
        kept = self._of_codes.get(id(code))
        if kept is None:
            if code is _DISABLE:
                return  # its frame is left after the profile has ended
            kept = self._keep_code(code)
        kept[0]()
        self._open.count += 1

    def _c_call(self, function):
        enter = self._of_names.get(function.__name__)
        if enter is None:
            enter = _make_room(self._of_names)[function.__name__] = _enter_of(function.__name__)
        enter()
        self._open.count += 1

    def _leave(self):
        if self._open.count:
            self._open.count -= 1
            leave()

    def _close(self):
        while self._open.count:
            self._leave()

    def _keep_code(self, code):
        name = code.co_name
        if self.linenos:
            name = f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}({name})"
        kept = _make_room(self._of_codes)[id(code)] = _enter_of(name), code
        return kept


def _enter_of(name):
    return CALLS.annotate(name).__enter__


def _make_room(kept):
    """Bounds the cache, for programs that generate code."""
    if len(kept) >= KEPT_NAMES:
        kept.clear()
    return kept


_DISABLE = Profile.disable.__code__
