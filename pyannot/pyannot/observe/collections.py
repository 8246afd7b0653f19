# SPDX-License-Identifier: MIT
"""Collections of garbage, as ranges of the thread that they interrupt: one name a generation,
and with its end how many objects were collected. Threads: any."""
import gc

from pyannot._native import collected


def install():
    """Sees each collection from now on."""
    if collected not in gc.callbacks:
        gc.callbacks.append(collected)


def remove():
    """Sees no more."""
    if collected in gc.callbacks:
        gc.callbacks.remove(collected)
