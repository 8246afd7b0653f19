#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A million distinct names: every one arrives, right; the collector's memory stays bounded."""

import json
import subprocess

import traces
from harness import case, check, equal, main, program

COUNT = 1_000_000
PER_SECOND = 300_000
COLLECTOR_MIB = 256  # the names themselves, in two indexes, are about 100
NAME_INLINE = 3


def seen_once(dump_output):
    """Each name once, by a bit per number; returns the summary rows."""
    seen, rest = bytearray(COUNT), []
    for line in dump_output:
        if b'"kind":"push"' in line:
            name = line[line.index(b'"name":"') + 8:]
            number = int(name[len(b"request "):name.index(b" of a user")])
            check(not seen[number], f"request {number} came twice")
            seen[number] = 1
        elif b'"row":"event"' not in line:
            rest.append(json.loads(line))
    equal(sum(seen), COUNT, "distinct names")
    return rest


@case
def a_million_names(home):
    result = home.record(program("emit_names"), COUNT, PER_SECOND, timeout=120).ok()
    with subprocess.Popen([program("recording_dump"), result.path], stdout=subprocess.PIPE,
                          env=home.environment) as reader:
        rows = seen_once(reader.stdout)
    process = next(row for row in rows if row["row"] == "process")
    session = next(row for row in rows if row["row"] == "session")
    equal(sum(process["lost"]), 0, "losses")
    equal(session["events"], 2 * COUNT, "events")
    mib = result.peak_kib / 1024
    print(f"  collector: {mib:.0f} MiB; recording: {session['file_bytes'] / COUNT:.1f} bytes a "
          f"range; names told in records: {process['misuse'][NAME_INLINE]}")
    check(mib < COLLECTOR_MIB, f"the collector took {mib:.0f} MiB")
    report = home.annot("report", result.path, timeout=120).ok()
    check(report.peak_kib / 1024 < 1024, f"the report took {report.peak_kib / 1024:.0f} MiB")


@case
def both_exports_of_many_names_agree(home):
    count = 20000
    result = home.record(program("emit_names"), count, PER_SECOND).ok()
    chrome = traces.read(home.export(result.path, ".json.gz"))
    perfetto = traces.read(home.export(result.path, ".pftrace"))
    equal(sorted(row[4] for row in chrome["pushed"]),
          sorted(f"request {i} of a user" for i in range(count)), "names in Chrome JSON")
    equal(chrome["pushed"] == perfetto["pushed"], True, "both exports are equal")


if __name__ == "__main__":
    main()
