#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of `annot html`: its size, its policy, and deceptive names. Its numbers:
test_report_sums.py."""

import base64
import gzip
import hashlib
import html.parser
import itertools
import json
import re

from harness import ANNOT, case, check, equal, main, program

BYTES_MAX = 5_000_000


class Elements(html.parser.HTMLParser):
    """Tags of a page, with their attributes and texts, as a browser sees them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found, self.open = [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.open = [tag, dict(attributes), ""]
        self.found.append(self.open)

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.open[2] += data

    def texts(self, tag):
        return [text for name, _, text in self.found if name == tag]


def digest(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def make_page(home, recording, *options):
    page = home.work / "page.html"
    home.run(ANNOT, "html", "--force", "-o", page, *options, recording, timeout=120).ok()
    return page.read_text()


def data_of(elements):
    texts = [text for name, attributes, text in elements.found
             if name == "script" and attributes.get("id") == "data"]
    equal(len(texts), 1, "elements with data")
    return json.loads(gzip.decompress(base64.b64decode(texts[0])))


def texts_in(value):
    if isinstance(value, str):
        return [value]
    values = value.values() if isinstance(value, dict) else value
    return [text for part in values if isinstance(part, (str, list, dict))
            for text in texts_in(part)]


@case
def the_policy_allows_style_and_script_and_nothing_else(home):
    home.run(program("make_trace"), "sampled", home.work / "run.annot").ok()
    text = make_page(home, home.work / "run.annot")
    elements = Elements(text)
    policy = next(attributes["content"] for name, attributes, _ in elements.found
                  if attributes.get("http-equiv") == "Content-Security-Policy")
    scripts = [text for name, attributes, text in elements.found
               if name == "script" and "type" not in attributes]
    equal((len(scripts), len(elements.texts("style"))), (1, 1), "scripts and styles")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    equal(rules["default-src"], "'none'", "what else is allowed")
    equal(rules["script-src"], f"'{digest(scripts[0])}'", "the script that is allowed")
    equal(rules["style-src"], f"'{digest(elements.texts('style')[0])}'", "the style that is")
    for _, attributes, _ in elements.found:
        check(not {"src", "href", "style"} & set(attributes)
              and not any(name.startswith("on") for name in attributes), f"{attributes}")
    check(not re.search(r"\b(eval|Function)\(|\bimport\(", scripts[0]), "eval in the script")
    data = data_of(elements)
    equal(elements.texts("h1")[0].strip(), data["headline"][0], "the headline without a script")
    equal(elements.texts("title"), [data["title"]], "the title")


@case
def whatever_is_recorded_fits(home):
    """And names that are markup stay names."""
    recording = home.work / "wide.annot"
    home.run(program("make_wide"), recording, "60", timeout=120).ok()
    text = make_page(home, recording)
    check(len(text.encode()) <= BYTES_MAX, f"{len(text.encode())} bytes")
    elements = Elements(text)
    equal({name for name, _, _ in elements.found} - {
        "html", "head", "meta", "title", "style", "body", "h1", "script", "div", "main", "noscript",
        "p"}, set(), "elements of foreign names")
    data = data_of(elements)
    check(len(data["nodes"]["parent"]) > 100 and data["lanes"] and data["left_out"], "empty")
    longest = max(len(text.encode()) for text in texts_in(data))
    check(longest < 12_000, f"a text of {longest} bytes")  # states are longer than names
    longest = max(len(text.encode()) for text in texts_in([data["names"], data["functions"],
                                                           data["threads"], data["tables"]]))
    check(longest <= 1_010, f"a name of {longest} bytes")
    counts = {key: {len(column) for column in data[key].values()}
              for key in ("cpu", "off", "nodes", "paths")}
    check(all(len(lengths) == 1 for lengths in counts.values()), f"columns: {counts}")
    nodes = len(data["nodes"]["parent"])
    check(all(parent < at for at, parent in enumerate(data["nodes"]["parent"])), "parents")
    check(all(0 <= node < nodes for key in ("cpu", "off") for node in data[key]["node"]), "nodes")
    check(all(0 <= path < len(data["paths"]["name"]) for path in data["cpu"]["path"]), "paths")
    used = set(data["paths"]["name"][1:]) | {name for lane in data["lanes"]
                                             for name in lane["name_of"]}
    check(all(data["names"][name] is not None for name in used), "a name is missing")
    told = json.loads(home.run(ANNOT, "report", "--table", "sampling", "--json",
                               recording, timeout=120).ok().out)["sampling"]
    equal(sum(data["cpu"]["ns"]), told["cpu_ns"], "CPU time of the page")
    equal(sum(data["cpu"]["count"]), told["sample_count"], "samples of the page")
    equal(sum(data["off"]["ns"]), told["blocked_ns"] + told["runnable_ns"], "waits of the page")


# Colours as most people see them, and where one kind of cones is absent (Machado, Oliveira and
# Fernandes 2009), as matrices on linear RGB.
SIGHTS = {
    "most": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no L cones": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
    "no M cones": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                   (-0.011820, 0.042940, 0.968881)),
    "no S cones": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
                   (0.004733, 0.691367, 0.303900)),
}
TO_XYZ = ((0.4124 / 0.95047, 0.3576 / 0.95047, 0.1805 / 0.95047), (0.2126, 0.7152, 0.0722),
          (0.0193 / 1.08883, 0.1192 / 1.08883, 0.9505 / 1.08883))


def product(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def lab_of(colour, sight):
    """CIE L*a*b* of "#rrggbb"."""
    rgb = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    seen = [min(1, max(0, c)) for c in product(SIGHTS[sight], linear)]
    x, y, z = [c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116
               for c in product(TO_XYZ, seen)]
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def apart(one, other, sight):
    return sum((a - b) ** 2 for a, b in zip(lab_of(one, sight), lab_of(other, sight))) ** 0.5


@case
def ranges_have_other_colours_than_states(home):
    """By both themes of the style that is in the page, for every reader."""
    home.run(program("make_trace"), "sampled", home.work / "run.annot").ok()
    style = Elements(make_page(home, home.work / "run.annot")).texts("style")[0]
    for theme in ("light", "dark"):
        block = re.search(r":root\[data-theme=" + theme + r"\] \{(.*?)\}", style, re.S)[1]
        tones = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})\b", block))
        hues = [tones[f"r{number}"] for number in range(1, 7)]
        for sight in SIGHTS:
            for state in ("run1", "runnable"):
                least = min((apart(hue, tones[state], sight), hue) for hue in hues)
                check(least[0] >= 20, f"{theme}, {sight}: {least} is like {state}")
            least = min((apart(one, other, sight), one, other)
                        for one, other in itertools.combinations(hues, 2))
            check(least[0] >= 10, f"{theme}, {sight}: {least} are alike")


@case
def source_is_left_out_if_it_is_to_be(home):
    home.run(program("make_trace"), "sampled", home.work / "run.annot").ok()
    equal(data_of(Elements(make_page(home, home.work / "run.annot", "--no-source")))["sources"], [],
          "sources")


if __name__ == "__main__":
    main()
