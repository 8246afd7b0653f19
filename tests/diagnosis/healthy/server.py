# SPDX-License-Identifier: MIT
"""A server and its clients in one event loop, which has enough to do."""
import asyncio
import json


async def serve(reader, writer):
    while line := await reader.readline():
        rows = [{"row": i, "text": str(i) * 3} for i in range(int(line))]
        writer.write(json.dumps(rows).encode() + b"\n")
        await writer.drain()
    writer.close()


async def ask(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    for _ in range(150):
        writer.write(b"300\n")
        json.loads(await reader.readline())
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(*(ask(port) for _ in range(6)))
    server.close()


asyncio.run(main())
