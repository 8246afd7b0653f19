# SPDX-License-Identifier: MIT
"""Calls a module that has the nvtx package's names, and prints the outcomes as JSON.

    nvtx_cases.py MODULE

{"signatures": {name: [[parameter, kind, default]...]}, "outcomes": {case: outcome}}. An outcome is
a repr, or the type of the exception that was raised, with the types of warnings.
"""

import importlib
import inspect
import json
import pickle
import sys
import warnings

nvtx = importlib.import_module(sys.argv[1])
domain = nvtx.get_domain("cases")

FUNCTIONS = ["annotate", "enabled", "end_range", "get_domain", "mark", "numpy_dtype", "pop_range",
             "push_range", "start_range", "CounterSemantics"]
METHODS = {
    "Domain": ["end_range", "get_category_id", "get_counter", "get_event_attributes",
               "get_registered_string", "get_timestamp", "mark", "pop_range", "push_range",
               "set_event_attributes", "start_range"],
    "Counter": ["batch_submit", "sample", "sample_no_value"],
    "Profile": ["disable", "enable"],
}
ENUMERATIONS = ["BatchOrdering", "CounterInterpolation", "CounterNoValueReason", "CounterValueType",
                "EntryKind", "EventKind", "PayloadEntryType", "PredefinedScope", "TimestampType"]


def function():
    """The doc."""
    return 7


def decorated(**arguments):
    return nvtx.annotate(**arguments)(function)


def attributes(*arguments, **more):
    made = domain.get_event_attributes(*arguments, **more)
    return said(made)


def said(made):
    return (made and made.message and made.message.string, made and made.color,
            made and made.category, made and made.payload)


def changed(**changes):
    made = domain.get_event_attributes("m", "red", "c", 3)
    domain.set_event_attributes(made, **changes)
    return said(made)


def pushed(*arguments, **more):
    domain.push_range(*arguments, **more)
    domain.pop_range()


def started(*arguments, **more):
    number = domain.start_range(*arguments, **more)
    domain.end_range(number)
    return type(number)


def entered(annotation):
    with annotation as got:
        return got is annotation


def raised_through(annotation):
    with annotation:
        raise KeyError


def semantics(**arguments):
    made = nvtx.CounterSemantics(**arguments)
    return made.unit, made.min, made.max, made.unit_scale_numerator, made.value_type.name


CASES = """
nvtx.enabled()
type(domain).__name__
domain.name, nvtx.get_domain("").name, nvtx.get_domain().name
nvtx.get_domain("a") is nvtx.get_domain("a")
nvtx.get_domain("a") is nvtx.get_domain(name="a")
nvtx.get_domain() is nvtx.get_domain(None)
nvtx.get_domain("a") is nvtx.get_domain("b")
nvtx.get_domain(3)
type(nvtx.Domain("cases")).__name__
[domain.get_category_id(name) for name in ("one", "two", "one")]
domain.get_registered_string("s").string
domain.get_registered_string("s") is domain.get_registered_string("s")
attributes()
attributes("m")
attributes(b"bytes")
attributes("m", "green", "one", 5)
attributes("m", 0xabcdef, 7, 1.5)
attributes(message="m", color=None, category=None, payload=None)
attributes(color="no colour")
attributes(color=-1)
attributes(color=1 << 32)
attributes(payload=True)
attributes(payload="text")
attributes(payload={1: 2})
attributes(payload=object())[:3]
attributes(colour="red")
changed(message="n")
changed(message=None)
changed(color=None)
changed(category=None)
changed(category="two")
changed(category=9)
changed(payload=None)
changed(payload=2.5)
changed(domain="d")
domain.set_event_attributes("m", color="red")
domain.mark("m")
domain.mark(message="m")
domain.mark(domain.get_event_attributes("m"), message="n")
domain.mark(colour="red")
pushed()
pushed(message="m", color="red", category="one", payload=3)
pushed(domain.get_event_attributes("m"))
pushed(3)
domain.pop_range()
started(message="m")
started(domain.get_event_attributes("m"), payload=3)
started(3)
domain.end_range(0)
domain.end_range("no range")
type(domain.get_timestamp())
nvtx.mark()
nvtx.mark("m", "red", "d", "c", 3)
nvtx.mark("m", colour="red")
nvtx.mark("m", "no colour")
nvtx.push_range("m"), nvtx.pop_range()
nvtx.push_range("m", "red", "d", 3, 1.5), nvtx.pop_range("d")
nvtx.pop_range()
[type(part).__name__ for part in nvtx.start_range("m")]
nvtx.end_range(nvtx.start_range("m", domain="d"))
nvtx.end_range(None)
nvtx.end_range(3)
nvtx.annotate("m", "red", "d", "c", 3).init_args
nvtx.annotate().init_args
nvtx.annotate("m", colour="red")
nvtx.annotate("m", "red", "d", "c", 3, 4)
nvtx.annotate("m", "no colour")
type(nvtx.annotate("m", payload=object())).__name__
isinstance(nvtx.annotate("m"), nvtx.annotate)
pickle.loads(pickle.dumps(nvtx.annotate("m", "red", payload=3))).init_args
entered(nvtx.annotate("m"))
entered(nvtx.annotate())
entered(nvtx.annotate("m", domain="d", category=3))
raised_through(nvtx.annotate("m"))
nvtx.annotate("m").__exit__(None, None, None) or False
decorated()()
decorated().__name__, decorated().__doc__, decorated().__wrapped__ is function
decorated(message="m", color="red", domain="d")()
inspect.signature(decorated())
nvtx.annotate("m")(lambda self: self)(3)
type("C", (), {"f": nvtx.annotate("m")(lambda self: 5)})().f()
type(domain.get_counter("i", int)).__name__, type(domain.get_counter("f", float)).__name__
domain.get_counter("i", int) is domain.get_counter("i", int)
domain.get_counter("i", int) is domain.get_counter("i", float)
domain.get_counter("i", int, scope="s").scope, domain.get_counter("i", int).name
domain.get_counter("i", int, nonsense=3)
domain.get_counter("i", int).sample(3)
domain.get_counter("i", int).sample("3")
domain.get_counter("i", int).sample(1.5)
domain.get_counter("f", float).sample(3)
domain.get_counter("f", float).sample("x")
[domain.get_counter("i", int).sample_no_value(why) for why in nvtx.CounterNoValueReason]
domain.get_counter("i", int).batch_submit([1, 2], [3, 4])
domain.get_counter("i", int).batch_submit([1], [3, 4])
semantics()
semantics(unit="objects", min=0)
semantics(unit=b"bytes", max=1 << 63)
semantics(min=-5, max=5)
semantics(unit=3)
semantics(min=2, max=1)
semantics(min=1, max=2.0)
semantics(min=-1, max=1 << 63)
semantics(max=1 << 64)
semantics(min="low")
semantics(unit_scale_numerator=0)
semantics(unit_scale_numerator=1.5)
semantics(value_type=16)
nvtx.CounterSemantics() == nvtx.CounterSemantics(), len({nvtx.CounterSemantics()})
type(nvtx.Profile(linenos=False, annotate_cfuncs=False)).__name__
nvtx.Profile(3, 4, 5)
""".strip().splitlines()

