# SPDX-License-Identifier: MIT
"""Shared by the tests of imports."""

import json
import os
import pathlib

from harness import check, equal

MAKE = os.environ["ANNOT_MAKE_RECORDING"]
CORPUS = pathlib.Path(__file__).resolve().parents[1] / "fuzz/corpus/import"


def query(home, recording, sql):
    done = home.annot("query", "--json", recording, sql).ok()
    return [json.loads(line) for line in done.out.decode().split("\n")[:-1]]


def imported(home, source, *options, name="x.annot"):
    """The recording, and the messages of the import."""
    path = home.work / name
    done = home.annot("import", "--force", "-o", path, *options, source).ok()
    equal(done.out, b"", "standard output of an import")
    return path, done.err_text


def written(home, text, name="trace.json"):
    path = home.work / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refuses(home, content, *words, options=(), name="wrong.json", status=1):
    source = written(home, content, name)
    output = home.work / "wrong.annot"
    done = home.annot("import", *options, "-o", output, source)
    equal(done.status, status, f"status for {content[:40]!r}: {done.err_text}")
    lines = done.err_text.splitlines()
    check(1 <= len(lines) <= 2, f"lines {lines}")
    for word in words:
        check(word in lines[0] + lines[-1], f"{word!r} is not in {lines}")
    left = [entry for entry in os.listdir(home.work) if "wrong.annot" in entry]
    equal(left, [], f"files left for {content[:40]!r}")
