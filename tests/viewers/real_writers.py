#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs tools and imports their files, and compares each import with the data that Python or the
tool's own reader finds in the file. Not part of CI: it downloads.

real_writers.py ANNOT [TOOL...]: prints a table of the comparisons. torch and jax are large and run
only if named; perf and chromium have to be installed. README.md has the table of the last run.
"""

import collections
import decimal
import gzip
import json
import marshal
import pathlib
import re
import subprocess
import sys
import tempfile

REPEATED = {"ac2g", "async_cpu_to_gpu", "gpu_user_annotation"}

PROGRAM = """
import ast, asyncio, copy, inspect, json, threading
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
async def leaf(n): await asyncio.sleep(0.001); return fib(n)
async def gather(): return await asyncio.gather(*(leaf(i) for i in range(12)))
def work():
    copy.deepcopy({str(i): [i] * 9 for i in range(200)})
    return [fib(12) for _ in range(20)]
def run():
    asyncio.run(gather())
    threads = [threading.Thread(target=work, name=f"worker {i}") for i in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    ast.unparse(ast.parse(inspect.getsource(json.decoder)))
if __name__ == "__main__": run()
"""

SPIN = """
import threading, time
def leaf(n): return sum(i * i for i in range(n))
def spin(until):
    while time.monotonic() < until: leaf(9000)
until = time.monotonic() + 3
thread = threading.Thread(target=spin, args=(until,), name="second")
thread.start(); spin(until); thread.join()
"""

TORCH = """
import sys, torch
from torch.profiler import ProfilerActivity, profile, record_function
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True,
             profile_memory=True) as profiler:
    for _ in range(3):
        with record_function("train_step"):
            model(torch.randn(8, 32)).sum().backward()
profiler.export_chrome_trace(sys.argv[1])
"""

JAX = """
import sys, jax, jax.numpy as jnp
step = jax.jit(lambda x: jnp.sin(x) @ x.T)
with jax.profiler.trace(sys.argv[1]):
    for i in range(3):
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            step(jnp.ones((100, 100))).block_until_ready()
"""


class Tools:
    """A virtual environment; installs packages on demand."""

    def __init__(self, annot, folder):
        self.annot, self.folder = pathlib.Path(annot).resolve(), folder
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        self.python = folder / "venv/bin/python"

    def install(self, package):
        """Installs a package and returns its name and version."""
        self.run(self.python, "-m", "pip", "install", "-q", package)
        code = f"import importlib.metadata as m; print(m.version({package!r}))"
        return f"{package} {self.run(self.python, '-c', code).strip()}"

    def program(self, text=PROGRAM):
        path = self.folder / "program.py"
        path.write_text(text)
        return path

    def run(self, *words):
        return subprocess.run([str(word) for word in words], check=True, text=True,
                              cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout

    def imported(self, path):
        output = self.folder / "imported.annot"
        self.run(self.annot, "import", "--force", "-o", output, path)
        for command in ("report", "info"):
            self.run(self.annot, command, output)
        return output

    def query(self, recording, sql):
        out = self.run(self.annot, "query", "--json", recording, sql)
        return [json.loads(line) for line in out.splitlines()]


def equal(got, wanted, what):
    assert got == wanted, f"{what}: {str(got)[:2000]} is not {str(wanted)[:2000]}"


# ---- Chrome traces --------------------------------------------------------------------------


def nanoseconds(micros):
    return int((decimal.Decimal(micros) * 1000).to_integral_value(rounding="ROUND_HALF_UP"))


def name_of(event):
    """The name of a call without its source location, which recordings store separately."""
    name = str(event.get("name", ""))
    patterns = {"fee": r"(.+?) \(.+:\d+\)", "python_function": r".+\(\d+\): (.+)"}
    pattern = patterns.get(str(event.get("cat", "")).lower())
    match = pattern and re.fullmatch(pattern, name, re.DOTALL)
    return match[1] if match else name


def durations(events):
    """Counts (name, duration) of complete events, and of begins with their ends."""
    found, begun = collections.Counter(), collections.defaultdict(list)
    for event in events:
        place = event.get("pid"), event.get("tid")
        if event.get("cat") in REPEATED:
            continue
        if event.get("ph") == "X":
            found[name_of(event), nanoseconds(event.get("dur", 0))] += 1
        elif event.get("ph") == "B":
            begun[place].append(event)
        elif event.get("ph") == "E" and begun[place]:
            first = begun[place].pop()
            found[name_of(first), nanoseconds(event["ts"]) - nanoseconds(first["ts"])] += 1
    return found


def compare_chrome(tools, path):
    """Compares all ranges by name and duration, except a few that end a rounding error after their
    parents. Skips the file's asynchronous events."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        document = json.load(file, parse_float=decimal.Decimal)
    events = document["traceEvents"] if isinstance(document, dict) else document
    wanted = durations(events)
    rows = tools.query(tools.imported(path), "select coalesce(name, '') as name, duration_ns as ns "
                                             "from ranges where not unfinished")
    got = collections.Counter((row["name"], row["ns"]) for row in rows)
    lost = sum((wanted - got).values())
    assert lost <= len(rows) // 1000, f"{lost} ranges of {path.name} are not as they were"
    return f"{sum(wanted.values()):,} ranges by name and duration" + (f", {lost} cut" * (lost > 0))


