# SPDX-License-Identifier: MIT
"""Tables: CSV and JSON lines, read by Python, pandas and jq. Each row is one of annot query's."""

import csv
import json
import shutil
import subprocess

from recordings import MAKE, export, query

# Columns that are compared, by table; the same in annot query.
COLUMNS = {
    "ranges": ("name", "domain", "category", "pid", "tid", "begin_ns", "duration_ns", "self_ns",
               "kind", "depth", "path", "unfinished"),
    "samples": ("pid", "tid", "time_ns", "duration_ns", "sample_set", "cpu_ns", "blocked_ns",
                "runnable_ns", "reason", "path", "function", "file", "line", "cpu"),
    "counters": ("name", "domain", "category", "pid", "tid", "time_ns", "value", "unit"),
    "marks": ("name", "domain", "category", "pid", "tid", "time_ns"),
}
TEXTS = {"name", "domain", "category", "kind", "sample_set", "reason", "path", "function", "file",
         "unit"}
GROUP = 1 << 18  # most rows of a group
CPU_SAMPLES = ("blocked_ns", "runnable_ns", "reason")  # annot query has these for CPU time only


def order(row):
    return [(value is not None, str(value)) for value in row]


def expected(recording, table, *options):
    rows = query(recording, f"select * from {table}", *options)
    waits = ("off-cpu", "short-waits")
    for row in rows:
        if table == "samples" and row["sample_set"] not in waits:
            row.update(dict.fromkeys(CPU_SAMPLES))
    return sorted((tuple(row[name] for name in COLUMNS[table]) for row in rows), key=order)


def chosen(rows, table):
    return sorted((tuple(row.get(name) for name in COLUMNS[table]) for row in rows), key=order)


def compare(recording, table, rows, *options):
    told, wanted = chosen(rows, table), expected(recording, table, *options)
    assert len(told) == len(wanted), (recording, table, len(told), len(wanted))
    for mine, other in zip(told, wanted):
        assert mine == other, (recording, table, mine, other)


def number(text):
    return None if text == "" else float(text) if "." in text or "e" in text else int(text)


def read_csv(path):
    """Reads a CSV file; empty texts count as missing values."""
    csv.field_size_limit(1 << 24)
    with path.open(newline="", encoding="utf-8") as stream:
        rows = [{name: value or None if name in TEXTS else value for name, value in row.items()}
                for row in csv.DictReader(stream)]
    texts = TEXTS | {"process", "thread", "track", "args", "stack", "sample_values"}
    names = set(rows[0]) - texts if rows else set()
    return [{name: number(value) if name in names else value for name, value in row.items()}
            for row in rows]


def read_lines(path):
    with path.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def check_polars(recording, tables):
    """Compares each table, as Parquet and as an Arrow file, and reads a part of the columns."""
    try:
        import polars
    except ImportError:
        return "polars"
    for table in tables:
        count = query(recording, f"select count(*) as n, count(distinct tid) as t from {table}")[0]
        for ending, read, scan in ((".parquet", polars.read_parquet, polars.scan_parquet),
                                   (".arrow", polars.read_ipc, polars.scan_ipc)):
            path = recording.with_suffix(f".{table}{ending}")
            export(recording, path, "--table", table)
            compare(recording, table, read(path).to_dicts())
            frame = scan(path).select(polars.len(), polars.col("tid").n_unique()).collect()
            assert frame.row(0) == (count["n"], count["t"]), (path, count)
    return None


def check_groups(folder):
    """Half a million rows make several groups, with the same content in both formats."""
    try:
        import polars
    except ImportError:
        return "polars"
    recording = folder / "busy.annot"
    subprocess.run([MAKE, "busy", recording], check=True)
    for ending in (".parquet", ".arrow"):
        export(recording, recording.with_suffix(ending))
    parquet = polars.read_parquet(recording.with_suffix(".parquet"))
    arrow = polars.read_ipc(recording.with_suffix(".arrow"))
    total = query(recording, "select count(*) as n, sum(duration_ns) as ns from ranges")[0]
    assert len(arrow) > GROUP and arrow.equals(parquet), (arrow, parquet)
    assert (len(arrow), arrow["duration_ns"].sum()) == (total["n"], total["ns"]), total
    return None


def check_paths(folder):
    """If dictionaries would contain nearly all paths, these are encoded in another way."""
    try:
        import polars
    except ImportError:
        return "polars"
    recording = folder / "paths.annot"
    subprocess.run([MAKE, "paths", recording], check=True)
    for ending, read in ((".parquet", polars.read_parquet), (".arrow", polars.read_ipc)):
        path = recording.with_suffix(ending)
        export(recording, path)
        compare(recording, "ranges", read(path).to_dicts())
    lines = recording.with_suffix(".csv")
    export(recording, lines)
    compare(recording, "ranges", read_csv(lines))
    return None


def check_pandas(folder, recording):
    try:
        import pandas
    except ImportError:
        return "pandas"
    frame = pandas.read_csv(folder / f"{recording.stem}.ranges.csv")
    lines = pandas.read_json(folder / f"{recording.stem}.ranges.jsonl", lines=True)
    total = query(recording, "select sum(duration_ns) as ns from ranges")[0]["ns"]
    assert frame.duration_ns.sum() == lines.duration_ns.sum() == total
    return None


def check_jq(folder, recording):
    if not shutil.which("jq"):
        return "jq"
    total = subprocess.run(["jq", "-s", "map(.duration_ns) | add",
                            folder / f"{recording.stem}.ranges.jsonl"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    assert int(total) == query(recording, "select sum(duration_ns) as ns from ranges")[0]["ns"]
    return None


def check(recording):
    """For real programs only one of the two readers runs, to save time."""
    forms = ((".jsonl", read_lines), (".csv", read_csv))
    for table in COLUMNS:
        for ending, read in forms if recording.stem.startswith("made") else forms[:1]:
            path = recording.with_suffix(f".{table}{ending}")
            export(recording, path, "--table", table)
            compare(recording, table, read(path))
    if recording.stem != "made-pipeline":
        return check_polars(recording, COLUMNS)
    return (check_groups(recording.parent) or check_paths(recording.parent)
            or check_pandas(recording.parent, recording)
            or check_jq(recording.parent, recording))


def check_parts(recording):
    path = recording.with_suffix(".part.jsonl")
    for choice in (["--from", "5ms", "--to", "20ms"], ["--range", "request"]):
        for table in ("ranges", "samples"):
            export(recording, path, "--table", table, *choice)
            compare(recording, table, read_lines(path), *choice)
