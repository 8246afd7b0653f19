# SPDX-License-Identifier: MIT
"""Numbers of a page beside those of annot report."""

import json
import re
import subprocess

UNITS = {"s": 10**9, "ms": 10**6, "µs": 10**3, "ns": 1, "": 1}
ROWS = """(heading) => {
    const section = [...document.querySelectorAll('main section')].find((one) =>
        one.querySelector('h2').textContent.startsWith(heading));
    return [...section.querySelectorAll('tbody tr:not(.rest)')].map((row) =>
        [...row.children].map((cell) => cell.textContent));
}"""
LEGEND = """() => [...document.querySelectorAll('.legends .key')].map((key) => key.textContent)"""


def report(annot, recording, *options):
    out = subprocess.run([annot, "report", "--json", *options, recording], check=True,
                         stdout=subprocess.PIPE).stdout
    return json.loads(out)


def time_text(ns):
    """As collector/base/number.c writes it, with the page's unit of microseconds."""
    if ns == 0:
        return "0"
    for unit, size in UNITS.items():
        if size == 1 or ns >= size * 0.9995:
            value = ns / size
            decimals = 0 if size == 1 or value >= 99.95 else 1 if value >= 9.995 else 2
            return f"{value:.{decimals}f} {unit}"
    raise AssertionError(ns)


def plain(text):
    return text.replace("\u202f", " ")


def of_rows(page, heading):
    return [[plain(cell) for cell in row] for row in page.page.evaluate(ROWS, heading)]


def joined(text):
    """Digits and unit without the space between them: a column has them apart."""
    return re.sub(r"\s", "", plain(text))


def check_own_functions(check, page, data):
    page.page.goto(page.page.url.split("#")[0] + "#view=summary&time=cpu")
    page.page.wait_for_selector("main section")
    expected = [[joined(time_text(row["cpu_ns"])), row["name"]] for row in data["own_functions"]
                if row["owner"] == "own" and row["cpu_ns"]]
    shown = [[joined(row[0]), row[3]] for row in of_rows(page, "Where your code")]
    check.equal("page: own functions, as in the report", sorted(shown)[:9],
                sorted(expected[:len(shown)])[:9])


def check_threads(check, page, data):
    expected = sorted([joined(time_text(row[name])) for name in (
        "cpu_ns", "runnable_ns", "blocked_ns")] for row in data["threads"])
    shown = sorted([joined(cell) for cell in row[1:4]]
                   for row in of_rows(page, "Processes and threads"))
    check.equal("page: threads, as in the report", shown, expected)


def check_waits(check, page, data):
    places = [row for row in data["wait_places"] if not row["in_helpers"] and "rest" not in row]
    expected = sorted([joined(time_text(row["total_ns"])), str(row["count"]), row["reason"]]
                      for row in places)
    shown = sorted([joined(row[0]), row[1], row[2].strip()]
                   for row in of_rows(page, "What it waited for"))
    check.equal("page: waits, as in the report", shown, expected)


def owner_sums(data):
    """CPU time of the report's functions, by the owners' names in the legends of flame graphs."""
    sums = {}
    for row in data["functions"]:
        owner = row["owner"] if row["kind"] != "gc" else "gc"
        word = {"own": "your code", "kernel": "kernel", "gc": "garbage collector",
                "interpreter": "interpreter", "annot": "interpreter"}.get(owner)
        if row["kind"] == "none":
            word = "unknown"
        elif word is None:
            word = "libraries" if row["kind"] == "python" else "native code"
        sums[word] = sums.get(word, 0) + row["cpu_self_ns"]
    return sums


def check_legend(check, page, data):
    """Sums of the flame graph's colours are those of the report's functions by owner."""
    page.page.goto(page.page.url.split("#")[0] + "#view=flame&time=cpu")
    page.page.wait_for_selector(".legends")
    expected = {word: time_text(ns) for word, ns in owner_sums(data).items() if ns}
    shown = {}
    for text in page.page.evaluate(LEGEND):
        found = re.match(r"([a-z ]+?)(\d[\d.]* (?:s|ms|µs|ns))", plain(text))
        if found:
            shown[found[1]] = found[2]
    check.equal("page: the legend, as in the report", shown, expected)


def sums_of(page):
    head = plain(page.head())
    found = re.search(r"([\d.]+ (?:s|ms|µs|ns)) of CPU time, ([\d ]+) samples?", head)
    return found[1], int(found[2].replace(" ", ""))


def check_brush(check, annot, page, recording, data):
    """With a stretch at borders of slots the samples are those of a report of that time; one that
    lies at a border to the nanosecond may count for either side."""
    wall = data["recording"]["wall_ns"]
    for first, last in ((0, 64), (32, 96), (64, 128), (3, 120)):
        page.page.goto(page.page.url.split("#")[0] + f"#view=tree&time=cpu&t={first}-{last}")
        page.page.wait_for_function(
            f"() => location.hash.includes('t={first}-{last}') && document.querySelector('.chip')")
        part = report(annot, recording, "--from", f"{first * wall // 128}ns", "--to",
                      f"{last * wall // 128}ns")
        _, samples = sums_of(page)
        check.equal(f"page: samples of slots {first} to {last}",
                    abs(samples - part["sampling"]["sample_count"]) <= 1, True)


def check_all(check, annot, opened, recording, page):
    del opened
    data = report(annot, recording)
    check_own_functions(check, page, data)
    check_threads(check, page, data)
    check_waits(check, page, data)
    check_legend(check, page, data)
    page.page.goto(page.page.url.split("#")[0] + "#view=tree&time=cpu")
    page.page.wait_for_selector("main [role=tree]")
    check.equal("page: all of the CPU time", sums_of(page), (
        time_text(data["sampling"]["cpu_ns"]), data["sampling"]["sample_count"]))
    check_brush(check, annot, page, recording, data)
    check.equal("page: complaints about numbers", page.complaints, [])
