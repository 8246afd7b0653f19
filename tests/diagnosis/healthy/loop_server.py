# SPDX-License-Identifier: MIT
"""A server with 20 clients; no handler takes longer than 2 ms, and some wait in coroutines."""
import asyncio
import time


def render(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


async def serve(reader, writer):
    while await reader.readline():
        render(0.002)
        await asyncio.sleep(0.05)
        writer.write(b"done\n")
        await writer.drain()
    writer.close()


async def ask(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(20):
        writer.write(b"page\n")
        await reader.readline()
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(*(ask(port) for _ in range(20)))
    server.close()


asyncio.run(main())
