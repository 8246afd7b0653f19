# SPDX-License-Identifier: MIT
"""What a function becomes when it is decorated with an annotation.

A plain function gets a nested range of its thread. A generator or coroutine gives the thread to
others while it is suspended: a nested range left open there would swallow theirs. So each of their
calls gets a range of its own (as start/end do), from its first step to its end, suspensions
included. In a task of asyncio, a coroutine's is one of the task's track. Of a track, whose ranges
belong to no thread, all functions get ranges alike.
"""

import functools
import sys

from pyannot._native import annotate, annotated_function, free_range

# Of code objects; the module inspect has them too, but takes 5 ms to import.
CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200


def decorate(annotation, function):
    """The annotated form of a function, method, staticmethod or classmethod."""
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
    """How an annotated function is pickled: as a global of its name, like any other. Where those of
    a script travel with their code (cloudpickle, by which joblib, dask and others send them to
    processes that do not have the script), so does this one."""
    pickler = sys._getframe(1).f_globals
    if "CloudPickler" not in pickler or _is_importable(function, pickler):
        return function.__qualname__
    return annotated_function, (annotation, None), (wrapped, vars(function))


def _is_importable(function, pickler):
    """By the rules of cloudpickle."""
    module = function.__module__
    return (module != "__main__" and module in sys.modules and
            module not in pickler.get("_PICKLE_BY_VALUE_MODULES", ()) and
            "<locals>" not in function.__qualname__)


def _describe(thing):
    """Never its repr, which may be of any length, or fail."""
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    return f"an object of type {type(thing).__name__}"


def _name_of(function):
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else type(function).__qualname__


def _maker(annotation, in_coroutine=False):
    """What makes the context manager of one call."""
    if isinstance(annotation, annotate):
        return functools.partial(free_range, annotation, in_coroutine)
    return lambda: annotation


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