def write_viztracer(tools):
    version = tools.install("viztracer")
    for options in (["--log_async"], ["--log_func_args", "--log_func_retval", "--log_gc"]):
        path = tools.folder / "viz.json"
        tools.run(tools.folder / "venv/bin/viztracer", *options, "-o", path, tools.program())
        yield f"{version} {' '.join(options)}", compare_chrome(tools, path)


def write_torch(tools):
    version = tools.install("torch")
    path = tools.folder / "torch.json"
    tools.run(tools.python, tools.program(TORCH), path)
    yield f"{version}, CPU", compare_chrome(tools, path)


def write_jax(tools):
    version = tools.install("jax")
    tools.run(tools.python, tools.program(JAX), tools.folder / "jax")
    for path in tools.folder.glob("jax/**/*.trace.json.gz"):
        yield f"{version}, CPU", compare_chrome(tools, path)


# ---- Samples --------------------------------------------------------------------------------


def write_py_spy(tools):
    version = tools.install("py-spy")
    for kind in ("raw", "speedscope"):
        path = tools.folder / f"spy.{kind}"
        tools.run(tools.folder / "venv/bin/py-spy", "record", "-r", "200", "-f", kind, "-o", path,
                  "--", tools.python, tools.program(SPIN))
        if kind == "raw":
            wanted = 10**7 * sum(int(line.rsplit(" ", 1)[1])
                                 for line in path.read_text().splitlines())
        else:
            profiles = json.loads(path.read_text())["profiles"]
            wanted = sum(round(weight * 1e9) for each in profiles for weight in each["weights"])
        rows = tools.query(tools.imported(path), "select sum(cpu_ns) as cpu from samples")
        equal(rows, [{"cpu": wanted}], f"time of {kind}")
        yield f"{version} -f {kind}", f"{wanted / 1e9:.2f} s of samples"


def write_memray(tools):
    version = tools.install("memray")
    binary, path = tools.folder / "memray.bin", tools.folder / "memray.json"
    memray = tools.python, "-m", "memray"
    tools.run(*memray, "run", "-f", "-o", binary, tools.program())
    tools.run(*memray, "transform", "-f", "-o", path, "speedscope", binary)
    wanted = [sum(each["weights"]) for each in json.loads(path.read_text())["profiles"]]
    rows = tools.query(tools.imported(path), "select sample_values as v from samples")
    sums = collections.Counter()
    for row in rows:
        sums.update(json.loads(row["v"]))
    equal([sums["alloc-bytes"], sums["alloc-objects"]], wanted, "bytes and allocations")
    yield f"{version} transform speedscope", f"{wanted[0]:,} bytes, {wanted[1]:,} allocations"


