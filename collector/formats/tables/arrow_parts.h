/* SPDX-License-Identifier: MIT */
/* What the files of the Arrow exporter share with each other only.
 *
 * Numbers are those of the format (Arrow columnar format 1.5, metadata version 5). Thread-safety:
 * none. */
#ifndef ANNOT_ARROW_PARTS_H
#define ANNOT_ARROW_PARTS_H

#include "columns.h"

/* ---- Bodies: arrow_body.c ---- */

/* Where bytes are in the body of a message; of a field, its rows and those without a value. */
struct arrow_buffer {
    int64_t offset, length;
};

struct arrow_node {
    int64_t rows, nulls;
};

/* The columns of a group, one after the other; each buffer is compressed by itself. */
struct arrow_body {
    struct column_bytes bytes, plain;
    VEC(struct arrow_buffer) buffers;
    VEC(struct arrow_node) nodes;
    struct ZSTD_CCtx_s *zstd;
    int error;
};

/* 0 or -ENOMEM; then fini all the same. */
int arrow_body_init(struct arrow_body *body);
void arrow_body_fini(struct arrow_body *body);

/* In place of what it had. 0 or -ENOMEM. */
int arrow_body_fill(struct arrow_body *body, const struct columns *columns);

/* ---- Metadata, which is FlatBuffers: arrow_metadata.c ---- */

/* A message of the file. */
struct arrow_block {
    int64_t offset, metadata_bytes, body_bytes;
};

struct arrow_blocks {
    VEC(struct arrow_block) vec;
};

/* Each in place of what `out` had, and a multiple of eight bytes long. */
void arrow_put_schema(struct column_bytes *out, const struct columns *columns);
void arrow_put_batch(struct column_bytes *out, const struct arrow_body *body, uint32_t rows);
void arrow_put_footer(struct column_bytes *out, const struct columns *columns,
                      const struct arrow_blocks *batches);

#endif
