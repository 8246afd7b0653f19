# SPDX-License-Identifier: MIT
"""A coroutine calls a slow service with a plain socket, 250 ms each time, six times."""
# says: query
import asyncio
import socket
import subprocess

SERVICE = "while read line; do sleep 0.25; echo answer; done"


def query(service):
    service.send(b"?\n")
    return service.recv(100)


async def refresh(service):
    for _ in range(6):
        query(service)
        await asyncio.sleep(0.02)


async def handle(times):
    for _ in range(times):
        await asyncio.sleep(0.005)


async def main():
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(["sh", "-c", SERVICE], stdin=theirs, stdout=theirs)
    theirs.close()
    await asyncio.gather(refresh(ours), *(handle(100) for _ in range(4)))
    ours.close()
    process.wait()


asyncio.run(main())
