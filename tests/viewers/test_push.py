#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annot export to a server of OTLP and of profiles: the server receives the content of a file,
secrets are sent but not shown, and each refusal ends with a one-line reason."""

import concurrent.futures
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.parse

import otlp_files
import pprof_files
import push_server
from recordings import ANNOT, MAKE, export, query

SECRET = "s3cret-token"
TRIES = 5


def push(recording, url, *options, **environment):
    """The exit status and the standard error."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    run = subprocess.run([ANNOT, "export", *options, "-o", url, recording], text=True,
                         env={**known, "no_proxy": "*", **environment}, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=100)
    assert run.stdout == "" and SECRET not in run.stderr, (url, run)
    assert "\x1b" not in run.stderr, run.stderr
    return run.returncode, run.stderr


def make(folder, shape):
    path = folder / f"{shape}.annot"
    subprocess.run([MAKE, shape, path], check=True)
    return path


def check_arrives(folder, server):
    """Many requests, which together equal the file."""
    recording, path = make(folder, "busy"), folder / "busy.otlp.pb"
    chosen = ("--to", "5ms")
    export(recording, path, "--min-duration", "0", *chosen)
    status, said = push(recording, f"http://{server.address()}", "-f", "otlp", "--min-duration",
                        "0", *chosen)
    bodies = server.bodies("v1")
    assert status == 0 and b"".join(bodies) == path.read_bytes(), said
    assert len(bodies) > 1 and max(map(len, bodies)) < 1 << 20, [len(body) for body in bodies]
    assert f"{len(bodies)} requests" in said, said
    assert {path for path, _, _ in server.requests} == {"/v1/traces"}
    if not otlp_files.messages():
        return
    traces = otlp_files.messages().TracesData()
    for body in bodies:
        traces.MergeFrom(otlp_files.read(body))
    assert otlp_files.told(traces) == otlp_files.expected(recording, *chosen)


def check_headers(recording, server):
    headers = f"authorization=Bearer%20{SECRET}, x-scope = a%3Db ,,"
    url = f"http://{server.address()}/headers/v1/traces"
    assert push(recording, url, OTEL_EXPORTER_OTLP_HEADERS=headers)[0] == 0
    sent = {name.lower(): value for name, value in server.requests[-1][1].items()}
    assert sent["authorization"] == f"Bearer {SECRET}" and sent["x-scope"] == "a=b", sent
    assert sent["content-type"] == "application/x-protobuf", sent
    assert sent["user-agent"].startswith("annot/") and "expect" not in sent, sent
    for wrong in (f"authorization={SECRET}%0d%0ax-other=1", SECRET, f"={SECRET}",
                  f"a b={SECRET}"):
        before = len(server.requests)
        status, said = push(recording, url, OTEL_EXPORTER_OTLP_HEADERS=wrong)
        assert status == 2 and "headers in OTEL_EXPORTER_OTLP_HEADERS are wrong" in said, said
        assert len(server.requests) == before


def check_login(recording, server):
    """Credentials in the URL are sent, not shown. The URL's query is kept."""
    url = f"http://{server.address(f'me:{SECRET}')}/login/v1/traces?key={SECRET}"
    status, said = push(recording, url)
    path, headers, _ = server.requests[-1]
    assert status == 0 and path == f"/login/v1/traces?key={SECRET}", path
    assert headers["Authorization"].startswith("Basic "), headers
    assert f"pushed to http://{server.address()}/login/v1/traces: " in said, said
    assert push(recording, f"http://me:{SECRET}/@{server.address()}/v1/traces")[0] == 1


