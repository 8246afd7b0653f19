# SPDX-License-Identifier: MIT
"""A program runs below cProfile and is recorded with every call, and with counts alone: functions
are called equally often. cProfile counts a generator each time it is resumed, so of these the
program's own numbers are known."""

import json
import os
import pathlib
import pstats
import subprocess
import sys
import tempfile

ANNOT = os.environ["ANNOT"]

PROGRAM = '''
import json, textwrap

class Shape:
    def __init__(self, n):
        self.n = n

    @property
    def area(self):
        return self.n * self.n

    def grow(self, by):
        return self.grow(by - 1) + 1 if by > 0 else self.n

def numbers(count):
    for i in range(count):
        yield i

def chain(count):
    yield from numbers(count)

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def fails(depth):
    if depth == 0:
        raise ValueError("deep")
    fails(depth - 1)

def work():
    total = sum(numbers(100)) + sum(chain(50)) + fib(11)
    closed = numbers(10)
    next(closed)
    closed.close()
    total += sum(Shape(i).area for i in range(20)) + Shape(3).grow(5)
    for _ in range(3):
        try:
            fails(7)
        except ValueError:
            pass
    total += len(sorted(range(30), key=lambda x: -x))
    json.loads(json.dumps({"a": [1, 2, {"b": total}]}))
    textwrap.fill("word " * 50, 30)

def main():
    for _ in range(10):
        work()

main()
'''
GENERATORS = {"numbers": 30, "chain": 10}  # objects, of ten times work()


def reference(folder, program):
    """(file, line): calls, of functions that the program calls itself; without generators."""
    subprocess.run([sys.executable, "-m", "cProfile", "-o", folder / "x.prof", program], check=True)
    stats = pstats.Stats(str(folder / "x.prof")).stats
    wanted = (str(program), "/json/__init__.py", "/json/decoder.py", "/textwrap.py")
    return {(os.path.realpath(file), line): numbers[1]
            for (file, line, name), numbers in stats.items()
            if file.endswith(wanted) and name not in {*GENERATORS, "<genexpr>", "<module>"}}


def recorded(folder, program, mode):
    """The same of a recording, and generators by name; None if calls cannot be traced here."""
    recording = folder / f"{mode}.annot"
    run = subprocess.run([ANNOT, "record", f"--trace-functions={mode}", "-o", recording, "--",
                          sys.executable, program], stderr=subprocess.PIPE, text=True,
                         env={"PYTHONPATH": os.environ.get("ANNOT_PYANNOT", ""), **os.environ})
    if "unknown option --trace-functions" in run.stderr:
        return None
    assert run.returncode == 0, run.stderr
    rows = subprocess.run([ANNOT, "query", "--json", recording,
                           "select name, file, line, call_count from calls"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.splitlines()
    rows = [json.loads(row) for row in rows]
    if not rows:
        return None
    subprocess.run([ANNOT, "export", "-f", "pstats", "-o", folder / "y.prof", "--force", recording],
                   check=True)
    exported = {(file, line): numbers[1] for (file, line, _), numbers
                in pstats.Stats(str(folder / "y.prof")).stats.items()}
    counts = {}
    for row in rows:
        if row["file"]:
            assert exported[row["file"], row["line"]] >= row["call_count"], row
            key = (os.path.realpath(row["file"]), row["line"])
            counts[key] = counts.get(key, 0) + row["call_count"]
    return counts, {row["name"]: row["call_count"] for row in rows if row["name"] in GENERATORS}


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = folder / "program.py"
        program.write_text(PROGRAM, encoding="utf-8")
        wanted = reference(folder, program)
        assert len(wanted) > 20, wanted
        for mode in ("exact", "aggregate"):
            found = recorded(folder, program, mode)
            if found is None:
                print("this interpreter's calls are not traced")
                return 77
            counts, generators = found
            different = {key: (calls, counts.get(key)) for key, calls in wanted.items()
                         if counts.get(key) != calls}
            assert not different, (mode, different)
            assert generators == GENERATORS, (mode, generators)
    return 0


if __name__ == "__main__":
    sys.exit(main())
