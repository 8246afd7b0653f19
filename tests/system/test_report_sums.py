#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All outputs of `annot report`, the page, and the flame graphs have the same sums: those of the
samples.

Truth is a sum over the samples of the recording, one by one, through the library's reader. Made
recordings have exact sums and every kind of row; recorded ones are real.
"""

import collections
import base64
import csv
import gzip
import json
import os
import re
import sys

from harness import ANNOT, Skip, case, check, equal, main, program

MAKE_RECORDING = os.environ.get("ANNOT_MAKE_RECORDING", "")
SHAPES = ("profiled", "script", "deadlock", "build", "threads", "untold", "lossy")
UNITS = {"ns": 1, "us": 10 ** 3, "ms": 10 ** 6, "s": 10 ** 9, "m": 60 * 10 ** 9}
BOX = re.compile(r'data-d="\d+ (\d+) (\d+) (\d+) (\d+)"><title>([^\n]*)\n')
# Four processes on two CPUs, waits, garbage, native code below Python, threads.
BUSY = """
import os, re, threading, time
import pyannot
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))
        re.sub("a+", "b", "ab" * 500)
def work():
    with pyannot.annotate("work"):
        spin(0.3)
        time.sleep(0.05)
    spin(0.1)
children = []
for _ in range(3):
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    children.append(child)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for child in children: os.waitpid(child, 0)
"""


class Truth:
    """Sums over the samples of a recording."""

    def __init__(self, home, path):
        self.dump = home.dump(path, "--samples")
        cpu = [sample for sample in self.dump.samples if not sample["off"]]
        off = [sample for sample in self.dump.samples if sample["off"]]
        kinds = {number: {frame[0] for frame in frames}
                 for number, frames in self.dump.stacks.items()}
        self.cpu_ns = sum(sample["weight"] for sample in cpu)
        self.samples = len(cpu)
        self.no_stack_ns = sum(sample["weight"] for sample in cpu if not sample["stack"])
        self.python_ns = sum(sample["weight"] for sample in cpu
                             if kinds.get(sample["stack"], set()) & {"python", "gc"})
        self.off_ns = sum(sample["end"] - sample["time"] for sample in off)
        self.runnable_ns = sum(sample["end"] - ready(sample) for sample in off)
        self.short_blocked_ns = total(self.dump.short_waits, "blocked")
        self.short_runnable_ns = total(self.dump.short_waits, "runnable")
        self.stretches = len(off)


def ready(sample):
    """When a thread off the CPU could have run."""
    if sample["wake"]:
        return sample["wake"]
    return sample["time"] if sample["reason"] == "preempted" else sample["end"]


def nanoseconds(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def total(rows, field):
    return sum(int(row[field] or 0) for row in rows)


def check_json(told, truth):
    """Each table adds up, including the rest outside of its rows."""
    functions, waits, sampling = told["functions"], told["waits"], told["sampling"]
    equal(total(functions, "cpu_self_ns"), truth.cpu_ns, "own time of all functions")
    equal(total(functions, "cpu_python_ns"), truth.cpu_ns, "Python time of all functions")
    equal(total(told["python_functions"], "cpu_python_ns"), truth.cpu_ns,
          "time of all Python functions")
    none = [row for row in functions if "rest" in row]
    equal(total(none, "cpu_self_ns"), truth.no_stack_ns, "time of no function")
    equal(total(none, "cpu_python_ns"), truth.cpu_ns - truth.python_ns,
          "time of no Python function")
    for table in ("threads", "processes"):
        equal(total(told[table], "cpu_ns"), truth.cpu_ns, f"CPU time of all {table}")
        equal(total(told[table], "sample_count"), truth.samples, f"samples of all {table}")
        equal(total(told[table], "runnable_ns"), truth.runnable_ns + truth.short_runnable_ns,
              f"runnable time of {table}")
        equal(total(told[table], "blocked_ns"),
              truth.off_ns - truth.runnable_ns + truth.short_blocked_ns,
              f"blocked time of all {table}")
        for field in ("gc_ns", "gil_ns"):
            equal(total(told[table], field), total(told["threads"], field), f"{field} of {table}")
    equal((sampling["cpu_ns"], sampling["runnable_ns"]), (truth.cpu_ns, truth.runnable_ns),
          "the facts of sampling")
    equal(total(waits, "total_ns"), truth.off_ns, "time of all waits")
    equal(total([row for row in waits if row["reason"] == "runnable"], "total_ns"),
          truth.runnable_ns, "time of the waits for a CPU")
    equal(total(told["wait_places"], "total_ns"), truth.off_ns, "time of all places of waits")
    equal(total(told["ranges"], "cpu_self_ns"), truth.cpu_ns if functions else 0,
          "CPU time in and outside of ranges")
    equal(total(told["ranges"], "self_ns"),
          max(told["recording"]["thread_time_ns"], told["recording"]["in_ranges_ns"]),
          "thread time in and outside of ranges")
    rests = {row["rest"]: row["cpu_self_ns"] for row in told["ranges"] if "rest" in row}
    for table, rest in (("track_ranges", "on tracks"), ("inherited_ranges", "inherited"),
                        ("unrecorded_ranges", "unrecorded")):
        equal(total(told[table], "cpu_self_ns"), rests.get(rest) or 0, f"CPU time of {table}")
    for row in told["tasks"]:
        equal(total(row["parts"], "total_ns"), row["total_ns"], f"the parts of {row}")


def flat(told):
    """{table: rows}, each row as texts by column, without unknown values; parts after their row."""
    found = {}
    for table, rows in told.items():
        found[table] = []
        for row in [rows] if isinstance(rows, dict) else rows:
            found[table] += [spelled(part) for part in [row, *row.get("parts", [])]]
    return found


def spelled(row):
    return {name: str(int(value) if isinstance(value, bool) else value)
            for name, value in row.items() if value not in (None, "") and name != "parts"}


def by_csv(text):
    found = {}
    for row in csv.DictReader(text.splitlines()):
        found.setdefault(row.pop("table"), []).append(spelled(row))
    return found


def page_data(text):
    """The data in the page of annot html."""
    begin = text.index(">", text.index('id="data"')) + 1
    return json.loads(gzip.decompress(base64.b64decode(text[begin:text.index("<", begin)])))


def page_tables(data):
    """The tables of a page, as flat() has them."""
    found = {}
    for table in data["tables"]:
        names = [column.get("name") for column in table["columns"]]
        rows = []
        for row in table["rows"]:
            cells = {name: cell for name, cell in zip(names, row["cells"]) if name}
            rows.append(spelled({**cells, **({"rest": row["rest"]} if "rest" in row else {})}))
        if rows:
            found[table["name"]] = rows
    return found


def columns(data, *names):
    return zip(*(data[name] for name in names))


def check_page_own(data, told):
    """Sums by own function: each node counts the time that ends at it."""
    own = data["nodes"]["own"]
    ready = len(data["causes"]) - 1
    sums = {}
    for node, ns, count in columns(data["cpu"], "node", "ns", "count"):
        row = sums.setdefault(own[node], [0] * 5)
        row[0] += ns
        row[3] += count
    for node, cause, idle, ns, count in columns(data["off"], "node", "cause", "idle", "ns",
                                                "count"):
        if not idle:
            row = sums.setdefault(own[node], [0] * 5)
            row[1 if cause == ready else 2] += ns
            row[4] += count if cause != ready else 0
    fields = ("cpu_ns", "runnable_ns", "blocked_ns", "sample_count", "wait_count")
    equal(sorted((data["functions"][function][0], *row) for function, row in sums.items()
                 if any(row[:3])),
          sorted((row["name"], *(row[field] for field in fields))
                 for row in told["own_functions"]), "own functions of the page")


def check_page_threads(data, told):
    """Sums by thread, beside the threads' own numbers and the report's table."""
    threads = data["threads"]
    cpu, off = [0] * len(threads), [0] * len(threads)
    for thread, ns in columns(data["cpu"], "thread", "ns"):
        cpu[thread] += ns
    for thread, ns in columns(data["off"], "thread", "ns"):
        off[thread] += ns
    equal(cpu, [thread["cpu_ns"] for thread in threads], "CPU time of threads on the page")
    for i, thread in enumerate(threads):
        check(off[i] <= thread["runnable_ns"] + thread["blocked_ns"],
              f"waits of {thread} on the page: {off[i]}")
    by_tid = {}
    for thread in threads:
        pid = data["processes"][thread["process"]]["pid"]
        by_tid[pid, thread["tid"]] = thread["cpu_ns"]
    for row in told["threads"]:
        if "rest" not in row and row.get("tid"):
            equal(by_tid[row["pid"], row["tid"]], row["cpu_ns"], f"{row} on the page")


def check_page_ranges(data, told):
    """CPU time of the paths of threads' own ranges, each without those inside."""
    paths, names = data["paths"], data["names"]
    labels = [""]
    for i in range(1, len(paths["parent"])):
        parent, own = labels[paths["parent"][i]], paths["kind"][i] == 0
        name = names[paths["name"][i]]
        labels.append(None if parent is None or not own else f"{parent}/{name}".lstrip("/"))
    sums = {}
    for path, ns in columns(data["cpu"], "path", "ns"):
        if labels[path]:
            sums[labels[path]] = sums.get(labels[path], 0) + ns
    equal(sums, {row["path"]: row["cpu_self_ns"] for row in told["ranges"]
                 if "rest" not in row and row["cpu_self_ns"]}, "ranges on the page")
    for shape in data["range_stats"]:
        rows = [row for row in told[shape["kind"]] if row.get("path") == shape["path"]]
        check(sum(shape["bins"]) in [row["count"] for row in rows], f"{shape} beside {rows}")
        cells = [0] * 128
        for slot, count in columns(shape["cells"], "slot", "count"):
            cells[slot] += count
        equal(cells, shape["over_time"], f"counts by thread of {shape['path']}")
        check(sum(shape["cells"]["ns"]) in [row["total_ns"] for row in rows],
              f"times by thread: {shape} beside {rows}")


