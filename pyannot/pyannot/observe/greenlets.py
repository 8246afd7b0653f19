# SPDX-License-Identifier: MIT
"""Greenlets, also gevent's: each but the main one of its thread is a track, with a range for its
whole life. Ranges inside of one go to its track (pyannot/src/tasks/greenlets.h).

A thread's switches are observed from its first range or traced call on; those of the thread that
imports greenlet, from the import on. greenlet.settrace and gettrace are replaced permanently, so
that the program can have a trace function beside ours.

Threads: install and remove by one at a time.
"""
import greenlet

from pyannot import _native

_known = []  # replacements of settrace and gettrace


def know():
    """Observes from now on which greenlet runs on a thread; ranges stay on the threads."""
    if not _known:
        _known[:] = _native.greenlets_known(greenlet.getcurrent, greenlet.settrace,
                                            greenlet.gettrace)
        greenlet.settrace, greenlet.gettrace = _known


def install():
    know()
    _native.greenlets_ranges(True)


def remove():
    _native.greenlets_ranges(False)
