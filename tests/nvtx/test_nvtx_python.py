# SPDX-License-Identifier: MIT
"""Programs that use the nvtx package are recorded unchanged, together with annot's own observation
of Python. ANNOT_TEST_PYTHON is an interpreter that has the package, by default this one."""

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
    """Another copy of libannot is used. Its ranges and those of NVTX nest in one another."""
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


@case
def payloads_and_counters(home):
    """For newer versions of the package: numpy lists, arrays and structs, counters and groups."""
    program = ("import numpy, nvtx\n"
               "domain = nvtx.get_domain('arrays')\n"
               "nvtx.mark('list', domain='arrays', payload=[1, 2, 3])\n"
               "kind = numpy.dtype([('rank', numpy.int32), ('name', 'U5')])\n"
               "nvtx.mark('struct', domain='arrays', payload=numpy.array((3, 'ring'), kind))\n"
               "domain.get_counter('load', int, scope='GPU[0]').sample(5)\n"
               "kind = numpy.dtype([('clock', numpy.int32), ('heat', numpy.float64)])\n"
               "domain.get_counter('both', kind).sample((7, 1.5))\n"
               "domain.get_counter('batch', float).batch_submit([1.5], [domain.get_timestamp()])\n")
    probe = "import nvtx, numpy; nvtx.Counter"
    if subprocess.run([PYTHON, "-c", probe], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip(f"{PYTHON} has no nvtx package with counters, or no numpy")
    home.environment["ANNOT_PYTHON"] = "none"
    path, _ = run(home, PYTHON, "-c", f"open({str(home.work / 'ledger')!r}, 'w')\n" + program)
    events = [event for event in events_of(home, path) if event.get("domain") == "arrays"]
    equal([(event["name"], event.get("args", event.get("value"))) for event in events],
          [("list", {"size": 3, "data": "[1, 2, 3]"}), ("struct", {"rank": 3, "name": "ring"}),
           ("GPU[0]/load", 5), ("both/clock", 7), ("both/heat", 1.5), ("batch", {"payload": 1.5})],
          "what was recorded")


if __name__ == "__main__":
    main()
