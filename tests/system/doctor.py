# SPDX-License-Identifier: MIT
"""annot doctor as tests call it: results by name, and its text compared with its JSON."""

import json
import os
import shutil

from harness import ANNOT, Skip, check, equal

NOBODY = 65534
# In this order, with the same members, on every machine: programs may rely on them.
NAMES = ["kernel", "clock", "user", "sandbox", "memory", "file size", "open files", "locked",
         "perf", "ptrace", "eBPF", "memory reads", "annotations", "NVTX", "driver", "CUPTI",
         "NVML", "counters"]


def needs_ebpf(function):
    """Skips the case if annot was built without eBPF: then all causes are the same."""
    def wrapped(home):
        if b"built without eBPF" in home.annot("doctor").out:
            raise Skip("built without eBPF")
        return function(home)
    wrapped.__name__ = function.__name__
    return wrapped


def tool(name):
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if not path:
        raise Skip(f"no {name} on this machine")
    return path


def as_nobody(*words):
    return [tool("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *words]


def open_home(home):
    """A place where a user without rights can run annot: a copy of it, and a directory of the
    user's."""
    copy = home.for_all(ANNOT)
    home.shm.chmod(0o755)
    os.chown(home.shm, NOBODY, NOBODY)
    return copy


def doctor(home, *before, annot=ANNOT, **options):
    """Results by name; checks the exit status and that the text agrees."""
    done = home.run(*before, annot, "doctor", "--json", **options)
    equal(done.err, b"", "messages of annot doctor --json")
    told = json.loads(done.out)
    equal(sorted(told), ["complete", "findings", "sampling", "version"], "the members")
    findings = {}
    for finding in told["findings"]:
        if finding["group"] != "python":
            findings[finding["name"]] = finding
    equal(list(findings), NAMES, "the findings, wherever it runs")
    for finding in told["findings"]:
        equal(set(finding) - {"hint"}, {"group", "name", "state", "text", "facts"}, "members")
    missing = [finding for finding in told["findings"] if finding["state"] == "missing"]
    equal(told["complete"], not missing, "complete")
    equal(done.status, 1 if missing else 0, "the exit status")
    text = home.run(*before, annot, "doctor", **options)
    equal(text.status, done.status, "the exit status with text")
    for finding in told["findings"]:
        if finding["name"] != "memory":  # free space changes
            check(finding["text"] in text.out.decode(), f"{finding} is not in {text.out.decode()}")
        check(finding.get("hint", "") in text.out.decode(), f"{finding} is not in the text")
    check(not home.directory.exists(), "the directory in shared memory was made")
    print(f"    {told['sampling']}: {findings['eBPF']['text']}; "
          f"{findings['eBPF'].get('hint', 'no hint')}")
    return told, findings
