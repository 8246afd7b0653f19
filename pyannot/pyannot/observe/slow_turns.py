# SPDX-License-Identifier: MIT
"""The watchdog of event loops: takes the stack of a callback that blocks its loop.

The loop's thread records when a callback begins (pyannot/src/tasks/task_step.h). A thread here
checks four times in each threshold whether one is still running, and leaves its stack for the mark
that the loop's thread makes at its end. A callback that lasts ten times the threshold is reported
while it runs, because it may never end.

Threads: start and stop by one at a time. In a forked child the watchdog is started again.
"""
import _thread
import os
import sys

from pyannot import _native, enabled
from pyannot.observe import ASYNCIO_BLOCKED

DEFAULT_MS = 100.0
FRAMES_MAX = 64
_BLOCKED = _native.observed_domain("python", *ASYNCIO_BLOCKED)
_UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0}

_stopped = []  # locked while the present watchdog is to run
_reported = {}  # turns reported while they ran: place -> number
_started = [0.0, False]  # the threshold in milliseconds; fork is watched


def parse_ms(text):
    """"100ms", "0.5s" or "" (the default), in milliseconds. Raises ValueError."""
    if not text:
        return DEFAULT_MS
    for unit, factor in _UNITS.items():
        number = text[:-len(unit)]
        if text.endswith(unit) and number.replace(".", "", 1).isdigit() and float(number) > 0:
            return float(number) * factor
    raise ValueError(f"asyncio-slow={text}: a threshold is a number with us, ms or s, as 100ms")


def start(text):
    """Watches with this threshold, which replaces any other."""
    threshold_ms = parse_ms(text)
    stop()
    _started[0] = threshold_ms
    if not _started[1]:
        os.register_at_fork(after_in_child=_native.observed("hidden", _forked))
        _started[1] = True
    _native.tasks_slow_threshold(int(threshold_ms * 1e6))
    _begin()


def stop():
    """Stops watching."""
    _native.tasks_slow_threshold(0)
    _started[0] = 0.0
    while _stopped:
        _stopped.pop().release()


def _begin():
    lock = _thread.allocate_lock()
    lock.acquire()
    _stopped[:] = [lock]
    try:
        _thread.start_new_thread(_watch, (lock, _started[0]))
    except RuntimeError:  # no thread is available, or the interpreter ends
        _stopped.clear()


def _forked():
    if _started[0]:
        _begin()


def _watch(lock, threshold_ms):
    pause = min(max(threshold_ms / 4e3, 0.0005), 0.25)
    while not lock.acquire(timeout=pause if enabled() else 0.25):
        for place, number, thread, _ms, _stack in _native.tasks_slow_turns():
            _look(place, number, thread)
        _report_endless(threshold_ms)


def _look(place, number, thread):
    frame = sys._current_frames().get(thread)
    if frame is not None and _native.tasks_slow_stack(place, number, stack_text(frame)):
        _reported.pop(place, None)


def _report_endless(threshold_ms):
    for place, number, _thread_id, ms, stack in _native.tasks_slow_endless(int(threshold_ms * 1e7)):
        if _reported.get(place) != number:
            _reported[place] = number
            _BLOCKED.mark("event loop still blocked", category="asyncio",
                          payload={"ms": ms, "stack": stack})


def stack_text(frame):
    """Returns the innermost frames, innermost first, one a line."""
    lines = []
    while frame is not None and len(lines) < FRAMES_MAX:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        lines.append(f"{name} ({code.co_filename}:{frame.f_lineno})")
        frame = frame.f_back
    return "\n".join(lines)
