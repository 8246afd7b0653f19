#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The views of annot html's page below its summary, in a real browser, of a real recording.

test_page_views.py ANNOT PYANNOT FOLDER: pages and pictures are left in FOLDER. Exit status 0, 1,
or 77 if Chromium or playwright is not there.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import page_browser
import page_numbers
import perfetto_ui
from test_exports import Check, use_test_python
from test_page_browser import EVIL, SCROLLS, WIDTHS, Shown, evil_names, with_data, write_page

VIEWS = ("source", "source&t=10-60", "timeline", "timeline&at=100000000-400000000&t=20-90",
         "ranges", "ranges&range=parse", "ranges&t=10-60", "pools", "pools&t=10-40", "tasks",
         "waits", "waits&waits=all&t=0-64", "counters", "recording")
TABS = "() => [...document.querySelectorAll('nav a')].map((a) => a.textContent)"
ROWS = """(label) => [...document.querySelectorAll(`table[aria-label="${label}"] tbody tr`)]
    .map((row) => [...row.children].map((cell) => cell.textContent))"""
FOCUSED = "() => document.activeElement.closest('tr') && document.activeElement.innerText"
DRAWN = """() => { const canvas = document.querySelector('.tl-row canvas');
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let sum = 0; for (let i = 0; i < pixels.length; i++) sum = (sum * 31 + pixels[i]) | 0;
    return sum; }"""
# A tab that is scrolled out of the row of tabs is not a link that skips to the content.
AXE_RULES = {"skip-link": {"enabled": False}}
SETTLED = "() => new Promise((done) => setTimeout(() => requestAnimationFrame(done), 260))"


def record(annot, pyannot, folder):
    recording = folder / "scene.annot"
    recording.unlink(missing_ok=True)
    scene = pathlib.Path(__file__).with_name("page_scene.py")
    subprocess.run([annot, "record", "-q", "-o", recording, sys.executable, scene], check=True,
                   env=dict(os.environ, PYTHONPATH=pyannot), cwd=folder)
    return recording


class View(Shown):
    """One view, as it is at first."""

    def rows(self, label):
        return [[page_numbers.plain(cell) for cell in row]
                for row in self.page.evaluate(ROWS, label)]

    def settled(self):
        self.page.evaluate(SETTLED)
        return self.address()

    def drawn(self):
        self.page.evaluate(SETTLED)
        return self.page.evaluate(DRAWN)


def check_views(check, opened, path, folder):
    axe = page_browser.axe_script()
    for view in VIEWS:
        for size, scheme in zip(WIDTHS, ("light", "dark")):
            page = View(opened, path, "view=" + view, scheme, size)
            what = f"views: {view}, {size[0]}, {scheme}"
            check.equal(what + ": wider than the window", page.page.evaluate(SCROLLS), False)
            if axe:
                check.equal(what + ": accessible",
                            page_browser.violations(page.page, axe, AXE_RULES), [])
            check.equal(what + ": complaints", page.complaints, [])
            check.equal(what + ": values in place of words", page.naughts(), [])
            check.equal(what + ": requests", [url.split("#")[0] for url in page.requests],
                        [path.as_uri()])
            name = re.sub(r"\W+", "-", view)
            page.page.screenshot(path=folder / f"{name}-{size[0]}-{scheme}.png", full_page=True)
            page.close()
    one = with_data(path, folder / "one.html", leave_one_source)
    page = View(opened, one, "view=source")
    check.equal("views: source of one file", [page.naughts(), page.complaints], [[], []])
    page.close()


def leave_one_source(data):
    del data["sources"][1:]


# ---- Numbers -------------------------------------------------------------------------------------


joined = page_numbers.joined


def times(row, *names):
    return [joined(page_numbers.time_text(row[name])) for name in names]


