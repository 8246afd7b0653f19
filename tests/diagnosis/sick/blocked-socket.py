# SPDX-License-Identifier: MIT
"""Waits for answers from another, slow process."""
import os
import socket
import time

ours, theirs = socket.socketpair()
if os.fork() == 0:
    ours.close()
    while theirs.recv(1):
        time.sleep(0.05)
        theirs.send(b"!")
    os._exit(0)
theirs.close()


def ask():
    ours.send(b"?")
    ours.recv(1)


for _ in range(20):
    ask()
