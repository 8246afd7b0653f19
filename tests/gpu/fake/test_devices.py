#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the driver counts of a GPU stands with the streams of that GPU, however programs number it:
each value that was played is on the right device of the right program, and nowhere else.

    test_devices.py ANNOT FAKE_CUPTI PROGRAM NVML [KEEP_FOLDER]

Programs replay a recorded scene on devices that are made up, which the fake driver numbers in its
own order. Exports are read by the Perfetto UI and as JSON, the rest as JSON. Exit status 0, 1, or
77 if the UI is not there."""

import collections
import json
import os
import pathlib
import shlex
import subprocess
import sys

import replay

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "system"))
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
unread = []  # why the UI did not read traces
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
        run(ANNOT, "record", "--force", "--no-sample", "--gpu", "-o", self.path, "--", "sh", "-c",
            " & ".join(each) + " & wait", ANNOT_CUPTI=str(FAKE), FAKE_CUPTI=str(FAKE),
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
        """By program and device: counters with all their values. `places`: of (program, number of
        the device there): the fake library's numbers, each with what names have behind them."""
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
        """Of each process that is a device: the program is that of what was launched there."""
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

    def check(self, places):
        wanted = self.wanted(places)
        assert all(len(values) >= 3 for counters in wanted.values()
                   for values in counters.values()), wanted
        everywhere = {device for devices in places.values() for device in devices}
        self.check_found(self.in_chrome(), wanted, everywhere)
        try:
            self.check_found(self.in_perfetto(), wanted, everywhere)
        except perfetto_ui.NoVerdict as reason:
            unread.append(str(reason))

    def check_found(self, found, wanted, joined):
        """What belongs to no device of a program is as the driver numbers it."""
        on_devices = {key: counters for key, counters in found.items() if key[1]}
        assert on_devices == wanted, (self.path, on_devices, wanted)
        rest = {counter.removeprefix("NVML: "): values for key, counters in found.items()
                if not key[1] for counter, values in counters.items()}
        assert rest == {f"{self.name_of(device)} {counter}": values
                        for device, counters in self.played.items() if device not in joined
                        for counter, values in counters.items()}, (rest, joined)

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


def the_bus_tells_where_the_driver_knows_no_uuid():
    recorded = Recorded("bus", [f"{TWO}@2b {ONE}@1a"], FAKE_NVML_GPUS="@1a @2b")
    recorded.check({(0, 0): {1: ""}, (0, 1): {0: ""}})


def what_nobody_can_join_stays_apart():
    for settings in {}, {"FAKE_NVML_GPUS": f"{TWO}@1a {TWO.replace('2', '5')}@2b"}:
        Recorded("apart", [f"{ONE}@1a"], **settings).check({})


CASES = [programs_call_different_gpus_0, a_program_has_them_in_its_own_order,
         several_programs_share_one, instances_have_their_own_and_those_of_the_whole,
         the_bus_tells_where_the_driver_knows_no_uuid, what_nobody_can_join_stays_apart]

if __name__ == "__main__":
    use_test_python()
    KEEP.mkdir(parents=True, exist_ok=True)
    status = replay.run_cases(CASES)
    if unread:
        print(f"skipped: {unread[0]}")
    sys.exit(status or (77 if unread else 0))
