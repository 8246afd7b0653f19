# SPDX-License-Identifier: MIT
"""The extension modules need only libraries that a wheel may link. The reader of recordings is
linked from the collector's archives: it must not pull in output streams, and zlib with them."""

import importlib
import re
import unittest

import harness

SYSTEM = {"libc", "libm", "libdl", "libpthread", "librt", "ld-linux-x86-64", "libgcc_s"}
SANITIZERS = {"libasan", "libubsan", "libtsan"}
OWN = {"pyannot._reader": {"libzstd"}, "pyannot._native": set(), "pyannot._detach": set()}


def needed(path):
    dynamic = harness.run(["readelf", "-Wd", path]).stdout
    return {name.split(".so")[0] for name in re.findall(r"NEEDED.*\[(.+?)\]", dynamic)}


class ModuleTest(unittest.TestCase):
    def test_libraries(self):
        for name, own in OWN.items():
            with self.subTest(name):
                path = importlib.import_module(name).__file__
                self.assertEqual(needed(path) - SYSTEM - SANITIZERS - own, set())


if __name__ == "__main__":
    harness.main()
