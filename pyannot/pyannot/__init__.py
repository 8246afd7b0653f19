# SPDX-License-Identifier: MIT
"""Annotates a program, so that a recording shows where its time goes.

    from pyannot import annotate, mark, counter

    with annotate("load"):              # a range around a block
        mark("cache miss")              # one instant
        counter("queue", 3)             # a value over time

    @annotate                           # a range per call, named after the function
    def parse(text): ...

Run the program with `annot record -- python program.py`. Without a recording, an annotation costs
about as much as an empty `with` statement, and no file is written.

Names are str. Every function may be called from any thread. Only wrong use raises (a name that is
not a str, an unknown colour), with or without a recording. Failures of a recording never raise;
status() returns the reason.
"""

try:
    from pyannot._native import (
        annotate,
        counter,
        current,
        enabled,
        end,
        mark,
        pop,
        push,
        set_process_name,
        set_thread_name,
        start,
        status,
    )
except ModuleNotFoundError as error:
    import os  # pathlib would take 9 ms of each child that runs another Python
    import sys

    built = [name for name in os.listdir(os.path.dirname(__file__))
             if name.startswith("_native.") and name.endswith(".so")]
    raise ModuleNotFoundError(
        f"{error}: it is built for one Python, here {', '.join(built) or 'none'}, and this is "
        f"{sys.implementation.cache_tag}; run that Python, or build pyannot with this one",
        name=error.name) from None

TYPE_CHECKING = False  # type checkers assume True; importing typing costs more than pyannot
if TYPE_CHECKING:
    from pyannot._errors import RecordingError as RecordingError
    from pyannot._lines import lines as lines
    from pyannot._native import domain as domain
    from pyannot._native import flow as flow
    from pyannot._native import track as track
    from pyannot._read import read as read
    from pyannot._record import record as record
    from pyannot._recording import start_recording as start_recording
    from pyannot._recording import stop_recording as stop_recording
    from pyannot._trace import trace as trace
    from pyannot._trace import tracing as tracing

# Names that only some programs need are imported or made on first use.
_LATER = {
    "RecordingError": "_errors",
    "domain": "_native",
    "flow": "_native",
    "lines": "_lines",
    "read": "_read",
    "record": "_record",
    "start_recording": "_recording",
    "stop_recording": "_recording",
    "trace": "_trace",
    "tracing": "_trace",
    "track": "_native",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = __import__(f"{__name__}.{_LATER[name]}", fromlist=[name])
        value = globals()[name] = getattr(module, name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_LATER})


__all__ = [
    "RecordingError",
    "annotate",
    "counter",
    "current",
    "domain",
    "enabled",
    "end",
    "flow",
    "lines",
    "mark",
    "pop",
    "push",
    "read",
    "record",
    "set_process_name",
    "set_thread_name",
    "start",
    "start_recording",
    "status",
    "stop_recording",
    "trace",
    "tracing",
    "track",
]

__version__ = "0.1.0"
