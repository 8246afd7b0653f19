# SPDX-License-Identifier: MIT
"""Programs that use the nvtx package are recorded without a change, beside what annot observes in
Python itself. ANNOT_TEST_PYTHON is an interpreter that has the package, else this one."""

import os
import pathlib
import subprocess
import sys

from harness import Skip, case, check, equal, main
from ledger import compare, events_of, run

PYTHON = os.environ.get("ANNOT_TEST_PYTHON", sys.executable)
PROGRAM = pathlib.Path(__file__).with_name("nvtx_program.py")


def needs_package():
    if subprocess.run([PYTHON, "-c", "import nvtx"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        raise Skip(f"{PYTHON} has no nvtx package")


@case
def package(home):
    needs_package()
    home.environment["ANNOT_PYTHON"] = "none"
    path, ledger = run(home, PYTHON, PROGRAM)
    equal(len({line[1] for line in ledger}), 3, "threads")
    compare(home, path, ledger)


@case
def beside_pyannot(home):
    """Another copy of libannot serves; its ranges and those of NVTX nest in one another."""
    needs_package()
    folder = os.environ.get("ANNOT_PYANNOT")
    if not folder:
        raise Skip("pyannot is not built")
    home.environment.update(ANNOT_PYTHON="none", PYTHONPATH=folder)
    program = ("import pyannot, nvtx\n"
               "with pyannot.annotate('outside'):\n"
               "    with nvtx.annotate('inside', domain='python'):\n"
               "        with pyannot.annotate('innermost'): pass\n")
    if subprocess.run([PYTHON, "-c", "import pyannot"], env=home.environment, check=False,
                      stderr=subprocess.DEVNULL).returncode:
        raise Skip(f"pyannot is not for {PYTHON}")
    path, _ = run(home, PYTHON, "-c", f"open({str(home.work / 'ledger')!r}, 'w')\n" + program)
    paths = {event["path"] for event in events_of(home, path) if event["event"] == "end"}
    check("outside/python:inside/innermost" in paths, f"paths: {paths}")


if __name__ == "__main__":
    main()
