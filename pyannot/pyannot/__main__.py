# SPDX-License-Identifier: MIT
"""`python -m pyannot ...` is `annot ...`."""

import os
import sys

from pyannot import _program


def main() -> None:
    program = _program.find()
    if program is None:
        sys.stderr.write(f"python -m pyannot: {_program.MISSING}\n")
        sys.exit(127)
    try:
        os.execv(program, ["annot", *sys.argv[1:]])
    except OSError as error:
        sys.stderr.write(f"python -m pyannot: cannot run {program}: {error.strerror}\n")
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


if __name__ == "__main__":
    main()
