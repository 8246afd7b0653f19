# SPDX-License-Identifier: MIT
"""Say what a program is doing, so that a recording can show where its time goes.

    from pyannot import annotate, mark, counter

    with annotate("load"):              # a range around a block
        mark("cache miss")              # one instant
        counter("queue", 3)             # a value over time

    @annotate("parse", category="cpu")  # a range per call
    def parse(text): ...

Run the program with `annot record -- python program.py`. While nobody records, an annotation costs
about as much as an empty `with` statement, and no file is written.

Names are str. Every function may be called from any thread. Only wrong use raises (a name that is
no str, an unknown colour), and it does so whether anybody records or not; trouble with recording
never raises: status() tells the reason.
"""

try:
    from pyannot._native import (
        annotate,
        counter,
        enabled,
        end,
        mark,
        name_process,
        name_thread,
        pop,
        push,
        start,
        status,
    )
except ModuleNotFoundError as error:
    import pathlib
    import sys

    built = [path.name for path in pathlib.Path(__file__).parent.glob("_native.*.so")]
    raise ModuleNotFoundError(
        f"{error}: it is built for one Python, here {', '.join(built) or 'none'}, and this is "
        f"{sys.implementation.cache_tag}; run that Python, or build pyannot with this one",
        name=error.name) from None

__all__ = [
    "annotate",
    "counter",
    "enabled",
    "end",
    "mark",
    "name_process",
    "name_thread",
    "pop",
    "push",
    "start",
    "status",
]

__version__ = "0.1.0"
