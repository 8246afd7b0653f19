# SPDX-License-Identifier: MIT
"""Recordings cut short by a killed collector while the program runs on, and its account."""

import json
import os
import pathlib
import signal
import time

from harness import ANNOT, check, equal, program

PATIENCE_S = 60


def until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        check(time.monotonic() < deadline, f"{what} did not happen")
        time.sleep(0.02)


class Run:
    """A recording of a program that accounts for its events until it is asked to end."""

    def __init__(self, home, name):
        self.path, self.account = home.work / f"{name}.annot", home.work / f"{name}.account"
        with self.account.open("w") as out:
            self.annot = home.start(ANNOT, "record", "--sampling=none", "-o", self.path, "--",
                                    program("emit_ticks"), "120000", stdout=out, stderr=out)
        until(lambda: self.path.exists() and os.path.getsize(self.account) > 0, "the first tick")
        children = pathlib.Path(f"/proc/{self.annot.pid}/task/{self.annot.pid}/children")
        self.program, = map(int, children.read_text().split())

    def lines(self):
        text = self.account.read_text().splitlines()
        return [json.loads(line) for line in text if line.startswith("{") and line.endswith("}")]

    def end(self):
        os.kill(self.program, signal.SIGINT)
        until(lambda: any("closed" in line for line in self.lines()), "the program's end")

    def kill(self):
        """The collector dies; the program goes on."""
        os.kill(self.annot.pid, signal.SIGKILL)
        self.annot.wait()

    def check_whole(self, home, path=None):
        """Every range of the account is in the recording once."""
        dump = home.dump(path or self.path)
        equal(dump.damage, [], "damage")
        equal(dump.lost(), 0, "losses")
        found = sorted(event["name"] for event in dump.kind("push"))
        told = sorted(line["name"] for line in self.lines() if line.get("enabled", 1))
        equal(found, told, f"the ranges of {path or self.path}")
        return dump


    def check_part(self, home):
        """The first ticks are there, each once, without counted losses."""
        dump = home.dump(self.path)
        equal(dump.damage, [], "damage")
        equal(dump.lost(), 0, "counted losses")
        found = [event["name"] for event in dump.kind("push")]
        equal(found, ["outer", *(f"tick {i}" for i in range(len(found) - 1))], "the ranges")
        return dump


def cut_short(home, *names):
    runs = [Run(home, name) for name in names]
    for run in runs:
        run.kill()
    for run in runs:
        run.end()
    home.left = {"wake"}  # its maker is dead
    return runs


def recovered(home, *arguments, status=0, **options):
    """The output of --json by recording."""
    done = home.annot("recover", "--json", *arguments, **options).ok(status)
    rows = [json.loads(line) for line in done.out.decode().splitlines()]
    return {row["recording"]: row for row in rows}
