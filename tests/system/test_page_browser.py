#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of annot html in a real browser: contents, texts and behaviour.

test_page_browser.py ANNOT MAKE_TRACE FOLDER: pages and pictures are left in FOLDER. Exit status 0,
1, or 77 if Chromium, playwright or axe-core is not there.
"""

import base64
import gzip
import itertools
import json
import pathlib
import re
import subprocess
import sys

import page_browser
import page_numbers
import perfetto_ui
from test_exports import Check, use_test_python

VIEWS = ("summary", "tree", "tree&time=wall&q=a", "flame", "flame&time=wall&idle=1",
         "flame&mode=flame&frames=all", "flame&mode=sandwich", "flame&mode=treemap&own=1", "calls")
WIDTHS = ((1440, 900), (800, 900))
WRONG = ("view=nothing", "view=%00", "t=9-3", "t=0-99999", "thread=99999", "thread=-1", "thread=x",
         "range=nobody", "zoom=99999999", "own=2", "time=never", "mode=pie", "process=1e3", "=",
         "&&&", "q=" + "x" * 2000, "theme=pink", "focus=" + "9" * 30, "task=%E0%A4%A",
         "frames=__proto__")
READY = "() => document.documentElement.dataset.ready === '1'"
SCROLLS = "() => document.documentElement.scrollWidth > window.innerWidth"
CURRENT = "() => document.querySelector('nav [aria-current]').textContent"
HEAD = "() => document.querySelector('main .viewhead').innerText"
FOCUS = "() => document.activeElement.tagName + ' ' + document.activeElement.className"
# Names that must stay text, and a long one that must not push others aside.
EVIL = ["<img src=x onerror=document.title='bad'>",
        "</script><script>document.title='bad'</script>",
        "\u202eshell\u202c", "\u05e9\u05dc\u05d5\u05dd \u0639\u0627\u0644\u0645", "x" * 10000, "",
        "&lt;b&gt; \"'`", "a\tb", "\U0001f525", "__proto__", "constructor"]


def write_page(annot, recording, path, *options):
    subprocess.run([annot, "html", "--force", "-o", path, *options, recording], check=True)
    return path


class Shown(page_browser.Page):
    """The page when its script has drawn it."""

    def __init__(self, opened, path, address="", scheme="light", size=WIDTHS[0]):
        super().__init__(opened, path, "#" + address if address else "", scheme, size)
        self.page.wait_for_function(READY)

    def head(self):
        return re.sub(r"\s+", " ", self.page.evaluate(HEAD)).replace("\u202f", " ")

    def current(self):
        return self.page.evaluate(CURRENT)

    def address(self):
        """When the page has written it, in a pause."""
        return self.page.evaluate(
            "() => new Promise((done) => setTimeout(() => done(location.hash), 200))")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)


def with_data(path, target, change):
    """The same page with other data."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r'(<script[^>]*id="data"[^>]*>)([^<]*)(</script>)', text)
    data = json.loads(gzip.decompress(base64.b64decode(found[2])))
    change(data)
    packed = base64.b64encode(gzip.compress(json.dumps(data).encode())).decode()
    target.write_text(text[:found.start(2)] + packed + text[found.end(2):], encoding="utf-8")
    return target


# ---- Everything opens, without other requests ----------------------------------------------------


def check_view(check, opened, path, view, look):
    """Returns the page, to be closed."""
    scheme, size = look
    page = Shown(opened, path, "view=" + view, scheme, size)
    what = f"page: {view}, {size[0]}, {scheme}"
    check.equal(what + ": wider than the window", page.page.evaluate(SCROLLS), False)
    axe = page_browser.axe_script()
    if axe and size == WIDTHS[0]:
        check.equal(what + ": accessible", page_browser.violations(page.page, axe), [])
    check.equal(what + ": complaints", page.complaints, [])
    check.equal(what + ": values in place of words", page.naughts(), [])
    check.equal(what + ": requests", [url.split("#")[0] for url in page.requests],
                [path.as_uri()])
    return page


