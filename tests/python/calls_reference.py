# SPDX-License-Identifier: MIT
"""Records a program's calls and lines by a profile function and a trace function in C: unlike those
of sys.setprofile and sys.settrace they keep no locals alive, so objects are freed at the same time
as without them. From CPython 3.12 on lines come from sys.monitoring.

The file CALLS_REFERENCE gets {"threads": [[sign and name, ...], ...], "lines": {"file line name":
count}}: "+" begins a call, "~" resumes it, "-" ends it.
"""

import collections
import ctypes
import dis
import json
import os
import sys
import threading

CALL, LINE, RETURN = 0, 2, 3
FUNCTION = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object, ctypes.c_int,
                             ctypes.c_void_p)
set_profile = ctypes.pythonapi.PyEval_SetProfile
set_trace = ctypes.pythonapi.PyEval_SetTrace
for function in (set_profile, set_trace):
    function.argtypes = [ctypes.c_void_p, ctypes.py_object]
    function.restype = None

files = ()
threads = []
own = threading.local()
lines = collections.Counter()
starts = {}  # code: offset of its first instruction


def start_of(code):
    if code not in starts:
        resumes = [one.offset for one in dis.get_instructions(code)
                   if one.opname == "RESUME" and one.arg & 3 == 0]
        starts[code] = resumes[0] if resumes else -1
    return starts[code]


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def place(code, line):
    return f"{os.path.basename(code.co_filename)} {line} {code.co_name}"


def tell(sign, code):
    if not hasattr(own, "told"):
        own.told = []
        threads.append(own.told)
    own.told.append(sign + name_of(code))


@FUNCTION
def note(_, frame, what, argument):
    code = frame.f_code
    if code.co_filename not in files:
        return 0
    if what == CALL:
        tell("+" if frame.f_lasti <= start_of(code) else "~", code)
    elif what == RETURN:
        tell("-", code)
    return 0


@FUNCTION
def note_line(_, frame, what, argument):
    if what == LINE and frame.f_code.co_filename in files:
        lines[place(frame.f_code, frame.f_lineno)] += 1
    return 0


def count_line(code, line):
    lines[place(code, line)] += 1


def watch_lines(code, _):
    if code.co_filename in files:
        sys.monitoring.set_local_events(1, code, sys.monitoring.events.LINE)


def start_thread(*ignored):
    sys.setprofile(None)
    if sys.version_info < (3, 12):
        set_trace(note_line, None)
    set_profile(note, None)


def start(*chosen):
    global files
    files = chosen
    if sys.version_info >= (3, 12):
        monitoring = sys.monitoring
        monitoring.use_tool_id(1, "reference")
        monitoring.register_callback(1, monitoring.events.LINE, count_line)
        monitoring.register_callback(1, monitoring.events.PY_START, watch_lines)
        monitoring.set_events(1, monitoring.events.PY_START)
    threading.setprofile(start_thread)
    start_thread()


def finish():
    sys.setprofile(None)
    sys.settrace(None)
    if sys.version_info >= (3, 12):
        sys.monitoring.set_events(1, 0)
        for event in (sys.monitoring.events.LINE, sys.monitoring.events.PY_START):
            sys.monitoring.register_callback(1, event, None)
    with open(os.environ["CALLS_REFERENCE"], "w") as output:
        json.dump({"threads": threads, "lines": lines}, output)