def check_numbers(check, annot, opened, path, recording):
    report = page_numbers.report(annot, recording)
    page = View(opened, path, "view=ranges")
    shown = {row[0]: row for row in page.rows("Ranges")}
    for row in report["ranges"]:
        name = (row.get("path") or "").rsplit("/", 1)[-1]
        if name in ("work", "parse", "weigh", "pool", "server"):
            cells = [joined(cell) for cell in shown[name]]
            check.equal(f"views: range {name}", [cells[1], cells[2], cells[-3]], [
                str(row["count"]), *times(row, "total_ns", "max_ns")])
    page.close()
    page = View(opened, path, "view=pools")
    stages = [[joined(cell) for cell in row] for row in page.rows("Stages of a task")]
    functions = {row[0]: [joined(cell) for cell in row]
                 for row in page.rows("Functions of the pool")}
    for task in report["tasks"]:
        for part in task["parts"]:
            told = times(part, "p50_ns", "p90_ns", "max_ns")
            check.equal(f"views: {task['function']}, {part['part']}", told in [
                row[-3:] for row in stages if row[0] == joined(part["part"])], True)
        run = next(part for part in task["parts"] if part["part"] == "run")
        check.equal(f"views: function {task['function']}", [
            functions[task["function"]][at] for at in (1, 2, 4)],
            [str(task["count"]), *times(run, "total_ns", "max_ns")])
    check.equal("views: tasks of a pool", sum(int(row[1]) for row in page.rows("Workers")),
                sum(task["count"] for task in report["tasks"]))
    page.close()
    check_track_numbers(check, opened, path, report)
    check_loop_numbers(check, opened, path, report)
    check_statuses(check, annot, opened, path, recording)


def check_track_numbers(check, opened, path, report):
    page = View(opened, path, "view=tasks")
    shown = {row[0].strip(): [joined(cell) for cell in row]
             for row in page.rows("Requests") + page.rows("Tasks of asyncio")}
    for row in report["track_ranges"]:
        name = (row.get("path") or "").replace("python:", "")
        if name.startswith("GET") or name == "handle":
            check.equal(f"views: {name}", [shown[name][1], *shown[name][-2:]],
                        [str(row["count"]), *times(row, "p99_ns", "max_ns")])
    page.close()
    waits = [row for row in report["waits"] if row.get("reason") not in (None, "runnable")]
    if not waits:
        return
    page = View(opened, path, "view=waits")
    whole = page_numbers.time_text(sum(row["total_ns"] for row in waits))
    check.equal("views: all waits", page.head().split(" of all")[0], "Waits " + whole)
    page.close()


def check_loop_numbers(check, opened, path, report):
    """The functions that blocked the event loop, as in the report, and each single time."""
    page = View(opened, path, "view=tasks")
    shown = sorted([row[0].split()[0], *map(joined, row[1:4])]
                   for row in page.rows("What blocked it"))
    expected = sorted([row["name"], str(row["count"]), *times(row, "total_ns", "max_ns")]
                      for row in report["loop_blocks"])
    check.equal("views: what blocked the loop, as in the report", shown, expected)
    check.equal("views: it is what the scene does", [row["name"] for row in report["loop_blocks"]],
                ["read_settings"])
    each = page.rows("Blocked event loop")
    check.equal("views: each time that it was blocked", len(each),
                sum(row["count"] for row in report["loop_blocks"]))
    check.equal("views: the longest of them", joined(each[0][0]), max(
        times(row, "max_ns")[0] for row in report["loop_blocks"]))
    page.close()
    page = View(opened, path, "view=tasks&t=0-1")
    check.equal("views: nothing blocked the loop at first", "No step blocked the loop" in
                page.page.locator("main").inner_text(), True)
    page.close()


