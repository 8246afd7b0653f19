# SPDX-License-Identifier: MIT
"""Runs cells of the matrix {start method} x {kind of pool} x {ending}: each has eight tasks that
commit an event; counts the events that a tool kept.

    pool_matrix.py [--tools annot,viztracer] [--only TEXT] [--json FILE]

Needs ANNOT and PYTHONPATH as the tests do; joblib and viztracer if they are selected. A cell is
run once without any tool: with one, its output and exit status must be the same.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import harness
from pool_program import ENDINGS, KINDS, METHODS, TASKS

PROGRAM = harness.HERE / "pool_program.py"
LIMIT_SECONDS = 130
VIZTRACER_SAYS = ("Wait for child processes", "Warning! Overwrite tracer!")
Result = collections.namedtuple("Result", "kept committed status output complaint seconds")
Cell = collections.namedtuple("Cell", "kind method ending")

# Cells that a kind lacks, with the reason.
NO_LIMIT = "it has no limit of tasks for a worker"
NO_TERMINATE = "it has no such call; SIGTERM is the same"
MISSING = {
    ("Process", "maxtasksperchild"): NO_LIMIT,
    ("os.fork", "maxtasksperchild"): NO_LIMIT,
    ("subprocess", "maxtasksperchild"): NO_LIMIT,
    ("joblib/loky", "maxtasksperchild"): NO_LIMIT,
    ("os.fork", "terminate"): NO_TERMINATE,
}


def missing(cell):
    """The reason why a cell does not exist, or None."""
    version = sys.version_info
    if cell.kind == "joblib/loky":
        if importlib.util.find_spec("joblib") is None:
            return "joblib is not installed"
        if cell.method == "fork":
            return "loky refuses fork for its reusable executor"
    elif cell.method == "loky":
        return "joblib's own"
    if cell.kind == "ProcessPoolExecutor":
        if cell.ending == "terminate" and version < (3, 14):
            return "terminate_workers() comes with Python 3.14"
        if cell.ending == "maxtasksperchild" and version < (3, 11):
            return "max_tasks_per_child comes with Python 3.11"
        if cell.ending == "maxtasksperchild" and cell.method == "fork":
            return "max_tasks_per_child and fork exclude each other"
    return MISSING.get((cell.kind, cell.ending))


def all_cells():
    return [Cell(kind, method, ending) for kind in KINDS for ending in ENDINGS
            for method in [*METHODS, "loky"]]


class Tool:
    """Runs a program, and counts its tasks in the output of the tool."""

    def __init__(self, name, command, kept):
        self.name, self.command, self.kept = name, command, kept


def annot_command(*options):
    return lambda folder: [harness.ANNOT, "record", *options, "-o", f"{folder}/out.annot", "--",
                           sys.executable]


def kept_by_annot(folder):
    path = f"{folder}/out.annot"
    lines = harness.run([harness.ANNOT, "cat", "-j", "--name", "task *", path]).stdout
    events = [json.loads(line) for line in lines.splitlines()]
    ended = [event["name"] for event in events if event["event"] == "end"]
    lost = json.loads(harness.run([harness.ANNOT, "info", "--json", path]).stdout)["lost_count"]
    if lost or len(set(ended)) != len(ended):
        raise AssertionError(f"{lost} lost, of {ended}")
    return len(ended)


def kept_by_viztracer(folder):
    """Counts calls of commit() in viztracer's report; other files count as 0."""
    try:
        events = json.loads((folder / "out.json").read_text())["traceEvents"]
    except (FileNotFoundError, ValueError):
        return 0
    return sum(event["ph"] == "X" and event["name"].startswith("commit ") for event in events)


TOOLS = {
    "none": Tool("none", lambda folder: [sys.executable], lambda folder: 0),
    "annot": Tool("annot", annot_command("--python=default"), kept_by_annot),
    "annotations": Tool("annotations", annot_command("--python=none", "--sampling=none"),
                        kept_by_annot),
    "viztracer": Tool("viztracer", lambda folder: [
        sys.executable, "-m", "viztracer", "--quiet", "--ignore_c_function", "-o",
        f"{folder}/out.json"], kept_by_viztracer),
}


