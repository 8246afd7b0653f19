# SPDX-License-Identifier: MIT
"""Generates random programs with all of Python's kinds of calls, for test_made_programs.py.

make(random) writes one. It ends: each function takes fuel, of which a thread or a way has little,
and loops are short. Each run does the same: it is independent of time and hashes, and the garbage
collector runs only where the program calls it.

The grammar: @f, @g, @c, @a, @h and @K are a function, a generator, a coroutine, an asynchronous
generator, a recursion that threads may run at once, and a class; @e is an expression, @n a small
number, @v a new name (@w the same one again). A line "@s" is some statements of the kind that the
function around it may have.
"""

import re

HEAD = '''
import asyncio, contextlib, functools, gc, importlib.abc, importlib.util, operator, os, sys
import threading
from concurrent.futures import ThreadPoolExecutor

FILE = os.path.abspath(__file__)
MADE = os.path.join(os.path.dirname(FILE), "made_code.py")
if os.environ.get("CALLS_REFERENCE"):
    import calls_reference
    calls_reference.start(FILE, MADE)
gc.disable()
sys.unraisablehook = lambda told: None
FUEL = threading.local()


class E(Exception):
    pass


class Sleep:
    def __await__(self):
        yield None
        return 1


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == "made_code" else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.f0 = f0
        exec(compile("def inside(n):\\n    return f0(n)\\nx = inside(1)\\n", MADE, "exec"),
             module.__dict__)


def drive(coroutine, sends=6):
    try:
        for _ in range(sends):
            coroutine.send(None)
    except StopIteration as end:
        return end.value or 0
    finally:
        coroutine.close()
    return 0


def decorate(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper


@contextlib.contextmanager
def managed(n):
    try:
        yield n
    except E:
        if n % 2:
            raise
    finally:
        f0(n)


@contextlib.asynccontextmanager
async def managed_later(n):
    await Sleep()
    try:
        yield n
    finally:
        f0(n)


def begin(function, n):
    FUEL.n = 30
    with contextlib.suppress(Exception):
        function(n)


def imports(n):
    finder = Finder()
    sys.meta_path.insert(0, finder)
    try:
        import made_code
        return made_code.inside(n)
    finally:
        sys.meta_path.remove(finder)
        sys.modules.pop("made_code", None)

'''

KINDS = {
    "f": "def f{i}(n):\n    x = n\n    FUEL.n -= 1\n    if FUEL.n < 0:\n        return 1\n"
         "    @s\n    return x\n",
    "g": "def g{i}(n):\n    x = n\n    FUEL.n -= 1\n    if FUEL.n < 0:\n        return 1\n"
         "    @s\n    yield x\n    @s\n    return x\n",
    "c": "async def c{i}(n):\n    x = n\n    FUEL.n -= 1\n    if FUEL.n < 0:\n        return 1\n"
         "    @s\n    await Sleep()\n    @s\n    return x\n",
    "a": "async def a{i}(n):\n    x = n\n    FUEL.n -= 1\n    if FUEL.n < 0:\n        return\n"
         "    @s\n    yield x\n    @s\n",
    "h": "def h{i}(n):\n    if n > 1:\n        return h{i}(n - 1) + h{i}(n - 2)\n"
         "    return (lambda y: y)(n)\n",
    "d": "@decorate\n@decorate\ndef d{i}(n):\n    return @f(n)\n",
}

CLASS = '''
class K{i}:
    class Slot:
        def __get__(self, instance, owner):
            return @f(@n) if instance else self

        def __set__(self, instance, value):
            @f(@n)

        def __set_name__(self, owner, name):
            pass

    slot = Slot()

    def __init__(self, n=1):
        self.n = n

    def __init_subclass__(cls):
        f0(1)

    def __del__(self):
        n = x = FUEL.n = FUEL.n - 1
        if self.n % 2 and x > 0:
            @s

    def method(self, n):
        x = n
        FUEL.n -= 1
        if FUEL.n < 0:
            return 1
        @s
        return x

    @property
    def value(self):
        return @f(@n)

    @classmethod
    def make(cls, n):
        return cls(n)

    @staticmethod
    def helper(n):
        return @f(@n)

    def __getattr__(self, name):
        if name.startswith("dynamic"):
            return @f(@n)
        raise AttributeError(name)

    def __lt__(self, other):
        n = self.n
        return @f(@n) < 2

    def __eq__(self, other):
        return self.n == other.n

    def __hash__(self):
        return f0(self.n)

    def __call__(self, n):
        return @f(@n)

    def __getitem__(self, n):
        if n > 2:
            raise IndexError
        return n

    def __len__(self):
        return 3

    def __index__(self):
        return 2

    def __add__(self, n):
        return NotImplemented if n % 2 else @f(@n)

    def __format__(self, kind):
        return str(f0(1))

    def __enter__(self):
        return self.n

    def __exit__(self, kind, error, traceback):
        f0(1)
        return kind is E and self.n % 2 == 1

'''