def check_statuses(check, annot, opened, path, recording):
    """Counted by hand, from the output of annot cat for each request."""
    told = subprocess.run([annot, "cat", recording], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    expected = {}
    for status in re.findall(r'begin "GET [^"]*".* status=("[^"]*"|\d+)', told):
        expected[status.strip('"')] = expected.get(status.strip('"'), 0) + 1
    page = View(opened, path, "view=tasks")
    shown = {row[0]: int(row[1]) for row in page.rows("Status of requests")}
    check.equal("views: statuses of requests", shown, {
        "200": expected["200"], "404 failed": expected["404"],
        "timed out": expected["timed out"]})
    check.equal("views: failed requests", f"{expected['404']} failed" in page.head(), True)
    page.close()


# ---- The timeline --------------------------------------------------------------------------------


def check_wheel(check, opened, path):
    page = View(opened, path, "view=timeline")
    box = page.page.locator(".tl-axis canvas").bounding_box()
    page.page.mouse.move(box["x"] + 300, box["y"] + 80)
    before = page.drawn()
    page.page.mouse.wheel(0, -300)
    zoomed = page.settled()
    check.equal("views: the wheel zooms", bool(re.search(r"[#&]at=\d+-\d+", zoomed)), True)
    check.equal("views: and draws", page.drawn() != before, True)
    page.page.keyboard.down("Shift")
    page.page.mouse.wheel(0, 200)
    page.page.keyboard.up("Shift")
    moved = page.settled()
    check.equal("views: Shift and the wheel move", moved != zoomed and "at=" in moved, True)
    for key in "wdas":
        before, address = page.drawn(), page.address()
        page.press(key)
        check.equal(f"views: {key} changes what is shown", [page.settled() != address,
                    page.drawn() != before], [True, True])
    page.press("0")
    check.equal("views: 0 shows all", "at=" in page.settled(), False)
    page.close()


def check_drag(check, opened, path):
    page = View(opened, path, "view=timeline")
    box = page.page.locator(".tl-axis canvas").bounding_box()
    y = box["y"] + 90
    page.page.mouse.move(box["x"] + 0.25 * box["width"], y)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + 0.5 * box["width"], y, steps=4)
    page.page.mouse.up()
    check.equal("views: a drag filters", re.search(r"[#&]t=(\d+)-(\d+)", page.address())[0][1:],
                "t=32-64")
    page.press("Escape")
    label = page.page.locator("button.tl-label[aria-pressed]").first
    label.focus()
    page.press("Enter")
    check.equal("views: a thread's label filters", "thread=" in page.address(), True)
    check.equal("views: and keeps the focus", page.page.evaluate(
        "() => document.activeElement.getAttribute('aria-pressed')"), "true")
    page.press("Enter")
    check.equal("views: and again not", "thread=" in page.address(), False)
    rows = page.page.locator(".tl-row").count()
    fold = page.page.locator("button.tl-label[aria-expanded=true]").first
    fold.focus()
    page.press("Enter")
    check.equal("views: a process folds", page.page.locator(".tl-row").count() < rows, True)
    check.equal("views: complaints about the timeline", page.complaints, [])
    page.close()


def check_low_strip(check, opened, path):
    """One axis of time on the timeline: the strip above is low, and still a brush."""
    page = View(opened, path, "view=ranges")
    high = page.page.locator("canvas.strip").bounding_box()["height"]
    page.page.goto(path.as_uri() + "#view=timeline")
    page.settled()
    box = page.page.locator("canvas.strip").bounding_box()
    check.equal("views: a low strip on the timeline", [high >= 60, box["height"] <= 30],
                [True, True])
    page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 10, steps=4)
    page.page.mouse.up()
    check.equal("views: the low strip filters", "t=64-96" in page.address(), True)
    page.page.goto(path.as_uri() + "#view=ranges")
    page.settled()
    check.equal("views: elsewhere it is high again",
                page.page.locator("canvas.strip").bounding_box()["height"], high)
    page.close()


DEEP = 30


