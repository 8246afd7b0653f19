#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`annot open`: a real browser gets the page through the server, the real Perfetto UI the trace,
and other clients get no data."""

import asyncio
import contextlib
import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.parse

import perfetto_ui
from harness import ANNOT, PROGRAMS, Skip, case, check, equal, main
from test_exports import use_test_python

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/[0-9a-f]{32}/\S+")


def recording(home):
    path = home.work / "made.annot"
    home.run(PROGRAMS / "make_trace", "random", path, "500", "200").ok()
    return path


@contextlib.contextmanager
def opened(home, *arguments, **more):
    """The process of `annot open`, and the address that it prints."""
    process = home.start(ANNOT, "open", "--no-browser", *arguments, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, **more)
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def request(address, method="GET", path=None, **headers):
    parts = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    connection.putrequest(method, path or parts.path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


def in_browser(visit):
    """The result of an asynchronous function on a page of a real Chromium."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.async_api import async_playwright
    except ImportError:
        raise Skip("playwright is missing") from None
    if not chromium:
        raise Skip("there is no Chromium")

    async def run():
        async with async_playwright() as play:
            browser = await play.chromium.launch(executable_path=chromium,
                                                 args=perfetto_ui.CHROMIUM_ARGS)
            try:
                context = await browser.new_context(service_workers="block")
                return await visit(await context.new_page())
            finally:
                await browser.close()

    return asyncio.run(asyncio.wait_for(run(), 120))


@case
def a_browser_gets_the_page(home):
    with opened(home, recording(home)) as (process, address):
        check(ADDRESS.fullmatch(address), f"no address: {address!r}")
        problems, requests = [], []

        async def visit(page):
            page.on("console", lambda message: problems.append(message.text)
                    if message.type == "error" else None)
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("request", lambda sent: requests.append(sent.url))
            answer = await page.goto(address)
            await page.wait_for_load_state("load")
            return answer.status, await page.inner_text("body")

        status, text = in_browser(visit)
        equal(status, 200, "the status of the page")
        check("wall" in text, f"the page is empty: {text[:200]!r}")
        favicon = address[:address.index("/", 8)] + "/favicon.ico"
        equal([url for url in requests if url not in (address, favicon)], [], "other requests")
        equal([line for line in problems if "404" not in line], [], "errors on the console")
        equal(process.wait(timeout=15), 0, "the exit status once the page was fetched")
    equal(list(pathlib.Path(os.environ.get("TMPDIR", "/tmp")).glob("annot-open.*")), [],
          "folders left behind")


@case
def the_perfetto_ui_gets_the_trace(home):
    try:
        folder = perfetto_ui.bundled_ui()
    except perfetto_ui.NoVerdict as missing:
        raise Skip(str(missing)) from None
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", 9001)) == 0:
            raise Skip("port 9001 is in use")
    path = recording(home)
    with contextlib.closing(perfetto_ui.Ui("", folder)) as ui, \
            opened(home, "--perfetto", "--ui", ui.base, path) as (process, address):
        check(address.startswith(ui.base + "/#!/?url=http://127.0.0.1:9001/"), address)

        async def visit(page):
            await page.add_init_script("localStorage.setItem('ackCookies', 'true')")
            await page.goto(address)
            for _ in range(600):
                state = await page.evaluate(perfetto_ui.READY_JS)
                if state:
                    break
                await asyncio.sleep(0.1)
            check(state and state["rejected"] is None, f"the UI says {state}")
            return await page.evaluate(perfetto_ui.QUERY_JS, "select count(*) as n from slice")

        answer = in_browser(visit)
        check(int(answer["rows"][0][0]["int"]) > 400, f"slices: {answer}")
        equal(process.wait(timeout=15), 0, "the exit status once the UI has it")


@case
def nobody_else_gets_anything(home):
    with opened(home, recording(home)) as (process, address):
        parts = urllib.parse.urlsplit(address)
        folder = parts.path.rsplit("/", 1)[0]
        for path in ("/", folder, folder + "/", folder + "/other.html", "/made.html",
                     parts.path + "/", parts.path.upper(), folder + "/../made.html",
                     "/%2e%2e/etc/passwd", folder + "/%6dade.html"):
            equal(request(address, path=path)[0].status, 404, f"the status of {path}")
        for host in ("evil.example", f"evil.example:{parts.port}", "127.0.0.1", "127.0.0.1:1",
                     f"127.0.0.1.evil.example:{parts.port}", "", f"127.0.0.2:{parts.port}"):
            answer, body = request(address, Host=host)
            check(answer.status in (400, 403) and not body.startswith(b"<!DOCTYPE"),
                  f"{host!r} gets {answer.status}")
        equal(request(address, Origin="https://evil.example")[0].status, 403,
              "the status of another page's request")
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
            check(request(address, method)[0].status in (403, 405), f"{method} is allowed")
        head, body = request(address, "HEAD")
        equal((head.status, body), (200, b""), "the answer to HEAD")
        check(process.poll() is None, "the server ended before the file was fetched")
        answer, body = request(address, Host=f"localhost:{parts.port}")
        equal(answer.status, 200, "the status of the page")
        equal(int(answer.headers["Content-Length"]), len(body), "the size of the page")
        equal(answer.headers["Cache-Control"], "no-store", "Cache-Control")
        check(answer.headers["Access-Control-Allow-Origin"] is None, "other pages may read it")
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as outside:
            outside.settimeout(5)
            others = [name for name in subprocess.run(["hostname", "-I"], capture_output=True,
                                                      text=True, check=False).stdout.split()
                      if ":" not in name]
            if others:
                check(outside.connect_ex((others[0], parts.port)) != 0, "the network reaches it")
        process.send_signal(signal.SIGINT)
        equal(process.wait(timeout=10), 0, "the exit status: the file was fetched before")


