# SPDX-License-Identifier: MIT
"""python -m pyannot.nvtx SCRIPT: runs a script with a range for each call of a function."""

import argparse
import pathlib
import runpy
import sys

from pyannot.nvtx import Profile


def main():
    parser = argparse.ArgumentParser(prog="python -m pyannot.nvtx", description=__doc__)
    parser.add_argument("--linenos", action="store_true", default=True,
                        help="names are file:line(function); the default")
    parser.add_argument("--no-linenos", action="store_false", dest="linenos",
                        help="names are those of the functions")
    parser.add_argument("--annotate-cfuncs", action="store_true",
                        help="calls of builtin and C functions too")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    sys.argv = [options.script, *options.arguments]
    sys.path[0] = str(pathlib.Path(options.script).resolve().parent)
    profile = Profile(options.linenos, options.annotate_cfuncs)
    profile.enable()
    try:
        runpy.run_path(options.script, run_name="__main__")
    finally:
        profile.disable()


if __name__ == "__main__":
    main()
