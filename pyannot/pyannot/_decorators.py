# SPDX-License-Identifier: MIT
"""What a function becomes when it is decorated with an annotation.

A plain function gets a nested range of its thread. A generator or coroutine gives the thread to
others while it is suspended: a nested range left open there would swallow theirs. So each of their
calls gets a range of its own (start/end), from its first step to its end, suspensions included.
"""

import functools
import sys

from pyannot._native import annotated_function, end, start

# Of code objects; the module inspect has them too, but takes 5 ms to import.
CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200


def decorate(annotation, function):
    """The annotated form of a function, method, staticmethod or classmethod."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorate(annotation, function.__func__))
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"annotate() decorates functions, not {function!r}")
    flags = _code_flags(function)
    if flags & CO_ASYNC_GENERATOR:
        wrapper = _async_generator_function(annotation, function)
    elif flags & CO_COROUTINE or _is_marked_coroutine_function(function):
        wrapper = _coroutine_function(annotation, function)
    elif flags & CO_GENERATOR:
        wrapper = _generator_function(annotation, function)
    else:
        wrapper = annotated_function(annotation, function)
    return functools.update_wrapper(wrapper, function)


def _code_flags(function):
    """Of the code that a function, method or partial runs; 0 if it is not Python's."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return getattr(code, "co_flags", 0)


def _is_marked_coroutine_function(function):
    """By inspect.markcoroutinefunction, so only where inspect is loaded."""
    inspect = sys.modules.get("inspect")
    return inspect is not None and inspect.iscoroutinefunction(function)


def _coroutine_function(annotation, function):
    async def wrapper(*args, **kwargs):
        range_id = start(annotation)
        try:
            return await function(*args, **kwargs)
        finally:
            end(range_id)

    return wrapper


def _generator_function(annotation, function):
    def wrapper(*args, **kwargs):
        range_id = start(annotation)
        try:
            return (yield from function(*args, **kwargs))
        finally:
            end(range_id)

    return wrapper


def _async_generator_function(annotation, function):
    async def wrapper(*args, **kwargs):
        range_id = start(annotation)
        generator = function(*args, **kwargs)
        step, value = generator.asend, None
        try:
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
        finally:
            end(range_id)

    return wrapper
