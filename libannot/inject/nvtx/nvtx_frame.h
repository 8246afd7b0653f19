/* SPDX-License-Identifier: MIT */
/* A schema that is being walked, between the files that decode (nvtx_decode.h). */
#ifndef ANNOT_NVTX_FRAME_H
#define ANNOT_NVTX_FRAME_H

#include "nvtx_decode.h"

struct nvtx_frame {
    struct nvtx_decoding *decoding;
    const struct nvtx_schema *schema;
    struct nvtx_bytes bytes;
    uint64_t cursor, end; /* where the last entry ended; the farthest of them */
    uint32_t level;
    uint64_t kept[NVTX_SLOTS]; /* values that others take lengths from */
};

/* An entry's elements. */
struct nvtx_place {
    uint64_t type; /* the entry's, or what that is when structs of a single number are unwrapped */
    struct nvtx_layout layout;
    struct nvtx_bytes bytes; /* all of them, if they are of one size */
    uint64_t count;
    int is_array;
};

/* ---- nvtx_find.c: where elements are ----------------------------------------------------------
 */

/* Moves the cursor behind the entry. 0: they are nowhere. */
int nvtx_find_place(struct nvtx_frame *frame, uint32_t index, struct nvtx_place *place);
/* Copies that find_place made stay. */
void nvtx_keep_copy(struct nvtx_decoding *decoding, struct nvtx_bytes bytes);
/* Up to `size` bytes of this process, which may not be there. */
struct nvtx_bytes nvtx_copy_memory(struct nvtx_decoding *decoding, uint64_t address, size_t size);
/* The rest from an offset on; NULL: it is outside. */
struct nvtx_bytes nvtx_bytes_from(struct nvtx_bytes bytes, uint64_t offset);
/* The product of integers; what is negative counts as none. */
uint64_t nvtx_product_of(uint64_t type, const struct nvtx_layout *layout, struct nvtx_bytes bytes);

/* ---- nvtx_put.c: values of them ---------------------------------------------------------------
 */

/* Keys begin with the path; each returns how long it was before. */
uint32_t nvtx_path_put(struct nvtx_decoding *decoding, const char *text);
uint32_t nvtx_path_put_number(struct nvtx_decoding *decoding, const char *before, uint64_t number,
                              const char *behind);
/* An entry without a name has its number. */
uint32_t nvtx_path_put_entry(struct nvtx_frame *frame, uint32_t index);

/* Of what is no schema. */
void nvtx_put_place(struct nvtx_frame *frame, uint32_t index, const struct nvtx_place *place);

/* ---- nvtx_walk.c ------------------------------------------------------------------------------
 */

/* Any elements. */
void nvtx_walk_place(struct nvtx_frame *frame, uint32_t index, struct nvtx_place *place);

#endif
