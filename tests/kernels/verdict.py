# SPDX-License-Identifier: MIT
"""Compares the output of a machine with the expected output."""

import re

# The patterns that the output of each step must match, by rung.
EXPECTED = {
    "bpf": {
        "doctor": (r"yes +eBPF",),
        "info": (r"sampling +eBPF", r"native stacks +[\d,]+, (100\.00|9\d\.\d\d) %",
                 r"Python stacks +[\d,]+, (100\.00|9\d\.\d\d) %", r"lost +nothing"),
        "report": (r"(?m)^burn ", r"(?m)^sleep +\d+"),
    },
    "remote": {
        "doctor": (r"no +eBPF[^\n]*", r"too old: eBPF sampling needs 5\.17",
                   r"yes +memory reads"),
        "record": (r"too old",),
        "info": (r"sampling +remote reads",),
        "report": (r"(?m)^burn ",),
    },
}

# Cases that count samples within a time, and shares of them that slow starts and ends of threads
# distort: an emulated machine is too slow. COMPLETE of their stacks must be complete.
SLOW = {
    "deep_recursion_is_walked_to_its_root_frame_by_frame",
    "stacks_of_every_interpreter_are_whole_and_true",
    "threads_and_signal_handlers_are_walked_to_their_roots",
}
COMPLETE = 0.95


def sections(text):
    """Return {name: (status, output)} of the steps. A status of None means that it never ended."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1bc", "", text)
    found = {}
    for part in re.split(r"(?m)^STEP ", text)[1:]:
        name, _, output = part.partition("\n")
        end = re.search(rf"(?m)^END {re.escape(name)} (\d+)$", output)
        found[name] = (int(end[1]) if end else None, output[:end.start()] if end else output)
    return found


def failed_cases(output):
    """Return the failed cases of a test program, except those that only fail because of speed."""
    return sorted(set(re.findall(r"(?m)^FAIL (\w+)$", output)) - SLOW)


def faults_of_stacks(output):
    wrong = []
    for samples, complete in re.findall(r"(?m)^(\d+) samples, (\d+) complete", output):
        if int(complete) < COMPLETE * int(samples):
            wrong.append(f"{complete} of {samples} stacks complete")
    for percent in re.findall(r"([\d.]+) % complete", output):
        if float(percent) < COMPLETE * 100:
            wrong.append(f"{percent} % complete")
    return wrong


def faults_of_test(status, output, guarded):
    """guarded: on this kernel user memory is not always readable, so stacks are missing."""
    wrong = [f"{name} failed" for name in failed_cases(output)]
    if not guarded:
        wrong += faults_of_stacks(output)
    if re.search(r"[1-9]\d* with a wrong root", output):
        wrong.append("wrong roots")
    if re.search(r"no BPF here", output):
        wrong.append("no BPF")
    if status not in (0, 1) or not re.search(r"(?m)^\d+ passed, \d+ failed", output):
        wrong.append(f"exit status {status}")
    return wrong


def faults(name, found, rung):
    """Return the errors of one step."""
    status, output = found[name]
    if name == "over":
        return []
    if status is None:
        return ["never ended"]
    if name.startswith("bpf-"):
        guarded = "can freeze this Linux" in found.get("info", (0, ""))[1]
        return faults_of_test(status, output, guarded)
    wrong = [f"does not print /{pattern}/" for pattern in EXPECTED[rung].get(name, ())
             if not re.search(pattern, output)]
    return wrong + [f"exit status {status}"] * (status != 0 and name != "doctor")


def judge(text, rung):
    """Print a line for each step, and the output of failed ones. Return True if all passed."""
    found = sections(text)
    good = True
    for name, (_, output) in found.items():
        wrong = faults(name, found, rung)
        if wrong:
            print(f"  {name}: {'; '.join(wrong)}\n" + output.rstrip())
        elif name != "over":
            slow = sorted(SLOW.intersection(re.findall(r"(?m)^FAIL (\w+)$", output)))
            print(f"  {name}: good{', too slow for ' if slow else ''}{', '.join(slow)}")
        good &= not wrong
    if "over" not in found:
        print("  the machine did not reach its end:\n" + text[-3000:])
        good = False
    return good
