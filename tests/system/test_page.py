#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of `annot html`: its size, its policy, and names that were made to deceive. Its numbers:
test_report_sums.py."""

import base64
import gzip
import hashlib
import html.parser
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


@case
def source_is_left_out_if_it_is_to_be(home):
    home.run(program("make_trace"), "sampled", home.work / "run.annot").ok()
    equal(data_of(Elements(make_page(home, home.work / "run.annot", "--no-source")))["sources"], [],
          "sources")


if __name__ == "__main__":
    main()
