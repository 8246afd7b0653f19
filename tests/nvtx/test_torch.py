# SPDX-License-Identifier: MIT
"""Unchanged PyTorch, with emit_itt and emit_nvtx: the recording matches the counts of its own
profiler. ANNOT_TEST_TORCH is an interpreter that has PyTorch, else ANNOT_TEST_PYTHON, else this
one. PyTorch takes 5 GB and two minutes to install, so the tests' own environment does not have it.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys

from harness import Skip, case, check, equal, main
from ledger import events_of

PYTHON = os.environ.get("ANNOT_TEST_TORCH",
                        os.environ.get("ANNOT_TEST_PYTHON", sys.executable))
PROGRAM = pathlib.Path(__file__).with_name("torch_program.py")


def truth(home):
    found = subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False)
    if found.returncode:
        raise Skip(f"{PYTHON} has no PyTorch")
    told = home.run(PYTHON, PROGRAM, "truth", timeout=120).ok().out.decode()
    return json.loads(told.splitlines()[-1])


def recorded(home, mode, domain):
    result = home.record(PYTHON, PROGRAM, mode, options=("--sampling=none",), timeout=120)
    check("LOST" not in result.err_text, f"losses: {result.err_text}")
    begins = [event for event in events_of(home, result.path) if event["event"] == "begin"]
    return [event for event in begins if event.get("domain") == domain]


def compare(events, expected):
    """The profiler also counts events outside of its context."""
    counts = collections.Counter(event["name"] for event in events)
    check(len(counts) > 30, f"only {len(counts)} names")
    for name, count in counts.items():
        equal(count, expected.get(name), f"calls of {name}")


@case
def emit_itt(home):
    expected = truth(home)
    compare(recorded(home, "itt", "PyTorch"), expected)


@case
def emit_nvtx(home):
    """Its names contain numbers, which become key-values."""
    expected = truth(home)
    events = recorded(home, "nvtx", None)
    compare(events, expected)
    products = [event for event in events if event["name"] == "aten::mm"]
    check(all(event["args"]["sizes"].startswith("[[") for event in products), "sizes")


if __name__ == "__main__":
    main()
