#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The driver's counters of a GPU are shown with the streams of that GPU, however programs number
it: each played value is on the right device of the right program, and only there.

    test_devices.py ANNOT FAKE_CUPTI PROGRAM NVML [KEEP_FOLDER]

Programs replay a recorded scene on made-up devices, which the fake driver numbers in its own order.
Exports are read by the Perfetto UI and as JSON, the rest as JSON. Exit status 0, 1, or 77 if the UI
is not available.
"""

import base64
import collections
import gzip
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import replay

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "system"))
import page_browser  # noqa: E402
import perfetto_ui  # noqa: E402
from test_exports import use_test_python  # noqa: E402

ANNOT, FAKE, PROGRAM, NVML = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
KEEP = pathlib.Path(sys.argv[5]).resolve() if len(sys.argv) > 5 else replay.folder
ONE, TWO = (f"GPU-{digit * 8}-0000-0000-0000-000000000000" for digit in "12")
PART, REST = (f"MIG-{digit * 8}-0000-0000-0000-000000000000" for digit in "34")
DIVISORS = {"power": 1000, "memory used": 1 << 20}
WHOLE = " of the whole GPU"
INSTANCES = 4  # the fake library numbers the instances of its device N from 4 + 4 N on
TRACKS = """select p.pid as pid, d.name as device, t.name as counter, c.value as value
    from counter c join track t on t.id = c.track_id left join track d on d.id = t.parent_id
    join process_counter_track k on k.id = t.id join process p using (upid) order by c.ts"""
QUERY = """select p.pid as pid, l.name as device, c.name as counter, c.value as value
    from counters c join devices n on n.thread = c.thread
    join devices d on d.device = n.device and d.track is not null
    join tracks l on l.id = d.track join processes p on p.id = l.process order by c.time_ns"""
# In the report: the program's name for a GPU, and the program.
DEVICE = r"(the whole of )?(GPU \d+): [^(]*\(fake_program, (\d+)\)"
unread = []  # reasons why the UI did not read traces
LOST = "select name, value from stats where value > 0 and severity != 'info'"


def run(*words, **settings):
    done = subprocess.run([str(word) for word in words], env={**os.environ, **settings},
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


class Recorded:
    """One recording of several programs, which may use the devices `programs` in their orders."""

    def __init__(self, name, programs, **settings):
        self.path, pids = KEEP / f"{name}.annot", replay.folder / "pids"
        log = replay.folder / "played"
        pids.write_text("")
        log.write_text("")
        scene = shlex.quote(str(replay.file_of("streams")))
        each = [f"(sh -c 'echo {i} $$ >> {pids}; FAKE_GPUS=\"{gpus}\" exec {PROGRAM} {scene} none')"
                for i, gpus in enumerate(programs)]
        run(ANNOT, "record", "--force", "--sampling=none", "--gpu", "-o", self.path, "--", "sh",
            "-c", " & ".join(each) + " & wait", ANNOT_CUPTI=str(FAKE), FAKE_CUPTI=str(FAKE),
            LD_LIBRARY_PATH=str(NVML.parent), FAKE_NVML_LOG=str(log), FAKE_BEFORE="20 sleep 0.4",
            **settings)
        lines = (line.split() for line in pids.read_text().splitlines())
        self.pids = {int(program): int(pid) for program, pid in lines}
        self.played = collections.defaultdict(lambda: collections.defaultdict(list))
        for line in log.read_text().splitlines():
            number, what, value = line.split()
            counter = what.replace("_", " ")
            self.played[int(number)][counter].append(int(value) / DIVISORS.get(counter, 1))

    def wanted(self, places):
        """Return the counters with all their values, by program and device. `places`: of (program,
        number of the device there): the fake library's numbers, each with the suffix of its names.
        """
        return {(self.pids[program], f"GPU {number}"):
                {counter + behind: values for device, behind in devices.items()
                 for counter, values in self.played[device].items()}
                for (program, number), devices in places.items()}

    def export(self, ending):
        to = self.path.with_suffix(ending)
        run(ANNOT, "export", "--force", self.path, "-o", to)
        return to

    def in_perfetto(self):
        report = perfetto_ui.inspect(self.export(".pftrace"), sql=[TRACKS, LOST],
                                     png=self.path.with_suffix(".png"))
        assert not report.rows[1], report.rows[1]
        found = collections.defaultdict(lambda: collections.defaultdict(list))
        for row in report.rows[0]:
            device = (row["device"] or "").partition(":")[0]
            found[row["pid"], device][row["counter"]].append(row["value"])
        return plain(found)

    def in_chrome(self):
        """Check each process that is a device: its program is the one that launched its work."""
        document = json.loads(self.export(".json").read_text())
        events = document["traceEvents"]
        names = {each["pid"]: each["args"]["name"] for each in events
                 if each["name"] == "process_name"}
        process_of = {each["tid"]: each["pid"] for each in events if each["name"] == "thread_name"}
        program_of = {each["pid"]: process_of[each["args"]["start_tid"]] for each in events
                      if each["ph"] == "X" and "start_tid" in each.get("args", ())}
        found = collections.defaultdict(lambda: collections.defaultdict(list))
        for event in sorted((each for each in events if each["ph"] == "C"),
                            key=lambda each: each["ts"]):
            value, = event["args"].values()
            on_device = names[event["pid"]].startswith("GPU ") and ":" in names[event["pid"]]
            key = (program_of[event["pid"]], names[event["pid"]].partition(":")[0]) \
                if on_device else (event["pid"], "")
            found[key][event["name"]].append(value)
        return plain(found)

    def in_report(self):
        """Return the numbers of each counter, by program and device."""
        told = json.loads(run(ANNOT, "report", "--json", "--table", "counters", self.path))
        found = collections.defaultdict(dict)
        for row in told["counters"]:
            name = row["name"].removeprefix("NVML:")
            numbers = [row[f"value_{what}"] for what in ("last", "min", "max", "sum")]
            on_devices = re.findall(DEVICE, row.get("device", ""))
            for whole, device, pid in on_devices:
                counter = re.sub(r"^GPU \d+( MIG \d+)? ", "", name) + (WHOLE if whole else "")
                found[int(pid), device][counter] = numbers
                assert row["label"].startswith(counter + ": GPU "), row
            if not on_devices:
                found[row["pid"], ""][name] = numbers
                assert row.get("label", row["name"]) == row["name"], row
        return found

    def in_query(self):
        """Counters of the same device, not of the whole of an instance."""
        found = collections.defaultdict(lambda: collections.defaultdict(list))
        for line in run(ANNOT, "query", "--json", self.path, QUERY).splitlines():
            row = json.loads(line)
            counter = re.sub(r"^GPU \d+( MIG \d+)? ", "", row["counter"])
            found[row["pid"], row["device"].partition(":")[0]][counter].append(row["value"])
        return plain(found)

    def in_page(self):
        """Return the counter names, by program and device."""
        to = self.path.with_suffix(".html")
        run(ANNOT, "html", "--force", self.path, "-o", to)
        packed = re.search(r'<script[^>]* id="?data"?[^>]*>([^<]*)<', to.read_text()).group(1)
        page = json.loads(gzip.decompress(base64.b64decode(packed)))
        found = collections.defaultdict(set)
        for counter in page["counters"]:
            for place in counter.get("devices", ()):
                pid = page["processes"][place["process"]]["pid"]
                found[pid, place["device"].partition(":")[0]].add(place["counter"])
            if not counter.get("devices"):
                found[0, ""].add(counter["name"].removeprefix("NVML:"))
        return found

    def check_times(self):
        """Thread time only includes programs: the driver's counter threads ran no code."""
        told = [json.loads(run(ANNOT, "report", "--json", *only, self.path))["recording"]
                for only in ((), ("-p", "fake_program"))]
        assert 0 < told[0]["thread_time_ns"] <= told[1]["thread_time_ns"], told

    def check_tables(self, wanted, joined):
        numbers = {key: {counter: [values[-1], min(values), max(values), sum(values)]
                         for counter, values in counters.items()}
                   for key, counters in [*wanted.items(), ((0, ""), self.rest(joined))]}
        told = self.in_report()
        assert {key: counters for key, counters in numbers.items() if counters} == told, told
        own = {key: {counter: values for counter, values in counters.items()
                     if not counter.endswith(WHOLE)} for key, counters in wanted.items()}
        assert self.in_query() == {key: counters for key, counters in own.items() if counters}
        assert self.in_page() == {key: set(counters) for key, counters in told.items()}

    def check(self, places):
        wanted = self.wanted(places)
        assert all(len(values) >= 3 for counters in wanted.values()
                   for values in counters.values()), wanted
        everywhere = {device for devices in places.values() for device in devices}
        self.check_times()
        self.check_tables(wanted, everywhere)
        self.check_found(self.in_chrome(), wanted, everywhere)
        try:
            self.check_found(self.in_perfetto(), wanted, everywhere)
        except perfetto_ui.NoVerdict as reason:
            unread.append(str(reason))

    def check_found(self, found, wanted, joined):
        """Counters that belong to no device of a program use the driver's numbers."""
        on_devices = {key: counters for key, counters in found.items() if key[1]}
        assert on_devices == wanted, (self.path, on_devices, wanted)
        rest = {counter.removeprefix("NVML: "): values for key, counters in found.items()
                if not key[1] for counter, values in counters.items()}
        assert rest == self.rest(joined), (rest, joined)

    def rest(self, joined):
        return {f"{self.name_of(device)} {counter}": values
                for device, counters in self.played.items() if device not in joined
                for counter, values in counters.items()}

    @staticmethod
    def name_of(device):
        if device < INSTANCES:
            return f"GPU {device}"
        return f"GPU {device // INSTANCES - 1} MIG {device % INSTANCES}"


