#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the first folder that holds a header, for meson; fails if there is none.

    find_header.py HEADER BUILD [FOLDER...]

Searches only the FOLDERs if any are given; else the folders of Debian and of CUDA's toolkits, and
wheels: those that setup.sh installed into BUILD/venv, also for variants built inside, and those
that this Python finds, as in an environment of pip that builds a wheel.
"""

import glob
import os
import sys

INSTALLED = ("/usr/include", "/usr/local/include", "/usr/local/cuda/include",
             "/usr/local/cuda-*/include", "/usr/local/cuda/targets/*/include",
             "/usr/local/cuda/extras/CUPTI/include", "/usr/local/cuda-*/extras/CUPTI/include",
             "/opt/cuda/include", "/opt/cuda/extras/CUPTI/include", "/usr/lib/cuda/include")
WHEELS = ("nvidia/*/include", "*/include")


def main(header, build, *given):
    """Exit status."""
    packages = [os.path.join(folder, "venv/lib/python3*/site-packages")
                for folder in (build, os.path.dirname(build))] + list(filter(None, sys.path[1:]))
    patterns = given or (*INSTALLED, os.path.join(sys.prefix, "include"), *(
        os.path.join(folder, wheel) for folder in packages for wheel in WHEELS))
    for pattern in patterns:
        for folder in sorted(glob.glob(pattern), reverse=True):
            if os.path.isfile(os.path.join(folder, header)):
                print(os.path.realpath(folder))
                return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
