# SPDX-License-Identifier: MIT
"""Flame graphs as pictures, in a headless Chromium: their contents, and that all text fits."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree

import page_browser
import page_numbers

SVG = "{http://www.w3.org/2000/svg}"
# Text must not stand out of its box or of the picture, lie on other text, or be hard to read.
BAD_TEXTS = """() => {
    const light = (c) => {
        const [r, g, b] = c.match(/[0-9.]+/g).map(Number).map((v) => {
            v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const bad = [], ground = document.querySelector('.page');
    const look = (text, box, frame) => {
        const inner = text.getBBox(), outer = frame.getBBox();
        const a = light(getComputedStyle(text).fill), b = light(getComputedStyle(box).fill);
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (inner.x < outer.x || inner.x + inner.width > outer.x + outer.width || contrast < 4.5)
            bad.push([text.textContent, inner.width, outer.width, contrast]);
        return inner;
    };
    for (const g of document.querySelectorAll('#frames > g')) {
        const rect = g.querySelector('rect');
        const [name, more] = [...g.querySelectorAll('text')].map((one) => look(one, rect, rect));
        if (more && name.x + name.width > more.x)
            bad.push(['overlaps', g.textContent]);
    }
    const above = [...document.querySelectorAll('svg > text, #legend > text')];
    const boxes = above.map((one) => look(one, ground, ground));
    boxes.forEach((one, i) => boxes.slice(0, i).forEach((other, j) => {
        if (one.x < other.x + other.width && other.x < one.x + one.width &&
            one.y + 2 < other.y + other.height && other.y + 2 < one.y + one.height)
            bad.push(['overlaps', above[i].textContent, above[j].textContent]);
    }));
    return bad;
}"""
# Functions with names that try to be markup, to turn the text around, or are endless.
HOSTILE = r'''
import sys, time
names = ["<img src=x onerror=alert(1)>", "]]><script>alert(1)</script>", "\u202eshell\u202c",
         "\u05e9\u05dc\u05d5\u05dd", "x" * 10000, "a\tb\x01\x1f", "&lt;b&gt; \"'`", "\U0001f525"]
def spin(until):
    while time.monotonic() < until:
        sum(range(1000))
def call(names, until):
    spin(until)
    if names:
        inner = (lambda rest: (lambda: call(rest, time.monotonic() + 0.05)))(names[1:])
        words = {"co_name": names[0]}
        if sys.version_info >= (3, 11):
            words["co_qualname"] = names[0]
        inner.__code__ = inner.__code__.replace(**words)
        inner()
call(names, time.monotonic() + 0.05)
'''


def draw(annot, recording, output, *options):
    subprocess.run([annot, "flame", "--force", "-o", output, *options, recording], check=True)
    return output


def check_still(check, path):
    """Well-formed, without anything that runs or loads something."""
    text = path.read_text(encoding="utf-8")
    tree = xml.etree.ElementTree.fromstring(text)
    check.equal("flame: elements", {one.tag.removeprefix(SVG) for one in tree.iter()} - {
        "svg", "title", "style", "rect", "text", "g"}, set())
    attributes = {name for one in tree.iter() for name in one.attrib}
    check.equal("flame: attributes", attributes - {
        "class", "data-d", "data-ns", "height", "id", "rx", "viewBox", "width", "x", "y"}, set())
    check.equal("flame: nothing is loaded", re.findall(r"url\(|@import", text), [])
    return tree


def check_legend(check, annot, recording, tree):
    """As in the report, to the nanosecond and in words."""
    text = subprocess.run([annot, "report", "--json", "--all", recording], check=True,
                          capture_output=True).stdout
    sums = page_numbers.owner_sums(json.loads(text))
    keys = [one for one in tree.iter(SVG + "text") if one.get("class") == "key"]
    check.equal("flame: the legend, as in the report", sum(
        int(one.get("data-ns")) for one in keys), sum(sums.values()))
    for word, ns in sums.items():
        texts = [one.text for one in keys if ns and one.get("data-ns") == str(ns) and
                 one.text.startswith(f"{word} {page_numbers.time_text(ns)} ".replace("µ", "u"))]
        check.equal(f"flame: legend of {word}", len(texts), 1 if ns else 0)


def check_looks(check, browser, path, folder):
    for scheme in ("light", "dark"):
        page = page_browser.Page(browser, path, scheme=scheme)
        check.equal(f"flame: texts of {path.name}, {scheme}", page.page.evaluate(BAD_TEXTS), [])
        check.equal("flame: no complaints", page.complaints, [])
        check.equal("flame: one request", page.requests, [path.as_uri()])
        page.page.screenshot(path=str(folder / f"{path.stem}-{scheme}.png"))
        page.page.close()


def check_hostile(check, browser, annot, folder):
    recording = folder / "hostile.annot"
    subprocess.run([annot, "record", "--rate", "499", "--force", "-o", recording, "--",
                    sys.executable, "-c", HOSTILE], check=True)
    path = draw(annot, recording, folder / "hostile.svg", "--min-width", "0.01")
    tree = check_still(check, path)
    titles = [one.text for one in tree.iter(SVG + "title")]
    check.equal("flame: a name that tries to be markup", any(
        "<img src=x onerror=alert(1)>" in text for text in titles), True)
    check_legend(check, annot, recording, tree)
    check_looks(check, browser, path, folder)


def check_all(check, annot, folder):
    """Needs the recording sampled.annot in the folder."""
    recording = folder / "sampled.annot"
    pictures = {"sampled": [], "ranges": ["--by", "range"], "native": ["--native"],
                "lines": ["--lines", "--python-only"], "idle": ["--idle", "--by", "thread"],
                "waits": ["--off-cpu", "--inverted"]}
    with page_browser.browser() as browser:
        for name, options in pictures.items():
            path = draw(annot, recording, folder / f"{name}.svg", *options)
            tree = check_still(check, path)
            if name not in ("waits", "idle"):
                check_legend(check, annot, recording, tree)
            check_looks(check, browser, path, folder)
        titles = [one.text for one in xml.etree.ElementTree.parse(
            folder / "ranges.svg").iter(SVG + "title")]
        check.equal("flame: ranges at the root", [any(
            text.startswith(name + "\n") for text in titles) for name in (
                "(no range)", "load", "train", "step")], [True] * 4)
        check_hostile(check, browser, annot, folder)
    print(json.dumps({"pictures": sorted(path.name for path in folder.glob("*-dark.png"))}))
