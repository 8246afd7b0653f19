# SPDX-License-Identifier: MIT
"""Counters of the nvtx package, and the dtypes that describe them.

A counter of a structured dtype has a series for each field. Samples of a batch are recorded in
their order at the time of submission: recordings have no events of the past. Semantics (units,
limits) are checked and kept, but not recorded.
"""

import dataclasses
import sys
import warnings
from typing import Optional, Union

import pyannot
from pyannot.nvtx._constants import (
    CounterInterpolation,
    CounterNoValueReason,
    CounterValueType,
    EntryKind,
    NvtxWarning,
    PayloadEntryType,
)
from pyannot.nvtx._domain import dummy_domain
from pyannot.nvtx._payload import numpy_is_installed

METADATA_KEY = "nvidia_nvtx_payload_metadata"
INT64_MAX, UINT64_MAX = (1 << 63) - 1, (1 << 64) - 1


@dataclasses.dataclass(frozen=True)
class CounterSemantics:
    """The meaning of a counter's values. Limits must both be int or both be float."""

    unit: Optional[Union[str, bytes]] = None
    value_type: CounterValueType = CounterValueType.ABSOLUTE
    interpolation: CounterInterpolation = CounterInterpolation.POINT
    min: Optional[Union[int, float]] = None
    max: Optional[Union[int, float]] = None
    unit_scale_numerator: int = 1
    unit_scale_denominator: int = 1

    def __post_init__(self):
        self._check_type("unit", (str, bytes, type(None)))
        self._check_type("value_type", CounterValueType)
        self._check_type("interpolation", CounterInterpolation)
        for name in ("unit_scale_numerator", "unit_scale_denominator"):
            self._check_type(name, int)
            if not 0 < getattr(self, name) <= UINT64_MAX:
                raise ValueError(f"{name} must be between 1 and 2**64 - 1")
        for name in ("min", "max"):
            self._check_type(name, (int, float, type(None)))
        self._check_limits([limit for limit in (self.min, self.max) if limit is not None])
        if isinstance(self.unit, str):
            object.__setattr__(self, "unit", self.unit.encode())

    def _check_type(self, name, wanted):
        value = getattr(self, name)
        if not isinstance(value, wanted):
            raise TypeError(f"{name} cannot be of type {type(value).__name__}")

    @staticmethod
    def _check_limits(limits):
        if len({isinstance(limit, float) for limit in limits}) > 1:
            raise ValueError("min and max must have the same type")
        if len(limits) == 2 and limits[0] > limits[1]:
            raise ValueError("min must not be above max")
        integers = [limit for limit in limits if isinstance(limit, int)]
        signed = any(limit < 0 for limit in integers)
        top = INT64_MAX if signed else UINT64_MAX
        if any(not -INT64_MAX - 1 <= limit <= top for limit in integers):
            raise ValueError(f"limits must fit into {'int64' if signed else 'uint64'}")


@dataclasses.dataclass(frozen=True)
class _Metadata:
    """Metadata that numpy_dtype() adds to a dtype."""

    counter_semantics: Optional[CounterSemantics] = None
    entry_kind: Optional[EntryKind] = None
    entry_type: Optional[PayloadEntryType] = None