def check_views(check, opened, path, folder):
    looks = (("light", WIDTHS[0]), ("dark", WIDTHS[0]), ("light", WIDTHS[1]))
    for view, (scheme, size) in itertools.product(VIEWS, looks):
        page = check_view(check, opened, path, view, (scheme, size))
        name = re.sub(r"\W+", "-", view)
        page.page.screenshot(path=folder / f"{name}-{size[0]}-{scheme}.png", full_page=True)
        page.close()


def check_layout(check, opened, path, folder):
    """A function and its place are neighbours; total and self are explained; one card is a row."""
    page = Shown(opened, path, "view=tree&time=cpu")
    gap = page.page.evaluate("""() => { const place = document.querySelector('.tree .row .place');
        const name = place.previousElementSibling.getBoundingClientRect();
        return place.getBoundingClientRect().left - name.right; }""")
    check.equal("page: a function's place is beside it", 0 < gap < 40, True)
    check.equal("page: what total and self are", [
        page.page.locator(".tree .head [title]").all_inner_texts(),
        "Total: with all that a function calls. Self: without." in
        page.page.locator("main").inner_text()], [["total", "self", "share"], True])
    page.close()

    def one_finding(data):
        for table in data["tables"]:
            if table["name"] == "findings":
                table["rows"] = table["rows"][:1]

    page = Shown(opened, with_data(path, folder / "card.html", one_finding))
    sizes = page.page.evaluate("""() => ['.cards', '.card'].map((one) =>
        Math.round((document.querySelector(one) || document.body).getBoundingClientRect().width))
        .concat([document.querySelectorAll('.card').length])""")
    if sizes[2]:
        check.equal("page: one card is as wide as the page", [sizes[2], sizes[0]], [1, sizes[1]])
    page.close()


def check_print(check, opened, path, folder):
    page = Shown(opened, path, "view=flame", "dark")
    page.page.emulate_media(media="print")
    hidden = page.page.evaluate("""() => ['nav', '.tool', '.seg'].every((one) =>
        getComputedStyle(document.querySelector(one)).display === 'none')""")
    check.equal("page: controls on paper", hidden, True)
    page.page.pdf(path=folder / "page.pdf")
    check.equal("page: complaints while it is printed", page.complaints, [])
    page.close()


def check_flame(check, opened, annot, recording, folder):
    """The page of annot flame is a part of this one."""
    path = folder / "flame.html"
    subprocess.run([annot, "flame", "--force", "-o", path, recording], check=True)
    page = Shown(opened, path)
    check.equal("page: of annot flame", [page.current(), page.complaints, page.page.evaluate(
        "() => [...document.querySelectorAll('nav a')].map((a) => a.textContent)")],
        ["Flame graph", [], ["Call tree", "Flame graph", "Call graph"]])
    check.equal("page: requests of annot flame", page.requests, [path.as_uri()])
    page_numbers.check_legend(check, page, page_numbers.report(annot, recording))
    page.close()


# ---- The whole path by keyboard ------------------------------------------------------------------


def check_keys(check, opened, path):
    page = Shown(opened, path)
    titles = page.page.evaluate(
        "() => [...document.querySelectorAll('nav a')].map((a) => a.textContent)")
    for number, title in enumerate(titles[:9], 1):
        page.press(str(number))
        check.equal(f"page: key {number}", page.current(), title)
    page.press("1", "/")
    check.equal("page: / goes to the search", page.page.evaluate(FOCUS), "INPUT ")
    page.page.keyboard.type("walk")
    check.equal("page: a search shows the flame graph", page.current(), "Flame graph")
    check.equal("page: it is in the address", "q=walk" in page.address(), True)
    page.press("Escape")
    check.equal("page: Escape forgets it", "q=" in page.address(), False)
    page.press("c")
    check.equal("page: C, wall time", "time=wall" in page.address(), True)
    page.press("c", "m")
    check.equal("page: M, own code", "own=1" in page.address(), True)
    page.press("m", "t")
    check.equal("page: T, the other theme", "theme=dark" in page.address(), True)
    page.press("t", "?")
    check.equal("page: ?, the keys", page.page.locator("dialog").is_visible(), True)
    page.press("Escape")
    check.equal("page: they go away", page.page.locator("dialog").is_visible(), False)
    check_tree_keys(check, page)
    check_flame_keys(check, page)
    check_brush_keys(check, page)
    check.equal("page: complaints about keys", page.complaints, [])
    page.close()


