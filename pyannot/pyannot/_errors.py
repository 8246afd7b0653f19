# SPDX-License-Identifier: MIT
"""RecordingError, and the messages for files that are not readable recordings."""

import errno
import os
import stat


class RecordingError(RuntimeError):
    """A recording cannot be made, completed or read. The text gives the reason, `hint` a remedy."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(f"{text}\nhint: {hint}" if hint else text)
        self.hint = hint


def status_of_file(path: str) -> os.stat_result:
    """Returns os.stat() of a regular file; else raises IsADirectoryError or RecordingError."""
    status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would block
        raise RecordingError(f"cannot read {path}: it is no file but a device or a pipe",
                             "a recording is read in several places at once: make it a file")
    return status


def unreadable(error: OSError, path: str) -> Exception:
    """Returns the RecordingError for a file that is not a recording, else the error itself."""
    made = '"annot record -o FILE -- COMMAND" or pyannot.record makes a recording'
    if error.errno == errno.EBADMSG:
        return RecordingError(f"cannot read {path}: it is not a recording", made)
    if error.errno == errno.ENODATA:
        return RecordingError(f"cannot read {path}: it ends within its header",
                              "it was cut before its first event")
    if error.errno == errno.EPROTONOSUPPORT:
        return RecordingError(f"cannot read {path}: a newer annot wrote it", "update pyannot")
    return error
