# SPDX-License-Identifier: MIT
"""All uses of pyannot, right and wrong, as functions for leak_program.py."""

import asyncio
import contextlib
import copy
import pickle

import pyannot
from pyannot import annotate
from test_api import WrongUse
from test_payloads import Refused

CASES = {}
LOOP = asyncio.new_event_loop()


def case(function):
    CASES[function.__name__] = function
    return function


@case
def cached_name():
    with annotate("cached"):
        pass


@case
def names_made_up():
    for i in range(3):
        with annotate(f"made up {i}"):
            pass


@case
def long_form():
    with annotate("long", domain="d", category="c", color="red", level=1, payload="text"):
        pass


@case
def name_without_utf8():
    with annotate("\udcff", payload="\udcff", domain="a\0b", category="\udcff"):
        pass


@case
def exception_leaves_the_range():
    with contextlib.suppress(KeyError), annotate("raises"):
        raise KeyError("x")


class Unnameable(type):
    def __getattribute__(cls, name):
        if name in ("__module__", "__qualname__"):
            raise ZeroDivisionError(name)
        return super().__getattribute__(name)


class Anonymous(Exception, metaclass=Unnameable):
    pass


@case
def exception_that_tells_no_name():
    with contextlib.suppress(Anonymous), annotate("raises"):
        raise Anonymous


@case
def exception_in_a_task():
    @annotate("coroutine that raises")
    async def raises():
        async with annotate("async raises"):
            with annotate("in a task"):
                raise Anonymous

    with contextlib.suppress(Anonymous):
        LOOP.run_until_complete(raises())


@case
def push_pop():
    pyannot.push("pushed")
    pyannot.push("pushed", payload=1 << 70)
    pyannot.pop()
    pyannot.pop()
    pyannot.pop()


@case
def start_end():
    pyannot.end(pyannot.start("started", payload=1.5))


@case
def marks():
    pyannot.mark("mark")
    pyannot.mark("mark", payload=True)


@case
def counters():
    pyannot.counter("counter", 1)
    pyannot.counter("counter", 1.5)
    pyannot.counter("counter", 1 << 70, domain="d")


@case
def state():
    pyannot.enabled()
    pyannot.status()
    annotate("a").name
    repr(annotate("a"))


@case
def decorated_functions():
    @annotate("plain")
    def plain(*args, **kwargs):
        return args, kwargs

    class Methods:
        @annotate("method")
        def method(self):
            return self

        @annotate("static")
        @staticmethod
        def static():
            pass

        @annotate("class")
        @classmethod
        def of_class(cls):
            return cls

    plain(1, key=2)
    Methods().method()
    Methods.static()
    Methods.of_class()
    plain.__annotations__
    repr(plain)


@case
def decorated_function_that_raises():
    @annotate("raises")
    def raises():
        raise KeyError

    with contextlib.suppress(KeyError):
        raises()


@case
def decorated_generator_closed_early():
    @annotate("generator")
    def generator():
        yield 1
        yield 2

    iterator = generator()
    next(iterator)
    iterator.close()


@annotate("coroutine")
async def coroutine():
    await asyncio.sleep(0)


@annotate("async generator")
async def async_generator():
    yield 1
    yield 2


async def both():
    await coroutine()
    async for _ in async_generator():
        pass


@case
def coroutines():
    LOOP.run_until_complete(both())


@case
def async_with():
    async def work():
        async with annotate("async"), annotate("async", item=1):
            await asyncio.sleep(0)

    LOOP.run_until_complete(work())


async def abandoned():
    async with annotate("abandoned"):
        yield 1
        yield 2


async def abandon():
    async for _ in abandoned():
        break
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # the loop closes it, in a separate task


class Forever:
    """A task that never ends, like a server's; it runs a coroutine function on request."""

    def __init__(self, function):
        self.ask, self.answered = asyncio.Event(), asyncio.Event()
        self.task = LOOP.create_task(self.serve(function))

    async def serve(self, function):
        while True:
            await self.ask.wait()
            self.ask.clear()
            await function()
            self.answered.set()

    def once(self):
        self.ask.set()
        LOOP.run_until_complete(self.answered.wait())
        self.answered.clear()


async def server(function):
    return Forever(function)


ABANDONING = LOOP.run_until_complete(server(abandon))


@case
def async_generator_closed_by_the_loop():
    ABANDONING.once()


@case
def pickled_annotations():
    for annotation in (annotate("p", domain="d", category="c", color="red", level=1, payload="x"),
                       annotate("p", payload={"a": 1, "b": "x"}), pyannot.track("t").annotate("p")):
        pickle.loads(pickle.dumps(annotation)), copy.deepcopy(annotation)


@case
def functions_that_travel_with_their_code():
    function = annotate("travels")(lambda: 7)
    again = type(function)(annotate("travels"), None)
    again.__setstate__((function.__wrapped__, vars(function)))
    assert again() == 7
    for state in (None, (1, 2)):
        with contextlib.suppress(TypeError):
            again.__setstate__(state)


@case
def tracks():
    parent = pyannot.track("parent")
    track = pyannot.track("track", parent)
    with track.annotate("on the track", item="text"), track.annotate("plain"):
        track.mark("mark", payload=3)
    track.begin("begun")
    track.end()
    track.annotate("decorated")(len)("abc")
    pickle.loads(pickle.dumps(track)), copy.copy(track), repr(track)
    track.parent.name, pyannot.track("same", id=track.id).id


@case
def long_chain_of_tracks():
    track = None
    for _ in range(20):
        track = pyannot.track("child", track)


@case
def flows():
    flow = pyannot.flow("arrow")
    flow.begin()
    flow.step()
    flow.end()
    pickle.loads(pickle.dumps(flow)), copy.copy(flow), repr(flow), flow.name
    pyannot.flow("scope", 3).begin()
    pyannot.flow(id=flow.id).end()


@case
def domains():
    io = pyannot.domain("io")
    with io.annotate("read"), io.annotate("read", item=1):
        io.mark("mark")
    io.push("pushed")
    io.pop()
    io.end(io.start("started"))
    io.counter("counter", {"a": 1, "b": 2.5})
    io.track("track").begin("begun", payload=1)
    io.flow("arrow").begin()
    pickle.loads(pickle.dumps(io)), repr(io), io.name

    @io.annotate
    def decorated():
        pass

    decorated()


@case
def payloads_of_several_values():
    with annotate("items", payload={"a": 1, "b": "text"}, c=1.5, d=True, e="\udcff"):
        pyannot.mark("items", payload=3, size=1 << 70)
    pyannot.counter("series", {"used": 3, "free": 1.5})


@case
def names():
    pyannot.set_thread_name("thread")
    pyannot.set_process_name("process")
    with annotate("a"):
        pyannot.current()


@case
def decorator_without_a_name():
    @annotate
    def plain():
        pass

    @annotate(category="c")
    async def coroutine_of_its_own():
        pass

    plain()
    LOOP.run_until_complete(coroutine_of_its_own())


@case
def wrong_use():
    for *_, call in WrongUse.CASES + Refused.CASES:
        with contextlib.suppress(Exception):
            call()
