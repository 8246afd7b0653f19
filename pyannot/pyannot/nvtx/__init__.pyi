# SPDX-License-Identifier: MIT
import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, Literal, Optional, TypeVar, Union

_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")
_Color = Union[str, int, None]
_Category = Union[str, int, None]
# int, float, list, tuple, range, bytes, or an array of NumPy.
_Payload = Any
_Dtype = Any
_Range = tuple[int, _DomainHandle]

class NvtxWarning(UserWarning): ...

class _DomainHandle:
    name: str
    def enabled(self) -> bool: ...

class _RegisteredString:
    string: str
    domain: _DomainHandle

class _EventAttributes:
    domain: Domain
    message: Optional[_RegisteredString]
    color: _Color
    category: Optional[int]
    payload: _Payload

class annotate:
    init_args: tuple[Optional[str], _Color, Optional[str], _Category, _Payload]
    domain: Union[Domain, DummyDomain]
    def __init__(
        self,
        message: Optional[str] = None,
        color: _Color = None,
        domain: Optional[str] = None,
        category: _Category = None,
        payload: _Payload = None,
    ) -> None: ...
    @property
    def attributes(self) -> Optional[_EventAttributes]: ...
    def __enter__(self: _T) -> _T: ...
    def __exit__(
        self,
        exc_type: Optional[type[BaseException]],
        exc_value: Optional[BaseException],
        traceback: Optional[TracebackType],
        /,
    ) -> Literal[False]: ...
    def __call__(self, func: _F) -> _F: ...

def mark(
    message: Optional[str] = None,
    color: _Color = "blue",
    domain: Optional[str] = None,
    category: _Category = None,
    payload: _Payload = None,
) -> None: ...
def push_range(
    message: Optional[str] = None,
    color: _Color = "blue",
    domain: Optional[str] = None,
    category: _Category = None,
    payload: _Payload = None,
) -> None: ...
def pop_range(domain: Optional[str] = None) -> None: ...
def start_range(
    message: Optional[str] = None,
    color: _Color = None,
    domain: Optional[str] = None,
    category: _Category = None,
    payload: _Payload = None,
) -> Optional[_Range]: ...
def end_range(range_id: Optional[_Range]) -> None: ...
def enabled() -> bool: ...
def get_domain(name: Optional[str] = None) -> Union[Domain, DummyDomain]: ...
def numpy_dtype(
    *args: Any,
    counter_semantics: Optional[CounterSemantics] = None,
    entry_kind: Optional[EntryKind] = None,
    entry_type: Optional[PayloadEntryType] = None,
    **kwargs: Any,
) -> Any: ...

class Domain:
    name: Optional[str]
    handle: _DomainHandle
    categories: dict[str, int]
    def __init__(self, name: Optional[str] = None) -> None: ...
    def get_registered_string(self, string: str) -> _RegisteredString: ...
    def get_category_id(self, name: str) -> int: ...
    def get_event_attributes(
        self,
        message: Optional[str] = None,
        color: _Color = None,
        category: _Category = None,
        payload: _Payload = None,
    ) -> _EventAttributes: ...
    def set_event_attributes(
        self,
        attributes: _EventAttributes,
        *,
        message: Union[str, _RegisteredString, None] = ...,
        color: _Color = ...,
        category: _Category = ...,
        payload: _Payload = ...,
    ) -> None: ...
    def mark(self, attributes: Optional[_EventAttributes] = None, **kwargs: Any) -> None: ...
    def push_range(self, attributes: Optional[_EventAttributes] = None, **kwargs: Any) -> None: ...
    def pop_range(self) -> None: ...
    def start_range(self, attributes: Optional[_EventAttributes] = None, **kwargs: Any) -> int: ...
    def end_range(self, range_id: int) -> None: ...
    def get_counter(
        self,
        name: str,
        dtype: _Dtype,
        *,
        description: Optional[str] = None,
        scope: Optional[str] = None,
        semantics: Optional[CounterSemantics] = None,
        time_domain: TimestampType = ...,
    ) -> Counter: ...
    def get_timestamp(self) -> int: ...

class DummyDomain:
    def get_registered_string(self, string: str) -> None: ...
    def get_category_id(self, name: str) -> None: ...
    def get_event_attributes(
        self,
        message: Optional[str] = None,
        color: _Color = None,
        category: _Category = None,
        payload: _Payload = None,
    ) -> None: ...
    def set_event_attributes(
        self,
        attributes: Optional[_EventAttributes],
        *,
        message: Optional[str] = None,
        color: _Color = None,
        category: _Category = None,
        payload: _Payload = None,
    ) -> None: ...
    def mark(self, attributes: Optional[_EventAttributes] = None, **kwargs: Any) -> None: ...
    def push_range(self, attributes: Optional[_EventAttributes] = None, **kwargs: Any) -> None: ...
    def pop_range(self) -> None: ...
    def start_range(self, attributes: Optional[_EventAttributes] = None, **kwargs: Any) -> int: ...
    def end_range(self, range_id: int) -> None: ...
    def get_counter(
        self,
        name: str,
        dtype: _Dtype,
        *,
        description: Optional[str] = None,
        scope: Optional[str] = None,
        semantics: Optional[CounterSemantics] = None,
        time_domain: TimestampType = ...,
    ) -> Counter: ...
    def get_timestamp(self) -> int: ...

