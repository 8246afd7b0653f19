# SPDX-License-Identifier: MIT
"""A flame graph in a headless Chromium: what a user does with it, and what it then shows."""

import json
import re
import subprocess
import xml.dom.minidom

import page_browser
import perfetto_ui

SHOWN = """() => Array.from(document.querySelectorAll('#frames > g'))
    .filter((g) => g.style.display !== 'none')
    .map((g) => ({label: (g.querySelector('text') || {textContent: ''}).textContent,
                  width: Number(g.querySelector('rect').getAttribute('width')),
                  around: g.classList.contains('around'), match: g.classList.contains('match')}))"""
TIP = """() => { const tip = document.getElementById('tip');
    return tip.style.display === 'none' ? [] :
        Array.from(tip.querySelectorAll('text')).map((t) => t.textContent); }"""
# No text may stand out of its box, and none may be hard to read.
BAD_TEXTS = """() => {
    const light = (c) => {
        const [r, g, b] = c.match(/[0-9.]+/g).map(Number).map((v) => {
            v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const bad = [];
    for (const g of document.querySelectorAll('#frames > g')) {
        const text = g.querySelector('text'), rect = g.querySelector('rect');
        if (g.style.display === 'none' || !text || !text.textContent) continue;
        const inner = text.getBBox(), outer = rect.getBBox();
        const a = light(getComputedStyle(text).fill), b = light(getComputedStyle(rect).fill);
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (inner.x + inner.width > outer.x + outer.width + 1 || contrast < 4.5)
            bad.push([text.textContent, inner.width, outer.width, contrast]);
    }
    return bad;
}"""


def draw(annot, recording, output, *options):
    subprocess.run([annot, "flame", "--force", "-o", output, *options, recording], check=True)
    xml.dom.minidom.parse(str(output))
    return output


class Page(page_browser.Page):
    """A flame graph that is a page of its own."""

    def shown(self):
        return self.page.evaluate(SHOWN)

    def labels(self):
        return [frame["label"] for frame in self.shown()]

    def box(self, label):
        """The middle of the first box of that label."""
        text = self.page.locator("#frames > g", has_text=re.compile("^" + re.escape(label)))
        box = text.first.locator("rect").bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def check_mouse(check, page):
    all_labels = page.labels()
    page.page.mouse.move(*page.box("Model.step"))
    check.equal("flame: the tip", page.page.evaluate(TIP), [
        "Model.step (net/model.py:40)", "/usr/lib/python3/dist-packages/net/model.py:40",
        "19.00 ms, 46.34 % of CPU time, 19 samples", "itself 2.00 ms, 4.88 %"])
    page.page.mouse.click(*page.box("Model.step"))
    shown = page.shown()
    check.equal("flame: zoomed", [f["label"][:6] for f in shown if not f["around"]],
                ["Model.", "cblas_", "asm_ex", "handle", "std::m", "garbag"])
    check.equal("flame: its callers stay", [f["label"] for f in shown if f["around"]],
                ["all", "_start", "main", "Py_RunMain", "<module> (/home/me/app/app.py:90)",
                 "train (/home/me/app/app.py:20)"])
    check.equal("flame: it takes the whole width", {round(f["width"]) for f in shown[:7]}, {1176})
    page.page.get_by_role("button", name="show all").click()
    check.equal("flame: all again", page.labels(), all_labels)


def check_search(check, page):
    page.page.keyboard.press("/")
    page.page.keyboard.type("walk|ksys")
    matched = page.page.locator("#matched").inner_text()
    check.equal("flame: share of what was found", matched, "21.95 % in 61")
    check.equal("flame: boxes found", sum(frame["match"] for frame in page.shown()), 61)
    page.page.keyboard.press("Escape")
    check.equal("flame: nothing found any more", any(f["match"] for f in page.shown()), False)
    page.page.keyboard.press("/")
    page.page.keyboard.type("std::map<int, std::string>::operator[](")
    check.equal("flame: brackets are no pattern", page.page.locator("#matched").inner_text(),
                "9.76 % in 1")
    page.page.keyboard.press("Escape")


def check_keys(check, page):
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.page.keyboard.press(key)
    tip = page.page.evaluate(TIP)
    check.equal("flame: keys walk and zoom", [tip[0], tip[-1]],
                ["thread_run", "100.00 % of what is shown"])
    page.page.keyboard.press("Escape")
    check.equal("flame: Escape shows all", "_start" in page.labels(), True)


def check_groups(check, browser, annot, recording, folder):
    ranges = Page(browser, draw(annot, recording, folder / "ranges.svg", "--by", "range"),
                  scheme="dark")
    labels = ranges.labels()
    check.equal("flame: ranges at the root", [name in labels for name in (
        "(no range)", "load", "train", "step")], [True] * 4)
    ranges.page.screenshot(path=str(folder / "ranges.png"))
    waits = Page(browser, draw(annot, recording, folder / "waits.svg", "--off-cpu", "--inverted"))
    check.equal("flame: waits", [name in [label[:5] for label in waits.labels()] for name in (
        "[the ", "[disk", "[slee", "[chil")], [True] * 4)
    waits.page.screenshot(path=str(folder / "waits.png"))
    for page in (ranges, waits):
        check.equal("flame: texts fit and are readable", page.page.evaluate(BAD_TEXTS), [])
        check.equal("flame: no complaints", page.complaints, [])


def check_all(check, annot, folder):
    """Needs the recording sampled.annot in the folder."""
    recording = folder / "sampled.annot"
    with page_browser.browser() as browser:
        path = draw(annot, recording, folder / "sampled.svg")
        page = Page(browser, path)
        page.page.screenshot(path=str(folder / "flame.png"))
        check.equal("flame: texts fit and are readable", page.page.evaluate(BAD_TEXTS), [])
        check_mouse(check, page)
        check_search(check, page)
        check_keys(check, page)
        check.equal("flame: one request", page.requests, [path.as_uri()])
        check.equal("flame: no complaints", page.complaints, [])
        check_groups(check, browser, annot, recording, folder)
    print(json.dumps({"pictures": ["flame.png", "ranges.png", "waits.png"]}))
