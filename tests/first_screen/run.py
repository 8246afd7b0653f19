#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the first screen name the cause? Programs with one known cause are recorded as users would,
and the first screen of `annot report` is compared with pyinstrument's and py-spy's.

    run.py ANNOT [--python PYTHON] [NAME...]          writes pairs/NAME.txt and README.md's table
    run.py ANNOT --check [--python PYTHON] [NAME...]  annot alone: fails unless the cause is named

Each program begins with its cause: the function, the kind, and words that annot's screen must have.
Its lines end with the comment CAUSE. All screens are judged by the rule in README.md.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

import screens

HERE = pathlib.Path(__file__).resolve().parent
SKIP = 77
MARKER = "# CAUSE"
TABLE = "<!-- table -->"
ASPECTS = ("function", "line", "kind")
CPU_PART = 0.5
# Words that name a kind, for every tool.
KINDS = {
    "sleep": r"asleep|\bsleep",
    "lock": r"\block\b|acquire",
    "gil": r"\bGIL\b",
    "pipe": r"\bpipe\b",
    "child": r"child process|waitpid",
    "disk": r"\bdisk\b|fsync",
    "socket": r"\bsocket|\brecv\b",
    "imports": r"\b[Ii]mport",
    "gc": r"garbage|\bGC\b",
    "overhead": r"overhead|per task|of each task|hands over tasks",
    "imbalance": r"straggle|longest task|last worker|uneven|one task",
    "serial": r"serial|one process|alone",
    "loop": r"event loop (was|is) blocked|blocks? the event loop",
}
WAITS = ("sleep", "lock", "gil", "pipe", "child", "disk", "socket", "loop")


class Program:
    """A program and its cause, from its first lines."""

    def __init__(self, path):
        self.name, self.file = path.stem, path.name
        head = dict(re.findall(r"^# (\w+): (.*)$", path.read_text(), re.M))
        self.function, self.kind = head["function"], head["kind"]
        self.words = [word.strip() for word in head["words"].split(",")]
        self.needs = head.get("needs")
        self.waits = self.kind in WAITS
        sources = [path, *(path.parent / "modules").glob(f"{self.name}*.py")]
        self.lines = [f"{source.name}:{number}" for source in sources
                      for number, line in enumerate(source.read_text().splitlines(), 1)
                      if line.endswith(MARKER)]
        if self.kind not in ("cpu", *KINDS) or not self.lines:
            sys.exit(f"{path.name}: its kind is unknown, or no line ends with {MARKER}")


def programs(names):
    found = [Program(path) for path in sorted((HERE / "programs").glob("*.py"))]
    unknown = set(names) - {program.name for program in found}
    if unknown:
        sys.exit(f"no such program: {', '.join(sorted(unknown))}")
    return [program for program in found if not names or program.name in names]


# ---- The rule -----------------------------------------------------------------------------------


def says_cpu(screen):
    """True if the screen shows that most of the time was spent running."""
    running = re.search(r"([\d.]+) % running", screen)
    if running:
        return float(running.group(1)) >= 100 * CPU_PART
    times = [re.search(rf"{name}: *([\d.]+)", screen) for name in ("CPU time", "Duration")]
    if all(times):
        return float(times[0].group(1)) >= CPU_PART * float(times[1].group(1))
    return re.search(r"samples of threads that run$", screen, re.M) is not None


def judge(program, screen):
    """Return the aspects of the cause that a screen names."""
    names = re.escape(program.function)
    bare = re.sub(rf"\b{program.name}(_\w+)?\b", "", screen)  # file names do not count
    lines = "|".join(re.escape(line) for line in program.lines)
    kind = says_cpu(screen) if program.kind == "cpu" else \
        re.search(KINDS[program.kind], bare) is not None
    return {"function": re.search(rf"\b{names}\b", screen) is not None,
            "line": re.search(rf"\b(?:{lines})\b", screen) is not None, "kind": kind}


# ---- annot alone --------------------------------------------------------------------------------