def plain(found):
    return {key: dict(counters) for key, counters in found.items()}


def programs_call_different_gpus_0():
    recorded = Recorded("different", [f"{ONE}@1a", f"{TWO}@2b"],
                        FAKE_NVML_GPUS=f"{TWO}@2b {ONE}@1a")
    recorded.check({(0, 0): {1: ""}, (1, 0): {0: ""}})


def a_program_has_them_in_its_own_order():
    recorded = Recorded("reversed", [f"{TWO}@2b {ONE}@1a"], FAKE_NVML_GPUS=f"{ONE}@1a {TWO}@2b")
    recorded.check({(0, 0): {1: ""}, (0, 1): {0: ""}})


def several_programs_share_one():
    recorded = Recorded("shared", [f"{ONE}@1a", f"{TWO}@2b {ONE}@1a"],
                        FAKE_NVML_GPUS=f"{ONE}@1a {TWO}@2b")
    recorded.check({(0, 0): {0: ""}, (1, 0): {1: ""}, (1, 1): {0: ""}})


def instances_have_their_own_and_those_of_the_whole():
    recorded = Recorded("instances", [f"{REST}/{TWO}@2b", f"{PART}/{TWO}@2b"],
                        FAKE_NVML_GPUS=f"{ONE}@1a {TWO}@2b+{PART}+{REST}")
    part, rest = (2 * INSTANCES + i for i in range(2))
    recorded.check({(0, 0): {rest: "", 1: WHOLE}, (1, 0): {part: "", 1: WHOLE}})


