# SPDX-License-Identifier: MIT
"""Python programs that use CPU time on purpose and measure it by the thread's own clock.

    target_python.py MODE [MS]

Prints JSON: per function or range the nanoseconds it took by its own clock. Needs only the standard
library, and pyannot for the modes that say so; works from Python 3.9 on.
"""

import ctypes
import json
import multiprocessing
import os
import signal
import sys
import threading
import time

MS = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
ROUNDS = 10
TIMES = {}


def add(name, ns):
    TIMES[name] = TIMES.get(name, 0) + ns


def burn_one(ns):
    begin = now = time.thread_time_ns()
    while now - begin < ns:
        total = 0
        for i in range(300):
            total += i * i
        now = time.thread_time_ns()
    add("burn_one", now - begin)


def burn_two(ns):
    begin = now = time.thread_time_ns()
    while now - begin < ns:
        [i * i for i in range(300)]
        now = time.thread_time_ns()
    add("burn_two", now - begin)


def burn_three(ns):
    begin = now = time.thread_time_ns()
    while now - begin < ns:
        sorted([9, 2, 5] * 100)
        now = time.thread_time_ns()
    add("burn_three", now - begin)


def numbers(ns):
    """A generator: its frame lies under the caller of next()."""
    begin = now = time.thread_time_ns()
    while now - begin < ns:
        for _ in range(300):
            pass
        now = time.thread_time_ns()
        yield now
    add("burn_four", now - begin)


def burn_four(ns):
    for _ in numbers(ns):
        pass


BURNERS = [burn_one, burn_two, burn_three, burn_four]


def shares():
    unit = MS * 1_000_000 // ROUNDS // 10
    for _ in range(ROUNDS):
        for part, burner in enumerate(BURNERS, 1):
            burner(part * unit)