def check_deep_levels(check, opened, path, folder):
    """Levels that are not drawn are counted, and can be shown."""
    def deepen(data):
        lane = next(lane for lane in data["lanes"] if lane["kind"] == "thread")
        lane.update(begin=list(range(DEEP)), length=[10**8 - 2 * at for at in range(DEEP)],
                    name_of=[lane["name_of"][0]] * DEEP, depth=list(range(DEEP)))

    page = View(opened, with_data(path, folder / "deep.html", deepen), "view=timeline")
    note = page.page.locator(".tl-row.thread .tl-deep")
    check.equal("views: levels that are not drawn", note.inner_text(),
                f"{DEEP - 24} deeper levels not drawn. Show")
    row = page.page.locator(".tl-row.thread:has(.tl-deep) canvas")
    before = row.bounding_box()["height"]
    note.get_by_role("button").focus()
    page.press("Enter")
    page.settled()
    check.equal("views: all levels", [note.inner_text(), row.bounding_box()["height"] > before],
                [f"{DEEP - 24} deeper levels shown. Hide", True])
    check.equal("views: tracks that overlap", page.page.locator(".tl-row.lane .tl-deep").first
                .inner_text().endswith("of ranges at the same time not drawn. Show"), True)
    check.equal("views: complaints about deep levels", page.complaints, [])
    page.close()


def check_timeline_keys(check, opened, path):
    page = View(opened, path, "view=timeline")
    page.page.locator(".tl-body").focus()
    page.press("ArrowDown", "ArrowRight", "ArrowRight")
    said = page.page.locator(".tl-detail").inner_text()
    check.equal("views: arrows choose a range", bool(re.search(r"\d.*(ms|s|µs)\b", said)), True)
    page.press("ArrowDown")
    check.equal("views: the next level", page.page.locator(".tl-detail").inner_text() != said, True)
    page.press("Enter")
    check.equal("views: Enter zooms to it", "at=" in page.settled(), True)
    page.page.get_by_role("button", name="Only this range").focus()
    page.press("Enter")
    check.equal("views: a range of the timeline filters", "range=" in page.address(), True)
    page.press("Escape", "/")
    page.page.keyboard.type("weigh")
    check.equal("views: a search stays in the timeline", [page.current(), "“weigh”: 24 of" in
                page.head()], ["Timeline", True])
    page.press("Escape")
    check.equal("views: and goes", "q=" in page.address(), False)
    page.close()


# ---- Filters and keys of tables ------------------------------------------------------------------


def check_filters(check, opened, path):
    def numbers(address):
        page = View(opened, path, "view=ranges" + address)
        found = [row[1:4] for row in page.rows("Ranges") if row[0] == "parse"]
        page.close()
        return found[0] if found else ["0", "", ""]

    def tasks(address):
        page = View(opened, path, "view=pools" + address)
        found = re.search(r"(\d+) tasks of", page.head())
        page.close()
        return int(found[1]) if found else 0

    whole = numbers("")
    halves = [numbers("&t=0-77"), numbers("&t=77-128")]
    check.equal("views: two stretches have all ranges", sum(int(half[0]) for half in halves),
                int(whole[0]))
    check.equal("views: a range leaves the others' numbers", numbers("&range=weigh"), whole)
    check.equal("views: two stretches have all tasks", tasks("&t=0-77") + tasks("&t=77-128"),
                tasks(""))
    page = View(opened, path, "view=tasks&t=0-1")
    check.equal("views: no request there", "No request began" in
                page.page.locator("main").inner_text(), True)
    page.close()


