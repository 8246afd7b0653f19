# SPDX-License-Identifier: MIT
"""Programs annotated for NVTX are recorded unchanged: the recording has exactly their calls, by
process, thread, domain, name and category, and every range ends.
ANNOT_INJECT names the injection library.
"""

import collections
import json
import os
import subprocess

from harness import case, check, equal, main, program
from ledger import compare, difference, events_of, recorded, run


@case
def every_call_of_every_image(home):
    """Libraries with their own copies, one loaded later, threads, fork, exec."""
    path, ledger = run(home, program("nvtx_all"), program("libnvtx-part-c.so"),
                       NVTX_CHECK_OBJECTS="1")
    check(sum(ledger.values()) > 300, "the ledger is short")
    equal(len({line[0] for line in ledger}), 3, "processes")
    events = compare(home, path, ledger)
    names = {event["thread"] for event in events if "thread" in event}
    check({"named by w", "named by another"} <= names, f"names of threads: {names}")
    payloads = [event["payload"] for event in events
                if event["event"] == "mark" and "payload" in event]
    check({2.5, 0.5, -2, str(2**64 - 2), 2**32 - 2} <= set(payloads), f"payloads: {set(payloads)}")
    colors = {event.get("color") for event in events if "color" in event}
    check(len(colors) == 1, f"colours: {colors}")


@case
def domains_that_cross(home):
    path, ledger = run(home, program("nvtx_cross"))
    events = compare(home, path, ledger)
    late = [event for event in events if event["event"] == "end" and
            "popped_ns_before" in json.dumps(event)]
    equal([event["name"] for event in late], ["left outside", "lock"], "what ended late")
    equal(late[1]["args"].get("acquired"), True, "what came with a pop that was too early")
    check(late[0]["duration_ns"] > 1000000, "the late one took until the inner one had ended")


@case
def pops_without_a_push_close_nothing(home):
    """They close neither ranges of annot's own interface nor those of another domain, and are
    counted. A range that a destructor of its thread pops ends there."""
    result = home.record(program("nvtx_stray"), options=("--sampling=none",))
    result.ok()
    equal(result.out.decode().split(), ["wrong", "0"], "levels that pops returned")
    ends = {event["path"] for event in events_of(home, result.path)
            if event["event"] == "end" and not event.get("unfinished")}
    equal(ends, {"outside", "outside/left:left", "outside/left:left/inside", "left:until the end"},
          "paths of what ended")
    strays = 6 if os.environ["ANNOT_HAVE_ITT"] == "1" else 4
    check(f"{strays} pops without a push (ignored)" in result.err_text, result.err_text)
    check("name table" not in result.err_text, f"a string of nobody: {result.err_text}")


@case
def strings_beyond_the_table_of_names_are_recorded(home):
    path, ledger = run(home, program("nvtx_many"))
    equal(sum(ledger.values()), 40400, "what it called")
    compare(home, path, ledger)
    check("name table is full" in home.info(path), "the table was not full")
    os.unlink(home.work / "ledger")
    path, ledger = run(home, program("nvtx_many"), NVTX_NEXT_COUNTS=str(home.work / "counts"),
                       NVTX_INJECTION64_PATH=program("nvtx-next.so"))
    compare(home, path, ledger)  # by the handles of another tool


@case
def interface_for_cxx(home):
    path, ledger = run(home, program("nvtx_cpp"))
    events = compare(home, path, ledger)
    payload = {event["payload"] for event in events if event.get("category") == "red" and
               "payload" in event}
    equal(payload, {-4}, "the payload")
    values = [event.get("args") for event in events
              if event["event"] == "begin" and event["name"] == "payload"]
    check(values in ([], [{"index": 42, "share": 0.75}]), f"values of a struct: {values}")


@case
def a_program_of_version_2(home):
    path, ledger = run(home, program("nvtx_old"))
    check(sum(ledger.values()) == 2, "what it called")
    compare(home, path, ledger)


@case
def inside_of_a_static_program(home):
    path, ledger = run(home, program("nvtx_static"), options=("--no-nvtx",))
    compare(home, path, ledger)


@case
def switched_off(home):
    path, ledger = run(home, program("nvtx_cpp"), options=("--no-nvtx",))
    check(ledger, "nothing was called")
    equal(recorded(events_of(home, path)), collections.Counter(), "what was recorded")


@case
def asked_for_no_injection(home):
    """The variable's value that means "none" is kept."""
    path, ledger = run(home, program("nvtx_cpp"), NVTX_INJECTION64_PATH="./.")
    check(ledger, "nothing was called")
    equal(recorded(events_of(home, path)), collections.Counter(), "what was recorded")


