#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports for other viewers, read back: their numbers equal annot query's.

test_viewers.py: checks all recordings of recordings.py. Each format has a file here that reads it
like its viewer, or with the viewer. Viewers that are too heavy for each run: real_readers.py.
"""

import os
import pathlib
import sys
import tempfile

import ctf_files
import dot_files
import firefox_files
import massif_files
import nsys_files
import otlp_files
import perfetto_heap_files
import pprof_files
import recordings
import speedscope_files
import table_files

FORMATS = (speedscope_files, pprof_files, table_files, dot_files, firefox_files,
           nsys_files, otlp_files, ctf_files, perfetto_heap_files, massif_files)


def check_all(form, paths):
    """Checks a format with all recordings; returns the missing tools."""
    skipped = {form.check(path) for path in paths}
    for path in paths:
        if path.stem in ("made-served", "asyncio"):
            form.check_parts(path)
    return skipped - {None}


def main():
    skipped = set()
    with tempfile.TemporaryDirectory() as name:
        paths = recordings.make(pathlib.Path(name), real="--made" not in sys.argv)
        for form in FORMATS:
            skipped |= check_all(form, paths)
    passed = len(FORMATS) * len(paths)
    for what in sorted(skipped):
        print(f"skipped: {what}")
    print(f"{passed} passed, 0 failed, {len(skipped)} skipped")
    return 0


if __name__ == "__main__":
    python = os.environ.get("ANNOT_TEST_PYTHON", sys.executable)
    if python != sys.executable:  # that has the readers
        os.execv(python, [python, *sys.argv])
    sys.exit(main())