EXPRESSIONS = '''
@f(@n)
@f(n % 3)
@d(@n)
@h(@n)
@K(@n).method(@n)
@K(@n).value
@K.make(@n).slot
@K.helper(@n)
@K(@n).dynamic
@K(@n)(@n)
sum(@K(@n))
len(@K(@n))
range(9)[@K(@n)]
(@K(2) + 2)
int(f"{@K(@n)}")
hasattr(@K(@n), "no")
sum({@K(1): 1, @K(1): @n}.values())
sorted([@K(1), @K(2), @K(1)])[0].n
(lambda y: @f(y))(@n)
(lambda y: (lambda z: @e)(y))(@n)
sorted([3, 1, 2], key=lambda y: @f(y))[0]
functools.reduce(lambda a, b: a + @f(b), [1, 2, 3], 0)
functools.cmp_to_key(lambda a, b: @f(a) - b)(1) < functools.cmp_to_key(lambda a, b: b)(2)
sum(map(@f, [1, 2]))
sum(map(lambda y: @e, [1, 2]))
sum(filter(@f, [1, 2]))
max((1, 2), key=functools.partial(operator.add, @f(@n)))
max((1, 2), key=@f)
[@f(y) for y in (1, 2)][0]
len({y: @f(y) for y in (1, 2)})
sum(@f(y) for y in @g(@n))
any(y > 1 for y in @g(@n))
next(@g(@n), 1)
sum(@g(@n))
functools.partial(@f, @n)()
eval("@f(@n)")
eval(compile("[@f(y) for y in (1, 2)]", MADE, "eval"))[0]
drive(@c(@n))
drive(@c(@n), @n)
imports(@n)
'''

STATEMENTS = '''
x += @e
x += @e
--
if @e > 1:
    @s
else:
    @s
--
for @v in range(@n):
    @s
--
for @v in @g(@n):
    @s
    break
--
while x < 2:
    x += 1
    @s
--
try:
    @s
except E:
    @s
finally:
    @s
--
try:
    @s
    raise E(x)
except E:
    @s
--
try:
    x += @e
except E as error:
    if x % 2:
        raise
    raise E(1) from error
--
if x % 3 == 1:
    raise E(x)
--
if x % 5 == 4:
    return x
--
with contextlib.suppress(E), managed(@n):
    @s
--
with @K(@n) as @v:
    @s
--
@v = @K(@n)
@w.slot = 1
del @w
--
@v = @g(@n)
next(@w, 0)
@w.close()
--
@v = @g(@n)
@w.close()
--
@v = @g(@n)
next(@w, 0)
try:
    @w.throw(E)
except (E, StopIteration):
    x += @e
--
@v = @g(@n)
try:
    @w.throw(E(1))
except E:
    pass
--
@v = @g(@n)
try:
    next(@w)
    @w.send(@n)
except StopIteration:
    @s
--
@v = @g(@n)
del @w
--
@v = @c(@n)
try:
    @w.send(None)
    @w.throw(E)
except (E, StopIteration):
    pass
--
@v = @c(@n)
@w.close()
--
@v = @K(1)
@w.self = @w
del @w
gc.collect()
--
def @v(y):
    return @e + x
x += @w(1)
--
class @v(@K):
    f0(1)
x += @w.helper(1)
--
exec("y = @f(@n)\\nz = (lambda: @f(y))()", dict(globals()))
--
exec(compile("def g(n):\\n    yield @f(n)\\nx = list(g(1))", MADE, "exec"), dict(globals()))
'''

OF_GENERATORS = '''
yield x
--
x = (yield x) or 1
--
x += yield from @g(@n)
--
yield from (@f(y) for y in range(@n))
--
try:
    yield x
except E:
    @s
finally:
    @s
--
try:
    yield x
except GeneratorExit:
    x += @e
'''

OF_COROUTINES = '''
x += await @c(@n) or 1
--
await Sleep()
--
async for @v in @a(@n):
    @s
--
async for @v in @a(@n):
    break
--
async with managed_later(@n):
    @s
--
x += sum([y async for y in @a(@n)])
--
@v = @a(@n)
async for _ in @w:
    break
await @w.aclose()
--
@v = @a(@n)
try:
    await @w.__anext__()
    await @w.athrow(E)
except (E, StopAsyncIteration):
    @s
--
try:
    await @c(@n)
finally:
    x += @e
'''

OF_ASYNC_GENERATORS = OF_COROUTINES + '''--
yield x
--
try:
    yield x
finally:
    @s
'''

