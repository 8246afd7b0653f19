# SPDX-License-Identifier: MIT
"""The names and calls of the nvtx package (0.2). A program that uses it is ported by

    import pyannot.nvtx as nvtx

and recorded by `annot record -- python program.py`. With NVTX_DISABLE in the environment the
functions have no effect. docs/guides/migrate.md lists the differences.
"""

from pyannot.nvtx import _annotate
from pyannot.nvtx._annotate import enabled
from pyannot.nvtx._constants import (
    BatchOrdering,
    CounterInterpolation,
    CounterNoValueReason,
    CounterValueType,
    EntryKind,
    EventKind,
    NvtxWarning,
    PayloadEntryType,
    PredefinedScope,
    TimestampType,
)
from pyannot.nvtx._domain import Domain, DummyDomain, get_domain

if _annotate.ENABLED:
    from pyannot.nvtx._annotate import (
        annotate,
        end_range,
        mark,
        pop_range,
        push_range,
        start_range,
    )
    from pyannot.nvtx._profile import Profile
else:
    from pyannot.nvtx._disabled import (
        Profile,
        annotate,
        end_range,
        mark,
        pop_range,
        push_range,
        start_range,
    )

__all__ = [
    "BatchOrdering",
    "Counter",
    "CounterInterpolation",
    "CounterNoValueReason",
    "CounterSemantics",
    "CounterValueType",
    "Domain",
    "DummyDomain",
    "EntryKind",
    "EventKind",
    "ExtCounter",
    "Float64Counter",
    "Int64Counter",
    "NvtxWarning",
    "PayloadEntryType",
    "PredefinedScope",
    "Profile",
    "TimestampType",
    "annotate",
    "enabled",
    "end_range",
    "get_domain",
    "mark",
    "numpy_dtype",
    "pop_range",
    "push_range",
    "start_range",
]

_OF_COUNTERS = ("Counter", "CounterSemantics", "ExtCounter", "Float64Counter", "Int64Counter",
                "numpy_dtype")


def __getattr__(name):
    """Imports counters on first use: dataclasses takes milliseconds."""
    if name not in _OF_COUNTERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pyannot.nvtx import _counters

    globals().update({each: getattr(_counters, each) for each in _OF_COUNTERS})
    return globals()[name]
