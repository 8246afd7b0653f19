#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data of other tools' files that recordings cannot hold: it is counted, named, or reported as
missing. Files that are cut or in another encoding are read as far as they go; samples last as long
as the time that they stand for."""

import glob
import gzip
import json
import marshal
import os
import subprocess
import sys

from harness import case, check, equal, main
from imports import CORPUS, imported, query, written
from perfetto_made import made_trace

PROGRAM = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def work():
    big = 123456789012345678901234567890
    inner = lambda: (big, 1.5j, None, Ellipsis, {1, 2} & frozenset([1]))
    for i in range(3):
        inner()
    return fib(9)
work()
"""


def summary(home, path):
    """The last line of the first screen, about missing data."""
    lines = home.annot("report", path).ok().out.decode().splitlines()
    return next(line for line in lines if "lost" in line or "missing" in line)


# ---- perf ------------------------------------------------------------------------------------


def perf_sample(time, *frames, event="cpu-clock:", period=10000000):
    lines = [f"app 7/8 [000] {time:.6f}: {period:10} {event}"]
    return "\n".join([*lines, *(f"\t{frame}" for frame in frames), "", ""])


@case
def records_of_perf_are_no_samples(home):
    text = perf_sample(1.0, "1165 leaf+0x1 (/srv/app)")
    text += "app 7/8 [000] 1.005000: PERF_RECORD_LOST lost 24\n\n"
    text += "app 7/8 [000] 1.006000: PERF_RECORD_COMM: app:7/8\n"
    text += "app 7/8 [000] 1.007000: PERF_RECORD_THROTTLE\n"
    text += perf_sample(1.02, "1165 leaf+0x1 (/srv/app)")
    path, said = imported(home, written(home, text, "perf.txt"))
    check("lost by perf (PERF_RECORD_LOST): 24" in said, said)
    check("PERF_RECORD_THROTTLE): 1" in said and "no samples (PERF_RECORD_...): 2" in said, said)
    equal(query(home, path, "select count(*) as n, sum(cpu_ns) as cpu from samples"),
          [{"n": 2, "cpu": 20000000}], "samples")
    check("PERF_RECORD" not in home.annot("query", path, "select * from samples").ok().out.decode(),
          "a set of records")
    check("nothing lost" not in summary(home, path), summary(home, path))


@case
def the_kernels_frames_are_those_of_its_addresses_and_images(home):
    kernel = ["ffffffff81000000 a ([kernel.kallsyms])", "ffffffff81000001 b (/boot/vmlinux-6.1)",
              "ffffffffc0000002 c ([ext4])", "ffffffff81000003 [unknown] ([unknown])",
              "c0000004 d (/usr/lib/debug/lib/modules/6.1/vmlinux)",
              "ffffffffc0000005 e (/lib/modules/6.1/kernel/fs/x.ko.xz)",
              "ffff800010000006 f ([guest.kernel.kallsyms])", "c0000007 g (/srv/x.ko)"]
    jit = ["7f0000000000 h (/tmp/perf-7.map)", "7f0000000001 i ([JIT] tid 7)",
           "7f0000000002 j ([JIT app cache])", "7f0000000003 k (/tmp/jitted-7-2.so)"]
    native = ["55d000000000 l ([heap])", "7ffc00000001 m ([vdso])", "7f0000000005 n ([unknown])",
              "7f0000000006 o (//anon)", "ffffffffff600000 p ([vsyscall])",
              "7f0000000007 q (/lib/libc.so.6)"]
    text = "".join(perf_sample(1 + i / 100, frame)
                   for i, frame in enumerate(kernel + jit + native))
    path, _ = imported(home, written(home, text, "perf.txt"))
    rows = query(home, path, "select f.kind from samples s join stack_frames f "
                             "on f.stack = s.stack order by s.time_ns")
    equal([row["kind"] for row in rows],
          ["kernel"] * len(kernel) + ["jit"] * len(jit) + ["native"] * len(native), "kinds")


# ---- How long it was ---------------------------------------------------------------------------


