# SPDX-License-Identifier: MIT
"""What a process tells its session beside events, and known events that must arrive.

Lines at the end of the session's file: that pyannot is here, which parts run, why one does not.
Events go another way, through shared memory; so the collector compares: a process that said that it
recorded something, and of which nothing arrived, is named by `annot info`.

Threads: any. Nothing raises; a line that cannot be written is not told.
"""
import os
import sys

import pyannot
from pyannot import observe

LINE_BYTES = 1000
FILE_BYTES = 1 << 20  # no longer than this: a million forks need no line each
LINES_OFFSET = 8192  # behind what is the collector's

_watches_forks = False
_thread_told = False
_on = False


def begin(states):
    """A known event on this thread; those of the first other thread and of children follow.

    `states`: of parts, as observe.status() has them. Later ones are told by part(). Returns whether
    this process delivers: not if somebody records and it could not join.
    """
    global _on, _watches_forks
    _on = True
    if states.get("names", "").startswith("on") and _was_started_by_python():
        sys.modules["pyannot.observe.names"].arrive()
    tell("python", sys.executable or "?", _build(), _known_event("started"), _running(states))
    for name, state in states.items():
        if not state.startswith(("on", "off", "waits")):
            tell("part", name, state)
    if not _watches_forks:
        os.register_at_fork(after_in_child=_forked)
        _watches_forks = True
    if not pyannot.enabled() or pyannot.status() == "recording":
        return True
    tell("part", "this program", f"it cannot record: {pyannot.status()}")
    _on = False
    return False


def end():
    global _on
    _on = False


def part(name, state):
    """A part began later, or could not."""
    if _on:
        tell("part", name, state)


def thread_began():
    """By the first thread that Python starts in a process: a known event there."""
    global _thread_told
    if _on and not _thread_told:
        _thread_told = True
        tell("thread", _native_id(), _known_event("second thread"))


def tell(kind, *fields):
    """A line: the kind, this process, and the fields, parted by tabs."""
    words = (str(field).translate({9: 32, 10: 32}) for field in (kind, os.getpid(), *fields))
    line = "\t".join(words).encode("utf-8", "replace")[:LINE_BYTES] + b"\n"
    fd = _open_session(os.O_WRONLY | os.O_APPEND)
    if fd < 0:
        return
    try:
        if os.fstat(fd).st_size < FILE_BYTES:
            os.write(fd, line)
    except OSError:
        pass
    finally:
        os.close(fd)


def _open_session(flags):
    """The session's file; -1 if there is none."""
    session = os.environ.get("ANNOT_SESSION")
    for folder in _folders() if session else ():
        try:
            return os.open(f"{folder}/session-{session}", flags | os.O_CLOEXEC | os.O_NOFOLLOW)
        except (OSError, ValueError):
            continue
        except Exception:  # an audit hook of the program that allows no files
            break
    return -1


def _was_started_by_python():
    """Whether somebody has drawn an arrow to this process: its parent does if pyannot is in it, as
    it has said here. An exec draws none: then it was this very process that said so.
    """
    fd = _open_session(os.O_RDONLY)
    if fd < 0:
        return False
    try:
        size = os.fstat(fd).st_size
        lines = b"\n" + os.pread(fd, max(size - LINES_OFFSET, 0), LINES_OFFSET)
    except OSError:
        return False
    finally:
        os.close(fd)
    has_room = size < FILE_BYTES  # else the parent may have found none
    return (_is_told(os.getppid(), lines) or not has_room) and not _is_told(os.getpid(), lines)


def _is_told(pid, lines):
    return b"\npython\t%d\t" % pid in lines or b"\nforked\t%d\t" % pid in lines


def _folders():
    """Where programs and annot meet, as docs/wire-format.md has it."""
    chosen = os.environ.get("ANNOT_DIR")
    if chosen:
        return (chosen,)
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return (f"/dev/shm/annot-{os.geteuid()}", f"{runtime}/annot" if runtime[:1] == "/" else "/")


def _running(states):
    return ",".join(name for name, state in states.items() if state.startswith("on"))


def _build():
    from _imp import extension_suffixes
    return extension_suffixes()[0].strip(".").rpartition(".")[0]


def _native_id():
    import _thread
    return _thread.get_native_id()


def _known_event(name):
    """Whether it was emitted: not while nobody records."""
    if not pyannot.enabled():
        return 0
    pyannot.mark(name, domain="python", category="selftest")
    return 1


def _forked():
    global _thread_told
    _thread_told = False
    if _on:
        tell("forked", _known_event("forked"), _running(observe.status()))
