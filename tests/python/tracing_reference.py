# SPDX-License-Identifier: MIT
"""Records a program's calls with sys.setprofile: the reference for recordings.

The program imports this as its first statement, in each of its processes. Lines go to the file
TRACE_REFERENCE: process, thread, "+" (a call), "~" (a resumed call) or "-", and the function.
"""

import dis
import os
import sys
import threading

ROOTS = tuple(os.environ.get("TRACE_ROOTS", "").split(":"))
output = os.open(os.environ["TRACE_REFERENCE"], os.O_WRONLY | os.O_APPEND)
starts = {}  # code: offset of its first instruction


def start_of(code):
    if code not in starts:
        resumes = [one.offset for one in dis.get_instructions(code)
                   if one.opname == "RESUME" and one.arg & 3 == 0]
        starts[code] = resumes[0] if resumes else -1
    return starts[code]


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def tell(sign, name):
    os.write(output, f"{os.getpid()} {threading.get_ident()} {sign} {name}\n".encode())


def note(frame, event, _):
    code = frame.f_code
    if not code.co_filename.startswith(ROOTS):
        return
    if event == "call":
        tell("+" if frame.f_lasti <= start_of(code) else "~", name_of(code))
    elif event == "return":
        tell("-", name_of(code))


def tell_open(frame, suffix=""):
    names = []
    while frame:
        if frame.f_code.co_filename.startswith(ROOTS):
            names.append(name_of(frame.f_code))
        frame = frame.f_back
    for name in reversed(names):
        tell("~", name + suffix)


def forked():
    tell_open(sys._getframe(), " (inherited)")


os.register_at_fork(after_in_child=forked)
threading.setprofile(note)
tell_open(sys._getframe())
sys.setprofile(note)