WAYS = '''
@s
--
@v = threading.Thread(target=begin, args=(@f, @n))
@w.start()
@w.join()
--
@v = [threading.Thread(target=begin, args=(@h, @n + 2)) for _ in range(3)]
for one in @w:
    one.start()
for one in @w:
    one.join()
--
with ThreadPoolExecutor(1) as @v:
    list(@w.map(functools.partial(begin, @f), [1, 2]))
'''

OF_LOOPS = '''
await asyncio.gather(@c(@n), @c(@n), @c(@n), return_exceptions=True)
--
@v = asyncio.ensure_future(@c(@n))
await asyncio.sleep(0)
@w.cancel()
with contextlib.suppress(asyncio.CancelledError, E):
    await @w
--
await asyncio.wait_for(@c(@n), 1000)
--
with ThreadPoolExecutor(1) as @v:
    await asyncio.get_running_loop().run_in_executor(@w, begin, @f, @n)
--
asyncio.get_running_loop().call_soon(begin, @f, @n)
await asyncio.sleep(0)
'''


def parts(text):
    return [part.strip("\n") for part in text.split("--\n")]


EXPRESSIONS = EXPRESSIONS.split("\n")[1:-1]
STATEMENTS = parts(STATEMENTS)
OF_KIND = {"f": STATEMENTS, "g": STATEMENTS + 3 * parts(OF_GENERATORS),
           "c": STATEMENTS + 3 * parts(OF_COROUTINES),
           "a": [one.replace("return x", "return")
                 for one in STATEMENTS + 3 * parts(OF_ASYNC_GENERATORS)],
           "loop": STATEMENTS + 9 * parts(OF_LOOPS), "main": STATEMENTS + 9 * parts(WAYS)}
COUNTS = {"f": 6, "g": 5, "c": 4, "a": 3, "h": 1, "d": 2, "K": 3}
HOLE = re.compile(r"@([acdefghKn])\b")
STATEMENTS_DEEP, EXPRESSIONS_DEEP = 3, 2


class Maker:
    def __init__(self, random):
        self.random = random
        self.names = 0

    def hole(self, letter, depth):
        if letter == "e":
            few = EXPRESSIONS if depth < EXPRESSIONS_DEEP else EXPRESSIONS[:3]
            return self.fill(self.random.choice(few), depth + 1)
        if letter == "n":
            return str(self.random.randint(0, 3))
        return f"{letter}{self.random.randrange(COUNTS[letter])}"

    def fill(self, text, depth=0):
        return HOLE.sub(lambda match: self.hole(match[1], depth), text)

    def statements(self, kind, depth):
        few = OF_KIND[kind] if depth < STATEMENTS_DEEP else STATEMENTS[:1]
        for _ in range(self.random.randint(1, 3 if depth == 0 else 2)):
            yield from self.lines(self.random.choice(few), kind, depth + 1)

    def lines(self, template, kind, depth=0):
        """Each template gets unique names: statements inside of it have others."""
        name = ""
        for line in template.splitlines():
            indent = line[:len(line) - len(line.lstrip())]
            if line.strip() == "@s":
                yield from (indent + inner for inner in self.statements(kind, depth))
                continue
            if "@v" in line:
                self.names += 1
                name = f"v{self.names}"
            yield self.fill(line.replace("@v", name).replace("@w", name))

    def functions(self):
        for kind, template in KINDS.items():
            for i in range(COUNTS[kind]):
                of_kind = kind if kind in OF_KIND else "f"
                yield from (*self.lines(template.replace("{i}", str(i)), of_kind), "\n")
        for i in range(COUNTS["K"]):
            yield from self.lines(CLASS.replace("{i}", str(i)), "f")

    def ways(self, count):
        for i in range(count):
            is_loop = i % 3 == 2
            yield f"{'async ' if is_loop else ''}def way{i}(n):\n    x = n"
            yield from self.lines("    @s\n    @s", "loop" if is_loop else "main")
            yield "\n"

    def program(self, count, fuel):
        yield from (HEAD, *self.functions(), *self.ways(count))
        yield "def main():"
        for i in range(count):
            yield f"    FUEL.n = {fuel}"
            yield "    with contextlib.suppress(Exception):"
            yield f"        {f'asyncio.run(way{i}(1))' if i % 3 == 2 else f'way{i}(1)'}"
        yield "    gc.collect()\n\n"


TAIL = '''
main()
if os.environ.get("CALLS_REFERENCE"):
    calls_reference.finish()
'''


def make(random, ways=6, fuel=30):
    """Returns the source of a program; `random` is like random.Random."""
    return "\n".join(Maker(random).program(ways, fuel)) + TAIL
