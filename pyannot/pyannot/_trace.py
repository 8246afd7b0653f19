# SPDX-License-Identifier: MIT
"""Tracing of every call: what `annot record --trace-functions` asks for, and the program itself.

What is asked for stands in ANNOT_TRACE, a line for each: functions=exact|adaptive|aggregate,
c-calls=1, select=PATTERN,-PATTERN, stdlib=box|all|off, max-depth=N.
"""
import os
import sys

from pyannot import _native

MODES = {"exact": 1, "adaptive": 2, "aggregate": 3}
LIBRARY = {"all": 0, "box": 1, "off": 2}

_watches_forks = False
_hook = ""  # how calls are heard of; "" while nothing is traced
_exit = []  # (module, what stands there now, what stood there): os._exit


def parse(text):
    """The settings of ANNOT_TRACE, by name; raises ValueError."""
    settings = {}
    for line in text.split("\n"):
        name, equals, value = line.partition("=")
        if equals:
            settings[name] = value
    if settings.get("functions", "exact") not in MODES:
        raise ValueError(f"functions={settings['functions']}: exact, adaptive or aggregate")
    if settings.get("stdlib", "all") not in LIBRARY:
        raise ValueError(f"stdlib={settings['stdlib']}: all, box or off")
    return settings


def mode_of(settings):
    """What is done here, where that depends on the interpreter."""
    mode = settings.get("functions", "adaptive")
    if mode == "adaptive" and sys.version_info < (3, 12):
        return "aggregate"  # nothing can be switched off for one function
    return mode


def begin(text):
    """As ANNOT_TRACE says. Returns what is traced, and how, for the recording; "" if nothing is."""
    settings = parse(text)
    if "functions" not in settings:
        return ""
    return start(settings)


def start(settings):
    global _hook, _watches_forks
    mode = mode_of(settings)
    _hook = _native.trace_begin(
        MODES[mode], LIBRARY[settings.get("stdlib", "all")], settings.get("c-calls", "") == "1",
        int(settings.get("max-depth", "0")), settings.get("select", ""),
        os.path.dirname(os.__file__), os.path.dirname(__file__))
    if not _watches_forks:
        os.register_at_fork(before=_native.trace_flush, after_in_child=_native.trace_forked)
        _watches_forks = True
    import atexit
    atexit.register(stop)
    if mode == "aggregate":
        _watch_exit()
    return f"{mode} by {_hook}"


def stop():
    """Nothing is traced any more, and what was counted is told."""
    global _hook
    _native.trace_end()
    _hook = ""
    while _exit:
        module, now, before = _exit.pop()
        if module._exit is now:
            module._exit = before


def _watch_exit():
    """os._exit leaves no time to tell what was counted, but what comes before it."""
    if _exit:
        return
    for module in (os, sys.modules["posix"]):
        before = module._exit
        now = _native.observed("call", before, lambda *args: _native.trace_flush(), _ignore)
        module._exit = now
        _exit.append((module, now, before))


def _ignore(*args):
    pass