def check_range_filters(check, annot, opened, path, recording):
    """Counts and times of ranges on a thread, and in a process, equal those of a report of it."""
    data = json.loads(subprocess.run([annot, "html", "--data", recording], check=True,
                                     stdout=subprocess.PIPE).stdout)
    seen = 0
    for index, thread in enumerate(data["threads"]):
        pid = data["processes"][thread["process"]]["pid"]
        report = page_numbers.report(annot, recording, "--thread", str(thread["tid"]))
        expected = {row["path"].rsplit("/", 1)[-1]: [str(row["count"]), *times(row, "total_ns")]
                    for row in report["ranges"] if "rest" not in row and row["count"]}
        page = View(opened, path, f"view=ranges&thread={index}")
        shown = {row[0]: [joined(cell) for cell in row[1:3]] for row in page.rows("Ranges")}
        check.equal(f"views: ranges of {thread['name']}, {pid}", {
            name: row for name, row in shown.items() if name in ("work", "parse", "wait", "pool")},
            {name: row for name, row in expected.items()
             if name in ("work", "parse", "wait", "pool")})
        seen += "parse" in shown
        page.close()
    check.equal("views: threads with that range", seen, 2)
    check_range_halves(check, opened, path, data)


def check_range_halves(check, opened, path, data):
    """On one thread, the counts of the two parts of the time add up to the whole."""
    index = next(at for at, thread in enumerate(data["threads"]) if thread["role"] == "worker")
    counts = []
    for address in ("", "&t=0-70", "&t=70-128"):
        page = View(opened, path, f"view=ranges&thread={index}{address}")
        counts.append(next((int(row[1]) for row in page.rows("Ranges") if row[0] == "parse"), 0))
        page.close()
    check.equal("views: two stretches on a thread", [counts[1] + counts[2], counts[0] > 0],
                [counts[0], True])


def check_source_filters(check, annot, opened, path, recording):
    """Lines follow each filter: the hits of two halves add up to the whole."""
    data = json.loads(subprocess.run([annot, "html", "--data", recording], check=True,
                                     stdout=subprocess.PIPE).stdout)
    at = [source["file"] for source in data["sources"]].index("page_scene.py")
    whole = sum(data["sources"][at]["hits"])

    def hits(address):
        page = View(opened, path, f"view=source&file={at}{address}")
        cells = page.page.locator(".source .line:not(.head) > :nth-child(4)").all_inner_texts()
        check.equal(f"views: complaints about source{address}", page.complaints, [])
        page.close()
        return sum(int(page_numbers.plain(cell).replace(" ", "")) for cell in cells if cell)

    check.equal("views: the source has samples", [hits(""), whole > 20], [whole, True])
    check.equal("views: lines of two stretches", hits("&t=0-64") + hits("&t=64-128"), whole)
    for name, list_of in (("process", "processes"), ("thread", "threads")):
        each = [hits(f"&{name}={index}") for index in range(len(data[list_of]))]
        check.equal(f"views: lines of every {name}", [sum(each), max(each) < whole],
                    [whole, True])
    inside = [hits(f"&range={name}") for name in ("weigh", "parse", "work")]
    check.equal("views: lines inside ranges", [min(inside) > 0, inside[0] + inside[1] <= inside[2],
                inside[2] < whole], [True, True, True])


def check_ignored_filters(check, opened, path):
    """A view says which filters its numbers ignore; names with a slash are names."""
    for view, address, words in (
            ("pools", "&range=work", "not filtered by a range"),
            ("tasks", "&range=work&task=handle", "not filtered by a range and a task"),
            ("counters", "&thread=0", "not filtered by a thread"),
            ("summary", "&t=3-90", "not filtered by a stretch of time"),
            ("pools", "&t=0-128", None), ("tasks", "&thread=0", None)):
        page = View(opened, path, f"view={view}{address}")
        told = " ".join(page.page.locator(".ignored").all_inner_texts())
        check.equal(f"views: {view}{address}: what is not filtered", words in told if words
                    else told, True if words else "")
        page.close()
    page = View(opened, path, "view=summary")
    names = page.page.locator("section", has_text="Tasks and requests").last
    row = names.locator("tbody tr", has_text="GET /quick").first
    check.equal("views: a name with a slash", row.locator("td").first.inner_text(), "GET /quick")
    row.focus()
    page.press("Enter")
    check.equal("views: filters by its name", "range=GET%20%2Fquick" in page.address(), True)
    page.close()
    check_thread_times(check, opened, path)


