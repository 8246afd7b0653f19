# SPDX-License-Identifier: MIT
"""The exception of recordings that cannot be made, completed or read."""


class RecordingError(RuntimeError):
    """A recording cannot be made, completed or read; the text says why, and `hint` what to do."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(f"{text}\nhint: {hint}" if hint else text)
        self.hint = hint