def speedscope(profile, frames=("main", "load"), **more):
    frames = [dict(name=name, file="a.py", line=i + 1) for i, name in enumerate(frames)]
    return json.dumps(dict({"$schema": "https://www.speedscope.app/file-format-schema.json"},
                           shared=dict(frames=frames), profiles=[profile], **more))


@case
def a_thread_runs_no_longer_than_its_recording_lasts(home):
    """Two samples of 10 ms, 10 ms apart, add up to 20 ms."""
    chrome = [dict(ph="P", pid=1, tid=1, ts=at, name="s", stack=["main"]) for at in (10000, 20000)]
    v8 = dict(nodes=[dict(id=1, callFrame=dict(functionName="main", url="a.js", lineNumber=1))],
              startTime=0, endTime=20000, samples=[1, 1], timeDeltas=[0, 10000])
    profile = dict(type="sampled", name="t", unit="milliseconds", startValue=0, endValue=20,
                   samples=[[0], [0]], weights=[10, 10])
    files = {"perf.txt": perf_sample(1.0, "1 main (/srv/a)") + perf_sample(1.01, "1 main (/srv/a)"),
             "x.folded": "main;load 1\nmain 1\n", "x.speedscope.json": speedscope(profile),
             "x.json": json.dumps(chrome), "x.cpuprofile": json.dumps(v8)}
    for name, text in files.items():
        path, _ = imported(home, written(home, text, name))
        wall = query(home, path, "select duration_ns from recording")[0]["duration_ns"]
        cpu = sum(row["cpu_ns"] for row in query(home, path, "select cpu_ns from samples"))
        equal((wall, cpu), (20000000, 20000000), f"wall and CPU time of {name}")
        report = json.loads(home.annot("report", "--json", path).ok().out)
        check("2.0 of" not in home.annot("report", path).ok().out.decode(), name)
        equal(report["threads"][0]["cpu_ns"], 20000000, f"the thread of {name}")


# ---- Chrome traces -----------------------------------------------------------------------------


@case
def flows_that_lead_nowhere_are_told(home):
    place = dict(pid=1, tid=1, cat="f", name="f")
    events = [dict(place, ph="X", ts=0, dur=100, name="r"),
              dict(place, ph="f", id=1, ts=10), dict(place, ph="s", id=1, ts=10),  # at one time
              dict(place, ph="s", id=2, ts=20), dict(place, ph="s", id=3, ts=30),
              dict(place, ph="t", id=3, ts=31), dict(place, ph="f", id=4, ts=40),
              dict(place, ph="s", id=5, ts=50), dict(place, ph="f", id=5, ts=51),
              dict(place, ph="f", id=5, ts=52)]
    _, said = imported(home, written(home, json.dumps(events)))
    check("flows that begin and arrive nowhere: 2" in said, said)
    check("points of flows that begin nowhere: 1" in said, said)


@case
def profiles_of_chrome_until_66_are_one_event(home):
    nodes = [dict(id=1, callFrame=dict(functionName="(root)", url="", lineNumber=-1),
                  children=[2]),
             dict(id=2, callFrame=dict(functionName="load", url="a.js", lineNumber=4))]
    profile = dict(nodes=nodes, startTime=1000, endTime=1400, samples=[2, 2, 2, 2],
                   timeDeltas=[0, 100, 100, 100])
    event = dict(ph="I", pid=1, tid=2, ts=1400, cat="disabled-by-default-devtools.timeline",
                 name="CpuProfile", args=dict(data=dict(cpuProfile=profile)))
    path, _ = imported(home, written(home, json.dumps([event])))
    equal(query(home, path, "select sum(cpu_ns) as cpu, count(*) as n, function from samples "
                            "group by function"),
          [{"cpu": 400000, "n": 4, "function": "load"}], "samples")
    _, said = imported(home, written(home, json.dumps([dict(event, name="Other")])))
    check("of no profile (phase P): 4" in said, said)


# ---- Encodings ---------------------------------------------------------------------------------


