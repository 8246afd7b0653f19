# SPDX-License-Identifier: MIT
"""Compares the calls that programs logged (nvtx_ledger.h) with the recorded events."""

import collections
import json
import os

from harness import check, equal


def called(path):
    """Return the lines of the ledger, counted."""
    with open(path, encoding="utf-8") as file:
        return collections.Counter(tuple(line.rstrip("\n").split("\t")) for line in file)


def events_of(home, path):
    out = home.annot("cat", "--json", path).ok().out.decode()
    return [json.loads(line) for line in out.splitlines()]


def recorded(events):
    """Return the same counts from a recording."""
    counts = collections.Counter()
    for event in events:
        what = {"begin": "pushed" if event.get("kind") == "pushed" else "started",
                "mark": "mark"}.get(event["event"])
        if what:
            counts[str(event["pid"]), str(event["tid"]), what, event.get("domain", ""),
                   event["name"], event.get("category", "")] += 1
    return counts


def difference(ledger, counts):
    return {"not recorded": dict(ledger - counts), "not called": dict(counts - ledger)}


def run(home, *command, options=(), **environment):
    ledger = home.work / "ledger"
    home.environment.update(environment, NVTX_LEDGER=str(ledger))
    result = home.record(*command, options=("--sampling=none", *options))
    result.ok()
    check("LOST" not in result.err_text, f"losses: {result.err_text}")
    return result.path, called(ledger)


def compare(home, path, ledger):
    events = events_of(home, path)
    equal(difference(ledger, recorded(events)), {"not recorded": {}, "not called": {}},
          "the difference")
    begins = [event for event in events if event["event"] == "begin"]
    ends = [event for event in events if event["event"] == "end"]
    equal(len(ends), len(begins), "how many ranges end")
    unfinished = [event for event in ends if event.get("unfinished")]
    equal(unfinished, [], "ranges without an end")
    return events


# ---- For nvtx_asked.c ----


def ranges(home, path):
    """Return how often each range name begins, as {name: count}."""
    return dict(collections.Counter(event["name"] for event in events_of(home, path)
                                    if event["event"] == "begin"))


def expected(steps):
    return {"step": steps, **({"task": steps} if os.environ.get("ANNOT_HAVE_ITT") == "1" else {})}
