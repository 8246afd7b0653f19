# SPDX-License-Identifier: MIT
"""The records that CUPTI delivers for a recorded scene, for the tests of this folder."""

import lzma
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import recorded  # noqa: E402

RECORDED = pathlib.Path(__file__).resolve().parent.parent / "recorded"
SCENES = ("contexts", "copies", "graph", "graph-nodes", "jit", "killed", "streams", "sync",
          "window-finalize")
# Recorded kinds: CUPTI's number of each is that of recorded.py, ours is in gpu_emit.h.
KINDS = {"kernel": 1, "memcpy": 2, "memset": 3, "graph": 4, "synchronization": 5, "overhead": 6}
# Further enabled kinds.
FURTHER = ("device", "context", "memory", "jit")
LAUNCHED = ("kernel", "memcpy", "memset", "graph")
folder = pathlib.Path(tempfile.mkdtemp())


def file_of(scene):
    """The recorded file, in the form that fake_program reads."""
    data = folder / f"{scene}.cupti"
    if not data.exists():
        data.write_bytes(lzma.open(RECORDED / f"{scene}.cupti.xz").read())
    return data


def activities_of(scene):
    """Return the activities of the kinds in KINDS, in CUPTI's order, and the file. Each has its
    place among everything that is delivered."""
    got = recorded.read(RECORDED / f"{scene}.cupti.xz")
    enabled = [each for each in got.activities() if each["kind"] in (*KINDS, *FURTHER)]
    return got, [{**each, "place": i} for i, each in enumerate(enabled) if each["kind"] in KINDS]


def delivered_of(scene):
    """Return the kinds of everything that is delivered, in order."""
    got = recorded.read(RECORDED / f"{scene}.cupti.xz")
    return [each["kind"] for each in got.activities() if each["kind"] in (*KINDS, *FURTHER)]


def run_cases(cases):
    """Run all cases, and return the exit status."""
    failed = 0
    for case in cases:
        try:
            case()
        except AssertionError as error:
            failed += 1
            print(f"FAIL {case.__name__}: {error}")
    print(f"{len(cases) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0