def the_page_shows_them_by_device():
    """They are below a heading for each device of a program. Devices only known to the driver are
    absent."""
    recorded = Recorded("page", [f"{TWO}@2b {ONE}@1a", f"{ONE}@1a"],
                        FAKE_NVML_GPUS=f"@3c {ONE}@1a {TWO}@2b", FAKE_NVML_DEVICES="3")
    recorded.in_page()
    first, second = recorded.pids[0], recorded.pids[1]
    try:
        with page_browser.browser() as opened:
            page = page_browser.Page(opened, recorded.path.with_suffix(".html"), "#view=gpu")
            page.page.wait_for_selector("h3.device")
            shown = {group.query_selector("h3").inner_text():
                     [each.inner_text() for each in group.query_selector_all("figcaption b")]
                     for group in page.page.query_selector_all("div:has(> h3.device)")}
            page.page.screenshot(path=recorded.path.with_suffix(".png"), full_page=True)
            assert not page.complaints, page.complaints
            page.close()
    except perfetto_ui.NoVerdict as reason:
        unread.append(str(reason))
        return
    one, two = (sorted(recorded.played[device]) for device in (1, 2))
    assert shown == {f"GPU 0: Fake 0 · fake_program {first}": two,
                     f"GPU 1: Fake 1 · fake_program {first}": one,
                     f"GPU 0: Fake 0 · fake_program {second}": one}, shown


def the_bus_tells_where_the_driver_knows_no_uuid():
    recorded = Recorded("bus", [f"{TWO}@2b {ONE}@1a"], FAKE_NVML_GPUS="@1a @2b")
    recorded.check({(0, 0): {1: ""}, (0, 1): {0: ""}})


def what_nobody_can_join_stays_apart():
    for settings in {}, {"FAKE_NVML_GPUS": f"{TWO}@1a {TWO.replace('2', '5')}@2b"}:
        Recorded("apart", [f"{ONE}@1a"], **settings).check({})


CASES = [programs_call_different_gpus_0, a_program_has_them_in_its_own_order,
         several_programs_share_one, the_page_shows_them_by_device,
         instances_have_their_own_and_those_of_the_whole,
         the_bus_tells_where_the_driver_knows_no_uuid, what_nobody_can_join_stays_apart]

if __name__ == "__main__":
    use_test_python()
    KEEP.mkdir(parents=True, exist_ok=True)
    status = replay.run_cases(CASES)
    if unread:
        print(f"skipped: {unread[0]}")
    sys.exit(status or (77 if unread else 0))