def check_thread_times(check, opened, path):
    """Times of threads on the summary are of the stretch, and those of two stretches add up to the
    whole."""
    def cpu_ms(address):
        page = View(opened, path, "view=summary" + address)
        rows = page.page.evaluate("""() => [...[...document.querySelectorAll('main section')].find(
            (one) => one.querySelector('h2').textContent === 'Processes and threads')
            .querySelectorAll('tbody tr:not(.rest)')].map((row) => [...row.children].map(
            (cell) => cell.textContent))""")
        page.close()
        texts = [joined(row[1]) for row in rows]
        return sum(0 if text == "0" else float(text[:-2]) for text in texts if text == "0" or
                   text.endswith("ms"))

    whole = cpu_ms("")
    halves = cpu_ms("&t=0-64") + cpu_ms("&t=64-128")
    check.equal("views: times of threads in two stretches", [whole > 100,
                abs(halves - whole) < 0.02 * whole], [True, True])


def check_table_keys(check, opened, path):
    page = View(opened, path, "view=ranges")
    page.page.locator("table[aria-label=Ranges] tbody tr[tabindex='0']").focus()
    first = page.page.evaluate(FOCUSED)
    page.press("ArrowDown")
    check.equal("views: down a row", page.page.evaluate(FOCUSED) != first, True)
    page.press("End", "Home")
    check.equal("views: and back to the first", page.page.evaluate(FOCUSED), first)
    page.press("Enter")
    check.equal("views: Enter filters by it", "range=" in page.address(), True)
    page.page.evaluate(SETTLED)
    check.equal("views: the row keeps the focus", page.page.evaluate(FOCUSED), first)
    page.press("Escape")
    head = page.page.locator("table[aria-label=Ranges] thead")
    head.get_by_role("button", name="count", exact=True).focus()
    page.press("Enter")
    shown = [int(row[1].replace(" ", "")) for row in page.rows("Ranges") if row[1]]
    check.equal("views: sorted by count", shown, sorted(shown, reverse=True))
    page.press("Enter")
    shown = [int(row[1].replace(" ", "")) for row in page.rows("Ranges") if row[1]]
    check.equal("views: and the other way round", shown, sorted(shown))
    page.page.goto(path.as_uri() + "#view=pools")
    page.page.locator("table[aria-label='Longest tasks'] tbody tr[tabindex='0']").focus()
    page.press("Enter")
    check.equal("views: a task leads to the timeline", [page.current(), "at=" in page.address()],
                ["Timeline", True])
    check.equal("views: complaints about tables", page.complaints, [])
    page.close()


# ---- Foreign names, and missing data -------------------------------------------------------------


def evil_everything(data):
    evil_names(data)
    for key in ("lanes", "counters", "pools"):
        for index, one in enumerate(data[key]):
            one["name"] = EVIL[index % len(EVIL)]
    for pool in data["pools"]:
        pool["function"] = EVIL[0] * 50
    for index, one in enumerate(data["trust"]):
        one["text"] = EVIL[index % len(EVIL)]
    data["causes"] = [EVIL[index % 2] for index in range(len(data["causes"]))]
    data["left_out"] = EVIL


def check_names(check, opened, path, folder):
    evil = with_data(path, folder / "names.html", evil_everything)
    for view in VIEWS:
        for size in WIDTHS:
            page = View(opened, evil, "view=" + view, size=size)
            page.page.mouse.move(size[0] / 2, 560)
            check.equal(f"views: names, {view}, {size[0]}", [
                page.page.title() == "bad", page.page.locator("img").count(), page.complaints,
                page.page.evaluate(SCROLLS)], [False, 0, [], False])
            page.close()


