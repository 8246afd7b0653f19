#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of the page of annot html to a browser: the first paint, and each step of zooming.

    bench_page.py BUILD [RECORDING] [--json FILE]

Without a recording: one of make_trace with 20,000 samples of 256 stacks. The first paint is the
median of five. A step is an Enter or Escape in the flame graph, a turn of the wheel in the
timeline; its cost is the main thread's CPU time in script, style, layout and paint by the browser's
own tracing, nested events counted once. Needs playwright and Chromium.
"""

import bisect
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from rows import finish, row

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
CATEGORIES = ["devtools.timeline", "blink.user_timing"]
COSTS = {"EventDispatch", "FunctionCall", "FireAnimationFrame", "TimerFire", "EvaluateScript",
         "UpdateLayoutTree", "Layout", "PrePaint", "Paint", "Layerize", "Commit", "HitTest"}
STEPS = 40
PAINT = """() => performance.getEntriesByName('first-contentful-paint')
    .map((entry) => entry.startTime)[0]"""
SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
MOST_MS, FIRST_PAINT_MS = 8, 2000


def first_paint(browser, path):
    times = []
    for _ in range(5):
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
        page.evaluate(SETTLED)
        times.append(page.evaluate(PAINT))
        context.close()
    return statistics.median(times)


def step_costs(events):
    """Milliseconds of each step, from a mark that begins it to the one when the page rests: the CPU
    time that the main thread spent in the outermost of these events, which a busy machine lengthens
    little. Preparations of the next step, such as a walk of the selection, do not count."""
    begins = sorted(event["ts"] for event in events if event["name"] == "step")
    ends = sorted(event["ts"] for event in events if event["name"] == "rest")
    main = {event["tid"] for event in events if event["name"] == "step"}
    found = sorted((event["ts"], -event.get("dur", 0), event.get("tdur", event.get("dur", 0)))
                   for event in events if event["name"] in COSTS and event["ph"] == "X" and
                   event["tid"] in main)
    costs, until = [0] * len(begins), 0
    for begin, negative, cpu in found:
        step = bisect.bisect_right(begins, begin) - 1
        if begin >= until and step >= 0 and begin < ends[step]:
            costs[step] += cpu / 1000
            until = begin - negative
    return costs


def trace_steps(browser, page, steps):
    browser.start_tracing(page=page, categories=CATEGORIES)
    for step in steps:
        page.evaluate("() => { performance.mark('step'); }")
        step()
        page.evaluate(SETTLED)
        page.evaluate("() => { performance.mark('rest'); }")
    return step_costs(json.loads(browser.stop_tracing())["traceEvents"])


def flame_steps(page):
    page.locator("main canvas").focus()
    keyboard = page.keyboard
    for number in range(STEPS):
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight" if number % 3 else "ArrowDown")
        page.evaluate(SETTLED)
        yield lambda: keyboard.press("Enter")
        if number % 4 == 3:
            yield lambda: keyboard.press("Escape")


def timeline_steps(page):
    page.mouse.move(700, 600)
    for number in range(STEPS):
        turn = -240 if number % 20 < 12 else 300
        yield lambda: page.mouse.wheel(0, turn)


def at_95(costs):
    return sorted(costs)[int(0.95 * len(costs))]


def measure(browser, path):
    size = path.stat().st_size
    entries = [row("page", size / 1e6, "MB", most=5),
               row("first contentful paint", first_paint(browser, path), "ms",
                   most=FIRST_PAINT_MS, against="median of 5")]
    for view, steps in (("flame", flame_steps), ("flame&time=wall&frames=all", flame_steps),
                        ("timeline", timeline_steps)):
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.goto(path.as_uri() + "#view=" + view)
        page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
        if page.locator("main canvas").count():
            costs = trace_steps(browser, page, steps(page))
            entries.append(row(f"a step of zooming: {view}", at_95(costs), "ms", most=MOST_MS,
                               against=f"95th percentile of {len(costs)}, median "
                                       f"{statistics.median(costs):.1f}"))
        context.close()
    return entries


def main():
    from playwright.sync_api import sync_playwright

    build = pathlib.Path(sys.argv[1]).resolve()
    given = [word for word in sys.argv[2:3] if not word.startswith("--")]
    with tempfile.TemporaryDirectory(prefix="annot-bench-") as place:
        recording = pathlib.Path(given[0] if given else f"{place}/made.annot")
        if not given:
            subprocess.run([build / "tests/system/make_trace", "random", recording, "200000",
                            "20000"], check=True, stdout=subprocess.DEVNULL)
        path = pathlib.Path(place) / "page.html"
        subprocess.run([build / "tools/annot", "html", "-o", path, recording], check=True)
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=shutil.which("chromium"),
                                           args=ARGUMENTS)
            entries = measure(browser, path)
            browser.close()
    finish("the page in a browser", entries)


if __name__ == "__main__":
    main()
