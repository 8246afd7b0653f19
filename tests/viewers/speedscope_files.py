# SPDX-License-Identifier: MIT
"""speedscope's files: the constraints of its reader, and the numbers."""

import collections
import json

from recordings import cpu_of, export, query, ranges_of, waits_of

UNITS = ("none", "nanoseconds", "bytes")


def check_evented(profile, frames, sums):
    """Ranges nest, times do not decrease, and every range is closed."""
    stack, last = [], profile["startValue"]
    for event in profile["events"]:
        assert last <= event["at"] <= profile["endValue"], (profile["name"], event, last)
        last = event["at"]
        name = frames[event["frame"]]["name"]
        if event["type"] == "O":
            stack.append((event["frame"], event["at"]))
            continue
        frame, begin = stack.pop()
        assert event["type"] == "C" and frame == event["frame"], (profile["name"], event)
        sums[name][0] += 1
        sums[name][1] += event["at"] - begin
    assert not stack, (profile["name"], stack)


def check_sampled(profile, frames):
    assert len(profile["samples"]) == len(profile["weights"]), profile["name"]
    assert sum(profile["weights"]) == profile["endValue"], profile["name"]
    assert all(stack and max(stack) < len(frames) for stack in profile["samples"]), profile["name"]


def check_file(path):
    """Ranges by name, CPU samples, waits by reason; as the functions of recordings.py."""
    whole = json.loads(path.read_text())
    assert whole["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames, titles = whole["shared"]["frames"], []
    ranges, waits, cpu = collections.defaultdict(lambda: [0, 0]), collections.Counter(), [0, 0]
    for profile in whole["profiles"]:
        titles.append(profile["name"])
        assert profile["unit"] in UNITS, profile["unit"]
        if profile["type"] == "evented":
            check_evented(profile, frames, ranges)
            continue
        check_sampled(profile, frames)
        for stack, weight in zip(profile["samples"], profile["weights"]):
            if profile["name"].endswith(": waits"):
                waits[frames[stack[-1]]["name"]] += weight
            else:
                cpu = [cpu[0] + 1, cpu[1] + weight]
    return {name: tuple(sums) for name, sums in ranges.items()}, tuple(cpu), dict(waits)


def check(recording):
    path = recording.with_suffix(".speedscope.json")
    said = export(recording, path)
    ranges, cpu, waits = check_file(path)
    assert ranges == ranges_of(recording), (recording, ranges, ranges_of(recording))
    assert cpu == cpu_of(recording), (recording, cpu, cpu_of(recording))
    assert waits == waits_of(recording), (recording, waits, waits_of(recording))
    marks = query(recording, "select count(*) as n from marks")[0]["n"]
    assert (marks > 0) == (f"marks ({marks:,})" in said), (recording, marks, said)


def check_parts(recording):
    """An export of a part is a complete file, with the sums of the same part."""
    path = recording.with_suffix(".part.speedscope.json")
    for choice in (["--from", "5ms", "--to", "20ms"], ["--range", "request"]):
        export(recording, path, *choice)
        assert check_file(path) == (ranges_of(recording, *choice), cpu_of(recording, *choice),
                                    waits_of(recording, *choice)), choice
