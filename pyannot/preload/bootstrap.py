# SPDX-License-Identifier: MIT
# Run by preload.c before the first line of a program, in a temporary namespace, if the quick way of
# preload.c did not find pyannot. Compiled in each interpreter: rarely needed code is in separate
# texts (bootstrap_search.py, bootstrap_report.py).
import sys
from posix import environ
if b"ANNOT_PYTHON" in environ:
    path = sys.path
    # Not from the folder of the script: its modules are not ours to import.
    sys.path = own = path[not (sys.flags.isolated or getattr(sys.flags, "safe_path", 0)):]
    folders = environ.get(b"ANNOT_PYTHON_PATH", b"").decode("utf-8", "surrogateescape")
    own += folders.split(":") if folders else ()
    try:
        from pyannot import observe
        observe.begin()
    except Exception as error:
        exec(SEARCH)
    finally:
        if sys.path is own:
            sys.path = path
