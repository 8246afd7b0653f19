/* SPDX-License-Identifier: MIT */
/* Numbers, texts and arrays of payloads as key-values and as text, in the buffer of a decoding
 * (nvtx_decode.h). Threads: one per decoding. */
#ifndef ANNOT_NVTX_LINE_H
#define ANNOT_NVTX_LINE_H

#include "nvtx_decode.h"
#include "nvtx_schema.h"

#include <stddef.h>
#include <stdint.h>

/* Reads a number of a predefined type, as a value without a key. Returns 0 for other types. */
int nvtx_number_of(uint64_t type, const struct nvtx_layout *layout, const uint8_t *bytes,
                   struct annot_value *ret_value);
/* Reads 1, 2, 4 or 8 bytes as an unsigned number. */
uint64_t nvtx_bits_of(const uint8_t *bytes, uint64_t size);

/* Text under construction. Text beyond its room is dropped. */
struct nvtx_line {
    char *begin, *at, *end;
    int is_cut;
};

struct nvtx_line nvtx_line_begin(struct nvtx_decoding *decoding);
const char *nvtx_line_end(struct nvtx_decoding *decoding, struct nvtx_line *line);
void nvtx_line_put(struct nvtx_line *line, const char *text, size_t length);
void nvtx_line_number(struct nvtx_line *line, const struct annot_value *value);
void nvtx_line_hex(struct nvtx_line *line, uint64_t number, uint32_t digits);
void nvtx_line_character(struct nvtx_line *line, uint32_t character);

/* Elements of a predefined type as one text. */
void nvtx_line_array(struct nvtx_line *line, uint64_t type, const struct nvtx_layout *layout,
                     struct nvtx_bytes bytes);

/* Units of a text up to its NUL. */
void nvtx_line_text(struct nvtx_line *line, struct nvtx_bytes bytes, uint64_t unit);
void nvtx_line_enum(struct nvtx_line *line, const struct nvtx_enum *of, uint64_t bits);

#endif
