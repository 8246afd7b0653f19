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
#define STORE_CHUNK_MAGIC                                                                          \
    "\xc5"                                                                                         \
    "ANC"

/* A change that an older reader would misread raises the major number; one that it skips by
 * length the minor number. */
enum { STORE_FORMAT_MAJOR = 1, STORE_FORMAT_MINOR = 0 };

enum {
    STORE_HEADER_SIZE = 64, /* of the file and of a chunk                         */
    STORE_HEADER_SIZE_MAX = 4096,
    STORE_RAW_MAX = 8 << 20,       /* a chunk's payload, uncompressed                    */
    STORE_STORED_MAX = 9 << 20,    /* as it lies in the file                             */
    STORE_RAW_TARGET = 1 << 20,    /* a writer ends the chunk at this size               */
    STORE_BATCH_MAX = 65536,       /* events                                             */
    STORE_SHAPES_MAX = 16384,      /* in the dictionary of an EVENTS chunk               */
    STORE_STRING_MAX = 1 << 20,    /* bytes                                              */
    STORE_INDEX_ENTRIES = 1 << 15, /* in one INDEX chunk                                 */
};

/* Times lie within +-(2^62 - 1) ns (146 years), so that differences of any two fit 64 bits. Readers
 * take what lies outside for the nearest limit. */
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
    uint8_t reserved[20];
    uint32_t crc; /* of the bytes before it */
};

/* Explicit and append-only. Readers skip types they do not know. */
enum store_chunk_type {
    STORE_CHUNK_DEFINITIONS = 1,
    STORE_CHUNK_EVENTS = 2,
    STORE_CHUNK_INDEX = 3,
    STORE_CHUNK_END = 4,
    /* Reserved. */
    STORE_CHUNK_SAMPLES = 16,
    STORE_CHUNK_STACKS = 17,
    STORE_CHUNK_SYMBOLS = 18,
    STORE_CHUNK_SCHEDULING = 19,
    STORE_CHUNK_GPU = 24,
    STORE_CHUNK_MEMORY = 32,
};

/* Of a chunk. A reader that does not know a flag cannot read the payload. */
enum store_chunk_flags { STORE_FLAG_ZSTD = 1u << 0 };

struct store_chunk_header {
    uint8_t magic[4];
    uint16_t type, flags;
    uint64_t file_id;
    uint32_t number; /* 0, 1, ... within the file */
    uint32_t stored_size, raw_size;
    uint32_t payload_crc; /* of the stored bytes */
    uint64_t count;       /* events, definitions, entries: by type */
    int64_t first_ns, last_ns;
    uint16_t major, minor;
    uint32_t crc; /* of the bytes before it */
};

_Static_assert(sizeof(struct store_file_header) == STORE_HEADER_SIZE, "layout");
_Static_assert(sizeof(struct store_chunk_header) == STORE_HEADER_SIZE, "layout");
_Static_assert(offsetof(struct store_file_header, crc) == 60, "layout");
_Static_assert(offsetof(struct store_chunk_header, crc) == 60, "layout");

/* In front of an EVENTS payload: the sizes of what follows it, in this order. */
struct store_events_header {
    uint32_t event_count;
    uint32_t batches_size;  /* who, how many, from where: one entry a batch                 */
    uint32_t tokens_size;   /* one or two bytes an event: which shape                       */
    uint32_t controls_size; /* two bits an event: length of its time                        */
    uint32_t times_size;    /* differences of times                                         */
    uint32_t extras_size;   /* new shapes, values, ids                                      */
};

/* What a shape brings in the extras, in this order. Unknown bits make the chunk unreadable. */
enum store_shape_fields {
    STORE_FIELD_COLOR = 1u << 0,         /* the shape has a colour; nothing per event       */
    STORE_FIELD_DEPTH = 1u << 1,         /* depth, varint                                   */
    STORE_FIELD_DEPTH_IMPLIED = 1u << 2, /* depth is one less than before; nothing in extras*/
    STORE_FIELD_ID = 1u << 3,            /* difference to the chunk's last id, signed       */
    STORE_FIELD_END = 1u << 4,           /* end_ns - time_ns, signed                        */
    STORE_FIELD_VALUE = 1u << 5,         /* by value kind, against the shape's last value   */
    STORE_FIELD_EXTENSION = 1u << 6,     /* length, and as many bytes: to be skipped        */
    STORE_FIELDS_KNOWN = (1u << 7) - 1,
};

/* Tokens: 0 = a new shape comes in the extras; below this one byte, else two. */
enum { STORE_TOKEN_NEW = 0, STORE_TOKEN_WIDE = 192 };

enum store_definition {
    STORE_DEFINE_STRING = 1,
    STORE_DEFINE_SESSION = 2,
    STORE_DEFINE_PROCESS = 3,
    STORE_DEFINE_THREAD = 4,
    STORE_DEFINE_REFUSAL = 5,
};

struct store_end {
    uint64_t index_offset; /* of the first INDEX chunk; 0 = none */
    uint64_t event_count;
    uint64_t chunk_count; /* without this one */
};

#endif
