# SPDX-License-Identifier: MIT
"""The enumerations of the nvtx package. Their values are those of the NVTX C headers, so that
programs may store and compare them; annot itself does not use them."""

import enum


class NvtxWarning(UserWarning):
    """An argument is not recorded."""


class PredefinedScope(enum.Enum):
    """Where in a machine something runs."""

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


_TIMESTAMP = 2 << 10


class EntryKind(enum.Enum):
    """The role of a field of a structured dtype within an event."""

    RANGE_BEGIN = 1 << 12 | _TIMESTAMP
    RANGE_END = 2 << 12 | _TIMESTAMP
    MARK = 3 << 12 | _TIMESTAMP
    MESSAGE = 1 << 10
    COUNTER_TIMESTAMP = _TIMESTAMP


class PayloadEntryType(enum.Enum):
    """The meaning of the number in a field of a structured dtype."""

    RANGE_ID = 67
    CATEGORY = 68
    COLOR_ARGB = 69
    SCOPE_ID = 70
    REGISTERED_STRING = 80


class EventKind(enum.Enum):
    """The kind of event in the rows of a structured dtype."""

    MARK = 4 << 3
    RANGE_PUSHPOP = 2 << 3
    RANGE_STARTEND = 3 << 3
    RANGE_PUSH = 5 << 3
    RANGE_POP = 6 << 3
    RANGE_START = 7 << 3
    RANGE_END = 8 << 3


class BatchOrdering(enum.Enum):
    """The order of the times in a batch."""

    SORTED = 0
    PARTIALLY_SORTED = 1 << 1
    SORTED_PER_SCOPE = 2 << 1
    UNSORTED = 3 << 1


class CounterNoValueReason(enum.Enum):
    """Why a sample of a counter has no value: it is zero, the last one, or not known."""

    ZERO = 0
    UNCHANGED = 1
    UNAVAILABLE = 2


class CounterValueType(enum.Enum):
    """The base of a counter's values: absolute, relative to the last value, or to the first one."""

    ABSOLUTE = 1 << 4
    DELTA = 2 << 4
    DELTA_SINCE_START = 3 << 4


class CounterInterpolation(enum.Enum):
    """The value of a counter between two samples."""

    POINT = 1 << 8
    SINCE_LAST = 2 << 8
    UNTIL_NEXT = 3 << 8
    LINEAR = 4 << 8


class TimestampType(enum.Enum):
    """The clock of the times of a batch."""

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
