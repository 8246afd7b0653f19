# SPDX-License-Identifier: MIT
"""Domains, the attributes of their events, and the emission of events.

A domain works with or without a recording, so that `annot attach` and pyannot.record() find the
ranges of code that was set up long before; without a recording, an event costs a look-up. With
ANNOT_NVTX=early it behaves as in the nvtx package: objects that are made without a recording are
never recorded.

Threads: any may use any object. Ranges of one thread nest, whatever their domains: pop_range()
closes the one opened last.
"""

import functools
import operator
import os
import threading
import time

import pyannot
from pyannot._native import observed_domain
from pyannot.nvtx._constants import TimestampType
from pyannot.nvtx._payload import payload_of_event
from pyannot.nvtx.colors import color_of_event

DONT_SET = object()  # distinguishes an omitted argument from None
EARLY = os.environ.get("ANNOT_NVTX") == "early"
NVTX = 11, 0  # observer and role of events in these domains: annot/observers.h
KEPT = 4096  # annotations of each domain, and strings of all


def leave():
    """Closes the range that was entered last, of the running task or the thread."""
    pyannot.annotate.__exit__(None, None, None)


def text_of(value, what="message"):
    """Returns a str; bytes are decoded."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    raise TypeError(f"{what} must be str, not {type(value).__name__}")


def nothing_records_here():
    """True if objects made now must have no effect."""
    return EARLY and not pyannot.enabled()


class DomainHandle:
    """The second item that start_range() returns, beside the range's number."""

    def __init__(self, name=None):
        self.name = "" if name is None else text_of(name, "name")

    def enabled(self):
        """True if events of the domain may be recorded."""
        return not nothing_records_here()


class RegisteredString:
    """A message of a domain, made by Domain.get_registered_string."""

    def __init__(self, domain, string=None):
        self.string = string
        self.domain = domain
        self.handle = None if string is None else text_of(string)


class EventAttributes:
    """The attributes of an event, made by Domain.get_event_attributes. `message` is a
    RegisteredString, `category` a number; a payload is converted when it is set."""

    __slots__ = ("domain", "_message", "_color", "_category", "_payload", "_rgb", "_items",
                 "_annotation", "__weakref__")

    def __init__(self, domain, message=None, color=None, category=None, payload=None):
        self.domain = domain
        self._annotation = None
        self.message = message
        self.color = color
        self.category = category
        self.payload = payload

    @property
    def message(self):
        return self._message

    @message.setter
    def message(self, value):
        if value is not None and not isinstance(value, RegisteredString):
            raise TypeError(f"message must be a RegisteredString, not {type(value).__name__}")
        self._message = value
        self._annotation = None

    @property
    def color(self):
        return self._color

    @color.setter
    def color(self, value):
        self._rgb = color_of_event(value)
        self._color = value
        self._annotation = None

    @property
    def category(self):
        return self._category

    @category.setter
    def category(self, value):
        value = 0 if value is None else value
        if not isinstance(value, int):
            raise TypeError(f"category must be int, not {type(value).__name__}")
        self._category = value
        self._annotation = None

    @property
    def payload(self):
        return self._payload

    @payload.setter
    def payload(self, value):
        self._items = payload_of_event(value)
        self._payload = value
        self._annotation = None

    def annotation(self):
        """Returns the event as an annotation of pyannot; the same object until an attribute
        changes."""
        annotation = self._annotation
        if annotation is None:
            name = "" if self._message is None else self._message.handle
            says = {"color": self._rgb, "payload": self._items,
                    "category": self.domain.category_name(self._category)}
            says = {key: value for key, value in says.items() if value is not None}
            annotation = self._annotation = self.domain.observed.annotate(name, **says)
        return annotation


def check_attributes(attributes):
    """Raises TypeError for objects that get_event_attributes did not make."""
    if attributes is not None and not isinstance(attributes, EventAttributes):
        raise TypeError("attributes must be EventAttributes, which Domain.get_event_attributes() "
                        f"makes, not {type(attributes).__name__}")


class DummyDomain:
    """A domain without effect."""

    def get_registered_string(self, string):
        """Returns None."""

    def get_category_id(self, name):
        """Returns None."""

    def get_event_attributes(self, message=None, color=None, category=None, payload=None):
        """Returns None."""

    def set_event_attributes(self, attributes, *, message=None, color=None, category=None,
                             payload=None):
        """No effect."""
        check_attributes(attributes)

    def mark(self, attributes=None, *, message=None, color=None, category=None, payload=None):
        """No effect."""
        check_attributes(attributes)

    def push_range(self, attributes=None, *, message=None, color=None, category=None,
                   payload=None):
        """No effect."""
        check_attributes(attributes)

    def pop_range(self):
        """No effect."""

    def start_range(self, attributes=None, *, message=None, color=None, category=None,
                    payload=None):
        """Returns 0, which end_range ignores."""
        check_attributes(attributes)
        return 0

    def end_range(self, range_id):
        """No effect."""
        operator.index(range_id)

    def get_counter(self, name, dtype, *, description=None, scope=None, semantics=None,
                    time_domain=TimestampType.TOOL_PROVIDED):
        """Returns a counter without effect, after checking the dtype."""
        from pyannot.nvtx import _counters

        _counters.normalize_dtype(dtype)
        return _counters.dummy_counter

    def get_timestamp(self):
        """Returns 0."""
        return 0


