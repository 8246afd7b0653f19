# SPDX-License-Identifier: MIT
"""Compares pyannot.nvtx with the nvtx package: signatures, enumerations, and outcomes of calls,
each with a tool and without. ANNOT_TEST_PYTHON is an interpreter that has the package; without it
these are skipped.

NVTX_TOOL, set by meson, is a library that attaches to NVTX and does nothing: with it the package's
domains are real.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import harness

CASES = pathlib.Path(__file__).with_name("nvtx_cases.py")
PYTHON = os.environ.get("ANNOT_TEST_PYTHON", sys.executable)

def run_cases(module, **environment):
    without = {name: value for name, value in os.environ.items() if not name.startswith("NVTX_")}
    done = subprocess.run([PYTHON, str(CASES), module], env=dict(without, **environment),
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def package_version():
    """The version of the nvtx package, or None."""
    program = "import importlib.metadata as m, nvtx, pyannot; print(m.version('nvtx'))"
    done = subprocess.run([PYTHON, "-c", program], stdout=subprocess.PIPE, text=True, check=False,
                          stderr=subprocess.DEVNULL)
    return done.stdout.strip() or None


@unittest.skipUnless(package_version(), f"{PYTHON} has no nvtx package beside pyannot")
class BesideThePackage(unittest.TestCase):
    maxDiff = None

    def compare(self, ours, theirs):
        for kind in ("signatures", "enumerations", "outcomes"):
            self.assertEqual(sorted(ours[kind]), sorted(theirs[kind]))
            for name, wanted in theirs[kind].items():
                with self.subTest(kind=kind, name=name):
                    self.assertEqual(ours[kind][name], wanted)

    def test_with_a_tool(self):
        tool = os.environ["NVTX_TOOL"]
        theirs = run_cases("nvtx", NVTX_INJECTION64_PATH=tool)
        self.assertEqual(theirs["outcomes"]["type(domain).__name__"], "'Domain'", "no tool")
        self.compare(run_cases("pyannot.nvtx"), theirs)

    def test_without_a_tool(self):
        theirs = run_cases("nvtx")
        self.assertEqual(theirs["outcomes"]["type(domain).__name__"], "'DummyDomain'", "a tool")
        self.compare(run_cases("pyannot.nvtx", ANNOT_NVTX="early"), theirs)

    def test_disabled(self):
        tool = os.environ["NVTX_TOOL"]
        theirs = run_cases("nvtx", NVTX_DISABLE="1", NVTX_INJECTION64_PATH=tool)
        self.compare(run_cases("pyannot.nvtx", NVTX_DISABLE="1"), theirs)


if __name__ == "__main__":
    print(f"nvtx {package_version()}")
    harness.main()
