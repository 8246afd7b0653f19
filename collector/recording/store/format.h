/* SPDX-License-Identifier: MIT */
/* The bytes of a recording: headers, numbers, limits. docs/recording-format.md is the same in
 * prose. All integers are little endian. Thread-safety: plain data. */
#ifndef ANNOT_STORE_FORMAT_H
#define ANNOT_STORE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* Its first byte is not ASCII and its line ends of both kinds do not survive text conversion. */
#define STORE_FILE_MAGIC                                                                           \
    "\x89"                                                                                         \
    "ANN\r\n\x1a\n"
/* The major version follows these three bytes. */
#define STORE_CHUNK_MAGIC                                                                          \
    "\xc5"                                                                                         \
    "AN"

enum {
    STORE_HEADER_SIZE = 64, /* of the file and of a chunk */
    STORE_HEADER_SIZE_MAX = 4096,
    STORE_RAW_MAX = 8 << 20,        /* a chunk's payload, uncompressed */
    STORE_STORED_MAX = 9 << 20,     /* stored in the file */
    STORE_RAW_TARGET = 1 << 20,     /* a writer ends the chunk at this size */
    STORE_BATCH_MAX = 65536,        /* events */
    STORE_BATCH_ARGS_MAX = 65536,   /* key-values of a batch */
    STORE_SHAPES_MAX = 16384,       /* in the dictionary of an EVENTS chunk */
    STORE_SHAPE_ARGS_MAX = 65536,   /* key-values of all its shapes together */
    STORE_STRING_MAX = 1 << 20,     /* bytes */
    STORE_SAMPLE_SHAPES_MAX = 1024, /* in the dictionary of a SAMPLES chunk */
    STORE_ROWS_MAX = 4096,          /* definitions in one entry */
};

/* Times lie within +-(2^62 - 1) ns (146 years), so that differences of any two fit 64 bits. Readers
 * clamp others to the nearest limit. */
#define STORE_TIME_MAX ((INT64_C(1) << 62) - 1)

static inline int64_t store_time(int64_t time_ns)
{
    return time_ns > STORE_TIME_MAX    ? STORE_TIME_MAX
           : time_ns < -STORE_TIME_MAX ? -STORE_TIME_MAX
                                       : time_ns;
}

struct store_file_header {
    uint8_t magic[8];
    uint16_t major, minor;
    uint32_t header_size; /* the first chunk is here */
    uint64_t file_id;     /* random; repeated in each chunk */
    uint64_t session_id;
    uint64_t created_realtime_ns;
    uint64_t set_id; /* the same in all volumes of a recording */
    uint32_t volume; /* 0, 1, ... */
    uint8_t reserved[8];
    uint32_t crc; /* of the bytes before it */
};

/* Explicit and append-only. Readers skip unknown types. */
enum store_chunk_type {
    STORE_CHUNK_DEFINITIONS = 1,
    STORE_CHUNK_EVENTS = 2,
    STORE_CHUNK_SAMPLES = 3,
    STORE_CHUNK_CHECKPOINT = 4,
    STORE_CHUNK_END = 5,
};

/* Of a chunk. A reader cannot read the payload of a chunk with an unknown flag. */
enum store_chunk_flags { STORE_FLAG_ZSTD = 1u << 0 };

/* One source of events or samples with its own lateness. Further ones are declared, in the order of
 * their first chunks. */
enum store_stream {
    STORE_STREAM_EVENTS = 0,
    STORE_STREAM_SAMPLES = 1,
    STORE_STREAM_DECLARED = 2, /* the first of them */
    STORE_STREAMS_MAX = 256,
};

/* A stream without a settled time. */
#define STORE_UNSETTLED INT64_MIN

struct store_chunk_header {
    uint8_t magic[3], major;
    uint8_t type, flags;
    uint16_t stream;
    uint64_t file_id;
    int64_t first_ns, last_ns;
    int64_t settled_ns; /* no later chunk of the stream has an item before this (event_order_ns,
                         * sample_order_ns) */
    uint32_t number;    /* 0, 1, ... within the file */
    uint32_t stored_size, raw_size;
    uint32_t payload_crc; /* of the stored bytes */
    uint32_t count;       /* events, samples, entries: by type */
    uint32_t crc;         /* of the bytes before it */
};

_Static_assert(sizeof(struct store_file_header) == STORE_HEADER_SIZE, "layout");
_Static_assert(sizeof(struct store_chunk_header) == STORE_HEADER_SIZE, "layout");
_Static_assert(offsetof(struct store_file_header, crc) == 60, "layout");
_Static_assert(offsetof(struct store_chunk_header, crc) == 60, "layout");

/* Before an EVENTS payload: the sizes of its sections, in this order. */
struct store_events_header {
    uint32_t event_count;
    uint32_t batches_size;  /* thread, count, source: one entry a batch */
    uint32_t tokens_size;   /* one or two bytes an event: its shape */
    uint32_t controls_size; /* two bits an event: length of its time */
    uint32_t times_size;    /* differences of times */
    uint32_t extras_size;   /* new shapes, values, ids */
};

/* Fields of a shape in the extras: lane and origin, then the others in this order. Each unknown bit
 * stands for a length and as many bytes, which readers skip: after the known fields of the shape,
 * and of each of its events. */
