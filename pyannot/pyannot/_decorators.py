# SPDX-License-Identifier: MIT
"""What a function becomes when it is decorated with an annotation.

A plain function gets a nested range of its thread. A generator or coroutine gives the thread to
others while it is suspended: a nested range left open there would swallow theirs. So each of their
calls gets a range of its own (start/end), from its first step to its end, suspensions included.
"""

import functools
import inspect

from pyannot._native import annotated_function, end, start


def decorate(annotation, function):
    """The annotated form of a function, method, staticmethod or classmethod."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorate(annotation, function.__func__))
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"annotate() decorates functions, not {function!r}")
    if inspect.isasyncgenfunction(function):
        wrapper = _async_generator_function(annotation, function)
    elif inspect.iscoroutinefunction(function):
        wrapper = _coroutine_function(annotation, function)
    elif inspect.isgeneratorfunction(function):
        wrapper = _generator_function(annotation, function)
    else:
        wrapper = annotated_function(annotation, function)
    return functools.update_wrapper(wrapper, function)


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
