/* SPDX-License-Identifier: MIT */
/* Field numbers of the Perfetto trace format, as far as annot uses it.
 *
 * Source: protos/perfetto/trace/ of the Perfetto project (trace_packet.proto, clock_snapshot.proto,
 * trace_packet_defaults.proto, interned_data/, track_event/, system_info.proto, profiling/,
 * generic_kernel/, ftrace/), where the numbers are stable by contract; checked against the
 * descriptors in the PyPI package `perfetto` 0.59.1. A message `Foo` has its fields as PX_FOO_*. */
#ifndef ANNOT_PERFETTO_FIELDS_H
#define ANNOT_PERFETTO_FIELDS_H

enum perfetto_field {
    PX_TRACE_PACKET = 1,

    PX_PACKET_FTRACE_EVENTS = 1,
    PX_PACKET_CLOCK_SNAPSHOT = 6,
    PX_PACKET_TIMESTAMP = 8,
    PX_PACKET_SEQUENCE_ID = 10,
    PX_PACKET_TRACK_EVENT = 11,
    PX_PACKET_INTERNED_DATA = 12,
    PX_PACKET_SEQUENCE_FLAGS = 13,
    PX_PACKET_PROFILE = 37, /* ProfilePacket: memory */
    PX_PACKET_THREAD_DESCRIPTOR = 44,
    PX_PACKET_SYSTEM_INFO = 45,
    PX_PACKET_STREAMING_PROFILE = 54,
    PX_PACKET_TIMESTAMP_CLOCK_ID = 58,
    PX_PACKET_DEFAULTS = 59,
    PX_PACKET_TRACK_DESCRIPTOR = 60,
    PX_PACKET_TASK_STATE = 117, /* GenericKernelTaskStateEvent */

    PX_DEFAULTS_TRACK_EVENT = 11,
    PX_DEFAULTS_TIMESTAMP_CLOCK_ID = 58,
    PX_EVENT_DEFAULTS_TRACK_UUID = 11,

    PX_CLOCK_SNAPSHOT_CLOCKS = 1,
    PX_CLOCK_SNAPSHOT_PRIMARY = 2,
    PX_CLOCK_ID = 1,
    PX_CLOCK_TIMESTAMP = 2,
    PX_CLOCK_IS_INCREMENTAL = 3,

    PX_EVENT_CATEGORY_IIDS = 3,
    PX_EVENT_DEBUG_ANNOTATIONS = 4,
    PX_EVENT_TYPE = 9,
    PX_EVENT_NAME_IID = 10,
    PX_EVENT_TRACK_UUID = 11,
    PX_EVENT_EXTRA_COUNTER_VALUES = 12,
    PX_EVENT_LOG_MESSAGE = 21,
    PX_EVENT_CATEGORIES = 22,
    PX_EVENT_NAME = 23,
    PX_EVENT_COUNTER_VALUE = 30,
    PX_EVENT_EXTRA_COUNTER_TRACKS = 31, /* of defaults as well */
    PX_EVENT_DOUBLE_COUNTER_VALUE = 44,
    PX_EVENT_FLOW_IDS = 47,             /* fixed64 */
    PX_EVENT_TERMINATING_FLOW_IDS = 48, /* fixed64 */

    PX_ANNOTATION_NAME_IID = 1,
    PX_ANNOTATION_BOOL = 2,
    PX_ANNOTATION_UINT = 3,
    PX_ANNOTATION_INT = 4,
    PX_ANNOTATION_DOUBLE = 5,
    PX_ANNOTATION_STRING = 6,
    PX_ANNOTATION_POINTER = 7,
    PX_ANNOTATION_LEGACY_JSON = 9,
    PX_ANNOTATION_NAME = 10,
    PX_ANNOTATION_DICT_ENTRIES = 11,
    PX_ANNOTATION_ARRAY_VALUES = 12,
    PX_ANNOTATION_STRING_IID = 17,

    PX_LOG_BODY = 2,
    PX_LOG_PRIORITY = 3,

    PX_INTERNED_CATEGORIES = 1,
    PX_INTERNED_EVENT_NAMES = 2,
    PX_INTERNED_ANNOTATION_NAMES = 3,
    PX_INTERNED_FUNCTION_NAMES = 5, /* InternedString, as paths and kernel symbols */
    PX_INTERNED_FRAMES = 6,
    PX_INTERNED_CALLSTACKS = 7,
    PX_INTERNED_MAPPING_PATHS = 17,
    PX_INTERNED_MAPPINGS = 19,
    PX_INTERNED_LOG_BODIES = 20,
    PX_INTERNED_KERNEL_SYMBOLS = 26,
    PX_INTERNED_ANNOTATION_STRINGS = 29,
    PX_INTERNED_IID = 1, /* in EventCategory, EventName and DebugAnnotationName */
    PX_INTERNED_NAME = 2,

    PX_TRACK_UUID = 1,
    PX_TRACK_NAME = 2,
    PX_TRACK_PROCESS = 3,
    PX_TRACK_THREAD = 4,
    PX_TRACK_PARENT_UUID = 5,
    PX_TRACK_COUNTER = 8,
    PX_TRACK_STATIC_NAME = 10,
    PX_TRACK_CHILD_ORDERING = 11,
    PX_TRACK_SIBLING_ORDER_RANK = 12,
    PX_TRACK_PROCESS_ORDERING = 19,
    PX_TRACK_THREAD_ORDERING = 20,

