# SPDX-License-Identifier: MIT
"""Prints a table of the calls of a block, or of the rest of a program, at its end: `print=True` of
trace() and tracing(). The table is made from a recording in a temporary file.

Threads: one at a time, as in _trace.py.
"""

import os
import sys
import warnings
from typing import Callable, Optional, TextIO, Union

from pyannot import _native
from pyannot._errors import RecordingError
from pyannot._record import record

Wanted = Union[bool, TextIO]  # True: sys.stdout when the table is printed


def _warn(text: str) -> None:
    """Warns at the line where the program called pyannot."""
    level, frame = 1, sys._getframe()
    while frame.f_back and os.path.dirname(frame.f_code.co_filename) == os.path.dirname(__file__):
        level, frame = level + 1, frame.f_back
    warnings.warn(f"no table of calls is printed: {text}", RuntimeWarning, stacklevel=level)


class Table:
    """Records from begin() to end(), then prints."""

    def __init__(self, to: Wanted) -> None:
        self._to: Optional[TextIO] = None if to is True else to  # type: ignore[assignment]
        self._record: Optional[record] = None
        self._owner = os.getpid()

    def begin(self) -> None:
        """Starts recording. On failure, warns with the reason; end() then prints no table."""
        if _native.status() == "recording":
            _warn("the program is recorded already: its calls are in that recording")
            return
        try:
            self._record = record(sample=None, observe="names").start()
        except RecordingError as error:
            _warn(str(error))

    def end(self) -> None:
        """Call after tracing has stopped. Has no effect in a child that was forked meanwhile."""
        block, self._record = self._record, None
        if block is None or os.getpid() != self._owner:
            return
        try:
            text = block.stop().text("--table", "calls")
        except RecordingError as error:
            _warn(str(error))
            return
        to = self._to or sys.stdout
        if to is not None:  # pythonw and daemons have no stdout
            to.write(text)
            to.flush()


_of_program: Optional[Table] = None


def at_exit(to: Wanted, stop: Callable[[], None]) -> None:
    """Prints the table of the rest of the program at exit. The first call chooses the file. `stop`
    ends tracing before."""
    global _of_program
    if _of_program is not None:
        return
    import atexit

    table = _of_program = Table(to)
    table.begin()

    def end() -> None:
        stop()
        table.end()

    atexit.register(end)
