#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annot doctor under real limits and in real mounts: it reports them, from exactly the value at
which programs are refused, and its hint lifts them."""

import json
import os
import pathlib
import shlex

from doctor import NOBODY, as_nobody, doctor, open_home, tool
from harness import ANNOT, Skip, case, check, equal, main, needs_root, program

MIB = 1 << 20
LITTLE = 256 << 10  # less than the smallest buffer


def limited(soft="", hard="", **limits):
    """Words that run a program below a limit."""
    words = [tool("prlimit")]
    for name, value in limits.items():
        words.append(f"--{name}={value if value else ''}{soft}{':' + hard if hard else ''}")
    return words


def lifted(home, before, finding, annot=ANNOT):
    """The state of a finding after its hint was run in the same shell, as its text says."""
    script = f"{finding['hint']} && exec {shlex.quote(str(annot))} doctor --json"
    done = home.run(*before, tool("bash"), "-c", script)
    return {found["name"]: found for found in json.loads(done.out)["findings"]}[finding["name"]]


@case
def the_file_size_limit_is_told_from_where_programs_are_refused(home):
    _, findings = doctor(home)
    wanted = findings["file size"]["facts"]["wanted"]
    for size, state, refusals in ((wanted, "note", 0), (wanted - 1, "missing", 1)):
        before = limited(fsize=size, hard="unlimited")
        _, findings = doctor(home, *before)
        equal(findings["file size"]["state"], state, f"the state at {size} bytes")
        equal(findings["file size"]["facts"]["soft"], size, "the limit")
        path = home.work / f"{size}.annot"
        home.run(*before, ANNOT, "record", "--sampling=none", "-o", path, "--",
                 program("emit_kinds"), "kinds").ok()
        dump = home.dump(path)
        equal(len(dump.refusals) > 0, refusals > 0, f"refusals at {size} bytes {dump.refusals}")
        equal(len(dump.events) > 0, refusals == 0, f"events at {size} bytes")
    equal(findings["file size"]["hint"], "ulimit -S -f $(ulimit -H -f)", "the hint")
    equal(lifted(home, before, findings["file size"])["state"], "ok", "lifted by the hint")


def may_raise():
    """CAP_SYS_RESOURCE: is it in effect, could root have it?"""
    status = pathlib.Path("/proc/self/status").read_text()
    sets = dict(line.split(":\t") for line in status.splitlines() if line.startswith("Cap"))
    return [bool(int(sets[name], 16) >> 24 & 1) for name in ("CapEff", "CapBnd")]


def check_hard(home, before, finding, word, number):
    """The hint for root, which lifts it, and that for others."""
    effective, bounding = may_raise()
    letter, name = {"file size": ("f", "fsize"), "open files": ("n", "nofile")}[finding["name"]]
    outside = f"root cannot raise it in here: start the container with --ulimit {name}={number}"
    sudo = f"sudo prlimit --pid $$ --{name}={word}" if bounding else outside
    equal(finding["hint"], f"ulimit -{letter} {word}" if effective else sudo, "the hint for root")
    if effective:
        equal(lifted(home, before, finding)["state"], "ok", "lifted by the hint")
    annot = open_home(home)
    _, findings = doctor(home, *before, *as_nobody(), annot=annot)
    equal(findings[finding["name"]]["hint"], sudo, "the hint for others")


@case
@needs_root
def a_hard_limit_is_lifted_by_root(home):
    _, findings = doctor(home, *limited(fsize=1, hard=str(LITTLE)))
    equal([findings[name]["state"] for name in ("memory", "file size")], ["ok", "missing"],
          "where hardly a byte can be written")
    before = limited(fsize=LITTLE)
    _, findings = doctor(home, *before)
    check_hard(home, before, findings["file size"], "unlimited", "-1")


@case
@needs_root
def too_few_descriptors_are_told_and_nothing_is_sampled_then(home):
    wanted = doctor(home)[1]["open files"]["facts"]["wanted"]
    before = limited(nofile=wanted - 1)
    _, findings = doctor(home, *before)
    equal(findings["open files"]["state"], "missing", "the state")
    equal(findings["open files"]["facts"]["hard"], wanted - 1, "the limit")
    path = home.work / "few.annot"
    home.run(*before, ANNOT, "record", "-o", path, "--", "true").ok()
    sampling = home.dump(path).sampling
    check("may be open" in json.dumps(sampling), f"the recording tells another cause: {sampling}")
    check_hard(home, before, findings["open files"], "65536", "65536")
    _, findings = doctor(home, *limited(nofile=wanted))
    equal(findings["open files"]["state"], "ok", "the state with just enough")
    _, findings = doctor(home, *limited(nofile=64, hard="4096"))
    equal(findings["open files"]["state"], "ok", "annot raises a soft limit itself")


def in_mounts(home, script, **options):
    """annot doctor in a mount namespace that `script` prepares; ANNOT_DIR is the default's."""
    environment = {**home.environment, **options}
    if "ANNOT_DIR" not in options:
        del environment["ANNOT_DIR"]
    done = home.run(tool("unshare"), "-m", "sh", "-e", "-c",
                    f"{script}\nexec {shlex.quote(ANNOT)} doctor --json", env=environment)
    if done.status not in (0, 1) or not done.out:
        raise Skip(f"no mounts of its own: {done.err_text.strip()}")
    return {found["name"]: found for found in json.loads(done.out)["findings"]}