def line_sums(data, of, name, wanted):
    """{(source, line): sum} of `cpu` or `off`, for wanted entries."""
    sums, lines = {}, data["lines"]
    for number, value, wants in zip(data[of]["line"], data[of][name], wanted):
        key = lines["source"][number], lines["line"][number]
        sums[key] = sums.get(key, 0) + (value if wants else 0)
    return sums


def check_page_lines(data, told):
    """Lines of source, added up from the data that filters select from."""
    del told
    off, ready = data["off"], len(data["causes"]) - 1
    waits = [cause != ready and not idle for cause, idle in columns(off, "cause", "idle")]
    readies = [cause == ready and not idle for cause, idle in columns(off, "cause", "idle")]
    every = [True] * len(data["cpu"]["line"])
    for field, of, name, wanted in (("cpu_ns", "cpu", "ns", every), ("hits", "cpu", "count", every),
                                    ("blocked_ns", "off", "ns", waits),
                                    ("runnable_ns", "off", "ns", readies)):
        sums = line_sums(data, of, name, wanted)
        for source in data["sources"]:
            lines = range(source["first"], source["first"] + len(source["text"]))
            equal([sums.get((source["id"], line), 0) for line in lines], source[field],
                  f"{field} of {source['file']} on the page")


def check_page_wall(data, told):
    wall = {}
    for part in data["wall"]:
        wall[part["state"]] = wall.get(part["state"], 0) + part["ns"]
    rows = {}
    for row in told["wall"]:
        rows[row["state"]] = rows.get(row["state"], 0) + row["total_ns"]
    states = {"short waits": "short", "absent": "other"}
    equal(wall, {states.get(state, state): ns for state, ns in rows.items() if ns},
          "the wall bar of the page")