@dataclass(frozen=True)
class CounterSemantics:
    unit: Union[str, bytes, None] = None
    value_type: CounterValueType = ...
    interpolation: CounterInterpolation = ...
    min: Union[int, float, None] = None
    max: Union[int, float, None] = None
    unit_scale_numerator: int = 1
    unit_scale_denominator: int = 1

class Counter:
    name: str
    dtype: _Dtype
    domain: Domain
    description: Optional[str]
    scope: Optional[str]
    semantics: Optional[CounterSemantics]
    time_domain: int
    def sample(self, value: Any) -> None: ...
    def sample_no_value(self, reason: CounterNoValueReason) -> None: ...
    def batch_submit(self, values: Iterable[Any], timestamps: Iterable[int]) -> None: ...

class Int64Counter(Counter): ...
class Float64Counter(Counter): ...
class ExtCounter(Counter): ...

class Profile:
    def __init__(self, linenos: bool = True, annotate_cfuncs: bool = True) -> None: ...
    def _profile(self, frame: FrameType, event: str, arg: Any) -> None: ...
    def enable(self) -> None: ...
    def disable(self) -> None: ...

class PredefinedScope(enum.Enum):
    NONE = 0
    ROOT = 1
    CURRENT_HW_MACHINE = 2
    CURRENT_HW_SOCKET = 3
    CURRENT_HW_CPU_PHYSICAL = 4
    CURRENT_HW_CPU_LOGICAL = 5
    CURRENT_HW_INNERMOST = 15
    CURRENT_HYPERVISOR = 16
    CURRENT_VM = 17
    CURRENT_KERNEL = 18
    CURRENT_CONTAINER = 19
    CURRENT_OS = 20
    CURRENT_SW_PROCESS = 21
    CURRENT_SW_THREAD = 22
    CURRENT_SW_INNERMOST = 31

class EntryKind(enum.Enum):
    RANGE_BEGIN = 6144
    RANGE_END = 10240
    MARK = 14336
    MESSAGE = 1024
    COUNTER_TIMESTAMP = 2048

class PayloadEntryType(enum.Enum):
    RANGE_ID = 67
    CATEGORY = 68
    COLOR_ARGB = 69
    SCOPE_ID = 70
    REGISTERED_STRING = 80

class EventKind(enum.Enum):
    MARK = 32
    RANGE_PUSHPOP = 16
    RANGE_STARTEND = 24
    RANGE_PUSH = 40
    RANGE_POP = 48
    RANGE_START = 56
    RANGE_END = 64

class BatchOrdering(enum.Enum):
    SORTED = 0
    PARTIALLY_SORTED = 2
    SORTED_PER_SCOPE = 4
    UNSORTED = 6

class CounterNoValueReason(enum.Enum):
    ZERO = 0
    UNCHANGED = 1
    UNAVAILABLE = 2

class CounterValueType(enum.Enum):
    ABSOLUTE = 16
    DELTA = 32
    DELTA_SINCE_START = 48

class CounterInterpolation(enum.Enum):
    POINT = 256
    SINCE_LAST = 512
    UNTIL_NEXT = 768
    LINEAR = 1024

class TimestampType(enum.Enum):
    NONE = 0
    TOOL_PROVIDED = 1
    CPU_TSC = 10
    CPU_TSC_NONVIRTUALIZED = 11
    CPU_CLOCK_GETTIME_REALTIME = 12
    CPU_CLOCK_GETTIME_REALTIME_COARSE = 13
    CPU_CLOCK_GETTIME_MONOTONIC = 14
    CPU_CLOCK_GETTIME_MONOTONIC_RAW = 15
    CPU_CLOCK_GETTIME_MONOTONIC_COARSE = 16
    CPU_CLOCK_GETTIME_BOOTTIME = 17
    CPU_CLOCK_GETTIME_PROCESS_CPUTIME_ID = 18
    CPU_CLOCK_GETTIME_THREAD_CPUTIME_ID = 19
    WIN_QPC = 30
    WIN_GSTAFT = 31
    WIN_GSTAFTP = 32
    C_TIME = 40
    C_CLOCK = 41
    C_TIMESPEC_GET = 42
    CPP_STEADY_CLOCK = 50
    CPP_HIGH_RESOLUTION_CLOCK = 51
    CPP_SYSTEM_CLOCK = 52
    CPP_UTC_CLOCK = 53
    CPP_TAI_CLOCK = 54
    CPP_GPS_CLOCK = 55
    CPP_FILE_CLOCK = 56
    GPU_GLOBALTIMER = 80
