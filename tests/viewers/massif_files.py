# SPDX-License-Identifier: MIT
"""massif's files, and ms_print's output of them: bytes over time and by function at the peak.
Numbers of the made recording: tests/lib/heap_trace.c."""

import re
import shutil
import subprocess

from recordings import ANNOT, export, query

MIB = 1 << 20
# From the function that allocated, to its caller.
TREE = [(0, 72, "(heap allocation functions)"), (1, 40, "hold"), (2, 40, "<module>"),
        (1, 20, "cache"), (2, 20, "<module>"), (1, 10, "work"), (2, 10, "<module>"),
        (1, 2, "churn"), (2, 2, "<module>")]


def snapshots_of(text):
    """[(milliseconds, bytes, lines of the tree)]"""
    found = []
    for part in text.split("#-----------\nsnapshot=")[1:]:
        values = dict(re.findall(r"^(time|mem_heap_B|heap_tree)=(\w+)$", part, re.M))
        tree = part.split("heap_tree=", 1)[1].splitlines()[1:]
        assert (values["heap_tree"] == "peak") == bool(tree), part
        assert int(part.split("\n")[0]) == len(found), part
        found.append((int(values["time"]), int(values["mem_heap_B"]), tree))
    return found


def check_tree(lines):
    """A line's number of children is right, and their bytes are at most its own."""
    nodes = [re.fullmatch(r"( *)n(\d+): (\d+) (.*)", line).groups() for line in lines]
    depths = [len(node[0]) for node in nodes]
    for at, (_, children, size, _) in enumerate(nodes):
        below = [i for i in range(at + 1, len(nodes)) if depths[i] == depths[at] + 1
                 and min(depths[at + 1:i + 1]) > depths[at]]
        assert len(below) == int(children), lines[at]
        assert sum(int(nodes[i][2]) for i in below) <= int(size), lines[at]
    return [(len(indent), int(size), text) for indent, _, size, text in nodes]


def check_made(snapshots, tree):
    times = dict((time, held) for time, held, lines in snapshots if not lines)
    peak = next((time, held) for time, held, lines in snapshots if lines)
    assert peak == (14, 72 * MIB), peak
    assert snapshots[-1][1] == 40 * MIB, snapshots[-1]  # the child has ended
    before_end = max(time for time in times if time < 30)
    assert times[before_end] in (50 * MIB, 52 * MIB), times
    found = [(depth, size / MIB, re.sub(r"^0x\w+: | \(/.*", "", text))
             for depth, size, text in tree]
    assert found == [(depth, float(size), text) for depth, size, text in TREE], found


def check(recording):
    path = recording.with_suffix(".massif")
    if not query(recording, "select 1 from samples where sample_set in ('heap', 'alloc') limit 1"):
        done = subprocess.run([ANNOT, "export", "--force", "-o", path, recording],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "no samples of memory" in done.stderr, done.stderr
        return None
    export(recording, path)
    snapshots = snapshots_of(path.read_text())
    assert [time for time, _, _ in snapshots] == sorted(time for time, _, _ in snapshots)
    (lines,) = [lines for _, _, lines in snapshots if lines]
    tree = check_tree(lines)
    assert tree[0][1] == max(held for _, held, _ in snapshots), tree[0]
    if recording.stem == "made-heap":
        check_made(snapshots, tree)
    if not shutil.which("ms_print"):
        return "ms_print"
    shown = subprocess.run(["ms_print", path], check=True, capture_output=True, text=True)
    assert not shown.stderr and "(peak)" in shown.stdout, shown
    if recording.stem == "made-heap":
        assert re.search(r"55\.56% \(41,943,040B\) 0x\w+: hold", shown.stdout), shown.stdout
    return None


def check_parts(_):
    """Selections are those of all exports."""
