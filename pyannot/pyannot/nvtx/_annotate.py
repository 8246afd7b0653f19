# SPDX-License-Identifier: MIT
"""annotate as in the nvtx package. C code decides the cost of `with annotate("name"):`: the object
of a name is made once, and is entered and left as quickly as pyannot.annotate."""

import functools
import os

import pyannot
from pyannot._native import annotation_holder
from pyannot.nvtx._domain import dummy_domain, get_domain, leave
from pyannot.nvtx._payload import is_mutable

ENABLED = not os.environ.get("NVTX_DISABLE")


class _DefaultColor(str):
    """A default value, distinct from the same text given by the caller."""


BLUE = _DefaultColor("blue")  # without a given colour, the viewer chooses one


class annotate(annotation_holder):
    """A range: `with annotate("load"):` around a block, or `@annotate()` on a function, whose
    name it gets. A list or an array as payload is read each time the range begins.

    Coroutines and generators get a range from their first step to their end. Objects may be kept,
    shared between threads, nested and pickled; annotate("load") returns the same one each time.
    """

    def __init__(self, message=None, color=None, domain=None, category=None, payload=None):
        self.init_args = message, color, domain, category, payload
        self.domain = get_domain(domain)
        if self.domain is not dummy_domain and not is_mutable(payload):
            self.hold(self.attributes.annotation(), payload is None)

    @property
    def attributes(self):
        """A copy of the range's attributes; None if its domain is without effect."""
        message, color, _, category, payload = self.init_args
        return self.domain.get_event_attributes(message, color, category, payload)

    def annotation_now(self):
        """Returns an annotation for one entry, because the payload may have changed; None if
        nothing would be recorded."""
        if self.domain is dummy_domain or not pyannot.enabled():
            return None
        return self.attributes.annotation()

    def __reduce__(self):
        return type(self), self.init_args

    def __call__(self, func):
        if self.domain is dummy_domain:
            return func
        message, color, domain, category, payload = self.init_args
        if message is None:
            return type(self)(func.__name__, color, domain, category, payload)(func)
        if isinstance(func, type) or is_mutable(payload):
            return _wrapper(self, func)
        return self.attributes.annotation()(func)


annotate.quick_calls()


def _wrapper(annotation, function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        with annotation:
            return function(*args, **kwargs)

    return inner


def mark(message=None, color=BLUE, domain=None, category=None, payload=None):
    """Records an instant."""
    place = get_domain(domain)
    if place is not dummy_domain:
        chosen = None if color is BLUE else color
        pyannot.mark(place.annotation_of_call(message, chosen, category, payload))


def push_range(message=None, color=BLUE, domain=None, category=None, payload=None):
    """Opens a range of this thread; pop_range() with the same domain closes it."""
    place = get_domain(domain)
    if place is not dummy_domain:
        chosen = None if color is BLUE else color
        place.annotation_of_call(message, chosen, category, payload).__enter__()


def pop_range(domain=None):
    """Closes the range that push_range() opened last."""
    if get_domain(domain) is not dummy_domain:
        leave()


def start_range(message=None, color=None, domain=None, category=None, payload=None):
    """Opens a range that may overlap others. Returns the argument of end_range()."""
    place = get_domain(domain)
    if place is dummy_domain:
        return None
    annotation = place.annotation_of_call(message, color, category, payload)
    return pyannot.start(annotation), place.handle


def end_range(range_id):
    """Closes a range of start_range(), on any thread."""
    if range_id is not None:
        number, _ = range_id
        pyannot.end(number)


def enabled():
    """False if NVTX_DISABLE is set. See pyannot.enabled() for whether a recording runs."""
    return ENABLED
