# SPDX-License-Identifier: MIT
"""Records how long a process of multiprocessing takes to start, in its parent and in itself.

Exceptions of these functions are printed with their traceback, in which no frame of this module may
appear."""
import os

from pyannot import pop
from pyannot._native import observed_domain
from pyannot.observe import POOL_START, POOL_START_UP

_START = observed_domain("python", *POOL_START)
_START_UP = observed_domain("python", *POOL_START_UP)

_in_startup = 0  # process id while its range "start-up" is open
_run = None  # the current BaseProcess.run


def patch_process(patches, module):
    global _run
    process = module.BaseProcess
    patches.around(process, "start", ("self",), _starts, _started)
    patches.around(process, "_bootstrap", ("self",), _is_bootstrapped)
    patches.around(process, "run", ("self",), _runs)
    _run = process.run


def patch_spawn(patches, module):
    patches.around(module, "_main", ("fd",), _begin)


def _starts(process):
    _START.push("start process", category="pool", payload=process._name)
    return True


def _started(*_ignored):
    pop()


def _is_bootstrapped(process, *_args, **_kwargs):
    if type(process).run is _run:
        _begin()
    else:  # its own run() does not report its start
        _runs()


def _begin(*_args, **_kwargs):
    global _in_startup
    if _in_startup != os.getpid():
        _in_startup = os.getpid()
        _START_UP.push("start-up", category="pool")


def _runs(*_ignored):
    global _in_startup
    if _in_startup == os.getpid():
        pop()
    _in_startup = 0