def check_tree_keys(check, page):
    page.press("2")
    page.page.locator("[role=treeitem][tabindex='0']").focus()
    items = page.page.locator("[role=treeitem]").count()
    page.press("ArrowLeft")
    check.equal("page: a row of the tree is closed",
                page.page.locator("[role=treeitem]").count() < items, True)
    page.press("ArrowRight")
    check.equal("page: and opened", page.page.locator("[role=treeitem]").count(), items)
    page.press("ArrowDown", "End", "Home")
    check.equal("page: it still has the focus", page.page.evaluate(
        "() => document.activeElement.getAttribute('role')"), "treeitem")


def check_flame_keys(check, page):
    page.press("3")
    page.page.locator("main canvas").focus()
    page.press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "Enter")
    check.equal("page: Enter zooms", "zoom=" in page.address(), True)
    check.equal("page: the tip says what it is", page.page.locator(".tip b").count(), 1)
    page.press("Escape")
    check.equal("page: Escape shows all", "zoom=" in page.address(), False)


def check_brush_keys(check, page):
    page.page.locator(".strip").focus()
    page.press("ArrowRight", "ArrowRight", "Shift+ArrowRight")
    check.equal("page: arrows make a stretch of time", bool(re.search(r"[#&]t=\d+-\d+",
                page.address())), True)
    page.press("Escape")
    check.equal("page: Escape takes it away", "t=" in page.address(), False)


# ---- The mouse -----------------------------------------------------------------------------------


def drag(page, strip, first, last):
    box = page.page.locator(strip).bounding_box()
    y = box["y"] + box["height"] / 2
    page.page.mouse.move(box["x"] + first * box["width"], y)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + last * box["width"], y, steps=4)
    page.page.mouse.up()


def check_mouse(check, opened, path):
    page = Shown(opened, path, "view=flame")
    drag(page, ".strip", 0.252, 0.7495)
    check.equal("page: a drag is a stretch of slots", re.findall(r"t=\d+-\d+", page.address()),
                ["t=32-96"])
    page.page.locator(".chip").click()
    check.equal("page: its chip takes it away", "t=" in page.address(), False)
    page.page.locator("select.filter").select_option(index=1)
    check.equal("page: a filter from the menu", [page.page.locator(".chip").count(), bool(re.search(
        r"(thread|process|range)=", page.address()))], [1, True])
    page.press("Escape")
    box = page.page.locator("main canvas").bounding_box()
    page.page.mouse.move(box["x"] + 40, box["y"] + 52)
    name = page.page.locator(".tip b").inner_text()
    page.page.mouse.click(box["x"] + 40, box["y"] + 52)
    check.equal("page: a click zooms to what the tip names", [bool(name), "zoom=" in
                page.address()], [True, True])
    check.equal("page: a click on a thread filters", row_filters(page), True)
    check.equal("page: complaints about the mouse", page.complaints, [])
    page.close()


def row_filters(page):
    page.press("Escape", "1")
    page.page.locator("main section tr[tabindex]", has_text="loader").click()
    return "thread=" in page.address()


# ---- Addresses -----------------------------------------------------------------------------------