    PX_COUNTER_TYPE = 1, /* CounterDescriptor */
    PX_COUNTER_UNIT = 3,
    PX_COUNTER_UNIT_MULTIPLIER = 4,
    PX_COUNTER_IS_INCREMENTAL = 5,
    PX_COUNTER_UNIT_NAME = 6,

    PX_PROCESS_PID = 1,
    PX_PROCESS_CMDLINE = 2,
    PX_PROCESS_LEGACY_SORT_INDEX = 3,
    PX_PROCESS_NAME = 6,
    PX_PROCESS_START_TIMESTAMP_NS = 7,
    PX_PROCESS_LABELS = 8,

    PX_THREAD_PID = 1,
    PX_THREAD_TID = 2,
    PX_THREAD_LEGACY_SORT_INDEX = 3,
    PX_THREAD_NAME = 5,
    PX_THREAD_REFERENCE_TIMESTAMP_US = 6,

    PX_FRAME_FUNCTION_NAME = 2, /* iid is field 1 of each interned message */
    PX_FRAME_MAPPING = 3,
    PX_FRAME_REL_PC = 4,
    PX_CALLSTACK_FRAMES = 2,
    PX_MAPPING_PATHS = 7,

    PX_PROFILE_CALLSTACK = 1,
    PX_PROFILE_TIMESTAMP_DELTA_US = 2,

    PX_HEAP_STRINGS = 1, /* ProfilePacket; iids as in interned data */
    PX_HEAP_FRAMES = 2,
    PX_HEAP_CALLSTACKS = 3,
    PX_HEAP_MAPPINGS = 4,
    PX_HEAP_DUMPS = 5, /* ProcessHeapSamples */
    PX_HEAP_DUMP_PID = 1,
    PX_HEAP_DUMP_SAMPLES = 2,
    PX_HEAP_DUMP_TIMESTAMP = 9,
    PX_HEAP_DUMP_NAME = 11,
    PX_HEAP_SAMPLE_CALLSTACK = 1,
    PX_HEAP_SAMPLE_ALLOCATED = 2, /* until then, as all four */
    PX_HEAP_SAMPLE_FREED = 3,
    PX_HEAP_SAMPLE_ALLOC_COUNT = 5,
    PX_HEAP_SAMPLE_FREE_COUNT = 6,

    PX_TASK_CPU = 1,
    PX_TASK_TID = 3,
    PX_TASK_STATE = 4,
    PX_TASK_PRIORITY = 5,

    PX_FTRACE_CPU = 1,
    PX_FTRACE_EVENT = 2,
    PX_FTRACE_CLOCK = 5,
    PX_FTRACE_EVENT_TIMESTAMP = 1,
    PX_FTRACE_EVENT_PID = 2,
    PX_FTRACE_EVENT_BLOCKED_REASON = 18,
    PX_BLOCKED_PID = 1,
    PX_BLOCKED_CALLER = 2,
    PX_BLOCKED_IO_WAIT = 3,

    PX_SYSTEM_UTSNAME = 1,
    PX_UTSNAME_SYSNAME = 1,
    PX_UTSNAME_RELEASE = 3,
};

enum perfetto_sequence_flag {
    PX_INCREMENTAL_STATE_CLEARED = 1,
    PX_NEEDS_INCREMENTAL_STATE = 2,
};

enum perfetto_event_type {
    PX_SLICE_BEGIN = 1,
    PX_SLICE_END = 2,
    PX_INSTANT = 3,
    PX_COUNTER = 4,
};

enum perfetto_clock {
    PX_CLOCK_REALTIME = 1,
    PX_CLOCK_MONOTONIC = 3,
    PX_CLOCK_MONOTONIC_COARSE = 4,
    PX_CLOCK_MONOTONIC_RAW = 5,
    PX_CLOCK_SEQUENCE = 64, /* the first number that belongs to a sequence */
};

enum perfetto_task_state {
    PX_TASK_RUNNABLE = 2,
    PX_TASK_RUNNING = 3,
    PX_TASK_SLEEPING = 4,
    PX_TASK_UNINTERRUPTIBLE = 5,
    PX_TASK_DESTROYED = 8,
};

/* LogMessage.Priority */
enum perfetto_priority {
    PX_PRIORITY_DEBUG = 3,
    PX_PRIORITY_INFO = 4,
    PX_PRIORITY_WARN = 5,
    PX_PRIORITY_ERROR = 6,
    PX_PRIORITY_FATAL = 7,
};

/* The kernel's number for nice 0; below 100 is drawn as real time. */
enum { PX_PRIORITY_NORMAL = 120 };

/* FtraceClock */
enum { PX_FTRACE_MONO_RAW = 4 };

/* ChildTracksOrdering, ProcessOrdering, ThreadOrdering */
enum { PX_CHILDREN_EXPLICIT = 3, PX_PROCESSES_EXPLICIT = 1, PX_THREADS_EXPLICIT = 1 };

#endif
