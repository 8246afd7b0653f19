# SPDX-License-Identifier: MIT
"""Finds the `annot` program."""

import os
import shutil
import sys
import sysconfig
from typing import Iterator, Optional

MISSING = ("the annot program is not found\n"
           "hint: \"pip install .\" in annot's source folder puts it beside the interpreter's "
           "other programs; else let the environment variable ANNOT name it")


def _places() -> Iterator[str]:
    """Yields the folders in which an installed pyannot may have it."""
    if sys.executable:
        yield os.path.dirname(sys.executable)
    for scheme in (None, "posix_user"):
        path = (sysconfig.get_path("scripts", scheme) if scheme in sysconfig.get_scheme_names()
                else sysconfig.get_path("scripts"))
        if path:
            yield path
    package = os.path.dirname(os.path.abspath(__file__))
    yield package
    yield os.path.join(os.path.dirname(package), "bin")  # pip install --target


def find() -> Optional[str]:
    """Returns its absolute path, from $ANNOT, beside this interpreter, from this package or PATH;
    None if it is not found.

    $ANNOT is used unchecked, so that a wrong name is reported and not skipped.
    """
    named = os.environ.get("ANNOT")
    if named:
        return os.path.abspath(shutil.which(named) or named)
    for place in _places():
        path = os.path.join(place, "annot")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    path_found = shutil.which("annot")
    return os.path.abspath(path_found) if path_found else None