def check_addresses(check, opened, path):
    page = Shown(opened, path, "view=summary")
    plain = page.head()
    for wrong in WRONG:
        page.page.goto("about:blank")
        page.page.goto(path.as_uri() + "#" + wrong)
        page.page.wait_for_function(READY)
        check.equal(f"page: address {wrong[:40]}", (page.head(), page.complaints), (plain, []))
    page.close()
    page = Shown(opened, path, "view=flame&time=wall&own=1&theme=dark")
    check.equal("page: an address is followed", [page.current(), page.page.evaluate(
        "() => document.documentElement.dataset.theme")], ["Flame graph", "dark"])
    page.page.evaluate("() => { location.hash = '#view=tree'; }")
    page.page.wait_for_function("() => document.querySelector('main [role=tree]')")
    check.equal("page: a changed address too", page.current(), "Call tree")
    page.page.go_back()
    page.page.wait_for_function("() => document.querySelector('main canvas')")
    check.equal("page: back", page.current(), "Flame graph")
    page.close()


# ---- Names of others -----------------------------------------------------------------------------


def evil_names(data):
    for index, function in enumerate(data["functions"]):
        function[0] = EVIL[index % len(EVIL)]
        function[1] = EVIL[(index + 3) % len(EVIL)]
    data["names"] = [EVIL[index % len(EVIL)] + str(index) for index in range(len(data["names"]))]
    for key in ("threads", "processes"):
        for index, one in enumerate(data[key]):
            one["name"] = EVIL[index % len(EVIL)]
    data["title"] = data["facts"]["command"] = EVIL[0] * 200
    data["headline"] = [EVIL[1] + " " + "y" * 5000]
    for table in data["tables"]:
        for row in table["rows"]:
            row["cells"] = [EVIL[2] + "z" * 3000 if isinstance(cell, str) else cell
                            for cell in row["cells"]]


def check_names(check, opened, path, folder):
    evil = with_data(path, folder / "names.html", evil_names)
    for view in ("summary", "tree", "flame", "flame&mode=sandwich", "flame&mode=treemap", "calls"):
        for size in WIDTHS:
            page = Shown(opened, evil, "view=" + view, size=size)
            page.page.mouse.move(size[0] / 2, 600)
            title = page.page.title()
            what = f"page: names, {view}, {size[0]}"
            check.equal(what, [title == "bad", page.page.locator("img").count(), page.complaints,
                               page.page.evaluate(SCROLLS)], [False, 0, [], False])
            page.page.screenshot(path=folder / f"names-{view.split('&')[0]}-{size[0]}.png")
            page.close()


# ---- Lines that were counted --------------------------------------------------------------------


def counted_function(name, length, texts):
    """Line 5 has all hits and nine tenths of the time, another far below the rest."""
    return {"name": name, "file": name, "path": "/" + name, "at": 1, "owner": "own",
            "total_ns": 10**9, "own_ns": 5 * 10**8, "line": [5, length - 2], "hits": [1234, 1],
            "ns": [9 * 10**8, 10**8], "self_ns": [4 * 10**8, 10**8], "first": 1,
            "text": [texts[index % len(texts)] for index in range(length)]}


def counted_lines(data):
    data["counted"] = {"self": True, "own_ns": 2 * 10**9, "more": 7, "functions": [
        counted_function("short", 8, ["def short(self):", "    return 1  # one"]),
        counted_function("long", 300, ["pass"])] + [
            counted_function(name, 20, EVIL) for name in EVIL]}
    del data["counted"]["functions"][0]["text"]


