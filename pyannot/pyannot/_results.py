# SPDX-License-Identifier: MIT
"""Results of a recording inside the program: pyannot.record and pyannot.read.

The `annot` program makes texts, pages and pictures from the file; rows come from the tables of its
report. This module computes no results itself.
"""

import os
import re
import tempfile
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from pyannot import _program
from pyannot._errors import RecordingError

_Path = Union[str, "os.PathLike[str]"]

# Limit for pictures in a notebook: larger ones would make it slow.
EMBEDDED_BYTES = 4 << 20


class Stat(NamedTuple):
    """A function and its times, in nanoseconds.

    self_ns: CPU time in it; total_ns: including the functions that it called. blocked_ns: time in
    which its threads waited; runnable_ns: time in which they waited for a CPU. sample_count:
    samples on the CPU. line: the line with the most time; in tables of all functions, its first
    line. owner: "own", "library", "interpreter", ... kind: "python", "native", "kernel".
    blocked_ns, runnable_ns, line and owner are None where the table does not have them.
    """

    function: str
    file: str
    line: Optional[int]
    self_ns: int
    total_ns: int
    blocked_ns: Optional[int]
    runnable_ns: Optional[int]
    sample_count: int
    kind: str
    owner: Optional[str]

    @property
    def wall_ns(self) -> int:
        """Time on the CPU, blocked and runnable."""
        return self.self_ns + (self.blocked_ns or 0) + (self.runnable_ns or 0)


# Keys of stats(sort=...): numbers sort the largest first, texts in their order.
_NUMBERS = {"wall": "wall_ns", "self": "self_ns", "total": "total_ns", "blocked": "blocked_ns",
            "runnable": "runnable_ns", "count": "sample_count"}
_TEXTS = ("function", "file")
_TABLES = ("own", "python", "all")


def _label(text: str, module: str) -> Tuple[str, str, Optional[int]]:
    """Splits "name (file:line)", as tables of functions have it, into name, file and line."""
    match = re.fullmatch(r"(.*) \((.+):(\d+)\)", text, re.DOTALL)
    return (match[1], match[2], int(match[3])) if match else (text, module, None)


def _place(row: Dict[str, Any]) -> Tuple[str, Optional[int]]:
    """Returns file and hottest line. The location is shortened for display, the function's file is
    not."""
    file, _, line = row["location"].rpartition(":")
    if not line.isdigit():
        return row["location"], None
    return _label(row["function"], file)[1], int(line)


def _helpers(tables: Dict[str, Any]) -> List[Stat]:
    """Returns functions of helper threads, which only waited: the table of functions leaves them
    out."""
    shown = {row["function"] for row in tables["own_functions"]}
    stats: Dict[str, Stat] = {}
    for row in tables["wait_places"]:  # the longest first
        if not row["in_helpers"] or not row["function"] or row["function"] in shown:
            continue
        stat = stats.get(row["function"]) or Stat(
            row["name"], *_place(row), 0, 0, 0, 0, 0, row["kind"], row["owner"])
        stats[row["function"]] = stat._replace(
            blocked_ns=(stat.blocked_ns or 0) + row["total_ns"])
    return list(stats.values())


def _own(tables: Dict[str, Any]) -> List[Stat]:
    totals = {row["function"]: row["cpu_total_ns"]
              for table in ("functions", "python_functions") for row in tables[table]}
    return [Stat(row["name"], *_place(row), row["cpu_ns"],
                 totals.get(row["function"], row["cpu_ns"]), row["blocked_ns"], row["runnable_ns"],
                 row["sample_count"], row["kind"], row["owner"])
            for row in tables["own_functions"] if row.get("rest") is None] + _helpers(tables)


def _all(rows: List[Dict[str, Any]], self_field: str) -> List[Stat]:
    return [Stat(*_label(row["function"], row["module"]), row[self_field], row["cpu_total_ns"],
                 None, None, row["sample_count"], row["kind"], None)
            for row in rows if row.get("rest") is None]


def _sorted(stats: List[Stat], sort: str) -> List[Stat]:
    if sort in _TEXTS:
        return sorted(stats, key=lambda stat: (getattr(stat, sort), stat.line or 0))
    return sorted(stats, key=lambda stat: getattr(stat, _NUMBERS[sort]) or 0, reverse=True)


