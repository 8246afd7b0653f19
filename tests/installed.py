#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a test of a build folder against the annot of a virtual environment: a wrapper for meson.

    installed.py BUILD VENV COMMAND...

In the command and in its environment, the build's program is replaced by VENV's, every python3 by
VENV's Python, and the package in the build folder by the installed one.
"""

import os
import pathlib
import re
import sys


def replacements(build, venv):
    """Maps words of the command and the environment to their replacements."""
    packages = next(venv.glob("lib/python3*/site-packages"))
    loaded = packages / "pyannot" / "loaded"
    return {str(build / "tools" / "annot"): str(venv / "bin" / "annot"),
            str(build / "libannot" / "inject" / "libannot-inject.so"):
            str(loaded / "libannot-inject.so"),
            str(build / "libannot" / "gpu" / "libannot-gpu.so"): str(loaded / "libannot-gpu.so"),
            str(build / "pyannot"): str(packages)}


def main(build, venv, *command):
    build, venv = pathlib.Path(build).resolve(), pathlib.Path(venv).absolute()
    installed = replacements(build, venv)
    environment = {name: installed.get(value, value) for name, value in os.environ.items()}
    words = [installed.get(word, word) for word in command]
    if re.fullmatch(r"python3?(\.\d+)?", os.path.basename(words[0])):
        words[0] = str(venv / "bin" / "python")
    environment["ANNOT_TEST_PYTHON"] = str(venv / "bin" / "python")
    os.execvpe(words[0], words, environment)


if __name__ == "__main__":
    main(*sys.argv[1:])
