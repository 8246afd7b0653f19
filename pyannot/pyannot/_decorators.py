# SPDX-License-Identifier: MIT
"""Decorates functions, coroutines and generators with an annotation.

A plain function gets a nested range of its thread. A generator or coroutine yields the thread while
it is suspended, and a nested range left open there would enclose ranges of other code. Each of its
calls therefore gets an overlapping range (as start/end make it), from its first step to its end,
suspensions included. In a task of asyncio, a coroutine's range lies on the task's track. Ranges of
a track belong to no thread, so a track gives all functions the same kind of range.
"""

import functools
import sys

from pyannot._native import annotate, annotated_function, free_range

# Flags of code objects. The module inspect has them too, but takes 5 ms to import.
CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200


def decorate(annotation, function):
    """Returns the annotated form of a function, method, staticmethod or classmethod."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorate(annotation, function.__func__))
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"annotate() decorates functions, not {_describe(function)}")
    if isinstance(annotation, annotate):
        annotation = annotation._named(_name_of(function))
    flags = _code_flags(function)
    if flags & CO_ASYNC_GENERATOR:
        wrapper = _async_generator_function(_maker(annotation), function)
    elif flags & CO_COROUTINE or _is_marked_coroutine_function(function):
        wrapper = _coroutine_function(_maker(annotation, True), function)
    elif flags & CO_GENERATOR:
        wrapper = _generator_function(_maker(annotation), function)
    elif isinstance(annotation, annotate):
        wrapper = annotated_function(annotation, function)
    else:
        wrapper = _plain_function(annotation, function)
    return functools.update_wrapper(wrapper, function)


def reduced(function, annotation, wrapped):
    """Pickles an annotated function as a global of its name, like any other function. Picklers that
    send a script's functions with their code (cloudpickle, by which joblib, dask and others send
    them to processes without the script) get its parts instead."""
    pickler = sys._getframe(1).f_globals
    if "CloudPickler" not in pickler or _is_importable(function, pickler):
        return function.__qualname__
    return annotated_function, (annotation, None), (wrapped, vars(function))


def _is_importable(function, pickler):
    """True if cloudpickle would pickle the function by its name."""
    module = function.__module__
    return (module != "__main__" and module in sys.modules and
            module not in pickler.get("_PICKLE_BY_VALUE_MODULES", ()) and
            "<locals>" not in function.__qualname__)


def _describe(thing):
    """Describes an object without its repr, which may be of any length, or fail."""
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    return f"an object of type {type(thing).__name__}"


def _name_of(function):
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else type(function).__qualname__


def _maker(annotation, in_coroutine=False):
    """Returns a function that makes the context manager of one call."""
    if isinstance(annotation, annotate):
        return functools.partial(free_range, annotation, in_coroutine)
    return lambda: annotation


def _code_flags(function):
    """Flags of the code that a function, method or partial runs; 0 if it is not Python's."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return getattr(code, "co_flags", 0)


def _is_marked_coroutine_function(function):
    """True if inspect.markcoroutinefunction marked it; looks only if inspect is loaded."""
    inspect = sys.modules.get("inspect")
    return inspect is not None and inspect.iscoroutinefunction(function)


def _plain_function(annotation, function):
    def wrapper(*args, **kwargs):
        with annotation:
            return function(*args, **kwargs)

    return wrapper


def _coroutine_function(make, function):
    async def wrapper(*args, **kwargs):
        with make():
            return await function(*args, **kwargs)

    return wrapper


def _generator_function(make, function):
    def wrapper(*args, **kwargs):
        with make():
            return (yield from function(*args, **kwargs))

    return wrapper


def _async_generator_function(make, function):
    async def wrapper(*args, **kwargs):
        with make():
            generator = function(*args, **kwargs)
            step, value = generator.asend, None
            while True:
                try:
                    item = await step(value)
                except StopAsyncIteration:
                    return
                try:
                    step, value = generator.asend, (yield item)
                except GeneratorExit:
                    await generator.aclose()
                    raise
                except BaseException as error:
                    step, value = generator.athrow, error

    return wrapper
