# SPDX-License-Identifier: MIT
# function: ask
# kind: socket
# words: ask, socket
"""Queries its own slow server, one request at a time."""
import os
import socket
import time


def serve(listener):
    connection, _ = listener.accept()
    while connection.recv(64):
        time.sleep(0.1)
        connection.sendall(b"answer")


def ask(connection, number):
    connection.sendall(f"question {number}".encode())
    return connection.recv(64)  # CAUSE


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    child = os.fork()
    if child == 0:
        serve(listener)
        os._exit(0)
    with socket.create_connection(listener.getsockname()) as connection:
        print({ask(connection, number) for number in range(15)})
    os.waitpid(child, 0)


if __name__ == "__main__":
    main()
