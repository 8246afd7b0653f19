# SPDX-License-Identifier: MIT
"""Programs for test_viewers.py: an asyncio program, a pool with killed workers, or threads that set
one counter in turns.

viewed_program.py asyncio|pool|turns
"""

import asyncio
import concurrent.futures
import os
import signal
import sys
import threading
import time

import pyannot


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(i * i for i in range(500))


async def request(number):
    with pyannot.annotate("request", domain="server"):
        await asyncio.sleep(0.005 * (number % 3))
        with pyannot.annotate("parse"):
            burn(0.004)
        pyannot.counter("served", number)
        pyannot.mark('quote " and, comma')
        await asyncio.sleep(0.002)


def refuse():
    with pyannot.annotate("refused"):
        time.sleep(0.002)
        raise PermissionError("not today")


async def serve():
    await asyncio.gather(*(request(number) for number in range(12)))
    try:
        refuse()
    except PermissionError:
        pass


def work(number):
    with pyannot.annotate("work"):
        burn(0.01)
        if number == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.002)
    return number


@pyannot.annotate("pool")
def pool():
    try:
        with concurrent.futures.ProcessPoolExecutor(2) as executor:
            list(executor.map(work, range(8)))
    except concurrent.futures.process.BrokenProcessPool:
        pyannot.mark("broken")


def turns(count=6000):
    """Runs so long that the collector drains the threads more than once."""
    level, turn = [0], threading.Condition()

    def tell(mine):
        while level[0] < count:
            with turn:
                turn.wait_for(lambda: level[0] >= count or level[0] % 2 == mine)
                if level[0] < count:
                    level[0] += 1
                    pyannot.counter("level", level[0])
                turn.notify_all()

    threads = [threading.Thread(target=tell, args=(mine,)) for mine in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    if sys.argv[1] == "asyncio":
        asyncio.run(serve())
    elif sys.argv[1] == "turns":
        turns()
    else:
        pool()
        pool()
