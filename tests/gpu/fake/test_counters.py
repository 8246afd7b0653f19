#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counters of GPUs: each reading of the management library is in the recording exactly once, ten
times a second, with its unit. Without the library there are no counters and no message.

    test_counters.py ANNOT NVML

NVML is a libnvidia-ml.so.1 that plays known values.
"""

import collections
import os
import pathlib
import struct
import subprocess
import sys

import replay
import spans

ANNOT, NVML = (pathlib.Path(word).resolve() for word in sys.argv[1:])
UNITS = {"utilisation": "%", "memory utilisation": "%", "memory used": "MiB", "power": "W",
         "SM clock": "MHz", "memory clock": "MHz", "temperature": "degrees C"}


def record(*options, library=True, seconds=1.5, **settings):
    out, log = replay.folder / "out.annot", replay.folder / "played"
    log.write_text("")
    folders = [str(NVML.parent)] if library else []
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(folders), "FAKE_NVML_LOG": str(log),
                   **settings}
    done = subprocess.run([ANNOT, "record", "--force", "--sampling=none", *options, "-o", out, "--",
                           "sleep", str(seconds)], env=environment, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done
    return spans.read(out), log.read_text().splitlines(), done.stderr


def counters(recorded):
    """Return {name: [(time, value)]}."""
    found = collections.defaultdict(list)
    for event in recorded.events:
        if event["shape"].kind == 6:
            value, = struct.unpack("<d", struct.pack("<Q", event["value"]))
            found[recorded.text(event["shape"].name)].append((event["time"], value))
    return found


def what_was_played_is_recorded():
    recorded, played, _ = record("--gpu")
    wanted = collections.defaultdict(list)
    for line in played:
        device, what, value = line.split()
        name = f"GPU {device} {what.replace('_', ' ')}"
        divisor = {"power": 1000, "memory_used": 1 << 20}.get(what, 1)
        wanted[name].append(int(value) / divisor)
    got = counters(recorded)
    assert {name: [value for _, value in readings] for name, readings in got.items()} == wanted
    assert sorted(got) == sorted([f"GPU {device} {name}" for device in (0, 1) for name in UNITS
                                  if (device, name) != (1, "power")])
    count = len(got["GPU 0 power"])
    assert 8 <= count <= 17, count
    for readings in got.values():
        times = [time for time, _ in readings]
        assert times == sorted(times)
    units = {recorded.text(unit["counter"]): recorded.text(unit["unit"])
             for unit in recorded.units.values()}
    assert units == {name: UNITS[name.split(" ", 2)[2]] for name in got}, units


def each_says_of_which_gpu_it_is():
    """Each device has a thread, with its UUID and its place on the bus. An instance has its own
    counters, and the device it is an instance of."""
    one, two = (f"GPU-{digit * 8}-0000-0000-0000-000000000000" for digit in "12")
    parts = [f"MIG-{digit * 8}-0000-0000-0000-000000000000" for digit in "34"]
    recorded, _, _ = record("--gpu", FAKE_NVML_GPUS=f"{two}@2b+{'+'.join(parts)} {one}@1a")
    cards = {card["thread"] - 1: [recorded.text(card[key]) for key in ("name", "uuid", "card",
                                                                       "place")]
             for card in recorded.cards.values()}
    assert sorted(cards.values()) == [
        ["GPU 0", two, "", "0000:2b:00.0"],
        ["GPU 0 MIG 0", parts[0], two, "0000:2b:00.0"],
        ["GPU 0 MIG 1", parts[1], two, "0000:2b:00.0"],
        ["GPU 1", one, "", "0000:1a:00.0"]], cards
    assert not any(card["lane"] for card in recorded.cards.values())
    names = {(event["thread"], recorded.text(event["shape"].name)) for event in recorded.events
             if event["shape"].kind == 6}
    assert all(name.startswith(cards[thread][0] + " ") for thread, name in names), names
    whole = set(UNITS) - {"utilisation", "memory utilisation"}
    assert {name for _, name in names} == {
        *(f"GPU 0 {name}" for name in whole), "GPU 0 MIG 0 memory used",
        "GPU 0 MIG 1 memory used", *(f"GPU 1 {name}" for name in UNITS if name != "power")}, names
    threads = {recorded.text(recorded.threads[thread]["name"]) for thread in cards}
    assert threads == {"GPU 0: Fake H100", "GPU 0 MIG 0: Fake instance",
                       "GPU 0 MIG 1: Fake instance", "GPU 1: Fake H100"}, threads


def they_are_the_machines():
    recorded, _, errors = record("--gpu")
    assert len([process for process in recorded.processes.values()
                if recorded.text(process["name"]) == "GPU counters"]) == 1
    assert "lost" not in errors or "nothing lost" in errors, errors
    text = subprocess.run([ANNOT, "cat", replay.folder / "out.annot"], capture_output=True,
                          text=True, check=True).stdout
    assert "GPU 0 utilisation" in text, text[:500]


def attach_records_them_if_asked():
    out = replay.folder / "attached.annot"
    with subprocess.Popen(["sleep", "60"]) as program:
        done = subprocess.run([ANNOT, "attach", "--force", "-d", "0.5",
                               "--gpu=counters", "-o", out, str(program.pid)],
                              env={**os.environ, "LD_LIBRARY_PATH": str(NVML.parent)},
                              capture_output=True, text=True, timeout=60)
        program.kill()
    assert done.returncode == 0, done
    assert "GPU 1 temperature" in counters(spans.read(out)), done


def they_are_left_out():
    for options, settings in ((("--gpu=-counters",), {}), ((), {}),
                              (("--gpu",), {"library": False}),
                              (("--gpu",), {"FAKE_NVML_FAILS": "1"}),
                              (("--gpu",), {"FAKE_NVML_DEVICES": "0"})):
        recorded, _, errors = record(*options, seconds=0.3, **settings)
        assert not counters(recorded), (options, settings)
        assert not any(recorded.text(process["name"]) == "GPU counters"
                       for process in recorded.processes.values())
        assert "NVML" not in errors and "nvml" not in errors, errors


CASES = [what_was_played_is_recorded, each_says_of_which_gpu_it_is, they_are_the_machines,
         attach_records_them_if_asked, they_are_left_out]

if __name__ == "__main__":
    sys.exit(replay.run_cases(CASES))