dummy_domain = DummyDomain()


class Domain:
    """The events of one library or layer. get_domain(name) returns the same object each time."""

    def __new__(cls, name=None):
        handle = DomainHandle(name)
        if not handle.enabled():
            return dummy_domain
        domain = super().__new__(cls)
        domain.handle = handle
        return domain

    def __init__(self, name=None):
        self.name = None if name is None else text_of(name, "name")
        self.observed = observed_domain(self.name or "", *NVTX)
        self.categories = {}
        self._names_of_categories = {}
        self._lock = threading.Lock()
        self.kept = functools.lru_cache(KEPT)(self._make_kept)
        self._counters = {}

    @functools.lru_cache(KEPT)
    def get_registered_string(self, string):
        """Returns the message as the object that get_event_attributes would make of it."""
        return RegisteredString(self.handle, string)

    def get_category_id(self, name):
        """Returns the number of a category of this domain; a new name gets the next number."""
        number = self.categories.get(name)
        if number is None:
            text = text_of(name, "category")
            with self._lock:
                number = self.categories.setdefault(name, len(self.categories) + 1)
                self._names_of_categories[number] = text
        return number

    def category_name(self, number):
        """Returns the name of a category, its number if it has no name, or None for 0."""
        return self._names_of_categories.get(number, str(number)) if number else None

    def _category_number(self, category):
        return self.get_category_id(category) if isinstance(category, str) else category

    def get_event_attributes(self, message=None, color=None, category=None, payload=None):
        """Returns an object for mark, push_range and start_range, which may be used repeatedly."""
        if message is not None:
            message = self.get_registered_string(message)
        return EventAttributes(self, message, color, self._category_number(category), payload)

    def set_event_attributes(self, attributes, *, message=DONT_SET, color=DONT_SET,
                             category=DONT_SET, payload=DONT_SET):
        """Changes the given attributes; None removes one."""
        check_attributes(attributes)
        if message is not DONT_SET:
            text = isinstance(message, (str, bytes))
            attributes.message = self.get_registered_string(message) if text else message
        if color is not DONT_SET:
            attributes.color = color
        if category is not DONT_SET:
            attributes.category = self._category_number(category)
        if payload is not DONT_SET:
            attributes.payload = payload

    def _make_kept(self, message, color, category):
        return self.get_event_attributes(message, color, category).annotation()

    def annotation_of_call(self, message=None, color=None, category=None, payload=None):
        """Returns the annotation of one event. Annotations without a payload are kept; others read
        their payload only during a recording."""
        if payload is None or not pyannot.enabled():
            return self.kept(message, color, category)
        return self.get_event_attributes(message, color, category, payload).annotation()

    def _annotation(self, attributes, changes):
        if attributes is None:
            return self.annotation_of_call(**changes)
        check_attributes(attributes)
        if changes:
            self.set_event_attributes(attributes, **changes)
        return attributes.annotation()

    def mark(self, attributes=None, **kwargs):
        """Records an instant. Keywords (message, color, category, payload) change attributes."""
        pyannot.mark(self._annotation(attributes, kwargs))

    def push_range(self, attributes=None, **kwargs):
        """Opens a range of this thread; pop_range() closes it."""
        self._annotation(attributes, kwargs).__enter__()

    def pop_range(self):
        """Closes the range that was opened last."""
        leave()

    def start_range(self, attributes=None, **kwargs):
        """Opens a range that end_range() closes by the returned number, on any thread."""
        return pyannot.start(self._annotation(attributes, kwargs))

    def end_range(self, range_id):
        """Closes a range that start_range() opened."""
        pyannot.end(range_id)

    def get_counter(self, name, dtype, *, description=None, scope=None, semantics=None,
                    time_domain=TimestampType.TOOL_PROVIDED):
        """Returns a counter of int, float, or a NumPy dtype; the same object each time."""
        from pyannot.nvtx import _counters

        dtype = _counters.normalize_dtype(dtype)
        key = (name, dtype, description, scope, semantics, time_domain.value)
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters.setdefault(key, _counters.counter_of_domain(self, *key))
        return counter

    def get_timestamp(self):
        """Returns nanoseconds of CLOCK_MONOTONIC, the clock of recordings."""
        return time.monotonic_ns()


@functools.lru_cache(maxsize=None)
def _kept_domain(name):
    return Domain(name)


@functools.lru_cache(maxsize=None)  # for speed: equal calls that differ in form are two here
def get_domain(name=None):
    """Returns the domain of a name, or the default domain."""
    return _kept_domain(name)
