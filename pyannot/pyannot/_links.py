# SPDX-License-Identifier: MIT
"""Paths without characters that the dynamic linker and lists of folders interpret.

The dynamic linker ends a path at blanks and colons and expands $; lists of folders are separated by
colons. A folder with such a path gets a link with a plain path, in a folder that only the user can
change, as `annot record` does it (tools/record/python_environment.c). The link outlives this
process, because children may.
"""

import os
import stat
from typing import Iterator, Optional

_SPECIAL = frozenset(" \t\n:$;")
_PATH_MAX = 4096


def _is_plain(path: str) -> bool:
    return not _SPECIAL.intersection(path) and len(os.fsencode(path)) < _PATH_MAX


def _places() -> Iterator[str]:
    cache, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    if cache.startswith("/"):
        yield f"{cache}/annot"
    if home.startswith("/"):
        yield f"{home}/.cache/annot"
    yield f"/tmp/annot-{os.geteuid()}"


def _make_private(folder: str) -> bool:
    """Makes the folder if it is missing. Returns true if only this user can change it."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.lstat(folder)
    except OSError:
        return False
    return (stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
            and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _hash(path: str) -> int:
    """FNV-1a, which gives a path the same value in each process."""
    value = 0xcbf29ce484222325
    for byte in os.fsencode(path):
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return value


def _make_link(folder: str, path: str) -> Optional[str]:
    link = f"{folder}/python-{_hash(path):016x}"
    if not _is_plain(link):
        return None
    try:
        os.symlink(path, link)
    except FileExistsError:
        pass
    except OSError:
        return None
    try:
        return link if os.readlink(link) == path else None
    except OSError:
        return None


def plain_path(path: str) -> Optional[str]:
    """Returns the path or a link to it, without such characters; None if no link can be made."""
    if _is_plain(path):
        return path
    for folder in _places():
        if _is_plain(folder) and _make_private(folder):
            link = _make_link(folder, path)
            if link:
                return link
    return None
