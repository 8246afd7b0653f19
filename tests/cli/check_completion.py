#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Completions of `annot` in the real shells; bash and zsh run at a terminal.

    check_completion.py SHELL BUILD_TOOLS SOURCE_COMPLETION

Checks every command, option and choice of `annot help --json`; then files, processes, sessions and
other programs' command lines; then the same for an invented command with hostile help, so that the
test does not depend on the present tables.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from terminal_shells import SHELLS

OUTPUTS = {"bash": "annot", "zsh": "_annot", "fish": "annot.fish"}
BASH_COMPLETION = pathlib.Path("/usr/share/bash-completion/bash_completion")
HOSTILE = "it's [a] \"thing\": $(touch owned) `touch owned` \\ {x} 100% (y)"
PROBE = {
    "name": "probe", "summary": HOSTILE, "usage": "[OPTIONS] -p PID[,PID...] [SESSION|RECORDING]",
    "command_follows": False,
    "options": [
        {"name": "pid", "letter": "p", "kind": "text", "value": "PID[,PID...]", "help": HOSTILE},
        {"name": "folder", "kind": "text", "value": "DIR[:DIR...]", "help": HOSTILE},
        {"name": "some", "letter": "s", "kind": "flag", "help": HOSTILE},
        {"name": "word", "kind": "choice", "choices": ["a.b", "c-d"], "help": HOSTILE},
        {"name": "number", "kind": "count", "value": "N", "help": HOSTILE},
    ],
}


class Checks:
    """Queries one shell; collects mismatches."""

    def __init__(self, shell):
        self.shell, self.count, self.problems = shell, 0, []

    def ask(self, line):
        return self.shell.complete(line)

    def same(self, line, wanted):
        self.count += 1
        found = self.ask(line)
        if sorted(set(found)) != sorted(set(wanted)):
            self.problems.append(f"{line!r}: {sorted(set(found))}, not {sorted(set(wanted))}")

    def has(self, line, wanted, not_wanted=()):
        self.count += 1
        found = set(self.ask(line))
        lacking, odd = set(wanted) - found, set(not_wanted) & found
        if lacking or odd:
            self.problems.append(f"{line!r}: lacks {lacking}, has {odd}; all: {sorted(found)[:40]}")


def make_place(folder):
    """A folder with recordings, other files, a session and a program."""
    work = folder / "work"
    (work / "inner").mkdir(parents=True)
    for name in ("run.annot", "with space.annot", "notes.txt"):
        (work / name).touch()
    (folder / "bin").mkdir()
    tool = folder / "bin" / "annot-probe-tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    shared = folder / "runtime" / "annot"
    shared.mkdir(mode=0o700, parents=True)
    (shared / "session-00c0ffee00c0ffee").touch()
    (shared / "wake").touch()
    return work


def check_table(checks, table):
    """The candidates are exactly the entries of the table."""
    names = [command["name"] for command in table["commands"]]
    checks.same("annot ", names + checks.shell.always)
    for command in table["commands"]:
        name = command["name"]
        long = [f"--{option['name']}" for option in command["options"]]
        checks.same(f"annot {name} --", long)
        short = [f"-{option['letter']}" for option in command["options"] if "letter" in option]
        checks.has(f"annot {name} -", short)
        for option in [one for one in command["options"] if one["kind"] == "choice"]:
            checks.same(f"annot {name} --{option['name']} ", option["choices"])
            if "letter" in option:
                checks.same(f"annot {name} -{option['letter']} ", option["choices"])


def check_places(checks):
    checks.has("annot ex", ["export"], ["record", "doctor"])
    checks.has("annot help exp", ["export"], ["record"])
    checks.same("annot export --format=per", [checks.shell.after_equals("--format=", "perfetto")])
    checks.same("annot report --sort cpus", ["cpuself"])
    recordings = ["run.annot", checks.shell.file("with space.annot")]
    checks.has("annot report ", [*recordings, "inner" + checks.shell.slash], ["notes.txt"])
    checks.has("annot report --limit 5 --by name r", ["run.annot"], ["notes.txt"])
    checks.has("annot export -o n", ["notes.txt"])
    checks.has("annot recover ", ["inner" + checks.shell.slash], ["run.annot", "notes.txt"])
    checks.has("annot report --limit ", [], ["run.annot", "notes.txt"])


def check_command_line(checks):
    checks.has("annot record annot-probe-", ["annot-probe-tool"], ["report"])
    checks.has("annot record -- annot-probe-", ["annot-probe-tool"])
    checks.has("annot record -o x.annot --sampling=none -- annot-probe-t", ["annot-probe-tool"])
    checks.has("annot record --delay=1s -- annot-probe-t", ["annot-probe-tool"])
    checks.has("annot record -- annot-probe-tool not", ["notes.txt"])
    checks.has("annot record annot-probe-tool --no", [], ["--no-preload"])
    checks.has("annot record --no", ["--no-preload"])


def check_processes(checks, pid):
    text = str(pid)
    checks.has("annot attach -p ", [text], ["2"])  # a kernel thread
    checks.has(f"annot attach --pid {text[:-1]}", [text])
    checks.has("annot attach -p 1,", [checks.shell.in_list("1,", text)])


def check_probe(checks, folder):
    check_command_line(checks)
    checks.has("annot pr", ["probe"])
    checks.same("annot probe --", [f"--{option['name']}" for option in PROBE["options"]])
    checks.same("annot probe --word ", ["a.b", "c-d"])
    checks.has("annot probe --folder ", ["inner" + checks.shell.slash], ["run.annot"])
    checks.has("annot probe ", ["00c0ffee00c0ffee", "run.annot"], ["notes.txt"])
    checks.has("annot probe 00c0", ["00c0ffee00c0ffee"])
    checks.has("annot probe --number ", [], ["notes.txt"])
    if (folder / "work" / "owned").exists():
        checks.problems.append("text of a table was executed")


def run_shell(kind, folder, script, ask):
    shell = SHELLS[kind](folder, *script)
    checks = Checks(shell)
    try:
        ask(checks)
    finally:
        shell.close()
    return checks


def main():
    kind, built, source = sys.argv[1], *(pathlib.Path(path).resolve() for path in sys.argv[2:])
    if not shutil.which(kind):
        print(f"no {kind} here")
        return 77
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annot-test-", dir="/dev/shm"))
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        make_place(folder)
        table = json.loads((built / "options.json").read_text())

        def ask(checks):
            check_table(checks, table)
            check_places(checks)
            check_command_line(checks)
            check_processes(checks, sleeper.pid)

        done = [run_shell(kind, folder, [built / "completion" / OUTPUTS[kind]], ask)]
        table["commands"].append(PROBE)
        (folder / "table.json").write_text(json.dumps(table))
        script = folder / OUTPUTS[kind]
        subprocess.run([sys.executable, source / "generate.py", folder / "table.json", kind,
                        source / f"annot.{kind}.in", script], check=True)
        # The package adds functions that completions use if they are defined.
        more = [BASH_COMPLETION] if kind == "bash" and BASH_COMPLETION.exists() else []
        done.append(run_shell(kind, folder, [script, *more],
                              lambda checks: check_probe(checks, folder)))
    finally:
        sleeper.kill()
        sleeper.wait()
        shutil.rmtree(folder, ignore_errors=True)
    problems = [problem for checks in done for problem in checks.problems]
    print("\n".join(problems))
    print(f"{sum(checks.count for checks in done) - len(problems)} passed, "
          f"{len(problems)} failed, 0 skipped")
    return 1 if problems else 0


if __name__ == "__main__":
    os.environ.pop("COLUMNS", None)
    sys.exit(main())