@case
@needs_root
def a_small_shared_memory_is_told(home):
    found = in_mounts(home, "mount -t tmpfs -o size=1m none /dev/shm")["memory"]
    equal(found["state"], "missing", "the state with 1 MiB")
    equal(found["facts"]["size_bytes"], MIB, "the size")
    check(found["facts"]["free_bytes"] < found["facts"]["wanted_bytes"], found)
    check("ANNOT_DIR" in found["hint"] or "--shm-size" in found["hint"], found)
    found = in_mounts(home, "mount -t tmpfs -o size=32m none /dev/shm")["memory"]
    equal((found["state"], found.get("hint")), ("ok", None), "with 32 MiB")
    check("room for 2 busy programs" in found["text"], found)


@case
@needs_root
def a_full_shared_memory_is_told_and_another_tmpfs_lifts_it(home):
    full = ("mount -t tmpfs -o size=64k none /dev/shm\n"
            "dd if=/dev/zero of=/dev/shm/x bs=64k count=1 status=none\n")
    found = in_mounts(home, full)["memory"]
    equal(found["state"], "missing", "the state")
    check("No space left" in found["text"], found)
    other = home.work / "other"
    other.mkdir()
    found = in_mounts(home, f"{full}mount -t tmpfs none {other}", ANNOT_DIR=f"{other}/annot")
    equal(found["memory"]["state"], "ok", "on another tmpfs")
    equal(found["memory"]["facts"]["file_system"], "tmpfs", "its file system")


@case
@needs_root
def a_read_only_shared_memory_is_told_and_the_next_place_is_taken(home):
    read_only = "mount -t tmpfs -o ro none /dev/shm"
    found = in_mounts(home, read_only)["memory"]
    equal(found["state"], "missing", "the state")
    check("Read-only file system" in found["text"], found)
    runtime = home.work / "runtime"
    runtime.mkdir(mode=0o700)
    found = in_mounts(home, f"{read_only}\nmount -t tmpfs none {runtime}",
                      XDG_RUNTIME_DIR=str(runtime))["memory"]
    equal(found["state"], "note", "the state with XDG_RUNTIME_DIR")
    equal(found["facts"]["path"], f"{runtime}/annot", "the place")
    check("Read-only file system" in found["hint"], found)


