# SPDX-License-Identifier: MIT
"""How long it takes to start a process of multiprocessing, in its parent and in itself."""
import contextlib

from pyannot import enabled, pop, push

_in_startup = False  # of this process: its range "start-up" is open
_run = None  # what BaseProcess.run is now


def patch_process(patches, module):
    global _run
    process = module.BaseProcess
    patches.wrap(process, "start", _start, ("self",))
    patches.wrap(process, "_bootstrap", _bootstrap, ("self",))
    patches.wrap(process, "run", _running, ("self",))
    _run = process.run


def patch_spawn(patches, module):
    patches.wrap(module, "_main", _main, ("fd",))


def _start(original):
    def start(self):
        if not enabled():
            return original(self)
        push("start process", domain="python", category="pool", payload=self._name)
        try:
            return original(self)
        finally:
            pop()

    return start


def _main(original):
    def _main(*args, **kwargs):
        _begin()
        return original(*args, **kwargs)

    return _main


def _bootstrap(original):
    def _bootstrap(self, *args, **kwargs):
        if type(self).run is _run:
            _begin()
        else:  # its own run() does not tell when it begins
            _end()
        return original(self, *args, **kwargs)

    return _bootstrap


def _running(original):
    def run(self):
        _end()
        return original(self)

    return run


def _begin():
    global _in_startup
    with contextlib.suppress(Exception):
        if enabled() and not _in_startup:
            _in_startup = True
            push("start-up", domain="python", category="pool")


def _end():
    global _in_startup
    if _in_startup:
        _in_startup = False
        pop()