def check_absent(check, opened, path, folder):
    def nothing(data):
        for key in ("lanes", "states", "range_stats", "pools", "tasks", "requests", "loop_blocks",
                    "counters", "trust", "tables"):
            data.pop(key, None)
        data["tables"] = []
        for column in data["off"].values():
            column.clear()

    page = View(opened, with_data(path, folder / "absent.html", nothing))
    check.equal("views: only what has data", set(page.page.evaluate(TABS)) & {
        "Timeline", "Ranges", "Pools", "Tasks", "Waits", "Counters"}, set())
    check.equal("views: complaints of little", page.complaints, [])
    page.close()
    def only_imports(data):
        table = next(table for table in data["tables"] if table["name"] == "ranges")
        table["rows"] = [row for row in table["rows"] if str(row["cells"][0]).startswith(
            ("import ", "python:import ")) or row.get("role") == "rest"]

    page = View(opened, with_data(path, folder / "imports.html", only_imports), "view=ranges")
    check.equal("views: rows of little interest, if there are no others",
                len(page.rows("Ranges")) >= 10, True)
    page.close()
    page = View(opened, path)
    check.equal("views: all others", set(page.page.evaluate(TABS)) >= {
        "Timeline", "Ranges", "Pools", "Tasks", "Counters", "Recording"}, True)
    page.close()


COMPARED = ("name", "place", "metric", "unit", "a", "b", "low", "high", "change", "verdict")


def check_compare(check, opened, path, folder):
    """Rows as annot diff has them: one certain, one uncertain, one in B alone."""
    rows = [["parse", "", "each", "ns", 4e6, 5e6, 5e5, 1.5e6, 0.25, "slower"],
            ["weigh", "", "each", "ns", 4e6, 4.1e6, -1e6, 1e6, 0.025, "unsure"],
            ["x" * 3000, "", "total", "ns", 0, 1e6, None, None, None, "new"]]

    def second(data):
        data["compare"] = {"file": EVIL[0], "tables": [{
            "name": "ranges", "title": "ranges", "more": 0, "notes": [],
            "columns": [{"name": name, "title": None, "type": "value"} for name in COMPARED],
            "rows": [{"cells": row} for row in rows]}]}

    made = with_data(path, folder / "compare.html", second)
    for address, count in (("", 3), ("&differs=sure", 2)):
        page = View(opened, made, "view=compare" + address, size=WIDTHS[1])
        shown = page.rows("ranges")
        check.equal(f"views: compare{address}", [len(shown), shown[0][-1], page.complaints,
                    page.page.evaluate(SCROLLS)], [count, "▲ slower", [], False])
        check.equal(f"views: numbers compared{address}", [
            joined(cell) for cell in shown[0][2:5]], ["4.00ms", "5.00ms", "+25%"])
        page.close()


def main():
    use_test_python()
    annot, pyannot = map(os.path.abspath, sys.argv[1:3])
    folder = pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    check = Check()
    recording = record(annot, pyannot, folder)
    path = write_page(annot, recording, folder / "scene.html")
    try:
        with page_browser.browser() as opened:
            check_views(check, opened, path, folder)
            check_numbers(check, annot, opened, path, recording)
            check_wheel(check, opened, path)
            check_drag(check, opened, path)
            check_low_strip(check, opened, path)
            check_deep_levels(check, opened, path, folder)
            check_timeline_keys(check, opened, path)
            check_filters(check, opened, path)
            check_range_filters(check, annot, opened, path, recording)
            check_source_filters(check, annot, opened, path, recording)
            check_ignored_filters(check, opened, path)
            check_table_keys(check, opened, path)
            check_names(check, opened, path, folder)
            check_absent(check, opened, path, folder)
            check_compare(check, opened, path, folder)
    except perfetto_ui.NoVerdict as reason:
        print(f"skipped: {reason}")
        return 1 if check.failed else 77
    print(f"{check.passed} passed, {check.failed} failed, 0 skipped")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
