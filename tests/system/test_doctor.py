#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annot doctor as root, as a user without rights, with two capabilities, in a sandbox: each prints
its way of sampling, and the printed remedy works."""

import json
import os
import pathlib
import shlex
import shutil
import subprocess

from doctor import as_nobody, doctor, needs_ebpf, open_home, tool
from harness import ANNOT, Skip, case, check, equal, main, needs_root, program

CALLS = "bpf,perf_event_open"


def ebpf_works(home):
    return doctor(home)[0]["sampling"] == "bpf"


@case
@needs_root
def root_samples_by_ebpf(home):
    told, findings = doctor(home)
    if told["sampling"] != "bpf":
        raise Skip(f"not here: {findings['eBPF']}")
    equal(findings["eBPF"]["state"], "ok", "eBPF")
    equal(findings["memory reads"]["state"], "ok", "memory reads")


@case
@needs_root
def the_hint_for_a_user_without_rights_lifts_it(home):
    if not ebpf_works(home):
        raise Skip("eBPF does not work for root either")
    tool("setcap")
    annot = open_home(home)
    told, findings = doctor(home, *as_nobody(), annot=annot)
    equal(told["sampling"], "remote", "the way of sampling")
    equal(findings["eBPF"]["text"], "the capabilities CAP_BPF and CAP_PERFMON are missing", "why")
    equal(findings["eBPF"]["hint"], f"sudo setcap cap_bpf,cap_perfmon=ep {annot}", "the hint")
    words = shlex.split(findings["eBPF"]["hint"])
    subprocess.run([tool("setcap"), *words[2:]], check=True)
    told, findings = doctor(home, *as_nobody(), annot=annot)
    equal(told["sampling"], "bpf", "the way of sampling with two capabilities")
    equal(findings["eBPF"]["state"], "ok", "eBPF with two capabilities")
    equal(findings["memory reads"]["state"], "ok", "memory reads with two capabilities")


@case
@needs_root
@needs_ebpf
def one_capability_is_not_enough(home):
    annot = open_home(home)
    for have, lack in (("bpf", "PERFMON"), ("perfmon", "BPF")):
        subprocess.run([tool("setcap"), f"cap_{have}=ep", annot], check=True)
        _, findings = doctor(home, *as_nobody(), annot=annot)
        equal(findings["eBPF"]["text"], f"the capability CAP_{lack} is missing", "why")


@case
@needs_root
@needs_ebpf
def an_odd_path_is_quoted(home):
    annot = open_home(home)
    folder = home.work / "it's a \"folder\""
    folder.mkdir()
    odd = folder / "annot"
    shutil.move(annot, odd)
    odd.chmod(0o755)
    folder.chmod(0o755)
    _, findings = doctor(home, *as_nobody(), annot=odd)
    equal(shlex.split(findings["eBPF"]["hint"])[-1], str(odd), "the path in the hint")


@case
@needs_root
@needs_ebpf
def where_privileges_cannot_be_gained_setcap_is_not_told(home):
    annot = open_home(home)
    _, findings = doctor(home, *as_nobody("--no-new-privs"), annot=annot)
    check("no_new_privs" in findings["eBPF"]["text"], findings["eBPF"])
    check("setcap" not in findings["eBPF"]["hint"], findings["eBPF"])
    done = home.run(*as_nobody(tool("unshare"), "-Ur", "true"))
    if done.status == 0:
        _, findings = doctor(home, *as_nobody(tool("unshare"), "-Ur"), annot=annot)
        check("user namespace" in findings["eBPF"]["text"], findings["eBPF"])
        check("setcap" not in findings["eBPF"]["hint"], findings["eBPF"])


def check_denied(home, before, annot):
    for error in ("EPERM", "ENOSYS"):
        for calls, told_as in ((CALLS, "calls bpf and perf_event_open"), ("bpf", "call bpf"),
                               ("perf_event_open", "call perf_event_open")):
            told, findings = doctor(home, *before, program("deny_calls"), error, calls, annot=annot)
            equal(told["sampling"], "remote", "the way of sampling")
            equal(findings["eBPF"]["text"], f"a seccomp filter denies the system {told_as}", "why")
            check("seccomp" in findings["eBPF"]["hint"], findings["eBPF"])
        told, findings = doctor(home, *before, program("deny_calls"), error,
                                CALLS + ",process_vm_readv", annot=annot)
        equal(told["sampling"], "none", "the way of sampling")
        equal(findings["memory reads"]["text"],
              "a seccomp filter denies the system call process_vm_readv", "why")
        check("seccomp" in findings["memory reads"]["hint"], findings["memory reads"])
        equal(findings["annotations"]["state"], "ok", "annotations")


@case
@needs_ebpf
def a_seccomp_filter_is_told(home):
    check_denied(home, [], ANNOT)


@case
@needs_root
@needs_ebpf
def a_seccomp_filter_is_told_to_a_user_without_rights(home):
    annot = open_home(home)
    launcher = home.work / "deny_calls"
    shutil.copy(program("deny_calls"), launcher)
    launcher.chmod(0o755)
    told, findings = doctor(home, *as_nobody(launcher, "EPERM", CALLS), annot=annot)
    equal(told["sampling"], "remote", "the way of sampling")
    check("seccomp filter" in findings["eBPF"]["text"], findings["eBPF"])


@case
def a_directory_that_programs_refuse_is_told(home):
    home.directory.mkdir(mode=0o755)
    home.directory.chmod(0o755)
    done = home.annot("doctor")
    done.ok(1)
    check(f"{home.directory} may be entered by others" in done.out.decode(), done.out)
    check(f"hint: chmod 700 {home.directory}" in done.out.decode(), done.out)
    home.directory.chmod(0o700)
    check("may be entered" not in home.annot("doctor").out.decode(), "a sound directory")
    home.directory.rmdir()
    environment = dict(home.environment, ANNOT_DIR="/proc/nothing/annot")
    done = home.annot("doctor", env=environment).ok(1)
    check("cannot be made" in done.out.decode() and "ANNOT_DIR" in done.out.decode(), done.out)


def pythons(home, *folders, **environment):
    path = os.pathsep.join([str(folder) for folder in folders])
    done = home.annot("doctor", "--json",
                      env=dict(home.environment, PATH=path, HOME="/", **environment))
    return [finding for finding in json.loads(done.out)["findings"]
            if finding["group"] == "python"]


def links(home, name):
    """A folder with one link to this interpreter."""
    folder = home.work / name
    folder.mkdir()
    (folder / "python3").symlink_to(pathlib.Path(os.path.realpath(shutil.which("python3"))))
    return folder


@case
def interpreters_are_found_once_each(home):
    environment = {"PYENV_ROOT": str(home.work / "pyenv")}
    first, second = links(home, "one"), links(home, "two")
    (first / "python3.99").symlink_to("python3")
    (first / "python3-config").write_text("#!/bin/sh\nexit 0\n")
    (second / "python3.1").write_text("#!/bin/sh\necho nothing\n")
    (second / "python3.1").chmod(0o755)
    found = pythons(home, first, first, second, "/nonexistent", **environment)
    equal([finding["text"].split(":")[0] for finding in found],
          [f"{first}/python3", f"{second}/python3"], "the interpreters")
    for finding, folder in zip(found, (first, second)):
        check("stacks" in finding["text"], finding)
        facts = finding["facts"]
        equal((facts["path"], facts["version"], facts["implementation"], facts["stacks"]),
              (f"{folder}/python3", finding["name"], "cpython", 1), "the facts")
        check(facts["pyannot"] in finding["text"], finding)
    versions = home.work / "pyenv" / "versions" / "9.9"
    versions.mkdir(parents=True)
    links(home, "pyenv/versions/9.9/bin")
    found = pythons(home, "/nonexistent", **environment)
    equal([finding["text"].split(":")[0] for finding in found], [f"{versions}/bin/python3"],
          "the interpreters of pyenv")


@case
def pyannot_is_looked_for(home):
    folder = links(home, "bin")
    environment = {"PYENV_ROOT": "/nonexistent", "PYTHONPATH": str(home.work / "lib")}
    found, = pythons(home, folder, **environment)
    check("without pyannot" in found["text"] or "pyannot 0" in found["text"], found)
    package = home.work / "lib" / "pyannot"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = '0.1.test'\n")
    found, = pythons(home, folder, **environment)
    check("pyannot 0.1.test" in found["text"] and found["state"] == "ok", found)
    (package / "__init__.py").write_text("from pyannot._native import push\n")
    found, = pythons(home, folder, **environment)
    check("built for another Python" in found["text"] and found["state"] == "ok", found)
    (package / "__init__.py").write_text("from . import gone\n")
    found, = pythons(home, folder, **environment)
    check("pyannot cannot be imported" in found["text"] and found["state"] == "missing", found)


if __name__ == "__main__":
    main()
