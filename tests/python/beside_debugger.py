# SPDX-License-Identifier: MIT
"""A client of debugpy, by the debug adapter protocol, in the program that is debugged."""

import json
import socket
import threading


class Client:
    def __init__(self, address):
        self.socket = socket.create_connection(address)
        self.file = self.socket.makefile("rb")
        self.number = 0
        self.waiting = []  # events received while waiting for a response

    def send(self, command, **arguments):
        self.number += 1
        text = json.dumps({"seq": self.number, "type": "request", "command": command,
                           "arguments": arguments}).encode()
        self.socket.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(text), text))
        return self.number

    def message(self):
        length = 0
        for line in iter(self.file.readline, b"\r\n"):
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        return json.loads(self.file.read(length))

    def answer(self, number):
        while True:
            got = self.message()
            if got["type"] == "response" and got["request_seq"] == number:
                return got.get("body")
            self.waiting.append(got)

    def ask(self, command, **arguments):
        return self.answer(self.send(command, **arguments))

    def event(self, *names):
        while True:
            got = self.waiting.pop(0) if self.waiting else self.message()
            if got.get("event") in names:
                return got["event"], got["body"] if "body" in got else {}


def follow(client, file, line, seen):
    client.ask("initialize", adapterID="test", pathFormat="path")
    attached = client.send("attach", justMyCode=False)
    client.event("initialized")
    client.ask("setBreakpoints", source={"path": file}, breakpoints=[{"line": line}])
    client.ask("configurationDone")
    client.answer(attached)
    while len(seen) < 3:
        _, body = client.event("stopped")
        frames = client.ask("stackTrace", threadId=body["threadId"])["stackFrames"]
        scope = client.ask("scopes", frameId=frames[0]["id"])["scopes"][0]
        values = client.ask("variables", variablesReference=scope["variablesReference"])
        seen.append([body["reason"], [[frame["name"], frame["line"]] for frame in frames[:4]],
                     {one["name"]: one["value"] for one in values["variables"]}])
        client.ask("next" if len(seen) < 2 else "continue", threadId=body["threadId"])
    client.ask("disconnect")


def watch(work, line):
    """Stops twice at the line, and once after a step."""
    import debugpy

    address = debugpy.listen(("127.0.0.1", 0))
    seen = []
    follower = threading.Thread(target=follow, args=(Client(address), work.__code__.co_filename,
                                                     line, seen))
    follower.is_pydev_daemon_thread = follower.pydev_do_not_trace = True
    follower.start()
    debugpy.wait_for_client()
    work()
    follower.join()
    return seen