enum store_shape_fields {
    STORE_FIELD_COLOR = 1u << 0,         /* the shape has a colour; no bytes per event */
    STORE_FIELD_DEPTH = 1u << 1,         /* depth, varint */
    STORE_FIELD_DEPTH_IMPLIED = 1u << 2, /* depth is one less than before; no bytes in extras */
    STORE_FIELD_ID = 1u << 3,            /* difference to the chunk's last id, signed */
    STORE_FIELD_END = 1u << 4,           /* end_ns - time_ns less the shape's last, signed */
    STORE_FIELD_SHAPE_ID = 1u << 5,      /* also an id: difference to the shape's last one */
    STORE_FIELD_VALUE = 1u << 6,         /* by value kind, against the shape's last value */
    STORE_FIELD_ARGS = 1u << 7,          /* values of the shape's key-values, likewise */
    STORE_FIELD_LANE = 1u << 8,          /* lane: difference to the shape's last one */
    STORE_FIELD_ORIGIN = 1u << 9,        /* 0: no origin; else 1 + signed time_ns - origin_ns */
    STORE_FIELD_CAUSE = 1u << 10,        /* the thread that caused it, minus the batch's: length,
                                          * and a signed number of that many bytes */
    STORE_FIELDS_KNOWN = (1u << 11) - 1,
    STORE_FIELD_SIZED_SHIFT = 10, /* from this bit on they begin with their length */
};

/* Tokens: 0 = a new shape follows in the extras; below this one byte, else two. */
enum { STORE_TOKEN_NEW = 0, STORE_TOKEN_WIDE = 192 };

/* A value is at most this (13 days, a petabyte), so that sums fit 64 bits; parts of a stretch are
 * limited by its length. */
#define STORE_VALUE_MAX (INT64_C(1) << 50)

/* The columns of a SAMPLES payload, in file order. */
enum store_sample_column {
    STORE_SAMPLE_TOKENS = 0,  /* the shape; 0 = a new one follows in the extras */
    STORE_SAMPLE_THREADS = 1, /* relative to the sample before */
    STORE_SAMPLE_TIMES = 2,   /* these four relative to the same thread's sample before */
    STORE_SAMPLE_CPUS = 3,
    STORE_SAMPLE_STACKS = 4,
    STORE_SAMPLE_PATHS = 5,
    STORE_SAMPLE_ENDS = 6,   /* FIELD_END */
    STORE_SAMPLE_VALUES = 7, /* FIELD_VALUES, FIELD_PARTS */
    STORE_SAMPLE_IDS = 8,    /* FIELD_ID */
    STORE_SAMPLE_EXTRAS = 9, /* new shapes, extensions */
    STORE_SAMPLE_COLUMNS = 10,
};

/* Before a SAMPLES payload. */
struct store_samples_header {
    uint32_t sample_count;
    uint32_t sizes[STORE_SAMPLE_COLUMNS];
};

/* Unknown bits make the chunk unreadable. */
enum store_sample_fields {
    STORE_SAMPLE_FIELD_END = 1u << 0,       /* end_ns - time_ns */
    STORE_SAMPLE_FIELD_VALUES = 1u << 1,    /* all values; else the shape has them */
    STORE_SAMPLE_FIELD_PARTS = 1u << 2,     /* with END: all but the first value, which is the rest
                                             * of the time */
    STORE_SAMPLE_FIELD_ID = 1u << 3,        /* difference to the chunk's last id, signed */
    STORE_SAMPLE_FIELD_EXTENSION = 1u << 6, /* length, and as many bytes: to be skipped */
    STORE_SAMPLE_FIELDS_KNOWN = 15u | 1u << 6,
};

/* A part of a stretch; larger values are the part plus REST. */
enum { STORE_PART_NONE = 0, STORE_PART_REST = 1 };

/* Number of shapes up to which a writer puts values into shapes. */
enum { STORE_SAMPLE_SHAPES_OF_VALUES = 256 };

/* Kinds of definitions; definitions.c has the table of fields of each. An entry refers only to
 * kinds with smaller numbers, or is checked after all are read. */
enum store_definition {
    STORE_DEFINE_STRING = 1,
    STORE_DEFINE_SESSION = 2,
    STORE_DEFINE_PROCESS = 3,
    STORE_DEFINE_THREAD = 4,
    STORE_DEFINE_REFUSAL = 5,
    STORE_DEFINE_SAMPLING = 6,
    STORE_DEFINE_FACT = 7,
    STORE_DEFINE_FRAME = 8,
    STORE_DEFINE_STACK = 9,
    STORE_DEFINE_PATH = 10,
    STORE_DEFINE_LANE = 11,
    STORE_DEFINE_UNIT = 12,
    STORE_DEFINE_FILTER = 13,
    STORE_DEFINE_SCOPE = 14,
    STORE_DEFINE_HOST = 15,
    STORE_DEFINE_CLOCK = 16,
    STORE_DEFINE_ANCHOR = 17,
    STORE_DEFINE_NAME = 18,
    STORE_DEFINE_VALUE_TYPE = 19,
    STORE_DEFINE_SAMPLE_SET = 20,
    STORE_DEFINE_MODULE = 21,
    STORE_DEFINE_STREAM = 22,
    STORE_DEFINE_SOURCE = 23,
    STORE_DEFINE_LABEL = 24,
    STORE_DEFINE_LABEL_NAME = 25,
    STORE_DEFINE_DEVICE = 26,
    STORE_DEFINE_COUNT,
};

struct store_end {
    uint64_t event_count; /* in this file */
    uint64_t chunk_count; /* without this one */
    uint32_t follows;     /* 1: another volume follows; 0: it is the last one */
    uint32_t ids_mixed;   /* 1: so far, ids pair differently in the file than in order of time */
};

#endif