@case
def marks_and_encodings_change_nothing(home):
    chrome = (CORPUS / "chrome/viztracer.json").read_text()
    chrome = chrome.replace("leaf", "l\u00e9\U0001f600\u4e2d")
    files = {"trace.json": chrome, "perf.txt": (CORPUS / "perf/cpu-clock.txt").read_text(),
             "x.folded": "m\u00e4in;l\u4e2dad 3\nm\u00e4in 4\n"}
    for name, text in files.items():
        wanted = home.annot("cat", "--json", "--samples",
                            imported(home, written(home, text, name))[0]).ok().out
        check(wanted.count(b"\n") > 2, name)
        for encoding in ("utf-8-sig", "utf-16-le", "utf-16-be"):
            mark = "" if encoding == "utf-8-sig" else "\ufeff"
            data = (mark + text).encode(encoding)
            for packed in (data, gzip.compress(data)):
                path, _ = imported(home, written(home, packed, name))
                equal(home.annot("cat", "--json", "--samples", path).ok().out, wanted,
                      f"{name} in {encoding}")
    path, _ = imported(home, written(home, chrome.encode("utf-16-le")))
    check(query(home, path, "select count(*) as n from ranges")[0]["n"] > 2, "without a mark")


# ---- Files that are cut ------------------------------------------------------------------------


def cut_import(home, data, name):
    """The output of annot cat for it, or None if it is unreadable."""
    source = written(home, data, name)
    done = home.annot("import", "--force", "-o", "cut.annot", source)
    if done.status:
        check("ends in the middle" in done.err_text or "cut or damaged" in done.err_text or
              "not known" in done.err_text, done.err_text)
        return None
    told = "the file ends in the middle, at byte" in done.err_text
    check(told or name.endswith("pftrace"), f"{name}: {done.err_text}")  # after a whole packet
    check(told == ("nothing lost" not in summary(home, home.work / "cut.annot")), name)
    return home.annot("cat", "--complete", "--samples", "cut.annot").ok().out.count(b"\n")