def write_perf(tools):
    version = tools.run("perf", "--version").strip()
    data, path = tools.folder / "perf.data", tools.folder / "perf.txt"
    tools.run("perf", "record", "-q", "-g", "-F", "999", "-e", "cpu-clock", "-o", data, "--",
              tools.python, tools.program(SPIN))
    path.write_text(tools.run("perf", "script", "-i", data))
    periods = re.findall(r"^\S.*?: +(\d+) cpu-clock:", path.read_text(), re.MULTILINE)
    rows = tools.query(tools.imported(path),
                       "select count(*) as n, sum(cpu_ns) as cpu from samples")
    equal(rows, [{"n": len(periods), "cpu": sum(map(int, periods))}], "samples")
    yield version, f"{len(periods):,} samples and their time"


# ---- pstats ---------------------------------------------------------------------------------


def write_cprofile(tools):
    path = tools.folder / "app.pstats"
    tools.run(tools.python, "-m", "cProfile", "-o", path, tools.program())
    stats = marshal.loads(path.read_bytes())
    rows = tools.query(tools.imported(path), "select file, line, name, call_count, own_ns, "
                                             "total_ns from calls")
    got = {(row["file"] or "~", row["line"] or 0, row["name"]): row for row in rows}
    off, whole = 0, 0
    for key, (_, calls, own, total, _) in stats.items():
        row = got[key]
        equal((row["call_count"], row["own_ns"]), (calls, round(own * 1e9)), key)
        off += abs(row["total_ns"] - total * 1e9)
        whole += total * 1e9
    yield (f"cProfile of {sys.version.split()[0]}",
           f"calls and own times of {len(stats)} functions; total times, in sum to "
           f"{100 * off / whole:.1f} %")


# ---- Perfetto -------------------------------------------------------------------------------

SLICES = "select name, count(*) as n, sum(dur) as ns from slice where dur > 0 group by 1"
COUNTERS = """select t.name as name, count(*) as n, cast(sum(c.value) as int) as total
from counter c join track t on t.id = c.track_id group by 1"""


def rows_of(rows):
    return {row["name"]: tuple(row.values())[1:] for row in rows}


def compare_perfetto(tools, path):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
    import perfetto_ui
    report = perfetto_ui.inspect(path, sql=[SLICES, COUNTERS])
    recording = tools.imported(path)
    slices, counters = map(rows_of, report.rows)
    got = rows_of(tools.query(recording, "select name, count(*) as n, sum(duration_ns) as ns from "
                                         "ranges where duration_ns > 0 and not unfinished group by "
                                         "1"))
    other = [name for name, row in slices.items() if got.get(name) != row]
    assert len(other) <= len(slices) // 50, [(name, slices[name], got.get(name)) for name in other]
    got = rows_of(tools.query(recording, "select name, count(*) as n, cast(sum(value) as int) as "
                                         "total from counters group by 1"))
    equal(got, counters, "counters")
    return (f"{len(slices) - len(other)} of {len(slices)} names of slices, {len(counters)} of "
            "counters: numbers and sums as the trace processor's (v52)")


def write_chromium(tools):
    version = " ".join(tools.run("chromium", "--version").split()[:2])
    for kind, compare in (("json", compare_chrome), ("proto", compare_perfetto)):
        path = tools.folder / f"chromium.{kind}"
        tools.run("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--trace-startup=*",
                  f"--trace-startup-file={path}", "--trace-startup-duration=3",
                  f"--trace-startup-format={kind}", "--dump-dom", "data:text/html,<p>a page")
        yield f"{version}, {kind}", compare(tools, path)


WRITERS = (write_viztracer, write_py_spy, write_memray, write_perf, write_cprofile, write_chromium,
           write_jax, write_torch)
LARGE = {"jax", "torch"}


def main():
    names = set(sys.argv[2:])
    named = {writer.__name__.removeprefix("write_"): writer for writer in WRITERS}
    with tempfile.TemporaryDirectory() as folder:
        tools = Tools(sys.argv[1], pathlib.Path(folder))
        for name in names or named.keys() - LARGE:
            for row in named[name](tools):
                print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
