# SPDX-License-Identifier: MIT
"""Converts payloads of the nvtx package to those of pyannot.

A number stays one. A structured scalar of NumPy becomes key-values, one for each field. Sequences
and arrays become their size and a text of their first elements: it is cut, so that a large array
costs no more than a small one. As in the nvtx package, payloads other than numbers need NumPy to be
installed; it is imported only if the program has done so.
"""

import functools
import itertools
import sys
import warnings

from pyannot.nvtx._constants import NvtxWarning

TEXT_LENGTH = 512  # characters, of an array or of bytes
ELEMENTS_SHOWN = (32, 8, 2)  # at each depth: of an array, of its elements, of their elements
FIELD_DEPTH = 4  # of structs in structs
SEQUENCES = (list, tuple, range)
IMMUTABLE = frozenset((int, float, tuple, range, bytes))


@functools.lru_cache(maxsize=None)
def numpy_is_installed():
    """True if NumPy can be imported; does not import it."""
    import importlib.util

    return "numpy" in sys.modules or importlib.util.find_spec("numpy") is not None


def is_mutable(payload):
    """True if the payload may change between events."""
    return payload is not None and type(payload) not in IMMUTABLE


def payload_of_event(payload):
    """Returns None, a number, a str or a dict of them; drops payloads that nvtx does not have,
    with a warning."""
    if payload is None or type(payload) in (int, float):
        return payload
    if numpy_is_installed():
        if type(payload) is bytes:
            return _text_of_bytes(payload)
        if type(payload) in SEQUENCES:
            return {"size": len(payload), "data": _text_of(payload)} if payload else None
        if _is_array(payload):
            return _of_array(payload)
    more = "" if numpy_is_installed() else " Install numpy for extended payload support."
    warnings.warn(f"Unsupported payload type: {type(payload)}.{more}", NvtxWarning, stacklevel=4)
    return None


def _is_array(value):
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray


def _has_fields(value):
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.void) and bool(value.dtype.names)


def _of_array(array):
    if array.nbytes == 0:
        return None
    if array.ndim == 0:
        value = array[()]
        return dict(_fields(value, "", FIELD_DEPTH)) if _has_fields(value) else _plain(value)
    shape = {"shape": "x".join(map(str, array.shape))} if array.ndim > 1 else {}
    return {"size": array.size, **shape, "dtype": str(array.dtype)[:TEXT_LENGTH],
            "data": _text_of(array)}


def _fields(record, prefix, depth):
    """Yields names and values of the fields; nested fields are joined with a dot."""
    for name in record.dtype.names:
        value = record[name]
        if depth and _has_fields(value):
            yield from _fields(value, f"{prefix}{name}.", depth - 1)
        else:
            yield prefix + name, _plain(value)


def _plain(value):
    """Returns a value that pyannot takes."""
    value = _without_numpy(value)
    return value if isinstance(value, (bool, int, float)) else _text_of(value)


def _without_numpy(value):
    numpy = sys.modules.get("numpy")
    scalar = numpy is not None and isinstance(value, numpy.generic) and not _has_fields(value)
    return value.item() if scalar else value


def _text_of_bytes(value):
    return value[:TEXT_LENGTH].decode("utf-8", "backslashreplace")


def _text_of(value, depth=0):
    """Returns a text of a limited number of elements and characters, for any value."""
    value = _without_numpy(value)
    if isinstance(value, int) and value.bit_length() > 1024:
        return "..."  # repr() would take long, or raise
    if isinstance(value, (int, float, complex)):
        return repr(value)
    if isinstance(value, bytes):
        return _text_of_bytes(value)
    if isinstance(value, str):
        return value[:TEXT_LENGTH]
    if depth == len(ELEMENTS_SHOWN):
        return "..."
    if _has_fields(value):
        parts = (f"{name}: {_text_of(value[name], depth + 1)}" for name in value.dtype.names)
        return "{" + ", ".join(parts)[:TEXT_LENGTH] + "}"
    if isinstance(value, SEQUENCES):
        return _text_of_many(value, len(value), depth)
    if _is_array(value):
        if value.ndim == 0:
            return _text_of(value[()], depth)
        return _text_of_many(value.flat, value.size, depth)
    return f"<{type(value).__name__}>"


def _text_of_many(values, count, depth):
    shown = itertools.islice(values, ELEMENTS_SHOWN[depth])
    text = ", ".join(_text_of(value, depth + 1) for value in shown)
    cut = count > ELEMENTS_SHOWN[depth] or len(text) > TEXT_LENGTH
    return f"[{text[:TEXT_LENGTH]}{', ...' if cut else ''}]"
