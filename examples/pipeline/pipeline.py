# SPDX-License-Identifier: MIT
"""Measures the sources of Python's own standard library with a pool of processes.

    annot record -o pipeline.annot -- python3 examples/pipeline/pipeline.py
    annot report pipeline.annot
    annot export -f perfetto pipeline.annot -o pipeline.pftrace

discover -> read -> parse -> analyse (in the pool) -> merge -> rank -> write. A real job, annotated
in the usual way: a range around each stage, marks for unusual files, counters for quantities,
names for processes and threads. Without a recorder it does the same work.

It writes report.txt, files.csv and counts.json, which says how many ranges, marks and counter
values a recording of this run holds: into the folder of --output, else into a new one among the
temporary files.
"""

import argparse
import ast
import collections
import csv
import dataclasses
import json
import multiprocessing
import os
import pathlib
import queue
import sysconfig
import tempfile
import threading
import time
import tokenize

from analysis import Measures, analyse
from pyannot import annotate, counter, mark, set_process_name, set_thread_name

NOT_OURS = {"site-packages", "dist-packages", "test", "tests", "__pycache__"}
LARGEST_BYTES = 400_000  # more is a table of data, not a program


@dataclasses.dataclass
class FileResult:
    path: str
    size_bytes: int = 0
    line_count: int = 0
    skipped: str = ""  # the reason
    parsed: bool = False
    measures: Measures = dataclasses.field(default_factory=Measures)


# ---- In the main process: find ------------------------------------------------------------------


@annotate("discover", category="io", color="blue")
def discover(root, limit):
    """All source files below root, the largest first, so that the pool ends evenly."""
    found = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(set(subfolders) - NOT_OURS)
        found += [os.path.join(folder, name) for name in names if name.endswith(".py")]
    found.sort(key=lambda path: (-os.path.getsize(path), path))
    return found[:limit]


# ---- In the workers: read, parse, analyse -------------------------------------------------------


def start_worker():
    number = multiprocessing.current_process().name.rpartition("-")[2]
    set_process_name(f"worker {number}")


def process_file(path):
    with annotate("file", payload=path):
        result = FileResult(path)
        source = read(result)
        tree = parse(result, source) if not result.skipped else None
        if tree is not None:
            result.measures = analyse(tree)
        else:
            mark("skipped", color="orange", payload=f"{path}: {result.skipped}")
        return result


@annotate("read", category="io", color="blue")
def read(result):
    result.size_bytes = os.path.getsize(result.path)
    try:
        with tokenize.open(result.path) as file:  # obeys the file's own coding line
            source = file.read()
    except (SyntaxError, UnicodeDecodeError) as error:
        result.skipped = f"unreadable: {error}"
        return ""
    result.line_count = source.count("\n")
    if not source.strip():
        result.skipped = "empty"
    elif result.size_bytes > LARGEST_BYTES:
        result.skipped = "too large"
    return source


@annotate("parse", category="compute", color="purple")
def parse(result, source):
    result.parsed = True
    try:
        return ast.parse(source, result.path)
    except SyntaxError as error:
        result.skipped = f"syntax error: {error.msg}"
        return None


# ---- Back in the main process: reduce and write -------------------------------------------------


class Totals:
    """The sum of all files."""

    def __init__(self):
        self.files = self.lines = self.bytes = 0
        self.skipped = []
        self.functions = []
        self.importers = collections.Counter()
        self.identifiers = collections.Counter()

    @annotate("merge", category="reduce")
    def merge(self, result, root):
        name = os.path.relpath(result.path, root)
        self.files += 1
        self.lines += result.line_count
        self.bytes += result.size_bytes
        if result.skipped:
            self.skipped.append(f"{name}: {result.skipped}")
        measures = result.measures
        self.functions += [(paths, f"{name}:{line} {f}") for paths, f, line in measures.functions]
        self.importers.update(measures.imports)
        self.identifiers.update(measures.identifiers)

    @annotate("rank", category="reduce")
    def report(self):
        return "\n".join(
            [
                f"{self.files} files, {self.lines} lines, {self.bytes / 1e6:.1f} MB, "
                f"{len(self.functions)} functions",
                *section("most paths through one function", sorted(self.functions)[-10:][::-1]),
                *section("most imported", flip(self.importers.most_common(10))),
                *section("most used names", flip(self.identifiers.most_common(10))),
                *section("skipped", [("", line) for line in sorted(self.skipped)]),
                "",
            ]
        )


