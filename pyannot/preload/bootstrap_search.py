# SPDX-License-Identifier: MIT
# The first pyannot on the interpreter's own path and in the folders that annot gives is missing or
# cannot be imported: the `error`. Another of the folders may have one for this very build.
try:
    from _imp import extension_suffixes
    from posix import stat
    for folder in folders.split(":"):
        try:
            if error is None or not stat(f"{folder}/pyannot/_native{extension_suffixes()[0]}"):
                continue
        except (OSError, ValueError):
            continue
        for name in [name for name in sys.modules if name.partition(".")[0] == "pyannot"]:
            del sys.modules[name]
        own.insert(0, folder)
        try:
            from pyannot import observe
            observe.begin()
            error = None
        except Exception as last:
            error = last
        own.remove(folder)
    if error is not None:
        exec(REPORT)
except Exception:
    pass  # the program comes first
