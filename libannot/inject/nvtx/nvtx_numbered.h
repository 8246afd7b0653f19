/* SPDX-License-Identifier: MIT */
/* Names that hold numbers, as PyTorch's emit_nvtx makes them: "aten::mm, seq = 7, op_id = 41, sizes
 * = [[8, 128], [128, 64]], input_op_ids = [(39,0)]". Each would be a name of its own, used once, so
 * that no table adds up and the table of names fills. They are told as what comes before the
 * numbers, which become key-values.
 *
 * Reentrant; async-signal-safe. */
#ifndef ANNOT_NVTX_NUMBERED_H
#define ANNOT_NVTX_NUMBERED_H

#include <annot/values.h>

#include <string.h>

enum { NVTX_NUMBERED_TEXT = 384, NVTX_NUMBERED_VALUES = 3 };

/* What nvtx_numbered_read points to. */
struct nvtx_numbered {
    char text[NVTX_NUMBERED_TEXT];
    struct annot_value values[NVTX_NUMBERED_VALUES];
    size_t count;
};

/* Where its numbers begin, at a comma; NULL: it has none. */
static inline const char *nvtx_numbers_of(const char *text)
{
    const char *comma = text ? strchr(text, ',') : NULL;
    while (comma && strncmp(comma, ", seq = ", 8) != 0 && strncmp(comma, ", op_id = ", 10) != 0 &&
           strncmp(comma, ", sizes = ", 10) != 0)
        comma = strchr(comma + 1, ',');
    return comma;
}

/* `numbers` is what nvtx_numbers_of found. 0: the name is too long, to be told as it is; what comes
 * behind is cut. Ids of inputs are left out, as each is the op_id of another event. */
int nvtx_numbered_read(struct nvtx_numbered *read, const char *text, const char *numbers);

#endif