def threads():
    """The same in two threads that fight for the GIL."""
    workers = [threading.Thread(target=shares, name=f"worker {i}") for i in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def ranges():
    """Annotated: each range's own CPU clock, nested, in two threads. Needs pyannot."""
    from pyannot import annotate

    def timed(name, work, ns):
        begin = time.thread_time_ns()
        with annotate(name):
            work(ns)
        add("range " + name, time.thread_time_ns() - begin)

    def outer(ns):
        timed("inner a", burn_one, ns // 4)
        timed("inner b", burn_three, ns * 3 // 4)

    def loop():
        for _ in range(ROUNDS):
            timed("outer", outer, MS * 1_000_000 // ROUNDS * 3 // 4)
            timed("short", burn_two, 2_000_000)
            timed("alone", burn_four, MS * 1_000_000 // ROUNDS // 4 - 2_000_000)

    second = threading.Thread(target=loop)
    second.start()
    loop()
    second.join()


def tasks():
    """Twenty tasks by turns on one thread: half of them burn three times as much as the others
    between two awaits, each in its own range, all inside of one of the thread. Needs pyannot."""
    import asyncio
    from pyannot import annotate, observe
    observe.start("asyncio")
    unit = MS * 1_000_000 // 20 // ROUNDS // 2

    async def task(name, work, ns):
        with annotate(name):
            for _ in range(ROUNDS):
                begin = time.thread_time_ns()
                with annotate("both"):
                    work(ns)
                add("range " + name, time.thread_time_ns() - begin)
                await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*[task("light", burn_one, unit) if number % 2 else
                               task("heavy", burn_two, 3 * unit) for number in range(20)])

    begin = time.thread_time_ns()
    with annotate("around"):
        time.sleep(0.2)  # from then on samples bring their ranges with them
        asyncio.run(main())
    add("range around", time.thread_time_ns() - begin)


def pool_work(ns):
    begin = time.thread_time_ns()
    burn_one(ns)
    return os.getpid(), time.thread_time_ns() - begin


def pool():
    """Workers that are not annotated, forked inside a range of their parent. Needs pyannot."""
    from pyannot import annotate
    with annotate("in the parent"):
        time.sleep(0.2)
        workers = multiprocessing.get_context("fork").Pool(2)
        with workers:
            for _, ns in workers.map(pool_work, [MS * 1_000_000 // 8] * 8, 1):
                add("pool_work", ns)
            workers.close()
            workers.join()


def ends():
    """Two children end in two ways, then the program in a third."""
    for end in (lambda: os._exit(3), lambda: os.kill(os.getpid(), signal.SIGKILL)):
        child = os.fork()
        if child == 0:
            burn_one(MS * 1_000_000)
            end()
        os.waitpid(child, 0)
    burn_two(MS * 1_000_000)
    os._exit(5)


def workers():
    """CPU seconds of four workers, which may be more than there are CPUs; by the kernel's
    accounting."""
    children = [multiprocessing.get_context("fork").Process(target=shares) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    times = os.times()
    TIMES["children"] = int((times.children_user + times.children_system) * 1e9)
    TIMES["self"] = int((times.user + times.system) * 1e9)


def python_callback(ns):
    burn_one(ns)
    return ns


def callback():
    """C under Python under C under Python: argv[3] is the library."""
    library = ctypes.CDLL(sys.argv[3])
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    library.library_call.argtypes = [kind, ctypes.c_int64]
    library.library_call.restype = ctypes.c_int64
    function = kind(python_callback)
    for _ in range(ROUNDS):
        begin = time.thread_time_ns()
        library.library_call(function, MS * 1_000_000 // ROUNDS)
        add("library_call", time.thread_time_ns() - begin)


def gil():
    """One thread keeps the GIL in C for 40 ms at a time, the other requests it from 5 ms on."""
    hold_ms = ctypes.PyDLL(None).usleep  # called with the GIL held
    ready = threading.Semaphore(0)

    def hold():
        for _ in range(ROUNDS):
            ready.acquire()
            hold_ms(40000)

    holder = threading.Thread(target=hold)
    holder.start()
    for _ in range(ROUNDS):
        wait_for_gil(ready)
    holder.join()


def wait_for_gil(ready):
    begin, cpu = time.monotonic_ns(), time.thread_time_ns()
    ready.release()
    time.sleep(0.005)
    add("wait_for_gil", time.monotonic_ns() - begin - (time.thread_time_ns() - cpu))


INSIDE = """
import sys, time
{imports}
def {name}(ns):
    begin = now = time.thread_time_ns()
    while now - begin < ns:
        for i in range(300):
            pass
        now = time.thread_time_ns()
{name}({ns})
{then}
"""


def interpreters():
    """Two more interpreters in this thread: each is called by the first, and the older one by the
    newer one, too."""
    if sys.version_info >= (3, 13):
        import _interpreters
        module, run = "_interpreters", _interpreters.exec
    else:
        import _xxsubinterpreters as _interpreters
        module, run = "_xxsubinterpreters", _interpreters.run_string
    older, newer = _interpreters.create(), _interpreters.create()
    ns = MS * 1_000_000 // ROUNDS // 4

    def code(name, imports="", then=""):
        return INSIDE.format(name=name, ns=ns, imports=imports, then=then)

    def call_older():
        run(older, code("in_older"))

    def call_newer():
        run(newer, code("in_newer", f"import {module}",
                        f"{module}.{run.__name__}({int(older)}, {code('in_both')!r})"))

    for _ in range(ROUNDS):
        burn_one(ns)
        call_older()
        call_newer()
    TIMES.update({name: ROUNDS * ns for name in ("burn_one", "in_older", "in_newer", "in_both")})


def greenlets():
    """Stacks that are switched under the thread's feet. Needs greenlet."""
    import greenlet

    def one():
        for _ in range(ROUNDS):
            burn_one(MS * 1_000_000 // ROUNDS // 2)
            second.switch()

    def two():
        for _ in range(ROUNDS):
            burn_two(MS * 1_000_000 // ROUNDS // 2)
            first.switch()

    first, second = greenlet.greenlet(one), greenlet.greenlet(two)
    first.switch()


def forever():
    print(json.dumps({}), flush=True)
    while True:
        burn_one(1_000_000)


def blocked():
    """For `annot dump`: threads that wait for known causes. Ends with standard input."""
    lock = threading.Lock()
    lock.acquire()
    read_end, _ = os.pipe()
    waits = {"sleeper": lambda: time.sleep(3600), "reader": lambda: os.read(read_end, 1),
             "locker": lock.acquire}
    for name, wait in waits.items():
        threading.Thread(target=wait, name=name, daemon=True).start()
    threading.Thread(target=forever_quietly, name="burner", daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)


def forever_quietly():
    while True:
        burn_one(1_000_000)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    if sys.argv[1] not in ("forever", "blocked"):
        print(json.dumps(TIMES))
