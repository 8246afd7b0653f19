# SPDX-License-Identifier: MIT
"""Imported first in an interpreter that `annot record` started: by the preloaded library, or by
pyannot.pth where nothing can be preloaded. Inert without the environment that annot sets.
"""
import os


def _start():
    wanted = os.environ.get("ANNOT_PYTHON", "none")
    if wanted == "none":
        return
    from pyannot import observe
    from pyannot.observe import arrival
    try:
        observe.start(wanted)
    except ValueError as error:
        arrival.tell("part", "ANNOT_PYTHON", error)
    if not arrival.begin(observe.status()):
        observe.stop()  # without a reader, nothing is to be in the way


try:
    _start()
except Exception:  # the program is what matters
    pass