NUMPY_CASES = """
attributes(payload=numpy.arange(3))[3].tolist()
attributes(payload=[1, 2, 3])
attributes(payload=())
attributes(payload=range(3))
attributes(payload=b"bytes")
attributes(payload=numpy.int64(3))
entered(nvtx.annotate("m", payload=[1, 2]))
decorated(payload=[1, 2])()
nvtx.numpy_dtype(int)
nvtx.numpy_dtype([("a", int)]).names
nvtx.numpy_dtype(int, counter_semantics=nvtx.CounterSemantics(unit="x")).metadata is None
nvtx.numpy_dtype(int, entry_kind=nvtx.EntryKind.MARK)
nvtx.numpy_dtype("f8", entry_kind=nvtx.EntryKind.MARK)
nvtx.numpy_dtype("u4", entry_type=nvtx.PayloadEntryType.CATEGORY)
nvtx.numpy_dtype("u8", entry_type=nvtx.PayloadEntryType.CATEGORY)
nvtx.numpy_dtype("u8", entry_type=nvtx.PayloadEntryType.REGISTERED_STRING)
nvtx.numpy_dtype(int, entry_kind=3)
nvtx.numpy_dtype(nvtx.numpy_dtype("u4", entry_type=nvtx.PayloadEntryType.CATEGORY), \
entry_kind=nvtx.EntryKind.MESSAGE)
type(domain.get_counter("n", "int64")).__name__, type(domain.get_counter("n", "f4")).__name__
domain.get_counter("n", "int64") is domain.get_counter("n", int)
domain.get_counter("n", "nonsense")
domain.get_counter("g", [("a", int), ("b", float)]).sample((1, 2.5))
domain.get_counter("g", [("a", int), ("b", float)]).sample([(1, 2.5), (3, 4.5)])
domain.get_counter("g", [("a", int), ("b", float)]).batch_submit([(1, 2.5), (3, 4.5)], [1, 2])
domain.get_counter("g", [("a", int)]).batch_submit([(1,), (3,)], [1])
domain.get_counter("x", numpy.dtype([("o", [("x", int)])]))
domain.get_counter("x", numpy.dtype(([("x", int)], (2,))))
domain.get_counter("x", numpy.dtype([("v", int, (2,))]))
""".strip().splitlines()


def outcome(case):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = eval(case)
            plain = type(value).__module__ == "builtins"
            got = repr(value) if plain else f"an object of {type(value).__name__}"
        except Exception as error:
            got = f"raises {type(error).__name__}"
    return got + "".join(f", warns {warning.category.__name__}" for warning in caught)


def signature(thing):
    """Returns the parameters; a default such as an object() for "not given" by its type alone."""
    plain = (str, int, float, type(None))
    return [[parameter.name, parameter.kind.name, repr(parameter.default)
             if isinstance(parameter.default, plain) else type(parameter.default).__name__]
            for parameter in inspect.signature(thing).parameters.values()]


def main():
    cases = list(CASES)
    try:
        globals()["numpy"] = importlib.import_module("numpy")
        cases += NUMPY_CASES
    except ImportError:
        pass
    signatures = {name: signature(getattr(nvtx, name)) for name in FUNCTIONS}
    for name, methods in METHODS.items():
        for method in methods:
            if hasattr(getattr(nvtx, name), method):
                signatures[f"{name}.{method}"] = signature(getattr(getattr(nvtx, name), method))
    enumerations = {name: {member.name: member.value for member in getattr(nvtx, name)}
                    for name in ENUMERATIONS}
    json.dump({"signatures": signatures, "enumerations": enumerations,
               "outcomes": {case: outcome(case) for case in cases}}, sys.stdout)


if __name__ == "__main__":
    main()
