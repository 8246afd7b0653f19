# SPDX-License-Identifier: MIT
"""Greenlets, and so gevent's: each but the main one of its thread is a track, with a range for its
whole life. Ranges inside of one go to its track by themselves (pyannot/src/tasks/greenlets.h).

A thread's switches are told from its first range or traced call on; those of the thread that
imports greenlet, from then on. Replaced, for ever: greenlet.settrace and gettrace, so that the
program has a trace function beside ours.

Threads: install and remove by one at a time.
"""
import greenlet

from pyannot import _native

_known = []  # what stands in place of settrace and gettrace


def know():
    """Who runs on a thread is known from here on; ranges stay the threads'."""
    if not _known:
        _known[:] = _native.greenlets_known(greenlet.getcurrent, greenlet.settrace,
                                            greenlet.gettrace)
        greenlet.settrace, greenlet.gettrace = _known


def install():
    know()
    _native.greenlets_ranges(True)


def remove():
    _native.greenlets_ranges(False)
