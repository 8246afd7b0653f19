# SPDX-License-Identifier: MIT
"""A server for the pushes of annot export; the request's path selects how it refuses them."""

import http.server
import threading
import time


def varint(number):
    data = bytearray()
    while number >= 0x80:
        data.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes([*data, number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


PROTO = {"Content-Type": "application/x-protobuf"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):  # pylint: disable=invalid-name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        way = self.path.split("?")[0].split("/")[1]
        with self.server.lock:
            before = sum(path.split("?")[0].split("/")[1] == way
                         for path, _, _ in self.server.requests)
            self.server.requests.append((self.path, dict(self.headers), body))
        getattr(self, f"way_{way}", self.way_accepts)(before)

    def way_accepts(self, _):
        self.answer(200, headers=PROTO)

    def way_busy(self, before):
        """Refuses once, then accepts all requests."""
        self.answer(200 if before else 503, headers={} if before else {"Retry-After": "1"})

    def way_closed(self, _):
        self.answer(503, headers={"Retry-After": "3600"})

    def way_refuses(self, _):
        self.answer(400, field(1, 3) + field(2, b"no \x1b[31mspans\n today"), PROTO)

    def way_says(self, _):
        self.answer(422, b"unknown profile\r\nsecond line")

    def way_partly(self, _):
        self.answer(200, field(1, field(1, 7) + field(2, b"too old")), PROTO)

    def way_warns(self, _):
        self.answer(200, field(1, field(2, b"soon full")), PROTO)

    def way_lies(self, _):
        """Sends a protocol buffer shorter than its length field."""
        self.answer(200, b"\x0a\xff\xff\xff\x0f\x08", PROTO)

    def way_floods(self, _):
        self.answer(400, b"x" * 1000000)

    def way_cuts(self, before):
        if before:
            self.way_accepts(before)
        else:
            self.close_connection = True

    def way_dies(self, _):
        self.close_connection = True

    def way_sleeps(self, _):
        time.sleep(1)
        self.close_connection = True

    def way_moves(self, _):
        self.answer(307, headers={"Location": f"http://127.0.0.1:{self.server.server_port}/there"})


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, context=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.requests = []  # (path with query, headers, body)
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass

    def address(self, login=""):
        return f"127.0.0.1:{self.server_port}" if not login else \
            f"{login}@127.0.0.1:{self.server_port}"

    def bodies(self, way):
        return [body for path, _, body in self.requests
                if path.split("?")[0].split("/")[1] == way]
