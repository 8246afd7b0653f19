#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces of the same calls by viztracer and by annot: bytes a call, and how long the Perfetto UI
takes to open them.

    bench_loading.py BUILD [ROUNDS] [--json FILE]

One program of about a million Python calls runs under viztracer, which writes JSON, and under
`annot record --trace-functions=exact`, whose recording is exported. viztracer leaves out functions
of C, which annot does not trace here. The UI is the real one, offline in Chromium
(tests/system/perfetto_ui.py); each trace is opened in turn, timed from the address to the end of
loading, and queried for the number of slices of each function of the program: all have to be there.
Needs an interpreter with viztracer and playwright.
"""

import contextlib
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

from rows import finish, row

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
import perfetto_ui  # noqa: E402

PROGRAM = '''
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Shape:
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side * self.side


def words(line):
    return [clean(word) for word in line.split()]


def clean(word):
    return word.strip(".,").lower()


def main():
    for step in range(40):
        fib(16)
        for shape in [Shape(i) for i in range(4000)]:
            shape.area()
        for i in range(1300):
            words(f"The quick, brown fox {i} jumps over the lazy dog.")


main()
'''

FIB_16 = 3193  # calls
CALLS = {"fib": 40 * FIB_16, "Shape.__init__": 40 * 4000, "Shape.area": 40 * 4000,
         "words": 40 * 1300, "clean": 40 * 1300 * 10}
ALL_CALLS = sum(CALLS.values()) + 1
ROUNDS = 5


def cpu_seconds(command, **environment):
    """Of the command and all of its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in command], env=dict(os.environ, **environment),
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def make(build, folder):
    """Files by name, and CPU seconds from the program's start to each."""
    program = folder / "program.py"
    program.write_text(PROGRAM)
    annot, recording = build / "tools/annot", folder / "calls.annot"
    traces, seconds = {}, {}

    def made(name, suffix, command):
        traces[name] = folder / f"calls.{suffix}"
        seconds[name] = cpu_seconds([*command, "-o", traces[name], *behind])

    behind = [program]
    tracer = [sys.executable, "-m", "viztracer", "--quiet", "--ignore_c_function",
              "--tracer_entries", 4 * ALL_CALLS]
    made("viztracer, JSON", "json", tracer)
    made("viztracer, JSON, gzip", "json.gz", tracer)
    behind = []
    recorded = cpu_seconds([annot, "record", "--force", "--sampling=none",
                            "--trace-functions=exact",
                            "-o", recording, "--", sys.executable, program],
                           PYTHONPATH=str(build / "pyannot"))
    for name, suffix in (("annot, Perfetto", "pftrace"), ("annot, Perfetto, gzip", "pftrace.gz"),
                         ("annot, JSON", "of-annot.json")):
        made(name, suffix, [annot, "export", "--force", recording])
        seconds[name] += recorded
    return {"annot, recording": recording, **traces}, {"annot, recording": recorded, **seconds}


def slices_by_function(report):
    """viztracer's names end with the file; annot's methods begin with their class."""
    found = {}
    for entry in report.rows[0]:
        name = entry["name"].split(" (")[0]
        found[name] = found.get(name, 0) + entry["count"]
    return {name: found.get(name, 0) for name in CALLS}


def cpu_of_browser():
    """CPU seconds of all living descendants of this process so far."""
    stats, ticks = {}, 0
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            stats[int(path.parent.name)] = (int(fields[1]), int(fields[11]) + int(fields[12]))
    ours = {os.getpid()}
    while more := {pid for pid, (parent, _) in stats.items() if parent in ours} - ours:
        ours |= more
        ticks += sum(stats[pid][1] for pid in more)
    return ticks / os.sysconf("SC_CLK_TCK")


def load(traces, rounds):
    """Seconds of each and CPU seconds including the query, in turn."""
    seconds, cpu = {name: [] for name in traces}, {name: [] for name in traces}
    perfetto_ui.inspect(min(traces.values(), key=os.path.getsize))  # the browser starts
    for _ in range(rounds):
        for name, path in traces.items():
            before = cpu_of_browser()
            report = perfetto_ui.inspect(path, timeout_seconds=600, sql=[
                "select name, count(*) as count from slice group by 1"])
            if slices_by_function(report) != CALLS:
                sys.exit(f"{name}: not the calls of the program: {slices_by_function(report)}")
            seconds[name].append(report.load_seconds)
            cpu[name].append(cpu_of_browser() - before)
    return seconds, cpu


def main():
    words = sys.argv[1:sys.argv.index("--json")] if "--json" in sys.argv else sys.argv[1:]
    build = pathlib.Path(words[0]).resolve()
    rounds = int(words[1]) if len(words) > 1 else ROUNDS
    with tempfile.TemporaryDirectory(prefix="annot-bench-", dir="/var/tmp") as place:
        traces, made = make(build, pathlib.Path(place))
        entries = [row(f"size of {name}", path.stat().st_size / ALL_CALLS, "bytes/call",
                       against=f"{ALL_CALLS:,} calls; made in {made[name]:.1f} s of CPU")
                   for name, path in traces.items()]
        del traces["annot, recording"]  # no viewer but annot's own reads it
        seconds, cpu = load(traces, rounds)
        for name in traces:
            entries.append(row(f"opening {name}", statistics.median(seconds[name]), "s",
                               against=f"median of {rounds}; {min(seconds[name]):.1f} to "
                                       f"{max(seconds[name]):.1f}; CPU of the browser "
                                       f"{statistics.median(cpu[name]):.1f}, least "
                                       f"{min(cpu[name]):.1f}"))
    finish("traces of calls in the Perfetto UI", entries)


if __name__ == "__main__":
    main()