@case
def files_that_are_cut_are_read_as_far_as_they_go(home):
    whole = {"x.json": (CORPUS / "chrome/torch.json").read_bytes(),
             "x.speedscope.json": (CORPUS / "speedscope/evented.json").read_bytes(),
             "x.cpuprofile": (CORPUS / "v8/made.cpuprofile").read_bytes(),
             "x.pstats": (CORPUS / "pstats/cprofile.pstats").read_bytes(),
             "x.pftrace": made_trace(),
             "x.json.gz": gzip.compress((CORPUS / "chrome/viztracer.json").read_bytes())}
    for name, data in whole.items():
        path, _ = imported(home, written(home, data, name))
        all_lines = home.annot("cat", "--complete", "--samples", path).ok().out.count(b"\n")
        ends = [*(len(data) * part // 12 for part in range(1, 12)), len(data) - 8]
        counts = [cut_import(home, data[:end], name) for end in ends]
        read = [count for count in counts if count is not None]
        check(len(read) >= (1 if "cpuprofile" in name else 3), f"{name}: {counts}")
        check(read == sorted(read) or name in ("x.pstats", "x.pftrace"), f"{name}: {counts}")
        more = name == "x.pftrace"  # a range whose end was cut off is an extra line
        check(max(read) <= all_lines + more, f"{name}: {counts} of {all_lines}")


# ---- Statistics of Python ----------------------------------------------------------------------


def interpreters():
    """Python 2.7 and the installed versions of 3."""
    found = {}
    for place in [sys.executable, *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python"))]:
        told = subprocess.run([place, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                              capture_output=True, text=True, check=False)
        found.setdefault(told.stdout.strip(), place)
    found.pop("", None)
    return found


def own_stats(python, path):
    """The statistics by the interpreter that wrote the file."""
    code = ("import marshal, json, sys; f = open(sys.argv[1], 'rb'); print(json.dumps("
            "dict((k[2], v[:4]) for k, v in marshal.load(f).items() "
            "if k[2] in ('fib', 'work'))))")
    told = subprocess.run([python, "-c", code, path], capture_output=True, check=True)
    return json.loads(told.stdout)


@case
def statistics_of_every_python_are_read(home):
    program = written(home, PROGRAM, "program.py")
    for version, python in sorted(interpreters().items()):
        for module in ("cProfile", "profile"):
            output = home.work / f"{module}-{version}.prof"
            subprocess.run([python, "-m", module, "-o", output, program], check=True,
                           stdout=subprocess.DEVNULL)
            path, _ = imported(home, output)
            rows = query(home, path, "select name, call_count, own_ns, total_ns from calls "
                                     "where name in ('fib', 'work')")
            got = {row["name"]: (row["call_count"], row["own_ns"]) for row in rows}
            for name, sums in own_stats(python, output).items():
                calls, own_ns = sums[1], sums[2] * 1e9
                equal(got[name][0], calls, f"{module} of {version}: calls of {name}")
                check(abs(got[name][1] - own_ns) <= 2 + calls, f"{module} of {version}: {name}")
        print(f"  statistics of Python {version}")


@case
def texts_of_python_2_are_named_again(home):
    """Interned texts, and where they stood: as marshal of Python 2.7 writes them."""
    def number(value):
        return b"i" + value.to_bytes(4, "little")

    def text(value):
        return b"t" + len(value).to_bytes(4, "little") + value

    def again(index):
        return b"R" + index.to_bytes(4, "little")

    def real(value):
        return b"g" + marshal.dumps(value, 2)[1:]

    def items(*values):
        return b"(" + len(values).to_bytes(4, "little") + b"".join(values)

    calls = [number(3), number(3), real(0.25), real(0.5)]
    callers = b"{" + items(again(0), number(1), again(1)) + items(*calls) + b"0"
    data = (b"{" + items(text(b"a.py"), number(1), text(b"main")) +
            items(number(1), number(1), real(0.5), real(1.0), b"{0") +
            items(again(0), number(5), text(b"leaf")) + items(*calls, callers) + b"0")
    path, _ = imported(home, written(home, data, "x.pstats"))
    rows = query(home, path, "select name, call_count, own_ns, file, line from calls order by name")
    equal([tuple(row.values()) for row in rows],
          [("leaf", 3, 250000000, "a.py", 5), ("main", 1, 500000000, "a.py", 1)], "calls")


# ---- Samplers with files that look like counts -------------------------------------------------


@case
def pyinstruments_times_are_samples(home):
    main_, load = ("a.py", 1, "main"), ("a.py", 9, "load")
    data = {main_: (-1, -1, 0.25, 1.0, {}),
            load: (-1, -1, 0.75, 0.75, {main_: (-1, -1, 0.75, 0.75)})}
    events = [dict(type=kind, at=at, frame=frame) for kind, at, frame in
              (("O", 0.0, 0), ("O", 0.125, 1), ("C", 0.875, 1), ("C", 1.0, 0))]
    profile = dict(type="evented", name="p", unit="seconds", startValue=0, endValue=1,
                   events=events)
    files = {"x.pstats": marshal.dumps(data),
             "x.speedscope.json": speedscope(profile, exporter="pyinstrument")}
    for name, content in files.items():
        path, _ = imported(home, written(home, content, name))
        report = home.annot("report", path).ok().out.decode()
        check("every call" not in report and "functions by wall" in report, f"{name}: {report}")
        equal(query(home, path, "select count(*) as n from ranges"), [{"n": 0}], name)
        rows = json.loads(home.annot("report", "--json", path).ok().out)["functions"]
        got = {row["name"]: (row["value_self"], row["value_total"]) for row in rows}
        equal(got, {"main": (250000000, 1000000000), "load": (750000000, 750000000)}, name)
        folded = home.annot("export", "-f", "folded", "-o", "-", path).ok().out.decode()
        check("load" in folded, folded)


@case
def memory_alone_is_what_a_report_shows(home):
    profile = dict(type="sampled", name="t", unit="bytes", startValue=0, endValue=10,
                   samples=[[0], [0, 1]], weights=[300, 700])
    path, _ = imported(home, written(home, speedscope(profile), "x.speedscope.json"))
    report = home.annot("report", path).ok().out.decode()
    check("functions by memory" in report and "700 B" in report, report)


if __name__ == "__main__":
    main()
