# SPDX-License-Identifier: MIT
"""The table of calls of a block or of the rest of a program, printed at its end: what `print=True`
of trace() and tracing() asks for. The recording that it comes from is a temporary file.

Threads: one at a time, as in _trace.py.
"""

import os
import sys
import warnings
from typing import Callable, Optional, TextIO, Union

from pyannot import _native
from pyannot._errors import RecordingError
from pyannot._record import record

Wanted = Union[bool, TextIO]  # True: sys.stdout as it is then


def _warn(text: str) -> None:
    """Where the program called pyannot."""
    level, frame = 1, sys._getframe()
    while frame.f_back and os.path.dirname(frame.f_code.co_filename) == os.path.dirname(__file__):
        level, frame = level + 1, frame.f_back
    warnings.warn(f"no table of calls is printed: {text}", RuntimeWarning, stacklevel=level)


class Table:
    """Records from begin() on, and prints at end()."""

    def __init__(self, to: Wanted) -> None:
        self._to: Optional[TextIO] = None if to is True else to  # type: ignore[assignment]
        self._record: Optional[record] = None
        self._owner = os.getpid()

    def begin(self) -> None:
        """Where that cannot be, a warning says why, and nothing is printed."""
        if _native.status() == "recording":
            _warn("the program is recorded already: its calls are in that recording")
            return
        try:
            self._record = record(sample=None, observe="names").start()
        except RecordingError as error:
            _warn(str(error))

    def end(self) -> None:
        """Nothing is traced any more. In a child that was forked meanwhile nothing happens."""
        block, self._record = self._record, None
        if block is None or os.getpid() != self._owner:
            return
        try:
            text = block.stop().text("--table", "calls")
        except RecordingError as error:
            _warn(str(error))
            return
        to = self._to or sys.stdout
        if to is not None:  # pythonw, a daemon
            to.write(text)
            to.flush()


_of_program: Optional[Table] = None


def at_exit(to: Wanted, stop: Callable[[], None]) -> None:
    """The table of the rest of the program: the first one that asks says where to. `stop` ends the
    tracing before."""
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