def check_page(home, path, told):
    """The numbers of the page are those of the report."""
    home.run(ANNOT, "html", "--force", "-o", home.work / "page.html", path).ok()
    text = (home.work / "page.html").read_text()
    check(len(text) <= 5_000_000, f"the page has {len(text)} bytes")
    data = page_data(text)
    plain = json.loads(home.run(ANNOT, "html", "--data", path).ok().out)
    equal(data, plain, "the data of the page, by itself")
    by_json = {table: rows for table, rows in flat(told).items() if rows}
    found = page_tables(data)
    found.pop("lines", None)  # the report has them on request
    equal(list(found), list(by_json), "tables of the page")
    for table, rows in by_json.items():
        equal(found[table], rows, f"{table} on the page")
    for part in (check_page_own, check_page_threads, check_page_ranges, check_page_lines,
                 check_page_wall):
        part(data, told)
    return data


def check_printers(home, path, told):
    """The same rows in the same order, cell by cell."""
    by_json = {table: rows for table, rows in flat(told).items() if rows}
    text = home.run(ANNOT, "report", "--csv", path).ok().out.decode()
    found = by_csv(text)
    equal(list(found), list(by_json), "tables as CSV")
    for table, rows in by_json.items():
        lines = [{name: cell.replace("\n", "\\n") for name, cell in row.items()} for row in rows]
        equal(found[table], lines, f"{table} as CSV")
    check_page(home, path, told)