@case
@needs_root
def a_directory_of_somebody_else_is_told(home):
    home.directory.mkdir(mode=0o700)
    os.chown(home.directory, NOBODY, NOBODY)
    done = home.annot("doctor", "--json").ok(1)
    found = {item["name"]: item for item in json.loads(done.out)["findings"]}["memory"]
    check("belongs to another user" in found["text"], found)
    check("ANNOT_DIR" in found["hint"], found)
    home.directory.rmdir()


@case
def a_directory_on_a_disk_is_told(home):
    disk = pathlib.Path("/var/tmp")
    found = home.annot("doctor", "--json", env={**home.environment, "ANNOT_DIR": f"{disk}/annot"})
    memory = {item["name"]: item for item in json.loads(found.out)["findings"]}["memory"]
    if memory["facts"]["file_system"] in ("tmpfs", "ramfs"):
        raise Skip("/var/tmp is in memory")
    equal(memory["state"], "note", "the state")
    check("not in memory" in memory["text"] and "ANNOT_DIR" in memory["hint"], memory)


@case
def a_relative_directory_is_where_the_program_is(home):
    environment = {**home.environment, "ANNOT_DIR": "here"}
    found = home.annot("doctor", "--json", env=environment)
    memory = {item["name"]: item for item in json.loads(found.out)["findings"]}["memory"]
    equal(memory["facts"]["path"], f"{home.work}/here", "the path")


@case
@needs_root
def switches_of_the_kernel_are_told(home):
    """Files in the place of those of /proc: this kernel may not have them."""
    kernel = home.work / "kernel"
    (kernel / "yama").mkdir(parents=True)
    for scope, paranoid, text in (("1", "4", "descendants only"), ("3", "-1", "by anybody")):
        (kernel / "yama" / "ptrace_scope").write_text(scope + "\n")
        (kernel / "perf_event_paranoid").write_text(paranoid + "\n")
        bind = f"mount --bind {kernel} /proc/sys/kernel"
        found = in_mounts(home, bind)
        equal(found["perf"]["facts"]["paranoid"], int(paranoid), "perf_event_paranoid")
        equal(found["ptrace"]["facts"]["yama_scope"], int(scope), "ptrace_scope")
        equal(found["ptrace"]["state"], "ok" if scope == "1" else "note", "root and Yama")
        drop = " ".join(shlex.quote(word) for word in [tool("setpriv"), "--bounding-set=-all",
                                                       "--inh-caps=-all"])
        done = home.run(tool("unshare"), "-m", "sh", "-e", "-c",
                        f"{bind}\nexec {drop} {shlex.quote(ANNOT)} doctor --json")
        found = {item["name"]: item for item in json.loads(done.out)["findings"]}
        equal([found[name]["state"] for name in ("ptrace", "perf")], ["note"] * 2, "no rights")
        check(text in found["ptrace"]["text"], found["ptrace"])
        equal(found["perf"].get("hint"), "sudo sysctl kernel.perf_event_paranoid=2"
              if paranoid == "4" else None, "the hint of perf")
        equal("hint" in found["ptrace"], scope == "1", "a hint, where one helps")


@case
@needs_root
def a_slow_clock_is_told_with_the_faster_one_that_is_there(home):
    folder = "/sys/devices/system/clocksource/clocksource0"
    if not os.path.isdir(folder):
        raise Skip("the kernel tells no clock sources")
    clock = home.work / "clock"
    clock.mkdir()
    (clock / "current_clocksource").write_text("hpet\n")
    for others, hint in (("tsc hpet acpi_pm \n", True), ("hpet tsc-early acpi_pm \n", False)):
        (clock / "available_clocksource").write_text(others)
        found = in_mounts(home, f"mount --bind {clock} {folder}")["clock"]
        equal((found["state"], found["facts"]["source"]), ("note", "hpet"), "the clock")
        equal("hint" in found, hint, f"a hint with {others!r}")


if __name__ == "__main__":
    main()