def flip(pairs):
    return [(count, name) for name, count in pairs]


def section(title, rows):
    return ["", title, *(f"{count:>8}  {text}" for count, text in rows)]


class RowWriter(threading.Thread):
    """Writes one line per file on a separate thread, so that the disk never delays the pool."""

    def __init__(self, path):
        super().__init__(name="row writer")
        self.path = path
        self.rows = queue.SimpleQueue()

    def run(self):
        set_thread_name(self.name)
        with open(self.path, "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["path", "bytes", "lines", "functions", "imports", "skipped"])
            while (result := self.rows.get()) is not None:
                with annotate("write row", category="io", color="blue"):
                    m = result.measures
                    numbers = [result.size_bytes, result.line_count, len(m.functions)]
                    rows.writerow([result.path, *numbers, len(m.imports), result.skipped])

    def close(self):
        self.rows.put(None)
        self.join()


def awaited(results):
    """The results, with a range around the wait for each: the main process's idle time."""
    while True:
        with annotate("wait", category="wait", color="gray"):
            result = next(results, None)
        if result is None:
            return
        yield result


@annotate("pipeline")
def run(options):
    root = sysconfig.get_path("stdlib")
    paths = discover(root, options.limit)
    totals, results = Totals(), []
    writer = RowWriter(options.output / "files.csv")
    context = multiprocessing.get_context(options.start_method)
    with context.Pool(options.workers, start_worker) as pool:
        writer.start()
        for result in awaited(pool.imap_unordered(process_file, paths)):
            totals.merge(result, root)
            results.append(result)
            writer.rows.put(result)
            counter("files done", totals.files)
            counter("bytes read", totals.bytes)
            counter("rows waiting", writer.rows.qsize())
    writer.close()
    with annotate("write", category="io", color="blue"):
        (options.output / "report.txt").write_text(totals.report())
    return results, totals


# ---- Expected contents of a recording of this run -----------------------------------------------


def event_counts(results, workers):
    """Derived from the results alone, so that a test can compare it with a recording."""
    files = len(results)
    parsed = sum(result.parsed for result in results)
    skipped = sum(bool(result.skipped) for result in results)
    analysed = files - skipped
    once = ["pipeline", "discover", "rank", "write"]
    return {
        "workers": workers,
        "files": files,
        "parsed": parsed,
        "ranges": {
            **dict.fromkeys(once, 1),
            **dict.fromkeys(["file", "read", "merge", "write row"], files),
            "wait": files + 1,
            "parse": parsed,
            **dict.fromkeys(["analyse", "complexity", "imports", "identifiers"], analysed),
        },
        "marks": {"skipped": skipped},
        "counters": dict.fromkeys(["files done", "bytes read", "rows waiting"], files),
    }


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--workers", type=int, default=cores, metavar="N", help="processes")
    parser.add_argument("--limit", type=int, metavar="N", help="only the N largest files")
    parser.add_argument("--start-method", choices=multiprocessing.get_all_start_methods())
    parser.add_argument("--output", type=pathlib.Path, metavar="DIR", help="results")
    options = parser.parse_args()
    if options.output is None:
        options.output = pathlib.Path(tempfile.mkdtemp(prefix="pipeline-report-"))
    return options


def main():
    set_process_name("pipeline")
    set_thread_name("main")
    options = parse_options()
    options.output.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    results, totals = run(options)
    counts = event_counts(results, options.workers)
    (options.output / "counts.json").write_text(json.dumps(counts, indent=2) + "\n")
    print(
        f"{totals.files} files, {totals.lines} lines, {len(totals.functions)} functions in "
        f"{time.monotonic() - begin:.1f} s with {options.workers} workers; "
        f"{len(totals.skipped)} skipped. Report: {options.output / 'report.txt'}"
    )


if __name__ == "__main__":
    main()
