# SPDX-License-Identifier: MIT
"""The compared outputs of a recording, and the command that makes each.

A recording is run.annot in an empty folder; commands run there, so that no output contains a path
of this machine. Selections (a range, a process, times) are chosen from the recording's text, always
in the same way.
"""

import collections
import re
import subprocess
from pathlib import Path
from typing import Callable, NamedTuple

import canonical

HERE = Path(__file__).resolve().parent
FILE = "run.annot"
SECONDS = 120
FIELD = re.compile(r" (\w+)=([-+]?\d+)")


class Output(NamedTuple):
    name: str
    arguments: list
    form: Callable


class Build(NamedTuple):
    """Paths of a build; `python` is None if pyannot was not built."""

    folder: str
    annot: str
    load: str
    dump: str
    python: str
    pyannot: str


def build_of(folder, python):
    folder = Path(folder).resolve()
    module = folder / "pyannot"
    has = any(module.glob("pyannot/_reader*.so")) or any(module.glob("**/_reader*.so"))
    return Build(str(folder), str(folder / "tools/annot"), str(folder / "tests/oracle/oracle_load"),
                 str(folder / "tests/oracle/oracle_dump"), python if has else None, str(module))


class Parts:
    """Selections of a recording: the most frequent item of each kind, and the middle of its
    time."""

    def __init__(self, text):
        self.strings, self.pids, self.tids, self.sets = {}, [], [], []
        self.begin = 0
        pushed, threads, self.times = collections.Counter(), collections.Counter(), []
        for line in text.split("\n"):
            self.take(line, pushed, threads)
        self.ranges = [self.strings[name] for name, _ in sorted(
            pushed.items(), key=lambda pair: (-pair[1], pair[0]))[:2]]
        self.pid = self.pids[len(self.pids) // 2] if self.pids else 0
        busiest = max(threads, key=lambda thread: (threads[thread], -thread), default=0)
        self.tid = self.tids[busiest] if self.tids else 0
        self.times.sort()

    def take(self, line, pushed, threads):
        word = line.split(" ", 1)[0]
        if word == "string":
            _, number, text = line.split(" ", 2)
            self.strings[int(number)] = text
            return
        values = {key: int(value) for key, value in FIELD.findall(line)}
        if word == "process":
            self.pids.append(values.get("pid", 0))
        elif word == "thread":
            self.tids.append(values.get("tid", 0))
        elif word == "set":
            self.sets.append(self.strings[values["name"]])
        elif word == "batch":
            self.thread = values["thread"] if "thread" in values else 0
        elif "time" in values:
            threads[values.get("thread", 0) if word == "sample" else self.thread] += 1
            self.times.append(values["time"])
            if word in ("push", "track_begin", "start") and "name" in values:
                pushed[values["name"]] += 1

    def time(self, part, of, behind=0):
        """The time of the event at the fraction `part` / `of`, plus `behind` nanoseconds."""
        inside = [time for time in self.times if time >= 0]
        if not inside:
            return "1ms"
        return f"{(inside[(len(inside) - 1) * part // of] + behind) / 1e9:.9f}s"

    def selections(self):
        """Returns (name, arguments) of each selection."""
        third, two_thirds, half = self.time(1, 3, 1), self.time(2, 3, 1), self.time(1, 2)
        two_thirds = "100s" if two_thirds == third else two_thirds
        found = [("process", ["--process", str(self.pid)]), ("thread", ["--thread", str(self.tid)]),
                 ("times", ["--from", third, "--to", two_thirds]), ("from", ["--from", half]),
                 ("to", ["--to", half])]
        for index, name in enumerate(self.ranges):
            found.append((f"range{index + 1}", ["--range", re.sub(r"[*?[\\]", "?", name)]))
        if self.ranges:
            found.append(("part", ["--range", re.sub(r"[*?[\\]", "?", self.ranges[0]), "--process",
                                   str(self.pid), "--from", third]))
        return found


def outputs_of(parts):
    """Every output of a recording; each is a row here or in one of the loops."""
    rows = [
        ("report", ["report"], canonical.plain),
        ("report all", ["report", "--all"], canonical.plain),
        ("report wide", ["report", "--wide"], canonical.plain),
        ("report json", ["report", "--json"], canonical.flat_json),
        ("report csv", ["report", "--csv"], canonical.plain),
        ("report no functions", ["report", "--function-rows", "0", "--limit", "3"],
         canonical.plain),
        ("info", ["info"], canonical.info),
        ("info all", ["info", "--limit", "0"], canonical.info),
        ("info json", ["info", "--json"], canonical.info_json),
        ("cat", ["cat"], canonical.plain),
        ("cat complete", ["cat", "--complete"], canonical.plain),
        ("cat samples", ["cat", "--samples"], canonical.plain),
        ("cat samples python", ["cat", "--samples", "--python-only"], canonical.plain),
        ("cat json", ["cat", "--json", "--samples"], canonical.plain),
        ("cat json complete", ["cat", "--json", "--complete", "--samples"], canonical.plain),
        ("folded", folded(), canonical.folded),
        ("folded python", folded("--python-only"), canonical.folded),
        ("folded by process", folded("--by", "process"), canonical.folded),
        ("folded by thread", folded("--by", "thread", "--strip-prefix", "base"), canonical.folded),
        ("flame", flame(), canonical.svg),
        ("flame python inverted", flame("--python-only", "--inverted"), canonical.svg),
        ("flame native", flame("--native"), canonical.svg),
        ("flame off-cpu", flame("--off-cpu"), canonical.svg),
        ("flame off-cpu by range", flame("--off-cpu", "--by", "range"), canonical.svg),
    ]
    for by in ("name", "process", "thread"):
        rows.append((f"report by {by}", ["report", "--by", by, "--wide"], canonical.plain))
    for by in ("process", "thread", "range"):
        rows.append((f"flame by {by}", flame("--by", by), canonical.svg))
    for form in ("perfetto", "chrome"):
        read = getattr(canonical, form)
        rows += [(form, export(form), read),
                 (f"{form} no chart", export(form, "--no-flame-chart"), read),
                 (f"{form} python", export(form, "--python-only"), read),
                 (f"{form} native", export(form, "--native"), read)]
    rows.append(("perfetto scheduler", export("perfetto", "--no-flame-chart", "--scheduler"),
                 canonical.perfetto))
    for name, part in parts.selections():
        rows += [
            (f"report {name}", ["report", "--wide", *part], canonical.plain),
            (f"report json {name}", ["report", "--json", *part], canonical.flat_json),
            (f"cat {name}", ["cat", "--complete", "--samples", *part], canonical.plain),
            (f"cat events {name}", ["cat", *part], canonical.plain),
            (f"folded {name}", folded(*part), canonical.folded),
            (f"flame {name}", flame("--by", "range", *part), canonical.svg),
            (f"perfetto {name}", export("perfetto", *part), canonical.perfetto),
            (f"chrome {name}", export("chrome", *part), canonical.chrome),
        ]
    for name in parts.sets:
        part = ["--value", name]
        rows += [(f"report value {name}", ["report", *part], canonical.plain),
                 (f"folded value {name}", folded(*part), canonical.folded),
                 (f"flame value {name}", flame(*part), canonical.svg)]
    if parts.ranges:
        name = re.sub(r"[*?[\\]", "?", parts.ranges[0])
        rows.append(("cat name", ["cat", "--name", name], canonical.plain))
    return [Output(*row) for row in rows]


def export(form, *arguments):
    return ["export", "--format", form, "--output", "-", *arguments]


def folded(*arguments):
    return export("folded", *arguments)


def flame(*arguments):
    return ["flame", "--format", "svg", "--output", "-", *arguments]


def run(command, folder, environment):
    try:
        done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return [f"no end within {SECONDS} s"], b"", None
    errors = [f"stderr: {line}" for line in done.stderr.decode(errors="replace").splitlines()]
    return errors + [f"exit {done.returncode}"], done.stdout, done.returncode


def variables(build, folder):
    """An environment independent of the machine: no terminal, time zone or other recordings."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": str(folder),
            "ANNOT_DIR": str(folder / "none"), "ANNOT": "off", "PYTHONPATH": build.pyannot,
            "PYTHONDONTWRITEBYTECODE": "1"}


def make(build, folder, output):
    """The lines of one output. `folder` contains the recording."""
    command = [build.annot, *output.arguments, FILE]
    ending, data, _ = run(command, folder, variables(build, folder))
    try:
        return output.form(data) + ending
    except (ValueError, KeyError, IndexError, TypeError) as error:
        return [f"!unreadable: {error!r}"] + ending


def make_rows(build, folder):
    """The data of pyannot.read, as lines."""
    ending, data, _ = run([build.python, str(HERE / "rows.py"), FILE], folder,
                          variables(build, folder))
    return canonical.plain(data) + ending


def load(build, text, folder):
    """Writes a text as a recording with this build; raises ValueError if that fails."""
    done = subprocess.run([build.load, FILE], input=text.encode(), cwd=folder, capture_output=True)
    if done.returncode:
        raise ValueError(f"oracle_load: {done.stderr.decode(errors='replace').strip()}")


def dump(build, path):
    done = subprocess.run([build.dump, str(path)], capture_output=True)
    if done.returncode:
        raise ValueError(f"oracle_dump: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()


def lines_of_recording(build, text, folder, only=()):
    """Every output of the recording in a folder: {name: lines}; `only`: prefixes of names. The
    first output is a dump. `text` determines the selections."""
    def is_wanted(name):
        return not only or name.startswith(tuple(only))

    found = {}
    if is_wanted("dump"):
        found["dump"] = dump(build, folder / FILE).split("\n")
    for output in outputs_of(Parts(text)):
        if is_wanted(output.name):
            found[output.name] = make(build, folder, output)
    if build.python and is_wanted("pyannot.read"):
        found["pyannot.read"] = make_rows(build, folder)
    return {name: "\n".join(lines).split("\n") for name, lines in found.items()}


def all_lines(build, text, folder, only=()):
    """lines_of_recording for a text that this build writes as a recording."""
    load(build, text, folder)
    return lines_of_recording(build, text, folder, only)