def run_cell(cell, tool):
    """Runs a cell once in a separate session; ends a hanging one and reports that."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annot-pool-", dir="/dev/shm"))
    environment = dict(os.environ, ANNOT_DIR=f"{folder}/annot", PYTHONDONTWRITEBYTECODE="1")
    command = [*tool.command(folder), str(PROGRAM), *cell_arguments(cell), str(folder)]
    begin = time.monotonic()
    try:
        with open(folder / "stdout", "w") as out, open(folder / "stderr", "w") as err:
            process = subprocess.Popen(command, env=environment, stdout=out, stderr=err,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
            status = wait_or_end(process)
        seconds = time.monotonic() - begin
        ledger = (folder / "ledger").read_text() if (folder / "ledger").exists() else ""
        return Result(tool.kept(folder), len(set(ledger.splitlines())), status,
                      (folder / "stdout").read_text(), (folder / "stderr").read_text(), seconds)
    finally:
        (folder / "over").touch()
        time.sleep(0.02)  # until waiting processes have noticed
        shutil.rmtree(folder, ignore_errors=True)


def cell_arguments(cell):
    return [cell.kind, cell.method, cell.ending]


def wait_or_end(process):
    try:
        return process.wait(LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return "hangs"


def change(result, plain):
    """The program's deviation from the run without a tool, or None. Viztracer's own messages in the
    program's output are ignored."""
    if result.status != plain.status:
        return f"exit status {result.status}, without {plain.status}"
    told = [line for line in result.output.splitlines()
            if line.strip() and not line.startswith(VIZTRACER_SAYS)]
    if sorted(told) != sorted(plain.output.splitlines()):
        return f"output {result.output!r}, without {plain.output!r}"
    return None


def failure(result, plain):
    """The fault of a run in comparison to the run without a tool, or None."""
    changed = change(result, plain)
    if changed:
        return changed
    if result.committed != TASKS:
        return f"only {result.committed} tasks ran"
    if result.kept != TASKS:
        return f"{result.kept} of {TASKS} kept"
    return None


def measure(cells, tools, progress=lambda *about: None):
    """Runs cells in parallel. Returns {(cell, tool name): (result, plain result)}."""
    def one(cell):
        plain = run_cell(cell, TOOLS["none"])
        found = {}
        for name in tools:
            found[cell, name] = run_cell(cell, TOOLS[name]), plain
            progress(cell, name, *found[cell, name])
        return found

    results = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(one, cells):
            results.update(found)
    return results


def cell_text(cell, results, tools):
    if missing(cell):
        return "-"
    texts = []
    for name in tools:
        result, plain = results[cell, name]
        hangs = result.status == "hangs"
        mark = " hangs" if hangs else "\\*" if change(result, plain) else ""
        texts.append(f"{result.kept}{mark}")
    return " / ".join(texts)


def print_matrix(cells, results, tools):
    """A table in Markdown: a line for each kind and ending, a column for each way to start."""
    print(f"Kept of {TASKS}: {' / '.join(tools)}; \\*: exit statuses or results are not those of "
          "the program without the tool.\n")
    print(f"| kind | ending | {' | '.join([*METHODS, 'loky'])} |")
    print("|---|---|" + "---|" * 4)
    for kind in KINDS:
        for ending in ENDINGS:
            row = [Cell(kind, method, ending) for method in [*METHODS, "loky"]]
            if any(cell in cells for cell in row):
                texts = [cell_text(cell, results, tools) if cell in cells or missing(cell) else ""
                         for cell in row]
                print(f"| {kind} | {ending} | {' | '.join(texts)} |")


def print_missing():
    print("\nMissing (-), with the reason:\n")
    for kind, reason in sorted({(c.kind, missing(c)) for c in all_cells() if missing(c)}):
        endings = [e for e in ENDINGS if any(missing(Cell(kind, m, e)) == reason for m in METHODS)]
        if endings:
            print(f"- {kind}, {'any' if endings == ENDINGS else ', '.join(endings)}: {reason}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tools", default="annot", help="of " + ", ".join(TOOLS))
    parser.add_argument("--only", default="", help="cells whose name has this text")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    tools = options.tools.split(",")
    cells = [c for c in all_cells() if not missing(c) and options.only in " ".join(c)]

    def progress(cell, name, result, plain):
        told = failure(result, plain) or "all kept"
        print(f"{name}: {', '.join(cell)}: {told} ({result.seconds:.1f} s, without "
              f"{plain.seconds:.1f} s)", file=sys.stderr, flush=True)

    results = measure(cells, tools, progress)
    print_matrix(cells, results, tools)
    print_missing()
    if options.json:
        options.json.write_text(json.dumps(
            [{"cell": cell, "tool": name, **result._asdict()}
             for (cell, name), (result, _) in results.items()], indent=1))
    wrong = [pair for (cell, name), pair in results.items()
             if name.startswith("annot") and failure(*pair)]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
