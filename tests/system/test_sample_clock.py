#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Samples and annotations share one clock, and the range of a sample is the range of that instant.

The program makes events every 100 ns or so, and stops while it is sampled: around every sample
there must be a gap in its events, and the sample's time must lie inside. So the least distances to
the events before and after bound the difference of the two clocks. The range that the kernel read
from the live stack is the one that is open by the events, or, if the sample came between an event's
time stamp and its end, the one before.
"""
from bisect import bisect_right

from harness import case, check, main, program
from samples import need_bpf, record

PATH_KNOWN = 1
STILL_NS = 1000  # the shortest time for handling a tick


def open_ranges(events):
    """Times and the name of the innermost range that is open from then on."""
    times, names, stack = [], [], []
    for event in events:
        if event["kind"] == "push":
            stack.append(event["name"])
        elif event["kind"] == "pop":
            stack.pop()
        times.append(event["time"])
        names.append(stack[-1] if stack else None)
    return times, names


@case
def every_sample_lies_in_a_gap_and_in_the_right_range(home):
    need_bpf(home)
    samples = record(home, program("emit_edges"), "150", options=["--rate", "4999"]).samples
    samples.nothing_lost()
    times, names = open_ranges(samples.dump.events)
    distances, wrong = [], 0
    for sample in samples.cpu:
        at = bisect_right(times, sample["time"]) - 1
        if not sample["flags"] & PATH_KNOWN or not sample["path"] or not 0 < at < len(times) - 1:
            continue
        distances.append((sample["time"] - times[at], times[at + 1] - sample["time"]))
        wrong += samples.path(sample)[-1] not in (names[at], names[at - 1])
    check(len(distances) > 50, f"only {len(distances)} samples have a range")
    before, after = (min(column) for column in zip(*distances))
    print(f"{len(distances)} samples; from the event before at least {before} ns, to the one after "
          f"{after} ns; {wrong} in a wrong range")
    check(wrong == 0, f"{wrong} samples disagree with the events")
    outside = sum(sum(pair) < STILL_NS for pair in distances)
    check(outside == 0, f"{outside} samples lie where the program was running")


if __name__ == "__main__":
    main()