def check_counted(check, opened, path, folder):
    counted = with_data(path, folder / "lines.html", counted_lines)
    looks = (("light", WIDTHS[0]), ("dark", WIDTHS[0]), ("light", WIDTHS[1]))
    for scheme, size in looks:
        page = check_view(check, opened, counted, "lines", (scheme, size))
        page.page.screenshot(path=folder / f"lines-{size[0]}-{scheme}.png")
        check.equal(f"page: lines, {size[0]}: nothing of a name", [
            page.page.locator("img").count(), page.page.title() == "bad"], [0, False])
        page.close()
    page = Shown(opened, counted, "view=lines")
    rows = page.page.locator(".counted .line:not(.head)")
    cells = [text.replace("\u202f", " ").strip()
             for text in rows.first.locator("[role=cell]").all_inner_texts()]
    check.equal("page: lines: one without a text", cells,
                ["1 234", "900ms", "400ms", "729µs", "90 %", "5", ""])
    check.equal("page: lines: a screen of them", 40 <= rows.count() < 70, True)
    page.page.get_by_role("button", name="⋯").first.click()
    page.page.wait_for_function(
        "() => document.querySelectorAll('.counted .line').length === 301")
    check.equal("page: lines: a whole function", [
        page.page.locator("[role=table]").get_attribute("aria-label"), page.address()],
                ["Lines of long", "#lines=1&view=lines"])
    page.close()


CORPUS = pathlib.Path(__file__).resolve().parents[1] / "fuzz/corpus/import"


def check_imported(check, opened, annot, folder):
    """A trace of another tool without samples has its calls and ranges, and no empty table."""
    recording = folder / "imported.annot"
    source = CORPUS / "chrome/viztracer.json"
    subprocess.run([annot, "import", "--force", "-o", recording, source], check=True)
    page = Shown(opened, write_page(annot, recording, folder / "imported.html"))
    titles = page.page.locator("main h2").all_inner_texts()
    check.equal("page: imported: sections", titles, ["Where the time of calls went"])
    check.equal("page: imported: no strip of samples", page.page.locator(".strip").count(), 0)
    calls = {event["name"].split(" (")[0]
             for event in json.loads(source.read_text())["traceEvents"] if event["ph"] == "X"}
    shown = set(page.page.locator("main code").all_inner_texts())
    check.equal("page: imported: functions", shown and shown <= calls, True)
    check.equal("page: imported: complaints", page.complaints, [])
    page.close()


def check_rates(check, opened, annot, make_trace, folder):
    """Samples of two rates count as much as their CPU time."""
    recording = folder / "rates.annot"
    recording.unlink(missing_ok=True)
    subprocess.run([make_trace, "rates", recording], check=True)
    page = Shown(opened, write_page(annot, recording, folder / "rates.html"))
    data = page_numbers.report(annot, recording)
    page_numbers.check_own_functions(check, page, data)
    page_numbers.check_threads(check, page, data)
    page_numbers.check_legend(check, page, data)
    page.close()


def main():
    use_test_python()
    annot, make_trace = sys.argv[1:3]
    folder = pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    check = Check()
    recording = folder / "sampled.annot"
    recording.unlink(missing_ok=True)
    subprocess.run([make_trace, "sampled", recording], check=True)
    path = write_page(annot, recording, folder / "page.html")
    try:
        with page_browser.browser() as opened:
            check_views(check, opened, path, folder)
            check_layout(check, opened, path, folder)
            check_print(check, opened, path, folder)
            check_flame(check, opened, annot, recording, folder)
            check_keys(check, opened, path)
            check_mouse(check, opened, path)
            check_addresses(check, opened, path)
            check_names(check, opened, path, folder)
            check_counted(check, opened, path, folder)
            check_imported(check, opened, annot, folder)
            check_rates(check, opened, annot, make_trace, folder)
            page_numbers.check_all(check, annot, opened, recording, Shown(opened, path))
        if page_browser.axe_script() is None:
            raise perfetto_ui.NoVerdict("no axe-core; hint: pip install axe-playwright-python")
    except perfetto_ui.NoVerdict as reason:
        print(f"skipped: {reason}")
        return 1 if check.failed else 77
    print(f"{check.passed} passed, {check.failed} failed, 0 skipped")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
