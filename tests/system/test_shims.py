# SPDX-License-Identifier: MIT
"""Programs written for Tracy record the same through annot's header of that name."""

import struct

from harness import case, check, equal, main, program


def double(number):
    return struct.unpack("<Q", struct.pack("<d", number))[0]


def recorded(home, name):
    dump = home.dump(home.record(program(name)).path)
    equal(sum(sum(process["misuse"]) for process in dump.processes), 0, "counts of misuse")
    return dump


def story(events, *keys):
    return [tuple(event.get(key) for key in keys) for event in events]


@case
def tracy(home):
    dump = recorded(home, "emit_tracy")
    equal(story(dump.events, "kind", "name", "value"), [
        ("push", "work", None), ("mark", "text", None), ("mark", "value", 7),
        ("push", "coloured", None), ("pop", "", None), ("pop", "", None),
        ("counter", "plot", double(2.5)), ("counter", "plot", 3),
        ("mark", "message", None), ("payload", "severity", "info"),
        ("mark", "literal", None), ("payload", "severity", "info"),
        ("track_begin", "physics", None), ("track_end", "", None),
        ("push", "c zone", None), ("mark", "c text", None), ("pop", "", None),
        ("counter", "plot", double(1.0)), ("mark", "named frame", None), ("mark", "Frame", None),
    ], "the events")
    equal(dump.events[3]["color"], 0xff102030, "the colour")
    equal([thread["name"] for thread in dump.threads], ["named by tracy"], "names of threads")


@case
def tracy_off(home):
    """Without TRACY_ENABLE no events are emitted."""
    dump = recorded(home, "emit_tracy_off")
    check(not dump.events, f"there are events: {dump.events[:3]}")


if __name__ == "__main__":
    main()
