# SPDX-License-Identifier: MIT
"""Exports of counted calls, read back by the programs that they are for: their numbers equal those
of annot query, for recordings with every call as a span, with sums, and with estimates."""

import json
import os
import pathlib
import pstats
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ANNOT = os.environ["ANNOT"]
MAKE = os.environ["ANNOT_MAKE_RECORDING"]
SHAPES = ("called", "called-sums", "called-adaptive")


def annot(*words):
    run = subprocess.run([ANNOT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 0, (words, run.stderr)
    return run.stdout


def query(recording, sql):
    lines = annot("query", "--json", recording, sql).split("\n")[:-1]
    return [json.loads(line) for line in lines]


def functions_of(recording):
    """(file, line, name): (primitive calls, calls, own ns, total ns)"""
    rows = query(recording, "select file, line, name, known, primitive_call_count, call_count, "
                            "own_ns, total_ns from calls")
    return {(row["file"] or "~", row["line"] or 0,
             row["name"] + (" [estimated]" if row["known"] == "estimated" else "")):
            (row["primitive_call_count"], row["call_count"], row["own_ns"], row["total_ns"])
            for row in rows}


def edges_of(recording):
    """(caller, callee): (calls, primitive calls, own ns, total ns), by names"""
    rows = query(recording, "select caller, callee, call_count, primitive_call_count, own_ns, "
                            "total_ns from call_edges")
    return {(row["caller"], row["callee"]):
            (row["call_count"], row["primitive_call_count"], row["own_ns"], row["total_ns"])
            for row in rows}


def plain(name):
    return name.replace(" [estimated]", "")


def check_pstats(recording, path):
    stats = pstats.Stats(str(path)).stats
    functions = functions_of(recording)
    assert set(stats) == set(functions), (set(stats), set(functions))
    edges = {}
    for key, (primitive, calls, own, total, callers) in stats.items():
        told = (primitive, calls, round(own * 1e9), round(total * 1e9))
        assert told == functions[key], (key, told, functions[key])
        for caller, numbers in callers.items():
            assert caller in stats, caller
            edges[plain(caller[2]), plain(key[2])] = (*numbers[:2], round(numbers[2] * 1e9),
                                                      round(numbers[3] * 1e9))
    assert edges == edges_of(recording), (edges, edges_of(recording))


def check_gprof2dot(path):
    tool = pathlib.Path(sys.executable).parent / "gprof2dot"
    if not tool.exists():
        return "gprof2dot"
    dot = subprocess.run([tool, "-n0", "-e0", "-f", "pstats", path], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    assert "main" in dot and "Parser:parse" in dot.replace("Parser.parse", "Parser:parse"), dot
    assert "90" in dot or "estimated" in dot, dot
    return None


def check_snakeviz(path):
    """Checks the data of its page."""
    try:
        from snakeviz.stats import json_stats, table_rows
    except ImportError:
        return "snakeviz"
    stats = pstats.Stats(str(path))
    assert len(table_rows(stats)) == len(stats.stats)
    assert any(key.endswith("(main)") for key in json_stats(stats)), json_stats(stats).keys()
    return None


def check_callgrind(recording, path):
    functions = functions_of(recording)
    if not shutil.which("callgrind_annotate"):
        return "callgrind_annotate"
    text = subprocess.run(["callgrind_annotate", "--threshold=100", "--tree=both", "--auto=no",
                           path], check=True, stdout=subprocess.PIPE, text=True).stdout
    own = {name: int(number.replace(",", "")) for number, name in
           re.findall(r"^ *([\d,]+) \([ \d.]+%\)  \*  [^\n]*:([^:\n]+)$", text, re.M)}
    assert own == {key[2]: numbers[2] for key, numbers in functions.items()}, (own, functions)
    total = re.search(r"^ *([\d,]+) \(100.0%\)  PROGRAM TOTALS", text, re.M).group(1)
    assert int(total.replace(",", "")) == sum(numbers[2] for numbers in functions.values())
    calls = {(number, name): int(times) for number, name, times in
             re.findall(r"^ *([\d,]+) \([ \d.]+%\)  >   [^\n]*:([^:\n]+) \((\d+)x\)", text, re.M)}
    edges = {(f"{numbers[3]:,}", key[1]): numbers[0]
             for key, numbers in edges_of(recording).items()}
    assert {(number, plain(name)): times for (number, name), times in calls.items()} == edges
    return None


def check_refusal(folder):
    """A recording that was only sampled has no counts, and no file is written."""
    recording = folder / "sampled.annot"
    subprocess.run([MAKE, "sampled", recording], check=True)
    for form in ("pstats", "callgrind"):
        out = folder / f"sampled.{form}"
        run = subprocess.run([ANNOT, "export", "-f", form, "-o", out, recording],
                             stderr=subprocess.PIPE, text=True)
        assert run.returncode == 1 and not out.exists(), run
        assert "no counts of calls" in run.stderr and "--trace-functions" in run.stderr, run.stderr


QUERY_MAX = 8191  # bytes of a text of the report's tables
CALLGRIND_LINE = re.compile(rb"(#.*|[a-z]+: .*|(fl|fn|cfi|cfn)=\(\d+\)( .+)?|"
                            rb"calls=\d+ \d+|\d+ \d+|)", re.S)


def in_table(text):
    return text if len(text.encode()) <= QUERY_MAX else text[:QUERY_MAX - 3] + "\u2026"


def check_hostile(folder):
    """Names of any bytes: those of pstats are kept, the lines of the texts are lines."""
    recording = folder / "hostile.annot"
    subprocess.run([MAKE, "hostile", recording], check=True)
    for form in ("pstats", "callgrind", "folded", "svg"):
        annot("export", "-o", folder / f"hostile.{form}", recording)
    told = {(in_table(file), line, in_table(name))
            for file, line, name in pstats.Stats(str(folder / "hostile.pstats")).stats}
    assert told == set(functions_of(recording))
    lines = (folder / "hostile.callgrind").read_bytes().split(b"\n")
    functions = query(recording, "select count(*) as n from calls")[0]["n"]
    assert sum(re.match(rb"c?fn=\(\d+\) ", line) is not None for line in lines) == functions
    for line in lines:
        assert CALLGRIND_LINE.fullmatch(line), line[:200]
    for line in (folder / "hostile.folded").read_bytes().decode().split("\n")[:-1]:
        assert re.fullmatch(r"[^\x00-\x1f\x7f-\x9f]+ \d+", line), line[:200]
    xml.etree.ElementTree.parse(folder / "hostile.svg")


READERS = (check_gprof2dot, check_snakeviz, check_callgrind)


def main():
    missing = set()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for shape in SHAPES:
            recording = folder / f"{shape}.annot"
            subprocess.run([MAKE, shape, recording], check=True)
            for form in ("pstats", "callgrind"):
                annot("export", "-o", folder / f"{shape}.{form}", recording)
            check_pstats(recording, folder / f"{shape}.pstats")
            missing.add(check_gprof2dot(folder / f"{shape}.pstats"))
            missing.add(check_snakeviz(folder / f"{shape}.pstats"))
            missing.add(check_callgrind(recording, folder / f"{shape}.callgrind"))
        check_refusal(folder)
        check_hostile(folder)
    missing.discard(None)
    for reader in sorted(missing):
        print(f"skipped: {reader} is not here")
    print(f"{2 + len(READERS) - len(missing)} passed, 0 failed, {len(missing)} skipped")
    return 0


if __name__ == "__main__":
    python = os.environ.get("ANNOT_TEST_PYTHON", sys.executable)
    if python != sys.executable:  # that has gprof2dot and snakeviz
        os.execv(python, [python, *sys.argv])
    sys.exit(main())