def missing(program, screen):
    named = judge(program, screen)
    return [aspect for aspect in ASPECTS if not named[aspect]] + \
        [f'"{word}"' for word in program.words if word not in screen]


def samples_with_waits(place, program):
    facts = json.loads(screens.report(place, screens.record(place, program), "--json"))
    return facts["sampling"]["way"] == "eBPF"


def check(place, chosen):
    """Check two recordings of each program, since a busy machine may spoil one."""
    if not samples_with_waits(place, chosen[0]):
        print("skipped: waits are recorded with eBPF only, which does not work here")
        return SKIP
    failed = 0
    for program in chosen:
        for _ in range(2):
            screen = screens.annot_screen(place, program)
            missed = missing(program, screen)
            if not missed:
                break
        print(f"{program.name:20} {'named' if not missed else 'not named: ' + ', '.join(missed)}")
        if missed:
            failed += 1
            print(screen)
    return 1 if failed else 0


# ---- Compared with others -----------------------------------------------------------------------


def compare(place, program):
    """Write a pair. Return {tool: aspects it names}."""
    named, text = {}, []
    for tool, screen_of in screens.TOOLS.items():
        screen = screen_of(place, program)
        named[tool] = judge(program, screen)
        said = ", ".join(aspect for aspect in ASPECTS if named[tool][aspect]) or "nothing"
        text += [f"==== {tool}: names {said}", "", screen]
    cause = f"{program.name}: {program.function}, {program.kind}, {', '.join(program.lines)}\n\n"
    (HERE / "pairs" / f"{program.name}.txt").write_text(cause + "\n".join(text))
    print(program.name, *(f"{tool}: {sum(named[tool].values())}" for tool in named),
          *(f"annot lacks {aspect}" for aspect in ASPECTS if not named["annot"][aspect]))
    return named


def verdict(named):
    """Compare annot with the aspects that any other tool names."""
    others = {aspect: any(named[tool][aspect] for tool in named if tool != "annot")
              for aspect in ASPECTS}
    if any(others[aspect] and not named["annot"][aspect] for aspect in ASPECTS):
        return "behind"
    return "tie" if others == named["annot"] else "ahead"


def table(results):
    rows = ["| program | cause | annot | pyinstrument | py-spy | annot is |",
            "|---|---|---|---|---|---|"]
    for program, named in results:
        cells = [" ".join(aspect for aspect in ASPECTS if named[tool][aspect]) or "–"
                 for tool in screens.TOOLS]
        rows.append(f"| {program.name} | `{program.function}`, {program.kind} | "
                    f"{' | '.join(cells)} | {verdict(named)} |")
    sums = [f"{sum(all(named[tool].values()) for _, named in results)} of {len(results)} whole"
            for tool in screens.TOOLS]
    rows.append(f"| **all** | | {' | '.join(sums)} | |")
    return "\n".join(rows) + "\n"


def write_pairs(place, chosen, whole):
    (HERE / "pairs").mkdir(exist_ok=True)
    text = table([(program, compare(place, program)) for program in chosen])
    if not whole:
        print(text)
        return 0
    readme = HERE / "README.md"
    head, _, rest = readme.read_text().partition(TABLE)
    _, _, tail = rest.partition(TABLE)
    readme.write_text(f"{head}{TABLE}\n{text}{TABLE}{tail}")
    return 0


def has_needed(place, program):
    if program.needs in (None, "pyannot"):
        return True
    return place.run([place.python, "-c", f"import {program.needs}"], program).returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("annot")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--python", default=os.environ.get("ANNOT_TEST_PYTHON") or sys.executable)
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory(prefix="annot-first-") as folder:
        place = screens.Place(args.annot, args.python, pathlib.Path(folder) / "programs")
        shutil.copytree(HERE / "programs", place.folder)
        chosen = [program for program in programs(args.names) if has_needed(place, program)]
        if args.check:
            return check(place, chosen)
        return write_pairs(place, chosen, not args.names)


if __name__ == "__main__":
    sys.exit(main())
