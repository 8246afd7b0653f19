# SPDX-License-Identifier: MIT
"""Wrong calls of libannot do no harm: the program goes on unchanged, right calls are recorded,
wrong ones are counted, and every output can be made of the recording."""

import csv
import json

from harness import case, check, equal, main, program

POP_EMPTY, END_FOREIGN, NAME_CUT, _, PAYLOAD_CUT, SCHEMA, NAME_LEFT = range(7)
LEFT = "names left out (the name table is full)"


def recorded(home, kind):
    """The recording's events and misuse by cause; checks that every output can be made of it."""
    result = home.record(program("emit_misuse"), kind, options=["--sampling=none"]).ok()
    equal(result.out, b"done\n", "what the program wrote")
    dump = home.dump(result.path).whole()
    misuse = [sum(process["misuse"][i] for process in dump.processes) for i in range(7)]
    equal(result.err_text.count("\nannot: ") + 1, 4 if any(misuse) else 3,
          f"lines of the messages: {result.err_text}")
    dump.path, dump.said = result.path, result.err_text
    dump.chrome = json.loads(home.export(result.path, ".json").read_bytes())
    dump.perfetto = home.export(result.path, ".pftrace").read_bytes()
    check(dump.perfetto, "an empty trace")
    home.annot("report", result.path).ok().out.decode()
    home.annot("info", result.path).ok().out.decode()
    rights = [event for event in dump.kind("mark") if event["name"] == "right"]
    equal(len(rights), len(dump.processes), "right events, one of each process")
    return dump, misuse


@case
def ends_too_many(home):
    dump, misuse = recorded(home, "ends")
    equal((misuse[POP_EMPTY], misuse[END_FOREIGN]), (2, 3), "pops and ends in vain")
    equal(len(dump.kind("start")), 2, "ranges of the process")
    equal(dump.kind("pop"), [], "pops")


@case
def nothing_instead_of_something(home):
    dump, misuse = recorded(home, "nulls")
    equal([misuse[POP_EMPTY], misuse[END_FOREIGN], misuse[NAME_CUT]], [0, 0, 0], "misuse")
    equal((len(dump.kind("push")), len(dump.kind("pop"))), (5, 5), "ranges")
    equal(dump.kind("track_begin", "track_end", "track_mark", "flow_begin"), [], "without an id")


@case
def a_megabyte_instead_of_a_name(home):
    dump, misuse = recorded(home, "sizes")
    check(misuse[NAME_CUT] >= 5, f"names that were cut: {misuse}")
    equal(misuse[PAYLOAD_CUT], 2, "key-values that were cut")
    longest = max(len(event[key]) for event in dump.events for key in ("name", "domain"))
    equal(longest, 1024, "the longest name")
    check(sum(event["name"] == "many" for event in dump.kind("payload")) > 100, "none of many kept")


@case
def bytes_that_are_no_text(home):
    """The dump is JSON in UTF-8, so reading it is the test."""
    dump, _ = recorded(home, "bytes")
    equal(len(dump.kind("mark")), 7, "marks")
    check(all("\ufffd" in event["name"] for event in dump.kind("mark")[:5]), "repaired names")


@case
def structs_that_do_not_fit_their_schema(home):
    dump, misuse = recorded(home, "schemas")
    equal(misuse[SCHEMA], 2, "structs that do not fit")
    values = [(event["name"], event.get("value")) for event in dump.kind("payload")]
    check(any(name.endswith("a") and value == 1 for name, value in values) and
          any(name.endswith("b") and value == 2 for name, value in values), f"fields: {values}")


@case
def ranges_that_never_end(home):
    dump, misuse = recorded(home, "deep")
    equal(sum(misuse), 0, "misuse")
    equal(len(dump.kind("push")), 100000, "ranges")


@case
def names_without_room_are_told_in_every_output(home):
    dump, misuse = recorded(home, "names")
    left = misuse[NAME_LEFT]
    check(left > 1000, f"names without an id: {misuse}")
    told = f"{left:,} {LEFT}"
    check(told in dump.said and "nothing lost" not in dump.said, f"annot record: {dump.said}")
    for command in ("info", "report"):
        text = home.annot(command, dump.path).ok().out.decode()
        check(told in text and "remarkable calls" in text, f"annot {command}: {text}")
        data = json.loads(home.annot(command, "--json", dump.path).ok().out)
        calls = data.get("remarkable_calls") or {
            "name_left_out": row["count"] for row in data["missing"]
            if (row["kind"], row["what"]) == ("remarkable call", LEFT)}
        equal(calls, {"name_left_out": left}, f"annot {command} --json")
    rows = home.annot("report", "--csv", dump.path).ok().out.decode()
    listed = [(row["what"], row["count"]) for row in csv.DictReader(rows.splitlines())
              if row["kind"] == "remarkable call"]
    equal(listed, [(LEFT, str(left))], f"annot report --csv: {rows[-500:]}")
    label = f"remarkable calls: {LEFT}"
    equal(dump.chrome["otherData"].get(label), left, "otherData of the Chrome trace")
    check(label.encode() in dump.perfetto, "the Perfetto trace")
    said = home.annot("export", "-f", "folded", "-o", "-", dump.path).ok().err_text
    check(told in said, f"collapsed stacks: {said}")


if __name__ == "__main__":
    main()
