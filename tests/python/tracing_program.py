# SPDX-License-Identifier: MIT
"""Makes calls in all the ways that Python has, for test_tracing.py. Argument: the ways."""

import os

if os.environ.get("TRACE_REFERENCE"):
    import tracing_reference  # noqa: F401

import asyncio
import contextlib
import functools
import importlib.abc
import importlib.util
import multiprocessing
import signal
import sys
import threading
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def numbers(n):
    for i in range(n):
        yield i


def delegating(n):
    yield from numbers(n)
    yield from (x * x for x in numbers(n))


def guarded():
    try:
        while True:
            try:
                yield 1
            except KeyError:
                yield 2
    finally:
        leaf()


def leaf():
    return 1


def generators():
    list(delegating(5))
    early = numbers(10)
    next(early)
    early.close()
    thrown = guarded()
    next(thrown)
    thrown.throw(KeyError)
    next(thrown)
    thrown.close()
    failing = guarded()
    next(failing)
    with contextlib.suppress(ValueError):
        failing.throw(ValueError)
    dropped = guarded()
    next(dropped)
    del dropped
    sending = echo()
    next(sending)
    for i in range(3):
        sending.send(i)
    never = numbers(3)
    del never


def echo():
    got = None
    while True:
        got = yield got


def sink(depth):
    if depth == 0:
        raise ValueError
    sink(depth - 1)


def catching(depth):
    try:
        sink(depth)
    except ValueError:
        return leaf()
    finally:
        leaf()


def exceptions():
    catching(10)
    with contextlib.suppress(ValueError):
        sink(3)


def endless():
    return endless()


def too_deep():
    with contextlib.suppress(RecursionError):
        endless()
    leaf()


@contextlib.contextmanager
def managed():
    leaf()
    try:
        yield leaf()
    finally:
        leaf()


def managers():
    with managed():
        leaf()
    with contextlib.suppress(ValueError), managed():
        sink(2)


def decorate(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper


@decorate
@decorate
def decorated(x):
    return leaf() + x


class Thing:
    @property
    def value(self):
        return leaf()

    @classmethod
    def make(cls):
        return cls()

    @staticmethod
    def helper():
        return leaf()

    def __getattr__(self, name):
        if name.startswith("dynamic"):
            return leaf()
        raise AttributeError(name)

    def __lt__(self, other):
        return id(self) < id(other)

    def __del__(self):
        leaf()

    def __call__(self):
        return self.value


class Described:
    class Slot:
        def __get__(self, instance, owner):
            return leaf()

        def __set_name__(self, owner, name):
            leaf()

    slot = Slot()

    def __init_subclass__(cls):
        leaf()


class Derived(Described):
    pass


def objects():
    thing = Thing.make()
    thing(), thing.value, thing.dynamic, Thing.helper(), hasattr(thing, "no")
    Derived().slot
    decorated(1)
    del thing


def callbacks():
    sorted([3, 1, 2], key=lambda x: -x)
    list(map(lambda x: leaf(), range(3))), [f() for f in (lambda: 1, lambda: 2)]
    max([1, 2], key=functools.partial(pick, 1))
    functools.reduce(lambda a, b: a + b, range(4))
    functools.cmp_to_key(lambda a, b: a - b)(1) < functools.cmp_to_key(lambda a, b: a - b)(2)
    "".join(str(x) for x in numbers(3))
    cached(1), cached(1), cached(2)
    {k: leaf() for k in numbers(2)}


@functools.lru_cache
def cached(x):
    return leaf()


def pick(a, b):
    return b


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == "traced_virtual" else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile("def inside():\n    return 1\ninside()\n", VIRTUAL, "exec"), module.__dict__)


VIRTUAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tracing_virtual.py")


def imports():
    finder = Finder()
    sys.meta_path.insert(0, finder)
    import traced_virtual
    traced_virtual.inside()
    sys.meta_path.remove(finder)
    scope = {"leaf": leaf}
    for _ in range(3):
        exec(compile("leaf()\n(lambda: leaf())()", VIRTUAL, "exec"), scope)
    eval(compile("[leaf() for _ in 'ab']", VIRTUAL, "eval"), scope)


