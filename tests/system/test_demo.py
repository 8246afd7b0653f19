#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The example pipeline, recorded, exported and read by the real Perfetto UI, adds up.

test_demo.py ANNOT PYANNOT FOLDER: the pipeline's own counts must equal the reader's for both
exports. Recording, traces and pictures are left in FOLDER. Exit status 0, 1, or 77.
"""

import json
import os
import pathlib
import subprocess
import sys

import perfetto_ui
from test_exports import HIDDEN_LOSSES, Check, use_test_python

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PIPELINE = SOURCE / "examples/pipeline/pipeline.py"
FILES = 300

# The range around each; "" = outermost.
PARENTS = {"pipeline": "", "file": "", "write row": "", "discover": "pipeline", "rank": "write",
           "write": "pipeline", "merge": "pipeline", "wait": "pipeline", "read": "file",
           "parse": "file", "analyse": "file", "complexity": "analyse", "imports": "analyse",
           "identifiers": "analyse"}

# Without the waits, which only one of the formats has as slices.
RANGES = """select s.name, ifnull(p.name, '') as parent, count(*) as n, sum(s.dur) as total,
    min(s.dur) as least
    from slice s join thread_track t on s.track_id = t.id join thread using (utid)
    left join slice p on p.id = s.parent_id where s.name != 'skipped'
    and concat(ifnull(t.name, ''), thread.name) not glob '*run state*'
    and concat(ifnull(t.name, ''), thread.name) not glob '*stacks*'
    and thread.name != 'all processes' group by 1, 2 order by 1, 2"""
MARKS = "select name, count(*) as n from slice where name = 'skipped' group by 1"
COUNTERS = """select replace(t.name, ' value', '') as name, count(*) as n, max(c.value) as most
    from counter c join process_counter_track t on c.track_id = t.id group by 1 order by 1"""
PROCESSES = """select p.name, count(t.utid) as threads from process p
    join thread t using (upid) where p.pid > 0 and p.name != 'annot' group by 1 order by 1"""
# Threads without a name are the pool's own: they were sampled but have no annotations.
THREADS = """select name, count(*) as n from thread where tid > 0 and name not glob 'thread *'
    and name not glob '*: *' and name != 'all processes' group by 1 order by 1"""
TASK = "process_file"
SEEN = f"""select count(*) filter (where category glob '*pool*' and dur > 0 and name = '{TASK}')
    as tasks, count(*) filter (where name glob 'import *') as imports from slice"""
ALL = [RANGES, MARKS, COUNTERS, PROCESSES, THREADS]


def record(annot, pyannot, folder, name, *options):
    """The recording and the pipeline's own counts."""
    recording = folder / name
    place = pathlib.Path(f"/dev/shm/annot-test-{os.getpid()}")
    environment = dict(os.environ, PYTHONPATH=pyannot, ANNOT_DIR=str(place))
    subprocess.run([annot, "record", *options, "--force", "-o", recording, "--", sys.executable,
                    PIPELINE, "--limit", str(FILES), "--workers", "3", "--output", folder / "out"],
                   check=True, env=environment, stdout=subprocess.DEVNULL)
    if place.exists():
        raise SystemExit(f"FAILED  {place} is left behind: {list(place.iterdir())}")
    return recording, json.loads((folder / "out/counts.json").read_text())


def ranges_made(counts):
    made = counts["ranges"].items()
    return sorted([name, PARENTS.get(name, "?"), n] for name, n in made if n)


def check_all(check, trace, counts, folder):
    """annot's own observations come beside the program's ranges, which are the same."""
    report = perfetto_ui.inspect(trace, sql=[RANGES, SEEN], png=folder / f"{trace.name}.png")
    ranges, seen = report.rows
    rows = [[r["name"], "" if r["parent"] == TASK else r["parent"], r["n"]] for r in ranges]
    check.clean(trace.name, report)
    check.equal(f"{trace.name}: ranges of the program",
                [row for row in ranges_made(counts) if row not in rows], [])
    check.equal(f"{trace.name}: tasks", seen[0]["tasks"], counts["files"])
    check.equal(f"{trace.name}: imports", seen[0]["imports"] > 10, True)


def check_trace(check, trace, counts, folder):
    report = perfetto_ui.inspect(trace, sql=ALL, png=folder / f"{trace.name}.png")
    ranges, marks, counters, processes, threads = report.rows
    expected = ranges_made(counts)
    check.clean(trace.name, report)
    check.equal(f"{trace.name}: ranges", [[r["name"], r["parent"], r["n"]] for r in ranges],
                expected)
    check.equal(f"{trace.name}: every range takes time", min(r["least"] for r in ranges) > 0, True)
    check.equal(f"{trace.name}: marks", {r["name"]: r["n"] for r in marks},
                {name: n for name, n in counts["marks"].items() if n})
    check.equal(f"{trace.name}: counters", {r["name"]: r["n"] for r in counters},
                counts["counters"])
    check.equal(f"{trace.name}: files done", max(r["most"] for r in counters
                                                 if r["name"] == "files done"), counts["files"])
    check.equal(f"{trace.name}: processes", [r["name"] for r in processes],
                ["pipeline", "worker 1", "worker 2", "worker 3"])
    # The pool's own threads may have been sampled; their names are numbers.
    check.equal(f"{trace.name}: threads",
                {r["name"]: r["n"] for r in threads if not r["name"].startswith("thread ")},
                {"main": 4, "row writer": 1})
    return {(r["name"], r["parent"]): r["total"] for r in ranges}


def main():
    use_test_python()
    annot, pyannot, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    check = Check()
    recording, counts = record(annot, pyannot, folder, "pipeline.annot", "--python", "none")
    totals = []
    try:
        for suffix in (".pftrace", ".json.gz"):
            trace = recording.with_suffix(suffix)
            subprocess.run([annot, "export", "--force", "-o", trace, recording], check=True)
            totals.append(check_trace(check, trace, counts, folder))
        recording, counts = record(annot, pyannot, folder, "all.annot")
        trace = recording.with_suffix(".pftrace")
        subprocess.run([annot, "export", "--force", "-o", trace, recording], check=True)
        check_all(check, trace, counts, folder)
    except perfetto_ui.NoVerdict as reason:
        print(f"skipped: {reason}")
        return 1 if check.failed else 77
    check.equal("both formats have the same time in each range", totals[0], totals[1])
    print(f"{check.passed} passed, {check.failed} failed, 0 skipped")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
