# SPDX-License-Identifier: MIT
"""Records a part of this program, and provides the results: pyannot.record.

Without a path, the recording is stored in a temporary folder, which is removed with the object, at
the latest when the interpreter ends.
"""

import os
import shutil
import tempfile
import warnings
import weakref
from types import TracebackType
from typing import Optional, Type, Union

from pyannot import _recording
from pyannot._errors import RecordingError
from pyannot._read import Recording, read
from pyannot._recording import start_recording, stop_recording
from pyannot._results import Results


def _remove(folder: str, owner: int) -> None:
    """Removes the folder in the process that made it, not in a forked child."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


class record(Results):
    """Records this program and its children during a block, and provides the results.

        with pyannot.record() as r:
            work()
        print(r.text())                              # the report
        for row in r.stats(sort="self", limit=10):   # the same as rows
            print(row.function, row.line, row.self_ns)
        r.flame("work.svg")

    A notebook displays the object. start() and stop() do the same without a block. The results
    cover only the block, not annot's own work to start and stop recording.

    path: where to keep the recording; by default it is a temporary file. The other arguments are
    those of start_recording(). An exception of the block is always raised, even if the recording
    fails (a RuntimeWarning then reports the failure). In a child that the block forks, leaving it
    has no effect. Only one recording runs at a time: starting a second one raises RecordingError.
    An object may be used again, and then has the results of the last block.
    """

    def __init__(
        self,
        path: "Union[str, os.PathLike[str], None]" = None,
        *,
        force: bool = False,
        sample: Optional[int] = 99,
        off_cpu: Optional[bool] = None,
        enable: _recording._Names = (),
        disable: _recording._Names = (),
        duration: Optional[float] = None,
        pool_size: Union[int, str, None] = None,
        policy: Optional[str] = None,
        observe: Union[str, bool] = True,
        preload: bool = True,
    ) -> None:
        self._kept = None if path is None else os.path.abspath(os.fspath(path))
        self.path = self._kept or ""  # a temporary path is set by start()
        self._options = {
            "force": force, "sample": sample, "off_cpu": off_cpu, "enable": enable,
            "disable": disable, "duration": duration, "pool_size": pool_size, "policy": policy,
            "observe": observe, "preload": preload,
        }
        self._collector: Optional[_recording._Collector] = None
        self._owner = 0  # the process that started it
        self._done = False
        self._folder: Optional[weakref.finalize] = None  # type: ignore[type-arg]

    def start(self) -> "record":
        """Starts recording; returns when events are recorded. Raises RecordingError on failure."""
        previous, folder, path = self._folder, None, self._kept
        if _recording._state.claim is not None:
            raise RecordingError(
                "this program is recorded already, by a block of record() or start_recording()",
                "blocks of record() cannot lie in one another: use one around both")
        if path is None:
            name = tempfile.mkdtemp(prefix="annot-")
            folder = weakref.finalize(self, _remove, name, os.getpid())
            path = os.path.join(name, "block.annot")
        try:
            start_recording(path, **self._options)  # type: ignore[arg-type]
        except BaseException:
            if folder:
                folder()
            raise
        self._collector, self._owner = _recording._state.collector, os.getpid()
        self.path, self._folder, self._done = path, folder, False
        if previous:
            previous()
        return self

    def stop(self) -> "record":
        """Stops recording; returns when the results are complete. Has no effect if it is not
        running."""
        collector, self._collector = self._collector, None
        if collector is None or os.getpid() != self._owner:
            return self
        if collector is _recording._state.collector:  # else it was stopped already
            stop_recording()
        self._done = True
        return self

    def __enter__(self) -> "record":
        return self.start()

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        try:
            self.stop()
        except RecordingError as failure:
            if error is None:
                raise
            warnings.warn(str(failure), RuntimeWarning, stacklevel=2)

    @property
    def recording(self) -> Recording:
        """The recording as pyannot.read(path) returns it: ranges, samples and tables."""
        return read(self._file())

    def _file(self) -> str:
        if self._collector is not None:
            raise RecordingError("there are no results yet: the recording runs",
                                 "leave its block first, or call stop()")
        if not self._done:
            raise RecordingError("there are no results: nothing was recorded",
                                 "use it as a block (with pyannot.record() as r), or call start() "
                                 "and stop()")
        return self.path

    def __str__(self) -> str:
        return self.text() if self._done else repr(self)

    def __repr__(self) -> str:
        if self._collector is not None:
            return f"<pyannot.record: running, into {self.path!r}>"
        if not self._done:
            return "<pyannot.record: not started>"
        return f"<pyannot.record: {self.path!r}; print() shows the report>"