# role of a field: (kinds of dtype, bytes, whether in the machine's byte order)
_TIME, _NUMBER = ("iu", 8, False), ("u", 8, True)
_STORAGE = {
    EntryKind.RANGE_BEGIN: _TIME,
    EntryKind.RANGE_END: _TIME,
    EntryKind.MARK: _TIME,
    EntryKind.COUNTER_TIMESTAMP: _TIME,
    PayloadEntryType.RANGE_ID: _NUMBER,
    PayloadEntryType.SCOPE_ID: _NUMBER,
    PayloadEntryType.CATEGORY: ("u", 4, True),
    PayloadEntryType.COLOR_ARGB: ("u", 4, True),
    PayloadEntryType.REGISTERED_STRING: ("u", (sys.maxsize.bit_length() + 1) // 8, True),
}


def _check_storage(dtype, role):
    kinds, size, native = _STORAGE.get(role, (dtype.kind, dtype.itemsize, False))
    if dtype.kind not in kinds or dtype.itemsize != size or (native and not dtype.isnative):
        raise TypeError(f"{type(role).__name__}.{role.name} needs an integer of {size} bytes, "
                        f"not {dtype}")


def numpy_dtype(*args, counter_semantics=None, entry_kind=None, entry_type=None, **kwargs):
    """numpy.dtype(*args, **kwargs), with metadata about the meaning of the field."""
    if not numpy_is_installed():
        raise RuntimeError("numpy_dtype() needs numpy to be installed")
    import numpy

    for value, wanted in ((entry_kind, EntryKind), (entry_type, PayloadEntryType)):
        if value is not None and not isinstance(value, wanted):
            raise TypeError(f"expected {wanted.__name__} or None, not {type(value).__name__}")
    dtype = numpy.dtype(*args, **kwargs)
    for role in (entry_kind, entry_type):
        if role is not None:
            _check_storage(dtype, role)
    if counter_semantics is None and entry_kind is None and entry_type is None:
        return dtype
    metadata = dict(dtype.metadata or {})
    if METADATA_KEY in metadata:
        warnings.warn("the dtype says already what it means; that stays", NvtxWarning, stacklevel=2)
        return dtype
    metadata[METADATA_KEY] = _Metadata(counter_semantics, entry_kind, entry_type)
    return numpy.dtype(dtype, metadata=metadata)


def normalize_dtype(dtype):
    """Returns the dtype of a counter: int, float, or one without NumPy's aliases. Raises TypeError
    for others."""
    if dtype in (int, float):
        return dtype
    if not numpy_is_installed():
        raise RuntimeError("counters of a dtype need numpy to be installed")
    import numpy

    dtype = numpy.dtype(dtype)
    if dtype.subdtype is not None and dtype.subdtype[0].fields is not None:
        raise TypeError("a counter cannot be a fixed-size array of a structured dtype")
    for name in dtype.names or ():
        field = dtype.fields[name][0]
        if field.subdtype:
            raise TypeError(f"array fields are not supported in counters: {name!r}")
        if field.fields is not None:
            raise TypeError(f"Nested counter groups are not supported: {name!r}")
    return {numpy.dtype(numpy.int64): int, numpy.dtype(numpy.float64): float}.get(dtype, dtype)


class Counter:
    """A counter of a domain; Domain.get_counter() makes them."""

    def __init__(self, domain, name, dtype, *details):
        self.domain = domain
        self.name = name
        self.dtype = dtype
        self.description, self.scope, self.semantics, self.time_domain = details
        self._last = 0
        words = [_text(word) for word in (self.scope, name) if word]
        self._label = "/".join(words)

    def _record(self, value):
        self._last = value
        if pyannot.enabled():
            self.domain.observed.counter(self._label, value)

    def sample(self, value):
        """Sets the counter."""
        raise NotImplementedError("Domain.get_counter() makes counters that have samples")

    def sample_no_value(self, reason):
        """Sets the counter to 0 or to its last value; an unknown value has no effect."""
        reason = CounterNoValueReason(reason.value)
        if reason is CounterNoValueReason.ZERO:
            self._record(0)
        elif reason is CounterNoValueReason.UNCHANGED:
            self._record(self._last)

    def batch_submit(self, values, timestamps):
        """Sets the counter to each of the values, now."""
        values, timestamps = list(values), list(timestamps)
        if len(values) != len(timestamps):
            raise ValueError("values and timestamps must have the same length")
        for value in values:
            self.sample(value)


def _text(value):
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def _number(value):
    """Rejects text, which int() and float() would accept."""
    if hasattr(value, "__index__") or hasattr(value, "__float__"):
        return value
    raise TypeError(f"value must be a number, not {type(value).__name__}")


class Int64Counter(Counter):
    """A counter of int."""

    def sample(self, value):
        self._record(int(_number(value)))


class Float64Counter(Counter):
    """A counter of float."""

    def sample(self, value):
        self._record(float(_number(value)))


class ExtCounter(Counter):
    """A counter of a NumPy dtype; a structured one has a series for each field."""

    def __init__(self, domain, name, dtype, *details):
        super().__init__(domain, name, dtype, *details)
        self._series = [field for field in dtype.names or () if not _is_time(dtype[field])]

    def sample(self, value):
        import numpy

        array = numpy.asarray(value, self.dtype)
        if array.size != 1:
            raise ValueError(f"sample() takes one sample, not {array.size}; batch_submit() takes "
                             "several")
        self._record_element(array.reshape(-1)[0])

    def batch_submit(self, values, timestamps):
        import numpy

        array = numpy.asarray(values, self.dtype)
        if array.size != len(list(timestamps)):
            raise ValueError("values and timestamps must have the same length")
        for value in array.flat:
            self._record_element(value)

    def _record_element(self, value):
        if self.dtype.names:
            self._record({name: value[name].item() for name in self._series})
        else:
            self._record(value.item())

    def sample_no_value(self, reason):
        if self.dtype.names and reason is CounterNoValueReason.ZERO:
            self._record(dict.fromkeys(self._series, 0))
        elif not self.dtype.names or self._last:
            super().sample_no_value(reason)


def _is_time(dtype):
    metadata = (dtype.metadata or {}).get(METADATA_KEY)
    return getattr(metadata, "entry_kind", None) is EntryKind.COUNTER_TIMESTAMP


def counter_of_domain(domain, name, dtype, *details):
    """Makes the counter for a normalized dtype."""
    kind = {int: Int64Counter, float: Float64Counter}.get(dtype, ExtCounter)
    return kind(domain, name, dtype, *details)


class DummyCounter:
    """A counter without effect."""

    name = None
    dtype = None
    domain = dummy_domain
    description = None
    scope = None
    semantics = None
    time_domain = None

    def sample(self, value):
        """No effect."""

    def batch_submit(self, values, timestamps):
        """No effect."""

    def sample_no_value(self, reason):
        """No effect."""


dummy_counter = DummyCounter()
