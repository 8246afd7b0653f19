#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recording begins and ends while ranges are open; programs outlive a recording.

The program ticks all the time and accounts for every tick with its own clock, so the ticks that lay
wholly inside a recording are known."""

import json
import time

import traces
from harness import ANNOT, Failed, case, check, equal, main, program

POP_EMPTY = 0


def account_of(text):
    rows = [json.loads(line) for line in text.splitlines()]
    return [row for row in rows if "enabled" in row], rows[-1]


def errno_untouched(ticks):
    equal({tick["errno"] for tick in ticks}, {4711}, "errno after push and pop")


def recorded_ticks(dump):
    """Finished ticks: name -> (begin, end)."""
    found, stack = {}, []
    for event in dump.kind("push", "pop", "edge"):
        if event["kind"] == "push":
            stack.append(event)
        elif event["kind"] == "pop":
            begin = stack.pop()
            found[begin["name"]] = (begin["time"], event["time"])
        else:
            stack.clear()
    return found


def match(ticks, dump):
    """Ticks inside the session are recorded with their times; ticks outside it are not."""
    begin, end = dump.session["begin"], dump.session["end"]
    recorded = recorded_ticks(dump)
    recorded.pop("outer", None)
    inside = [tick for tick in ticks
              if tick["enabled"] and tick["begin"][0] > begin and tick["end"][1] < end]
    for tick in inside:
        name = tick["name"]
        check(name in recorded, f"{name}, begun {tick['begin'][0] - begin} ns after the session "
              f"and ended {end - tick['end'][1]} ns before its end, is not recorded")
        for what, moment in zip(("begin", "end"), recorded[name]):
            low, high = tick[what]
            check(low - 1000 <= moment <= high + 1000, f"{what} of {name}: {moment}, {low}-{high}")
    outside = [tick["name"] for tick in ticks
               if tick["end"][0] < begin or tick["begin"][1] > end]
    equal([name for name in outside if name in recorded], [], "ticks recorded outside the session")
    return inside


@case
def delay_begins_inside_open_ranges(home):
    result = home.record(program("emit_ticks"), 600, options=["--delay", "0.3s"]).ok()
    ticks, _ = account_of(result.out.decode())
    dump = home.dump(result.path).whole()
    inside = match(ticks, dump)
    check(20 < len(inside) < len(ticks) - 20, f"{len(inside)} of {len(ticks)} ticks inside")
    errno_untouched(ticks)
    length = dump.session["end"] - dump.session["begin"]
    check(0.25e9 < length < 0.45e9, f"0.3 s of 0.6 s were {length / 1e9:.3f} s")
    equal([event for event in dump.kind("push") if event["name"] == "outer"], [],
          "the range from before the recording")
    check(dump.processes[0]["misuse"][POP_EMPTY] in (1, 2),
          f"pops of ranges from before the recording: {dump.processes[0]['misuse']}")
    traces.read(home.export(result.path, ".json"))


@case
def duration_ends_inside_open_ranges(home):
    result = home.record(program("emit_ticks"), 1400, options=["--duration", "0.6s"]).ok()
    ticks, _ = account_of(result.out.decode())
    dump = home.dump(result.path).whole()
    inside = match(ticks, dump)
    check(20 < len(inside) < len(ticks) - 20, f"{len(inside)} of {len(ticks)} ticks inside")
    errno_untouched(ticks)
    length = dump.session["end"] - dump.session["begin"]
    check(0.55e9 < length < 0.9e9, f"a recording of 0.6 s lasted {length / 1e9:.3f} s")
    for extension in (".json", ".pftrace"):
        trace = traces.read(home.export(result.path, extension))
        unfinished = [row for row in trace["pushed"] if dict(row[5]).get("unfinished")]
        check(unfinished and unfinished[0][4] == "outer" and len(unfinished) <= 2,
              f"unfinished ranges in {extension}: {unfinished}")
        equal(len([row for row in trace["pushed"] if row[4].startswith("outer/tick")]) -
              (len(unfinished) - 1), len(inside), f"ticks inside outer in {extension}")


@case
def two_recordings_of_one_surviving_process(home):
    """The inner recording ends while the program lives; the program joins the outer one."""
    inner, outer = home.work / "inner.annot", home.work / "outer.annot"
    result = home.annot("record", "-o", outer, "--", ANNOT, "record", "-o", inner, "--duration",
                        "0.3s", "--", program("emit_ticks"), "700").ok()
    ticks, _ = account_of(result.out.decode())
    first, second = home.dump(inner).whole(), home.dump(outer).whole()
    errno_untouched(ticks)
    in_first = match(ticks, first)
    check(len(in_first) > 20, f"{len(in_first)} ticks in the first recording")
    names_first, names_second = recorded_ticks(first), recorded_ticks(second)
    equal(sorted(set(names_first) & set(names_second)), [], "ticks in both recordings")
    if not second.events:
        raise Failed("after the inner recording the outer one got nothing")
    late = [tick for tick in ticks if tick["begin"][0] > first.session["end"] + 50_000_000]
    equal([tick["name"] for tick in late if tick["name"] not in names_second], [],
          "ticks after the first recording that the second lacks")


@case
def a_daemon_survives_its_recording(home):
    """CMD ends, its grandchild runs on: marked as still running, unharmed."""
    account = home.work / "account"
    begin = time.monotonic()
    result = home.record(program("emit_ticks"), 2000, account).ok()
    took = time.monotonic() - begin
    check(took < 1.9, f"record waited {took:.1f} s for the daemon")
    dump = home.dump(result.path).whole()
    daemons = [p for p in dump.processes if p["how_text"] != "exit 0"]
    check(all(p["how_text"] == "still running" for p in daemons),
          f"processes still running among {dump.processes}")
    equal(home.leftovers() - {"wake", "annot"}, set(), "files of a survivor")
    deadline = time.monotonic() + 5
    while not (account.exists() and b"closed" in account.read_bytes()):
        check(time.monotonic() < deadline, "the daemon did not finish its account")
        time.sleep(0.05)
    ticks, last = account_of(account.read_text())
    check(len(ticks) > 250, f"the daemon made {len(ticks)} ticks")
    errno_untouched(ticks)
    equal(last["interrupts"], 0, "interrupts of the daemon")
    home.left = {"wake"}


@case
def a_survivor_that_emitted_is_told(home):
    """The command ends after its daemon has recorded something."""
    account = home.work / "account"
    script = f"{program('emit_ticks')} 1500 {account}; sleep 0.5"
    result = home.record("sh", "-c", script).ok()
    dump = home.dump(result.path).whole()
    running = [p for p in dump.processes if p["how_text"] == "still running"]
    equal(len(running), 1, f"processes still running among {dump.processes}")
    check("still running" in home.info(result.path), "info does not say that it still runs")
    time.sleep(1.2)
    ticks, _ = account_of(account.read_text())
    inside = match(ticks, dump)
    check(len(inside) > 30, f"{len(inside)} ticks of the survivor were recorded")
    trace = traces.read(home.export(result.path, ".json"))
    unfinished = [row[4] for row in trace["pushed"] if dict(row[5]).get("unfinished")]
    check("outer" in unfinished, f"unfinished: {unfinished}")
    home.left = {"wake"}


@case
def a_program_with_another_auxiliary_vector_is_the_same_program(home):
    """As under valgrind: no exec happened, though the kernel's AT_RANDOM differs."""
    result = home.record(program("emit_auxv"), 300).ok()
    dump = home.dump(result.path).whole()
    equal(len(dump.kind("mark")), 300, "marks")


if __name__ == "__main__":
    main()
