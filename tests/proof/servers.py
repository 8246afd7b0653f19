#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Servers and launchers of others, bare and below `annot record`: requests over loopback, then the
signal by which they are stopped. Answers, exit status and output must be the same, and the
recording whole.

    tests/proof/servers.py ANNOT PYTHON PACKAGE [NAME...]

PYTHON is that of an environment with gunicorn, uvicorn, celery, gevent, ddtrace, flask,
opentelemetry-distro, opentelemetry-instrumentation-flask, uwsgi; PACKAGE as for cpython.py. Not in
CI: the packages come from the network.
"""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

LIMIT_S = 120
REQUESTS = 20

WSGI = """
def app(environ, start_response):
    body = ("seen " + environ["PATH_INFO"]).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
"""
ASGI = """
import asyncio

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            kind = (await receive())["type"]
            await send({"type": kind + ".complete"})
            if kind.endswith("shutdown"):
                return
    await asyncio.to_thread(int)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"seen " + scope["path"].encode()})
"""
GEVENT = """
from gevent import monkey
monkey.patch_all()
import signal, sys, subprocess, threading, gevent
from gevent.pywsgi import WSGIServer
from wsgi import app
server = WSGIServer(("127.0.0.1", int(sys.argv[1])), app, log=None)
gevent.signal_handler(signal.SIGTERM, server.stop)
thread = threading.Thread(target=print, args=("thread",))
thread.start()
thread.join()
print(subprocess.run(["echo", "command"], capture_output=True).stdout, flush=True)
server.serve_forever()
print("stopped")
"""
FLASK = """
import logging, sys
from concurrent.futures import ThreadPoolExecutor
from flask import Flask
logging.getLogger("werkzeug").disabled = True
app = Flask(__name__)
pool = ThreadPoolExecutor(2)

@app.route("/<name>")
def show(name):
    return pool.submit(str.__add__, "seen /", name).result()

app.run("127.0.0.1", int(sys.argv[1]))
"""
CELERY = """
import pathlib, celery
for name in ("queue", "results"):
    pathlib.Path(name).mkdir(exist_ok=True)
app = celery.Celery("tasks", broker="filesystem://", backend="file://results")
app.conf.broker_transport_options = {"data_folder_in": "queue", "data_folder_out": "queue"}
app.conf.broker_connection_retry_on_startup = True

@app.task
def seen(text):
    return "seen " + text