@case
def filtered_by_domain(home):
    path, ledger = run(home, program("nvtx_cross"), options=("--enable", "right"))
    wanted = collections.Counter({line: count for line, count in ledger.items()
                                  if line[3] == "right"})
    equal(difference(wanted, recorded(events_of(home, path))),
          {"not recorded": {}, "not called": {}}, "the difference")
    home.annot("report", "--range", "right inside", path).ok()
    home.annot("report", "--range", "right:right inside", path).complains(
        1, "whatever their domain: --range 'right inside'")


def ledger_marks(ledger, name):
    return sum(count for line, count in ledger.items() if line[2] == "mark" and line[4] == name)


@case
def a_tool_that_was_set_before(home):
    """It is called for all events, with its own handles, and so is annot."""
    counts = home.work / "counts"
    path, ledger = run(home, program("nvtx_chained"), NVTX_NEXT_COUNTS=str(counts),
                       NVTX_INJECTION64_PATH=program("nvtx-next.so"))
    compare(home, path, ledger)
    pid, *numbers = counts.read_text().split()
    check(pid.isdigit(), "its count")
    payloads = ledger_marks(ledger, "payload")
    equal([int(number) for number in numbers], [1, 200, 200, 100, 100, 100, 1, 0, payloads],
          "images, pushes, pops, starts, ends, marks, names, wrong, payloads of the next tool")


@case
def a_tool_that_loads_a_library_while_another_thread_does(home):
    """If a lock were held while the tool starts, this would be a deadlock."""
    home.environment["NVTX_INJECTION64_PATH"] = program("nvtx-slow-tool.so")
    result = home.record(program("nvtx_locks"), program("nvtx-at-load.so"),
                         program("nvtx-empty.so"), options=["--sampling=none"], timeout=30)
    result.ok()
    names = collections.Counter(event["name"] for event in events_of(home, result.path)
                                if event["event"] == "mark")
    equal(names, {"main": 1, "at load": 1}, "marks")


@case
def what_is_no_tool_is_said(home):
    path, ledger = run(home, program("nvtx_chained"), NVTX_INJECTION64_PATH="/no/such/tool.so")
    compare(home, path, ledger)
    info = home.info(path)
    check("The tool in ANNOT_NVTX_NEXT does not go on behind annot: /no/such/tool.so" in info, info)
    path, _ = run(home, program("nvtx_chained"), NVTX_INJECTION64_PATH=program("nvtx-room.so"))
    info = " ".join(home.info(path).split())
    check("does not go on behind annot" in info and
          "undefined symbol: InitializeInjectionNvtx2" in info, info)


@case
def attached_to_later(home):
    """A library that was loaded and dormant is recorded, including ranges that were open before."""
    home.left = {"wake"}
    home.environment["NVTX_INJECTION64_PATH"] = os.environ["ANNOT_INJECT"]
    process = home.start(program("nvtx_late"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()  # the first range is open
    path = home.work / "late.annot"
    home.annot("attach", "-p", process.pid, "--sampling=none", "--duration", "400ms", "-o",
               path).ok()
    process.stdin.close()
    equal(process.wait(10), 0, "its exit status")
    names = collections.Counter(event["name"] for event in events_of(home, path)
                                if event["event"] == "begin")
    check(names["late"] > 5 and set(names) == {"late"}, f"ranges: {names}")


@case
def numbers_in_names(home):
    """They become key-values, so that the ranges of one operation are one row."""
    result = home.record(program("nvtx_names"), options=("--sampling=none",))
    told = [(event["name"], event.get("args", {})) for event in events_of(home, result.path)
            if event["event"] in ("begin", "mark")]
    cut, whole = told[5][1].pop("sizes"), told[6][0]
    check(cut.startswith("[000") and 100 < len(cut) < 1000, f"cut to {cut!r}")
    check(whole.endswith(", op_id = 44"), f"a name of 300 characters: {whole!r}")
    equal(told[:6], [("aten::mm", {"seq": 7, "op_id": 41, "sizes": "[[8, 2], [], []]"}),
                     ("scale<float, 4>", {"op_id": 42}), ("AccumulateGrad", {"seq": -1}),
                     ("a, b, seq=4", {}), ("send", {"sizes": "[[1]]"}), ("cat", {"op_id": 43})],
          "names and values")


@case
def nobody_records(home):
    """When attached, the calls do nothing and return the same as without a tool."""
    home.left = {"wake"}
    home.environment["NVTX_INJECTION64_PATH"] = os.environ["ANNOT_INJECT"]
    home.environment["NVTX_LEDGER"] = str(home.work / "ledger")
    home.run(program("nvtx_chained")).ok()


if __name__ == "__main__":
    main()
