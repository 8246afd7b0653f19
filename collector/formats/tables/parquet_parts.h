/* SPDX-License-Identifier: MIT */
/* What the files of the Parquet exporter share with each other only.
 *
 * Numbers are those of the format (parquet-format 2.10). Thread-safety: none. */
#ifndef ANNOT_PARQUET_PARTS_H
#define ANNOT_PARQUET_PARTS_H

#include "columns.h"
#include "out_stream.h"

/* ---- Thrift's compact protocol: parquet_thrift.c ---- */

void parquet_varint(struct column_bytes *bytes, uint64_t value);

enum parquet_thrift_type {
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12,
};

enum { THRIFT_DEPTH_MAX = 8 };

struct parquet_thrift {
    struct column_bytes *out;
    unsigned depth;
    int last[THRIFT_DEPTH_MAX]; /* field of each open struct */
};

/* A struct, as a field or as a member of a list (field 0); the outermost is open from the start.
 * thrift_end of that one ends all. */
void thrift_struct(struct parquet_thrift *thrift, int field);
void thrift_end(struct parquet_thrift *thrift);
void thrift_int(struct parquet_thrift *thrift, int field, enum parquet_thrift_type type,
                int64_t value);
void thrift_text(struct parquet_thrift *thrift, int field, const char *text);
/* Its members follow. */
void thrift_list(struct parquet_thrift *thrift, int field, enum parquet_thrift_type type,
                 uint32_t count);
void thrift_member(struct parquet_thrift *thrift, int64_t value);
void thrift_member_text(struct parquet_thrift *thrift, const char *text);

/* ---- Encodings: parquet_encode.c ---- */

enum parquet_encoding {
    PARQUET_PLAIN = 0,
    PARQUET_RLE = 3,
    PARQUET_DELTA = 5,      /* DELTA_BINARY_PACKED */
    PARQUET_DELTA_TEXT = 7, /* DELTA_BYTE_ARRAY */
    PARQUET_DICTIONARY = 8,
};

enum { DELTA_BLOCK = 128 };

/* DELTA_BINARY_PACKED, value after value. */
struct parquet_delta {
    struct column_bytes *out;
    uint64_t last, deltas[DELTA_BLOCK];
    unsigned used;
};

/* `count` values, `first` is that of the first, or 0; the others follow, and a flush ends them. */
void parquet_delta_begin(struct parquet_delta *delta, struct column_bytes *out, uint32_t count,
                         int64_t first);
void parquet_delta_flush(struct parquet_delta *delta);

static inline void parquet_delta_put(struct parquet_delta *delta, int64_t value)
{
    delta->deltas[delta->used++] = (uint64_t)value - delta->last;
    delta->last = (uint64_t)value;
    if (delta->used == DELTA_BLOCK)
        parquet_delta_flush(delta);
}

/* The hybrid of runs and packed bits, with `width` bits a value. */
void parquet_hybrid(struct column_bytes *out, const uint32_t *values, uint32_t count,
                    unsigned width);

/* ---- Pages: parquet_pages.c ---- */

enum parquet_type { PARQUET_INT64 = 2, PARQUET_DOUBLE = 5, PARQUET_BYTES = 6 };

enum parquet_type parquet_type_of(const struct column *column);

struct parquet_pages {
    struct out_stream *out;
    struct column_bytes body, packed, header;
    struct column_bytes lengths, texts; /* of one encoding that has three parts */
    enum parquet_encoding encoding;     /* of the present column */
    struct ZSTD_CCtx_s *zstd;
    int error;
};

/* 0 or -ENOMEM; then fini all the same. */
int parquet_pages_init(struct parquet_pages *pages, struct out_stream *out);
void parquet_pages_fini(struct parquet_pages *pages);

/* Writes its pages, and its ColumnChunk into `thrift`, as a member of a list. 0 or -errno. */
int parquet_pages_put(struct parquet_pages *pages, const struct column *column, uint32_t rows,
                      struct parquet_thrift *thrift);

#endif
