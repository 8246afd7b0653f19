#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The first screen and the tree of real recordings fit the width, in whole words.

    check_screens.py ANNOT MAKE_RECORDING

Programs with long names, deep folders, threads, pools and waits are recorded; each report is
printed at several widths. No line may be wider, end in blanks, or cut a location that has room; one
screen has at most LINES lines. Without a terminal no text is cut.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unicodedata

WIDTHS = (60, 80, 100, 120, None)
LINES = 40
SHAPES = ("pipeline", "profiled", "script", "missing", "lossy")
PROGRAMS = {
    "sleep.py": """
import json, time
def call_api(): time.sleep(0.03)
def query_the_database_of_customers_and_orders(): time.sleep(0.02)
def render(n): return [json.dumps(list(range(n))) for _ in range(40)]
for i in range(8): call_api(); query_the_database_of_customers_and_orders(); render(2000)
""",
    "a_folder_with_a_long_name/and_one_more_below_it/a_script_that_has_a_long_name_as_well.py": """
import threading, time
def a_function_whose_name_is_longer_than_any_column_of_names_can_be(n):
    lock.acquire(); time.sleep(0.01); lock.release(); return sum(i * i for i in range(n))
lock = threading.Lock()
threads = [threading.Thread(target=lambda: [
    a_function_whose_name_is_longer_than_any_column_of_names_can_be(40000) for _ in range(8)])
    for _ in range(3)]
[t.start() for t in threads]; [t.join() for t in threads]
""",
    "pool.py": """
import multiprocessing as mp, time
def compute_statistics_of_a_part(n):
    time.sleep(0.02 * (n % 3)); return sum(i * i for i in range(n * 20000))
if __name__ == "__main__":
    with mp.get_context("spawn").Pool(3) as pool:
        pool.map(compute_statistics_of_a_part, range(12), 1)
""",
    "größe.py": """
import subprocess, time
def 読み込み(): time.sleep(0.1)
def übersetze(): subprocess.run(["sleep", "0.1"])
読み込み(); übersetze(); 読み込み()
""",
}


# A command is never cut, however long the path of its recording.
COMMAND = re.compile(r"(next: | {6})annot \S")


def columns_of(text):
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def report(annot, path, width, *options):
    kept = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    if width:
        kept["COLUMNS"] = str(width)
    return subprocess.run([annot, "report", *options, path], env=kept, capture_output=True,
                          check=True, text=True).stdout


def problems_of(text, width):
    """Yields one problem for each line that does not fit."""
    for line in text.splitlines():
        if line != line.rstrip():
            yield f"blanks at the end: {line}"
        if not width:
            if "…" in line:
                yield f"cut without a terminal: {line}"
            continue
        if columns_of(line) > width and not COMMAND.match(line):
            yield f"{columns_of(line)} columns: {line}"
        # The location is the last cell: if cut, it reaches close to the edge.
        if re.search(r"  \S*…\S*:\d+$", line) and columns_of(line) + 1 < width - cut_folder(line):
            yield f"a location is cut beside {width - columns_of(line)} free columns: {line}"
        if re.search(r"\.py:\d*…|…\d*$", line):
            yield f"the number of a line is cut: {line}"
        if re.search(r"\([^()]*…$", line):
            yield f"a list is cut: {line}"


def cut_folder(line):
    """The columns that may be unused, since whole folders are omitted first."""
    return 40 if re.search(r"  …/\S*$", line) else 0


def record(annot, folder, name):
    """The path of a recording; None: recording is impossible here."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PROGRAMS[name])
    output = folder / (path.stem + ".annot")
    done = subprocess.run([annot, "record", "-q", "-o", output, "--", sys.executable, name],
                          cwd=folder, capture_output=True, text=True)
    if done.returncode == 0 and output.exists():
        return output
    print(f"not recorded: {name}: {done.stderr}")
    return None


def make(tool, folder, shape):
    path = folder / f"{shape}-shape.annot"
    subprocess.run([tool, shape, path], check=True)
    return path


def count_lines(text):
    """Counts lines without the findings, of which a busy machine has more, and with only one for
    the commands at the end, which take more with a long path."""
    text = re.sub(r"^Findings\n( .*\n)+\n", "", text, flags=re.M)
    return text.count("\n") - text.count("\n      annot ")


def check(annot, path, width, *options):
    text = report(annot, path, width, *options)
    found = list(problems_of(text, width))
    lines = count_lines(text)
    if not options and width != WIDTHS[0] and lines > LINES:
        found.append(f"{lines} lines:\n{text}")
    return [f"{path.name}, {width} {options}: {problem}" for problem in found]


def main():
    annot, make_recording = map(os.path.abspath, sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="annot-screens-") as name:
        folder = pathlib.Path(name)
        paths = [record(annot, folder, program) for program in PROGRAMS]
        paths += [make(make_recording, folder, shape) for shape in SHAPES]
        screens = [(path, width, *options) for path in paths if path for width in WIDTHS
                   for options in ((), ("--tree",))]
        problems = [problem for screen in screens for problem in check(annot, *screen)]
    print("\n".join(problems) if problems else f"{len(screens)} screens fit")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