def check_profile(folder, server):
    """A profile in Pyroscope's form."""
    recording, path = make(folder, "sampled"), folder / "sampled.pb.gz"
    export(recording, path)
    status, said = push(recording, f"http://{server.address()}/", "-f", "pprof", "--service",
                        "my {service}", ANNOT_PUSH_HEADERS=f"x-key={SECRET}",
                        OTEL_EXPORTER_OTLP_HEADERS="x-other=of traces")
    sent, headers, body = server.requests[-1]
    assert status == 0 and body == path.read_bytes(), said
    assert headers["x-key"] == SECRET and "x-other" not in headers, headers
    address = urllib.parse.urlsplit(sent)
    asked = urllib.parse.parse_qs(address.query)
    row = query(recording, "select * from recording")[0]
    began = int(row["begin_realtime_ns"])
    ended = (began + row["duration_ns"]) // 10**9 + 1
    assert address.path == "/ingest" and asked == {
        "name": ["my__service_"], "from": [str(began // 10**9)], "until": [str(ended)],
        "format": ["pprof"]}, sent
    pprof_files.check_sums(pprof_files.Profile(body), recording)


def check_certificate(folder, recording):
    """An untrusted certificate is refused until an option makes it trusted."""
    if not shutil.which("openssl"):
        return "openssl"
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = push_server.Server(context)
    url = f"https://{server.address()}/v1/traces"
    status, said = push(recording, url, OTEL_EXPORTER_OTLP_HEADERS=f"authorization={SECRET}")
    assert status == 1 and "the certificate of the server is not trusted" in said, said
    assert not server.requests
    status, said = push(recording, url, OTEL_EXPORTER_OTLP_CERTIFICATE=str(certificate))
    assert status == 0 and len(server.requests) == 1, said
    server.shutdown()
    return None


def closed_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def way_fails(recording, server, way, reason, tries=1):
    name, kind = ("ingest", "pprof") if way == "says" else ("v1/traces", "otlp")
    url = f"http://{server.address()}/{way}/{name}"
    short = {"OTEL_EXPORTER_OTLP_TIMEOUT": "400"} if way == "sleeps" else {}
    status, said = push(recording, url, "-f", kind, **short)
    lines = [line for line in said.splitlines() if "cannot push to" in line or "rejected" in line]
    assert status == 1 and len(lines) == 1 and url in lines[0], (way, said)
    assert lines[0].endswith(reason) and said.count("; trying again in ") == tries - 1, (way, said)
    if way != "sleeps":  # a slow server may not have read a cancelled request
        assert len(server.bodies(way)) == tries, (way, len(server.bodies(way)))


def way_succeeds(recording, server, way, note, tries=1):
    status, said = push(recording, f"http://{server.address()}/{way}/v1/traces")
    assert status == 0 and note in said, (way, said)
    bodies = server.bodies(way)
    assert len(bodies) == tries and len(set(bodies)) == 1, (way, len(bodies))


def check_failures(recording, server):
    """Runs in parallel, since the cases mostly wait."""
    refused = closed_port()
    status, said = push(recording, f"http://127.0.0.1:{refused}/v1/traces")
    assert status == 1 and f"{refused}/v1/traces: Connection refused\n" in said, said
    with concurrent.futures.ThreadPoolExecutor(12) as threads:
        runs = [threads.submit(way_fails, recording, server, *row) for row in (
            ("refuses", "it answered 400: no \\e[31mspans"),
            ("says", "it answered 422: unknown profile"),
            ("floods", "it answered 400: " + "x" * 255),
            ("partly", "has rejected 7 spans: too old"),
            ("closed", "it answered 503"),
            ("moves", "it answered 307"),
            ("dies", "the connection was cut", TRIES),
            ("sleeps", "no answer within 0.4 s", TRIES))]
        runs += [threads.submit(way_succeeds, recording, server, *row) for row in (
            ("busy", "it answered 503; trying again in 1 s", 2),
            ("cuts", "the connection was cut; trying again in 0.5 s", 2),
            ("warns", "warns: soon full"),
            ("lies", "pushed to"))]
        for run in runs:
            run.result()
    assert not server.bodies("there")


def check_contexts(folder):
    """Ids equal those that the program sent to other services, and refer to existing spans."""
    recording, path = folder / "contexts.annot", folder / "contexts.otlp.pb"
    program = pathlib.Path(os.environ["ANNOT_PROGRAMS"]) / "emit_contexts"
    run = subprocess.run([ANNOT, "record", "--sampling=none", "-o", recording, "--", program],
                         env=dict(os.environ, ANNOT_DIR=str(folder)),
                         check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, trace, number, _ = run.stdout.strip().split("-")
    export(recording, path, "--min-duration", "1h")
    spans = {span.name: span for _, span in otlp_files.spans_of(otlp_files.read(path.read_bytes()))}
    request, serve = spans["request"], spans["serve"]
    assert (request.trace_id.hex(), request.span_id.hex()) == (trace, number), (request, trace)
    assert [(link.trace_id, link.span_id) for link in serve.links] == \
        [(request.trace_id, request.span_id)], serve
    assert serve.trace_id != request.trace_id and not request.links


def check_wrong_use(recording, server):
    url = f"http://{server.address()}/wrong"
    for options, reason in (([], "the address tells no format"),
                            (["-f", "perfetto"], "perfetto format cannot be pushed"),
                            (["-f", "otlp-json"], "otlp-json format cannot be pushed")):
        status, said = push(recording, url, *options)
        assert status == 2 and reason in said, said
    assert not server.bodies("wrong")


def main():
    server, skipped = push_server.Server(), set()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        recording = make(folder, "pipeline")
        check_arrives(folder, server)
        check_headers(recording, server)
        check_login(recording, server)
        check_profile(folder, server)
        check_failures(recording, server)
        check_wrong_use(recording, server)
        skipped.add(check_certificate(folder, recording))
        if otlp_files.messages():
            check_contexts(folder)
        else:
            skipped.add("opentelemetry-proto")
    for what in sorted(skipped - {None}):
        print(f"skipped: {what}")
    print(f"8 passed, 0 failed, {len(skipped - {None})} skipped")
    return 0


if __name__ == "__main__":
    python = os.environ.get("ANNOT_TEST_PYTHON", sys.executable)
    if python != sys.executable:  # that has the readers
        os.execv(python, [python, *sys.argv])
    sys.exit(main())
