# SPDX-License-Identifier: MIT
"""Cases for a strict type checker: test_types.py reads the comments.

A comment "# is TYPE" after reveal_type(...) is the type that mypy must reveal, "# wrong: WORDS" the
complaint that it must make about that line; any other output is a failure. Never run."""

from collections.abc import AsyncIterator, Iterator
from fractions import Fraction

import pyannot
import pyannot.nvtx as nvtx
from pyannot import annotate, counter, mark

# Making annotations.
reveal_type(annotate("load"))  # is pyannot._native.annotate
reveal_type(annotate())  # is pyannot._native.annotate
reveal_type(annotate("load", color="red", level=2, path="/x"))  # is pyannot._native.annotate
reveal_type(annotate("load").name)  # is str | None
annotate("load", payload={"size": 3, "path": "/x"})
annotate("load", payload=Fraction(1, 3))
annotate("load", path=["list"])  # wrong: list[str]
annotate("load", payload=["list"])  # wrong: list[str]
annotate("load", color=1.5)  # wrong: float
annotate("load", domain=3)  # wrong: int
annotate("load").name = "other"  # wrong: read-only

# Statements.
with annotate("load") as load:
    reveal_type(load)  # is pyannot._native.annotate


# Decorators keep the function's type.
@annotate
def bare(a: int, b: str = "x") -> str:
    return b * a


@annotate("named", category="cpu")
def named(a: int, *, key: bool) -> float:
    return a + key


@annotate
def generator(n: int) -> Iterator[int]:
    yield n


@annotate()
async def coroutine(n: int) -> str:
    async with annotate("wait") as wait:
        reveal_type(wait)  # is pyannot._native.annotate
    return str(n)


@annotate
async def async_generator() -> AsyncIterator[int]:
    yield 1


class Methods:
    @annotate
    def method(self, a: int) -> int:
        return a

    @staticmethod
    @annotate
    def static(a: int) -> str:
        return str(a)

    @classmethod
    @annotate("of class")
    def of_class(cls) -> float:
        return 1.5


reveal_type(bare)  # is def (a: int, b: str =) -> str
reveal_type(named)  # is def (a: int, *, key: bool) -> float
reveal_type(generator)  # is def (n: int) -> Iterator[int]
reveal_type(coroutine)  # is def (n: int) -> Coroutine[Any, Any, str]
reveal_type(async_generator)  # is def () -> AsyncIterator[int]
reveal_type(Methods().method(1))  # is int
reveal_type(Methods.static(1))  # is str
reveal_type(Methods.of_class())  # is float
bare("1")  # wrong: incompatible type "str"; expected "int"
annotate("named")(3)  # wrong: int

# Functions.
reveal_type(pyannot.push("a", n=1))  # is None
pyannot.pop()
mark("a", payload=1.5, k=True)
mark()  # wrong: name
counter("a", 1)
counter("a", Fraction(1, 2))
counter("a", {"used": 1, "free": 2.5})
counter("a", "1")  # wrong: incompatible type "str"
counter("a", 1, payload=2)  # wrong: payload
reveal_type(pyannot.start("a", n=1))  # is int
pyannot.end(pyannot.start("a"))
pyannot.end("a")  # wrong: incompatible type "str"
pyannot.start()  # wrong: name
pyannot.set_process_name("a")
pyannot.set_thread_name("a")
reveal_type(pyannot.enabled())  # is bool
reveal_type(pyannot.current())  # is int
reveal_type(pyannot.status())  # is str
pyannot.nothing()  # wrong: no attribute "nothing"

# Objects.
flow = pyannot.flow("a")
reveal_type(flow.id)  # is int
reveal_type(pyannot.flow(id=flow.id).name)  # is str | None
pyannot.flow("scope", 3).begin()
pyannot.flow(3)  # wrong: incompatible type "int"; expected "str | None"
track = pyannot.track("a", pyannot.track("parent"), id=3)
reveal_type(track.parent)  # is pyannot._native.track | None
track.begin("a", n=1)
track.end()
track.mark("a")
with track.annotate("a", n=1) as on_track:
    reveal_type(on_track)  # is pyannot._native.track_range


@track.annotate("a")
def function_of_track(a: int) -> str:
    return str(a)


reveal_type(function_of_track)  # is def (a: int) -> str
pyannot.track("a", "parent")  # wrong: incompatible type "str"
io = pyannot.domain("io")
reveal_type(io.annotate("a", n=1))  # is pyannot._native.annotate
reveal_type(io.start("a"))  # is int
reveal_type(io.track("a").id)  # is int
reveal_type(io.flow().id)  # is int
io.counter("a", {"used": 1})


@io.annotate
def function_of_domain(a: int) -> str:
    return str(a)


reveal_type(function_of_domain)  # is def (a: int) -> str

reveal_type(pyannot.read("x").table("functions")[0]["cpu_self_ns"])  # is Any
columns = pyannot.read("x").samples.columns("alloc")
reveal_type(columns.sample_values)  # is dict[str, pyannot._reader.Column]
samples = pyannot.read("x").samples
reveal_type([sample.sample_values for sample in samples])  # is list[Mapping[str, int]]
reveal_type(pyannot.read("x").sample_sets[0].values[0].unit)  # is str
pyannot.read("x").report(value=3)  # wrong: Argument "value"
pyannot.read("x").report(sort="self")  # wrong: Unexpected keyword argument "sort"

# The names of the nvtx package.
with nvtx.annotate("load", color="red", domain="io", category=3, payload=[1]) as entered:
    reveal_type(entered)  # is pyannot.nvtx.annotate
reveal_type(nvtx.start_range("load"))  # is tuple[int, pyannot.nvtx._DomainHandle] | None
nvtx.end_range(nvtx.start_range("load"))
nvtx.mark("load", colour="red")  # wrong: Unexpected keyword argument "colour"
nvtx.get_domain("io").push_range(message="load")
reveal_type(nvtx.get_domain("io").get_counter("n", int))  # is pyannot.nvtx.Counter
nvtx.get_domain("io").get_category_id(3)  # wrong: "int"; expected "str"


@nvtx.annotate(color="red")
def ported(number: int) -> str:
    return str(number)


reveal_type(ported(3))  # is str