async def step(n):
    for _ in range(n):
        await asyncio.sleep(0)
    return leaf()


async def cancelled():
    try:
        await asyncio.sleep(100)
    finally:
        leaf()


async def stream(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def tasks():
    await asyncio.gather(step(1), step(2), step(3))
    task = asyncio.create_task(cancelled())
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    async for _ in stream(3):
        leaf()
    early = stream(5)
    async for _ in early:
        break
    await early.aclose()


def coroutines():
    asyncio.run(tasks())


def work(n):
    return fib(n)


def threads():
    started = [threading.Thread(target=work, args=(6,)) for _ in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def pool(method):
    with multiprocessing.get_context(method).Pool(2) as workers:
        workers.map(work, [4, 5, 6, 7], chunksize=1)
        workers.close()
        workers.join()


def children():
    pid = os.fork()
    if pid == 0:
        work(5)
        os._exit(0)
    os.waitpid(pid, 0)
    pid = os.fork()
    if pid == 0:
        work(4)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)


def around():
    return leaf()


def slow():
    for _ in range(3):
        leaf()
    time.sleep(0.002)


def hot():
    for _ in range(20000):
        around()
    for _ in range(20):
        slow()
    fib(16)


def others():
    """A profiler, a debugger's function, and another tool of sys.monitoring."""
    import cProfile
    profile = cProfile.Profile()
    profile.enable()
    leaf()
    profile.disable()
    assert any("leaf" in str(key) for key in (entry.code for entry in profile.getstats()))
    seen = []
    sys.settrace(lambda frame, event, arg: seen.append(event))
    leaf()
    sys.settrace(None)
    assert "call" in seen
    tools = sys.monitoring
    names = [tools.get_tool(i) for i in range(6)]
    tools.use_tool_id(1, "coverage")
    told = []
    tools.register_callback(1, tools.events.PY_START, lambda code, offset: told.append(code))
    tools.set_events(1, tools.events.PY_START)
    leaf()
    tools.set_events(1, 0)
    tools.free_tool_id(1)
    assert leaf.__code__ in told
    assert "annot" not in (names[0], names[1], names[2])
    tools.restart_events()
    leaf()
    assert sys.getrecursionlimit() == 1000
    leaf()


class Chosen:
    def method(self):
        return leaf()

    @staticmethod
    def static():
        raise KeyError

    @property
    def attribute(self):
        return leaf()


def api():
    """Traces by the API alone, without a request from outside."""
    import pyannot
    assert pyannot.trace(numbers) is numbers
    pyannot.trace(Chosen)
    chosen = Chosen()
    list(numbers(2)), chosen.method(), chosen.attribute
    with contextlib.suppress(KeyError):
        chosen.static()
    leaf()
    with pyannot.tracing(select="fib"):
        fib(3), leaf()
    chosen.method(), leaf(), fib(2)


def for_ever():
    while True:
        leaf(), sum(numbers(3))
        with contextlib.suppress(ValueError):
            sink(2)


def daemons():
    """Threads that are in the middle of calls when the interpreter ends."""
    for _ in range(3):
        threading.Thread(target=for_ever, daemon=True).start()
    time.sleep(0.02)


def many_functions():
    """More functions than fit, and then a name from the program itself."""
    import pyannot
    scope = {}
    for i in range(9000):
        name = f"f{i}" + 450 * "_"
        exec(compile(f"def {name}(): pass\n{name}()", VIRTUAL, "exec"), scope)
        del scope[name]
    with pyannot.annotate("own range"):
        leaf()


def calls_of_c():
    sorted([3, 1, 2], key=abs)
    list(map(leaf_of, [1, 2]))
    len("ab")
    with contextlib.suppress(ValueError):
        int("x")
    "x".upper()


def leaf_of(x):
    return len([x])


WAYS = {function.__name__: function for function in (
    api, callbacks, calls_of_c, children, coroutines, daemons, exceptions, generators, hot, imports,
    managers, many_functions, objects, others, threads, too_deep)}
WAYS.update((method, functools.partial(pool, method)) for method in ("fork", "spawn", "forkserver"))


def main(names):
    fib(8)
    for name in names:
        WAYS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