"""
FILES = {"wsgi.py": WSGI, "asgi.py": ASGI, "with_gevent.py": GEVENT, "with_flask.py": FLASK,
         "tasks.py": CELERY}

GUNICORN = ("gunicorn", "-b", "127.0.0.1:PORT", "--no-control-socket", "wsgi:app")
UVICORN = ("uvicorn", "--port", "PORT", "--no-access-log", "asgi:app")
WORKER = ("celery", "-A", "tasks", "worker", "-c", "2", "--without-gossip", "--without-mingle",
          "--without-heartbeat", "-l", "warning")
# Per server: (the command, the signal that stops it).
SERVERS = {
    "gunicorn": ((*GUNICORN, "-w", "2"), signal.SIGTERM),
    "gunicorn-threads": ((*GUNICORN, "--threads", "4"), signal.SIGINT),
    "gunicorn-gevent": ((*GUNICORN, "-k", "gevent", "-w", "2"), signal.SIGTERM),
    "uvicorn": (UVICORN, signal.SIGTERM),
    "uvicorn-workers": ((*UVICORN, "--workers", "2"), signal.SIGINT),
    "celery": (WORKER, signal.SIGTERM),
    "celery-threads": ((*WORKER, "-P", "threads"), signal.SIGTERM),
    "celery-gevent": ((*WORKER, "-P", "gevent"), signal.SIGTERM),
    "gevent": (("python", "with_gevent.py", "PORT"), signal.SIGTERM),
    "uwsgi": (("uwsgi", "--http-socket", "127.0.0.1:PORT", "--wsgi-file", "wsgi.py", "--callable",
               "app", "-H", "VENV", "--master", "--processes", "2", "--disable-logging",
               "--die-on-term"), signal.SIGTERM),
    "ddtrace": (("ddtrace-run", "python", "with_flask.py", "PORT"), signal.SIGTERM),
    "opentelemetry": (("opentelemetry-instrument", "--traces_exporter", "console",
                       "--metrics_exporter", "none", "--logs_exporter", "none", "python",
                       "with_flask.py", "PORT"), signal.SIGINT),
}
# Text that differs from run to run: times, numbers of processes and ports, addresses and
# identifiers.
VARIES = re.compile(r"\d{4}-\d\d-\d\d[ T][\d:.,]+Z?( \+0000)?|0x[0-9a-f]+|\b\d{3,}(\.\d+)?\b|"
                    r"\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}|"
                    r"\b[0-9a-f]{16,32}\b|[0-9a-f]{8}-[0-9a-f-]{27}|\b\d+ traces|"
                    r"celery@\S+|/tmp/\S+")
# uvicorn prints it unless the process ended before its parent's next look, twice a second.
BY_CHANCE = "Terminated child process"


class Run:
    """One server, bare or recorded, from its start to its end."""

    def __init__(self, arguments, name, folder, recorded):
        self.annot, python, self.package = arguments
        self.bin = pathlib.Path(python).parent
        self.name, self.folder, self.recorded = name, folder, recorded
        self.port = free_port()

    def command(self):
        words, _ = SERVERS[self.name]
        words = [word.replace("PORT", str(self.port)).replace("VENV", str(self.bin.parent))
                 for word in words]
        words[0] = str(self.bin / words[0])
        record = [self.annot, "record", "-q", "-o", str(self.folder / "r.annot"), "--"]
        return record + words if self.recorded else words

    def go(self):
        """Runs it and returns the outcome that a client sees."""
        environment = dict(os.environ, PATH=f"{self.bin}:{os.environ['PATH']}", PYTHONHASHSEED="0",
                           C_FORCE_ROOT="1", DD_INSTRUMENTATION_TELEMETRY_ENABLED="false",
                           DD_TRACE_STARTUP_LOGS="false", DD_REMOTE_CONFIGURATION_ENABLED="false")
        if self.recorded:
            environment["ANNOT_PYTHON_PATH"] = self.package
        with open(self.folder / "output", "wb") as output:
            process = subprocess.Popen(self.command(), cwd=self.folder, env=environment,
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                       start_new_session=True)
        try:
            answers = self.ask_worker() if self.name.startswith("celery") else self.ask_server()
            time.sleep(0.5)
            self.stop(process)
            status = process.wait(LIMIT_S)
        except (subprocess.TimeoutExpired, OSError) as error:
            answers, status = repr(error), "hangs"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return {"answers": answers, "status": status, "output": self.output()}

    def stop(self, process):
        """As a service manager does, or a terminal."""
        number = SERVERS[self.name][1]
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)

    def ask_server(self):
        answers = []
        for number in range(REQUESTS):
            answers.append(patiently(fetch, f"http://127.0.0.1:{self.port}/{number}"))
        return " ".join(answers)

    def ask_worker(self):
        source = (f"import tasks; r = [tasks.seen.delay(str(n)) for n in range({REQUESTS})];"
                  f"print(*(each.get(timeout={LIMIT_S}) for each in r))")
        return subprocess.run([self.bin / "python", "-c", source], cwd=self.folder, check=False,
                              capture_output=True, text=True).stdout

    def output(self):
        """Its lines without the parts that vary; sorted, because processes write at once."""
        text = (self.folder / "output").read_text("utf-8", "replace")
        lines = {VARIES.sub("#", line).strip() for line in text.splitlines()}
        return sorted(line for line in lines if line and BY_CHANCE not in line
                      and not line.startswith("annot: "))


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def fetch(url):
    return urllib.request.urlopen(url, timeout=30).read().decode()


def patiently(call, *arguments):
    """Calls until it succeeds: the server may not listen yet."""
    until = time.monotonic() + LIMIT_S
    while True:
        try:
            return call(*arguments)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def judge(annot, path):
    """Returns the faults of a recording."""
    done = subprocess.run([annot, "info", "--json", path], capture_output=True, text=True,
                          check=False)
    told = json.loads(done.stdout) if done.returncode == 0 else {}
    text = subprocess.run([annot, "info", path], capture_output=True, text=True, check=False).stdout
    wrong = [] if told.get("complete") else ["is not complete"]
    wrong += [f"lost {told['lost_by_cause']}"] if told.get("lost_by_cause") else []
    wrong += re.findall(r"pyannot does not observe .*|.* nothing of it arrived.*", text)
    return wrong, len(told.get("processes", []))


def compare(arguments, name):
    """Returns true if both runs agree. Prints the differences."""
    seen = []
    with tempfile.TemporaryDirectory() as top:
        for recorded in (False, True):
            folder = pathlib.Path(top) / str(recorded)
            folder.mkdir()
            for file, text in FILES.items():
                (folder / file).write_text(text)
            seen.append(Run(arguments, name, folder, recorded).go())
        wrong, processes = judge(arguments[0], folder / "r.annot")
    print(f"{name}: exit {seen[0]['status']} and {seen[1]['status']}, {processes} processes"
          f" recorded", flush=True)
    for key in seen[0]:
        if seen[0][key] != seen[1][key]:
            wrong.append(f"{key}: {seen[0][key]}\n    recorded: {seen[1][key]}")
    for line in wrong:
        print(f"  {line}", flush=True)
    return not wrong and REQUESTS == seen[0]["answers"].count("seen")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, it would be by all servers
    same = [compare(sys.argv[1:4], name) for name in sys.argv[4:] or SERVERS]
    sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
