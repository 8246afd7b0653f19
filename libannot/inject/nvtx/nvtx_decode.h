/* SPDX-License-Identifier: MIT */
/* Payloads of an event as annot's key-values.
 *
 * All input is untrusted: a schema may misdescribe the bytes. Only memory that a program passed
 * with a size is read directly, and only within it; other memory that entries point to is copied by
 * the kernel, which fails for unmapped addresses. Steps, levels, values and text are bounded.
 * Entries that are cut, lie outside or are not understood are counted; the count is a key-value
 * itself.
 *
 * Threads: any, also signal handlers: a decoding is one of 64 static buffers of the process, not on
 * a stack that may be small. Cost: a quarter of a push for each value; 1 us for each text outside
 * of the payloads. */
#ifndef ANNOT_NVTX_DECODE_H
#define ANNOT_NVTX_DECODE_H

#include "nvtx_event.h"
#include "nvtx_schema.h"

enum {
    NVTX_VALUES = 64,
    NVTX_TEXT_ROOM = 2560, /* of keys and texts together */
    NVTX_COPY_ROOM = 1088, /* of memory outside of the payloads */
    NVTX_BLOBS = 32,
    NVTX_STEPS = 1024,
};

/* The key of the count. */
#define NVTX_KEY_LEFT_OUT "payload_left_out"

struct nvtx_bytes {
    const uint8_t *at;
    size_t size;
};

/* A time in an entry. */
struct nvtx_stamp {
    int64_t ticks;
    uint64_t domain; /* of times; 0: unspecified */
    int is_there;
};

struct nvtx_decoding {
    uint32_t is_taken; /* W: swapped */
    annot_domain domain;
    uint8_t is_deferred; /* times are not shown as values */
    const struct nvtx_blob_given *blobs;
    struct nvtx_bytes flexible; /* of a batch: target of offsets and pointers */

    /* Attributes of the event that entries set. */
    struct nvtx_message message; /* text NULL and name 0: not set */
    uint64_t scope, range;
    struct nvtx_stamp begin, end, mark;
    uint32_t color, category;
    uint32_t role; /* of the last schema that has one */

    uint32_t blob_count;
    uint32_t left_out;
    uint32_t steps;       /* remaining */
    uint32_t path_length; /* of keys: the prefix of a name */
    uint32_t text_used, copy_used, value_count;
    const struct nvtx_entry *entries[NVTX_VALUES]; /* entries of the values; NULL: without entry */
    struct annot_value values[NVTX_VALUES];
    char path[128];
    char text[NVTX_TEXT_ROOM];
    uint8_t copies[NVTX_COPY_ROOM];
};

/* Takes a buffer for an event with these payloads; NULL: all are taken. Give it back. */
struct nvtx_decoding *nvtx_decoding_take(annot_domain domain, const struct nvtx_blob_given *blobs,
                                         size_t count);
void nvtx_decoding_give(struct nvtx_decoding *decoding);

/* Decodes all blobs; leaves room for the count, and adds it if it is not 0. */
void nvtx_decode(struct nvtx_decoding *decoding);

/* Decodes bytes of one schema. Returns how many of them it covers. */
size_t nvtx_decode_schema(struct nvtx_decoding *decoding, const struct nvtx_schema *schema,
                          struct nvtx_bytes bytes);

/* Adds the count of skipped entries. */
void nvtx_decode_end(struct nvtx_decoding *decoding);

/* Applies the attributes that the payload overrides to the event. */
void nvtx_decoding_apply(const struct nvtx_decoding *decoding, struct annot_event *event);

#endif
