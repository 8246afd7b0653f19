#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annot merge of recordings that have the same time of a process: data that counts twice is
reported."""

import shutil

from harness import ANNOT, case, check, equal, main, program

TWICE = "in several recordings of the merge at the same time"
SNAPSHOTS = """
{0} 1500 >account.txt & pid=$!
sleep 0.4
{1} snapshot -o first.annot && {1} snapshot -o again.annot
wait $pid
"""


def merged(home, *paths):
    return home.annot("merge", "--force", "-o", "both.annot", *paths)


@case
def copies_are_refused(home):
    path = home.record(program("emit_ticks"), "50", options=("--sampling=none",)).ok().path
    for name in ("copy.annot", "else.annot"):
        shutil.copy(path, home.work / name)
    merged(home, path, "copy.annot").complains(1, "is a copy of")
    merged(home, "copy.annot", "else.annot").complains(1, "is a copy of")
    check(not (home.work / "both.annot").exists(), "a result of the merge")


@case
def snapshots_of_one_session_that_overlap_are_refused(home):
    """Its own recording has the rest at the end, and may be read with the earlier snapshots."""
    done = home.record("sh", "-c", SNAPSHOTS.format(program("emit_ticks"), ANNOT),
                       options=("--sampling=none", "--policy", "overwrite"))
    check(done.status == 0, done.err_text)
    merged(home, "first.annot", "again.annot").complains(1, "one session")


@case
def recordings_of_one_machine_at_the_same_time_are_in_order(home):
    paths = [home.record(program("emit_ticks"), "50", options=("--sampling=none",)).ok().path
             for _ in range(2)]
    done = merged(home, *paths).ok()
    equal(done.err_text, "", "what it said")
    check(TWICE not in home.info(home.work / "both.annot"), "processes count twice")


if __name__ == "__main__":
    main()