@case
def the_perfetto_ui_alone_may_read_a_trace(home):
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", 9001)) == 0:
            raise Skip("port 9001 is in use")
    path = recording(home)
    home.annot("export", "-o", "x.pftrace", path).ok()
    with opened(home, "x.pftrace") as (process, shown):
        check(shown.startswith("https://ui.perfetto.dev/#!/?url="), shown)
        address = shown.split("url=", 1)[1]
        equal(request(address, Origin="https://evil.example")[0].status, 403, "another page's")
        asked, _ = request(address, "OPTIONS", Origin="https://ui.perfetto.dev")
        equal(asked.status, 204, "the status of a browser's question")
        equal(asked.headers["Access-Control-Allow-Private-Network"], "true", "what it answers")
        second = home.annot("open", "--no-browser", "x.pftrace")
        second.complains(1, "port 9001 is in use")
        answer, body = request(address, Origin="https://ui.perfetto.dev")
        equal(answer.headers["Access-Control-Allow-Origin"], "https://ui.perfetto.dev", "CORS")
        equal(body, (home.work / "x.pftrace").read_bytes(), "the trace")
        equal(process.wait(timeout=15), 0, "the exit status")


@case
def browsers_are_started(home):
    path = recording(home)
    fetcher = home.work / "browser.py"
    fetcher.write_text("import sys, urllib.request\n"
                       "url = [word for word in sys.argv if word.startswith('http')][0]\n"
                       "open('got.html', 'wb').write(urllib.request.urlopen(url).read())\n")
    environment = dict(home.environment, BROWSER=f"{sys.executable} {fetcher} %s --new:firefox")
    home.annot("open", path, env=environment).ok()
    environment["BROWSER"] = f"{sys.executable} {fetcher}"
    done = home.annot("open", path, env=environment).ok()
    equal(done.out, b"", "standard output")
    check("opened made.html in the browser" in done.err_text, done.err_text)
    check((home.work / "got.html").read_bytes().startswith(b"<!DOCTYPE html>"), "the page")
    home.environment = environment
    (home.work / "got.html").unlink()
    result = home.annot("record", "--open", "--sampling=none", "-o", "y.annot", "--",
                        PROGRAMS / "emit_cxx")
    check("opened y.html in the browser" in result.err_text, result.err_text)
    check((home.work / "got.html").exists(), "annot record --open opens nothing")
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        environment.pop(name, None)
    environment["BROWSER"] = "/no/such/browser"
    process = home.start(ANNOT, "open", path, env=environment, stdout=subprocess.PIPE, text=True)
    address = process.stdout.readline().strip()
    check(ADDRESS.fullmatch(address), f"no address without a browser: {address!r}")
    process.send_signal(signal.SIGTERM)
    equal(process.wait(timeout=10), 130, "the exit status of one that nobody asked")
    process.communicate()


@case
def files_that_cannot_be_opened(home):
    path = recording(home)
    home.annot("open", "none.annot").complains(1, "none.annot")
    home.annot("open", "none.html").complains(1, "none.html")
    home.annot("open", "--ui", "javascript:alert(1)", path).complains(2, "no address")
    (home.work / "x.html").write_text("<!DOCTYPE html>")
    home.annot("open", "--perfetto", "x.html").complains(2, "does not open x.html")
    (home.work / "dir.html").mkdir()
    home.annot("open", "dir.html").complains(1, "dir.html")
    (home.work / "text.annot").write_text("no recording")
    home.annot("open", "text.annot").complains(1, "not a recording")
    odd = home.work / "ä b?#&\n.annot"
    odd.write_bytes(path.read_bytes())
    with opened(home, odd) as (_, address):
        check(ADDRESS.fullmatch(address), address)
        equal(request(address)[0].status, 200, "the status of a page with an odd name")
    data = path.read_bytes()
    path.write_bytes(data[:len(data) - 40])
    with opened(home, path) as (_, address):
        equal(request(address)[0].status, 200, "the status of a damaged recording's page")


if __name__ == "__main__":
    use_test_python()
    main()
