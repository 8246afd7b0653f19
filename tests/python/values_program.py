# SPDX-License-Identifier: MIT
"""Calls with arguments, results and exceptions. Code of these types ends the program with a
distinct status if it is run."""


class Hostile:
    def __repr__(self):
        raise SystemExit(3)

    __str__ = __repr__

    def __getattr__(self, name):
        raise SystemExit(4)

    @property
    def __class__(self):
        raise SystemExit(5)


class Text(str):
    def __str__(self):
        raise SystemExit(6)


def given(a, b=2.5, *rest, key=None, **more):
    return [a, b]


def cell(x, y):
    def inner():
        return x
    return inner() + y


def numbers(n):
    yield n


def fail(n):
    if n == 0:
        raise ValueError("no more")
    fail(n - 1)


def miss(d):
    return d["missing"]


def another(n):
    """Raises in a shallower frame an exception that reuses the memory of the one before."""
    catch(fail, n)
    raise ValueError("another")


def keep():
    try:
        raise KeyError("kept")
    except KeyError:
        pass


def catch(function, argument):
    try:
        function(argument)
    except Exception as error:
        return type(error).__name__


def main():
    loop = []
    loop.append(loop)
    given(1)
    given("text\x00\n", True, 1, 2, key=b"\xff\x00ab", extra={"k": [1], 2: (1,)})
    given(Hostile())
    given(Text("x"), 10 ** 40, key=-10 ** 40)
    given(loop, list(range(1000)))
    given("é" * 200, "\ud800x")
    given({1, 2, 3}, range(3))
    cell(5, 6)
    list(numbers(3))
    catch(fail, 2)
    catch(miss, {})
    catch(another, 1)
    keep()


main()
