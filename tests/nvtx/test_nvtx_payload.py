# SPDX-License-Identifier: MIT
"""Payloads, counters, memory and deferred events of NVTX's extensions: what programs wrote that
they told (nvtx_truth.h) is what was recorded, in the same order and with the same values."""

import json

from harness import case, check, equal, main, program
from ledger import events_of

KINDS = {"begin", "end", "mark", "counter", "range"}


def record(home, name, *options, **environment):
    truth = home.work / "truth"
    home.environment.update(environment, NVTX_LEDGER=str(truth))
    result = home.record(program(name), options=("--no-sample", *options))
    result.ok()
    check("LOST" not in result.err_text, f"losses: {result.err_text}")
    told = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
    return told, [event for event in events_of(home, result.path) if event["event"] in KINDS]


def has(told, event):
    """Whether an event is what a program told of it."""
    values = dict(event.get("values", {}))
    if told.get("left_out"):
        check(values.pop("payload_left_out", 0) > 0, f"{event['name']}: nothing was left out")
    if "starts" in told:
        values = {key: values.get(key) for key in told["starts"]}
    expected = {**told, "values": told.get("starts", told.get("values", {}))}
    actual = {**event, "values": values}
    return all(actual.get(key) == expected[key]
               for key in expected if key not in ("starts", "left_out"))


def compare(told, events):
    """What threads do, and apart from it what has a time of its own."""
    for is_own in False, True:
        lines = [line for line in told if (line["event"] == "range") == is_own]
        found = [event for event in events if (event["event"] == "range") == is_own]
        for line, event in zip(lines, found):
            check(has(line, event), f"recorded was\n{event}\ntold was\n{line}")
        equal(len(found), len(lines), "how many events")


@case
def layouts_of_payloads(home):
    told, events = record(home, "nvtx_layouts")
    compare(told, events)
    equal({event["domain"] for event in events if event["event"] == "mark"}, {"payloads"},
          "domains")


@case
def counters_and_memory(home):
    told, events = record(home, "nvtx_measures")
    compare(told, events)


if __name__ == "__main__":
    main()
