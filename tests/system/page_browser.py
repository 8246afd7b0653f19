# SPDX-License-Identifier: MIT
"""A file in a headless Chromium: pages that annot writes, as a user opens them.

Needs: pip install playwright; apt install chromium; for the rules of accessibility also pip install
axe-playwright-python, of which only the script is run.
"""

import contextlib
import importlib.util
import pathlib
import shutil

import perfetto_ui


@contextlib.contextmanager
def browser():
    if importlib.util.find_spec("playwright") is None or not shutil.which("chromium"):
        raise perfetto_ui.NoVerdict("no browser; hint: pip install playwright, apt install "
                                    "chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=shutil.which("chromium"),
                                      args=perfetto_ui.CHROMIUM_ARGS)
        yield opened
        opened.close()


def axe_script():
    """The rules of axe-core as one script, or None."""
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None:
        return None
    path = pathlib.Path(spec.origin).parent / "axe.min.js"
    return path.read_text(encoding="utf-8") if path.exists() else None


# Without the last option, most of the time goes into the addresses of all good elements.
AXE_RUN = "(rules) => axe.run({rules, resultTypes: ['violations']})"


def violations(page, script, rules=None):
    """(rule, element) of each violation that axe-core finds."""
    page.evaluate(script)
    found = page.evaluate(AXE_RUN, rules or {})["violations"]
    return [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found]


NAUGHTS = r"""() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode())
        if (/^(null|undefined|NaN|false|\[object .*)$/.test(walker.currentNode.data.trim()))
            found.push(walker.currentNode.parentNode.outerHTML.slice(0, 200));
    return found;
}"""


class Page:
    """One file, opened; requests and complaints are remembered."""

    def __init__(self, opened, path, address="", scheme="light", size=(1200, 700)):
        context = opened.new_context(viewport={"width": size[0], "height": size[1]},
                                     color_scheme=scheme)
        self.page = context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri() + address)

    def close(self):
        self.page.context.close()

    def naughts(self):
        """Elements with the text that a script makes of a missing value."""
        return self.page.evaluate(NAUGHTS)