def tables(text):
    """Lines of cells of each table that has a column "%", or self times, by title."""
    found = {}
    for part in text.split("\n\n"):
        lines = part.splitlines()
        if len(lines) < 3 or not re.match(r"(function|process|thread|waited for|range) ", lines[1]):
            continue
        starts = [match.start() for match in re.finditer(r"(?<!\S)\S+( \S+)*", lines[1])]
        ends = [match.end() for match in re.finditer(r"(?<!\S)\S+( \S+)*", lines[1])]
        names = lines[1][:ends[-1]]
        columns = [names[start:end] for start, end in zip(starts, ends)]
        body = [line for line in lines[2:] if re.search(r"\d%", line)]
        found[lines[0]] = (columns, ends, body)
    return found


def cell(line, ends, at):
    """A right-aligned cell ends where its title does."""
    begin = ends[at - 1] if at else 0
    return line[begin:ends[at]].strip()


def check_text(text, told, limited):
    seen = tables(text)
    for title, (columns, ends, body) in seen.items():
        if "%" not in columns:
            continue
        at = columns.index("%")
        shares = [cell(line, ends, at) for line in body]
        shares = [float(share[:-1]) for share in shares if share.endswith("%")]
        if shares:
            check(abs(sum(shares) - 100) <= 0.06 * len(shares) + 0.01,
                  f"shares of \"{title}\" add up to {sum(shares)}: {text}")
    if limited or not told["functions"]:
        return
    named = [row for row in told["functions"] if "rest" not in row]
    lines = [line for line in seen["hottest functions"][2] if not line.startswith("(no stack)")]
    equal(len(lines), len(named), "rows of functions with --all")


def flame_sums(home, path, *options):
    done = home.run(ANNOT, "flame", "--min-width", "0.0000001", "-f", "svg", "-o", "-",
                    *options, path)
    if done.status:
        return {}
    sums = {}
    for whole, own, _count, depth, label in BOX.findall(done.out.decode()):
        name = label if depth != "0" else "(all)"
        sums[name] = sums.get(name, 0) + int(own if depth != "0" else whole)
    return sums


def check_flames(home, path, told, truth):
    equal(flame_sums(home, path).get("(all)", 0), truth.cpu_ns, "time of the flame graph")
    waits = flame_sums(home, path, "--off-cpu")
    equal(waits.get("(all)", 0), truth.off_ns, "time of the flame graph of waits")
    reasons = collections.Counter()
    for row in told["waits"]:  # by Python's stack, where that waits for a lock
        is_lock = row["reason"] in ("join", "future", "queue", "pool")
        reasons["lock" if is_lock else row["reason"]] += row["total_ns"]
    for reason, total_ns in reasons.items():
        equal(waits.get(f"[{reason}]", 0), total_ns, f"[{reason}] in the flame graph")
    folded = home.run(ANNOT, "export", "-f", "folded", "-o", "-", path).ok().out.decode()
    microseconds = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
    lines = len(folded.splitlines())
    check(abs(microseconds * 1000 - truth.cpu_ns) <= 1000 * lines,
          f"folded stacks have {microseconds} us, samples {truth.cpu_ns} ns")


