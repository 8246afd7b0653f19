/* SPDX-License-Identifier: MIT */
/* Texts of programs: wide characters as UTF-8, and names that contain numbers. Reentrant; async-
 * signal-safe. */
#ifndef ANNOT_NVTX_TEXT_H
#define ANNOT_NVTX_TEXT_H

#include <annot/values.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

/* One byte more than a name may have, to detect cut names; the longest character; the end. */
enum { NVTX_TEXT_SIZE = 1024 + 4 + 1 };

/* Returns `text`; NULL for NULL. Invalid characters become U+FFFD; longer texts are cut. */
const char *nvtx_text_from_wide(const wchar_t *wide, char text[NVTX_TEXT_SIZE]);

/* Writes a character as UTF-8, without a NUL, in up to four bytes. Returns the end. */
char *nvtx_text_put(char *at, uint32_t c);

/* ---- Names that hold numbers ---- */

/* PyTorch's emit_nvtx makes them: "aten::mm, seq = 7, op_id = 41, sizes = [[8, 128], [128, 64]],
 * input_op_ids = [(39,0)]". Each would be a name used once: sums by name would be useless, and the
 * table of names would fill. The event's name is the part before the numbers; the numbers become
 * key-values. */

enum { NVTX_NUMBERED_TEXT = 384, NVTX_NUMBERED_VALUES = 3 };

/* The result of nvtx_numbered_read(). */
struct nvtx_numbered {
    char text[NVTX_NUMBERED_TEXT];
    struct annot_value values[NVTX_NUMBERED_VALUES];
    size_t count;
};

/* Returns the comma before its numbers; NULL: no numbers. */
static inline const char *nvtx_numbers_of(const char *text)
{
    const char *comma = text ? strchr(text, ',') : NULL;
    while (comma && strncmp(comma, ", seq = ", 8) != 0 && strncmp(comma, ", op_id = ", 10) != 0 &&
           strncmp(comma, ", sizes = ", 10) != 0)
        comma = strchr(comma + 1, ',');
    return comma;
}

/* `numbers`: from nvtx_numbers_of(). Returns 0 if the name is too long, and is recorded whole. Long
 * texts after the name are cut. Ids of inputs are dropped: each is the op_id of another event. */
int nvtx_numbered_read(struct nvtx_numbered *read, const char *text, const char *numbers);

#endif
