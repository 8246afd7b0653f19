# SPDX-License-Identifier: MIT
"""A server with a handler that computes for 200 ms, eight times, while others wait for answers."""
# says: render
import asyncio
import time


def render(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


async def serve(reader, writer):
    while line := await reader.readline():
        if line == b"report\n":
            render(0.2)
        writer.write(b"done\n")
        await writer.drain()
    writer.close()


async def ask(port, word, times, pause):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(times):
        writer.write(word)
        await reader.readline()
        await asyncio.sleep(pause)
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    clients = [ask(port, b"status\n", 100, 0.005) for _ in range(4)]
    await asyncio.gather(ask(port, b"report\n", 8, 0.05), *clients)
    server.close()


asyncio.run(main())