def check_reader(home, path, told, truth):
    """pyannot.read, where it is built: its samples, and its report."""
    where = os.environ.get("ANNOT_PYANNOT")
    if not where:
        return
    home.left.add("wake")  # importing pyannot makes it
    code = ("import json, pyannot, sys\n"
            "r = pyannot.read(sys.argv[1])\n"
            "s = list(r.samples)\n"
            "print(sum(x.cpu_ns for x in s), sum(x.runnable_ns for x in s))\n"
            "print(json.dumps(r.report()))\n")
    done = home.run(sys.executable, "-c", code, path,
                    env=dict(home.environment, PYTHONPATH=where)).ok()
    sums, report = done.out.decode().splitlines()
    runnable_ns = truth.runnable_ns + truth.short_runnable_ns
    equal(sums.split(), [str(truth.cpu_ns), str(runnable_ns)], "sums of pyannot.read")
    check(json.loads(report) == told, "the report of pyannot.read is another one")


def check_all(home, path):
    truth = Truth(home, path)
    told = json.loads(home.run(ANNOT, "report", "--json", path).ok().out)
    check_json(told, truth)
    check_printers(home, path, told)
    for options in ((), ("--by", "thread"), ("--sort", "total"), ("--all",),
                    ("--limit", "1", "--function-rows", "1")):
        text = home.run(ANNOT, "report", "--wide", *options, path).ok().out.decode()
        check_text(text, told, options != ("--all",))
    check_flames(home, path, told, truth)
    check_reader(home, path, told, truth)
    return told, truth


@case
def made_recordings_add_up(home):
    check(MAKE_RECORDING, "ANNOT_MAKE_RECORDING names the program")
    for shape in SHAPES:
        path = home.work / f"{shape}.annot"
        home.run(MAKE_RECORDING, shape, path).ok()
        check_all(home, path)


@case
def random_schedules_add_up(home):
    for seed in range(1, 9):
        path = home.work / f"{seed}.annot"
        home.run(program("make_samples"), path, 2000, seed, 0 if seed % 2 else 5000).ok()
        told, truth = check_all(home, path)
        preempted = [s for s in truth.dump.samples if s["off"] and s["reason"] == "preempted"]
        check(preempted and truth.runnable_ns > 0, "a schedule without preemption tests little")
        check(any(row["cpu_self_ns"] == 0 for row in told["functions"]),
              "all functions have samples of their own")


@case
def a_busy_machine_adds_up(home):
    where = os.environ.get("ANNOT_PYANNOT")
    if not where:
        raise Skip("pyannot is not built")
    script = home.work / "busy.py"
    script.write_text(BUSY)
    done = home.record(sys.executable, script,
                       options=["--no-preload", "--off-cpu", "--rate", "499"],
                       env=dict(home.environment, PYTHONPATH=where)).ok()
    told, truth = check_all(home, done.path)
    if told["sampling"]["way"] != "eBPF":
        raise Skip("no BPF here")
    sources = check_page(home, done.path, told)["sources"]
    check("busy.py" in [source["file"] for source in sources], "no lines of the program")
    check(truth.cpu_ns > 0.5e9 and truth.runnable_ns > 0, f"little was recorded: {truth.cpu_ns}")
    rows = home.run(ANNOT, "report", "--wide", done.path).ok().out.decode()
    shown = re.search(r"^a CPU \(runnable\) +\S+ +(\S+ \S+) ", rows, re.M)
    check(abs(nanoseconds(shown.group(1)) - truth.runnable_ns) <= 0.001 * truth.runnable_ns,
          f"the report tells {shown.group(1)} runnable, samples {truth.runnable_ns}")


if __name__ == "__main__":
    main()
