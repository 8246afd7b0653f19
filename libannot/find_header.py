#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the first folder that holds a header, for meson; fails if there is none.

    find_header.py HEADER BUILD [FOLDER...]

FOLDERs first, which were given by hand and are then the only ones; else what Debian and CUDA's
toolkits install, and what setup.sh installed from wheels into BUILD/venv, of which variants are
built inside.
"""

import glob
import os
import sys

INSTALLED = ("/usr/include", "/usr/local/include", "/usr/local/cuda/include",
             "/usr/local/cuda-*/include", "/usr/local/cuda/targets/*/include",
             "/usr/local/cuda/extras/CUPTI/include", "/usr/local/cuda-*/extras/CUPTI/include",
             "/opt/cuda/include", "/opt/cuda/extras/CUPTI/include", "/usr/lib/cuda/include")
WHEELS = ("lib/python3*/site-packages/nvidia/*/include",
          "lib/python3*/site-packages/*/include", "include")


def main(header, build, *given):
    """Exit status."""
    venvs = (os.path.join(build, "venv"), os.path.join(os.path.dirname(build), "venv"), sys.prefix)
    patterns = given or INSTALLED + tuple(
        os.path.join(venv, pattern) for venv in venvs for pattern in WHEELS)
    for pattern in patterns:
        for folder in sorted(glob.glob(pattern), reverse=True):
            if os.path.isfile(os.path.join(folder, header)):
                print(os.path.realpath(folder))
                return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