class Results:
    """Views of a recording, common to pyannot.record and pyannot.read."""

    def _file(self) -> str:
        """Returns the recording's path; raises RecordingError if there are no results."""
        raise NotImplementedError

    def _annot(self, *words: str, variables: Optional[Dict[str, str]] = None) -> bytes:
        """Returns the output of `annot WORDS`. A damaged recording has results too."""
        import subprocess  # imported earlier, a recording would observe it

        program = _program.find()
        if program is None:
            text, _, hint = _program.MISSING.partition("\nhint: ")
            raise RecordingError(text, hint)
        try:
            result = subprocess.run([program, *words], stdin=subprocess.DEVNULL,
                                    capture_output=True, check=False,
                                    env={**os.environ, **(variables or {})})
        except OSError as error:
            raise RecordingError(f"cannot run {program}: {error.strerror}",
                                 "let the environment variable ANNOT name the annot program"
                                 ) from None
        if result.returncode != 0 and not result.stdout:
            message = result.stderr.decode(errors="replace").strip()
            reason, _, hint = message.partition("\nhint: ")
            raise RecordingError(reason or f"annot {words[0]} failed", hint)
        return result.stdout

    def text(self, *options: str, width: int = 100) -> str:
        """Returns the output of `annot report`, for a terminal of that width.

        options: further options of annot report, as in text("--all") or text("--limit", "20").
        """
        variables = {"COLUMNS": str(width), "NO_COLOR": "1"}
        return self._annot("report", *options, "--", self._file(),
                           variables=variables).decode(errors="replace")

    def stats(self, *, sort: str = "wall", limit: Optional[int] = None,
              functions: str = "own") -> List[Stat]:
        """Returns functions and their times, from a table of the report.

        functions: "own" is your own code; calls into libraries and the interpreter count for the
        function that made them. Functions of threads that only waited are included, with their
        waits. "python" is all of Python; native code counts for the function that called it. "all"
        has Python, native and kernel functions. sort: "wall" (on the CPU, runnable, blocked),
        "self", "total", "blocked", "runnable", "count", "function" or "file". Without a limit all
        rows are returned. See Stat.
        """
        if sort not in _NUMBERS and sort not in _TEXTS:
            raise ValueError(f"sort must be one of {', '.join((*_NUMBERS, *_TEXTS))}, not {sort!r}")
        if functions not in _TABLES:
            raise ValueError(
                f"functions must be one of {', '.join(_TABLES)}, not {functions!r}")
        from pyannot._read import read

        tables = read(self._file()).report()
        if functions == "own":
            stats = _own(tables)
        elif functions == "python":
            stats = _all(tables["python_functions"], "cpu_python_ns")
        else:
            stats = _all(tables["functions"], "cpu_self_ns")
        return _sorted(stats, sort)[:limit]

    def flame(self, path: _Path, *options: str) -> str:
        """Writes the samples as a flame graph to a file, which it replaces; returns its path.

        The file is a picture (SVG), or a page with display options if its name ends in ".html".
        options: further options of `annot flame`, as in flame("x.svg", "--python-only"),
        not for pages.
        Raises RecordingError if there are no samples.
        """
        name = os.path.abspath(os.fspath(path))
        self._annot("flame", *options, "--force", "-o", name, "--", self._file())
        return name

    def html(self, path: _Path) -> str:
        """Writes the page of `annot html` to a file, which it replaces; returns its path."""
        name = os.path.abspath(os.fspath(path))
        self._annot("html", "--force", "-o", name, "--", self._file())
        return name

    def open(self) -> str:
        """Shows the page of html() in a browser; returns its path, and prints it if no browser is
        available.

        The page stays in the directory of temporary files, because the browser reads it later.
        """
        handle, name = tempfile.mkstemp(prefix="annot-", suffix=".html")
        os.close(handle)
        try:
            self.html(name)
        except BaseException:
            os.unlink(name)
            raise
        import webbrowser

        shown = any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
        if not shown or not webbrowser.open("file://" + name):
            print(f"no browser can be shown here; the page is {name}")
        return name

    # Display in notebooks.

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, str]:
        """For IPython: text for terminals, HTML for notebooks; {} before there are results."""
        try:
            text = self.text()
            return {"text/plain": text, "text/html": self._in_html(text)}
        except (RecordingError, OSError):
            return {}

    def _repr_html_(self) -> Optional[str]:
        return self._repr_mimebundle_().get("text/html")

    def _in_html(self, text: str) -> str:
        import html

        parts = [f'<pre style="line-height: 1.2">{html.escape(text)}</pre>']
        picture = self._picture()
        if picture:
            parts.append("<details><summary>Flame graph</summary><iframe sandbox=\"\" "
                         "style=\"width: 100%; height: 480px; border: 0\" "
                         f"srcdoc=\"{html.escape(picture)}\"></iframe></details>")
        return "\n".join(parts)

    def _picture(self) -> str:
        """Returns the flame graph; "" without samples, or if it is too large for a notebook."""
        try:
            picture = self._annot("flame", "--format", "svg", "-o", "-", "--",
                                  self._file())
        except RecordingError:
            return ""
        return picture.decode(errors="replace") if len(picture) <= EMBEDDED_BYTES else ""
