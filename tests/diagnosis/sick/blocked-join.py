# SPDX-License-Identifier: MIT
"""The main thread waits for a thread that waits for 24 answers of 50 ms each."""
# says: waits for the network in ask
import socket
import subprocess
import threading

SERVICE = "while read line; do sleep 0.05; echo answer; done"


def ask(service):
    service.send(b"?\n")
    service.recv(100)


def ask_all(service):
    for _ in range(24):
        ask(service)


ours, theirs = socket.socketpair()
process = subprocess.Popen(["sh", "-c", SERVICE], stdin=theirs, stdout=theirs)
theirs.close()
thread = threading.Thread(target=ask_all, args=(ours,))
thread.start()
thread.join()
ours.close()
process.wait()
