/* SPDX-License-Identifier: MIT */
/* Where the elements of an entry are, and how many: see nvtx_frame.h. */
#include "nvtx_frame.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Up to `size` bytes of this process, which may not be there: whole pages of them. */
struct nvtx_bytes nvtx_copy_memory(struct nvtx_decoding *decoding, uint64_t address, size_t size)
{
    uint8_t *copy = decoding->copies + decoding->copy_used;
    size_t left = NVTX_COPY_ROOM - decoding->copy_used, first = 4096 - address % 4096;
    if (size > left)
        size = left;
    if (first > size)
        first = size;
    /* By page: one iovec is copied whole or not at all. */
    struct iovec here = {copy, size};
    struct iovec there[2] = {{(void *)(uintptr_t)address, first},
                             {(void *)(uintptr_t)(address + first), size - first}};
    int error = errno;
    ssize_t got = size ? process_vm_readv(getpid(), &here, 1, there, 2, 0) : 0;
    errno = error;
    return got > 0 ? (struct nvtx_bytes){copy, (size_t)got} : (struct nvtx_bytes){NULL, 0};
}

void nvtx_keep_copy(struct nvtx_decoding *decoding, struct nvtx_bytes bytes)
{
    if (bytes.at == decoding->copies + decoding->copy_used)
        decoding->copy_used += (uint32_t)(bytes.size + 7) / 8 * 8;
    if (decoding->copy_used > NVTX_COPY_ROOM)
        decoding->copy_used = NVTX_COPY_ROOM;
}

static int is_inside(struct nvtx_bytes of, uint64_t address, struct nvtx_bytes *ret)
{
    uint64_t begin = (uintptr_t)of.at;
    if (!of.at || address < begin || address - begin >= of.size)
        return 0;
    *ret = (struct nvtx_bytes){of.at + (address - begin), of.size - (size_t)(address - begin)};
    return 1;
}

/* What a pointer leads to: the rest of a payload of this event, else at most `size` bytes. */
static struct nvtx_bytes follow(const struct nvtx_frame *frame, uint64_t address, size_t size)
{
    struct nvtx_decoding *decoding = frame->decoding;
    struct nvtx_bytes found;
    if (is_inside(frame->bytes, address, &found) || is_inside(decoding->flexible, address, &found))
        return found;
    for (uint32_t i = 0; i < decoding->blob_count; i++) {
        struct nvtx_bytes blob = {decoding->blobs[i].bytes, decoding->blobs[i].size};
        if (blob.size != SIZE_MAX && is_inside(blob, address, &found))
            return found;
    }
    return address ? nvtx_copy_memory(decoding, address, size) : (struct nvtx_bytes){NULL, 0};
}

struct nvtx_bytes nvtx_bytes_from(struct nvtx_bytes bytes, uint64_t offset)
{
    if (offset > bytes.size)
        return (struct nvtx_bytes){NULL, 0};
    return (struct nvtx_bytes){bytes.at + offset, bytes.size - (size_t)offset};
}

/* What an entry that holds an address or an offset means, from its first byte on. */
static struct nvtx_bytes resolve(const struct nvtx_frame *frame, const struct nvtx_entry *entry,
                                 uint64_t offset, size_t size)
{
    uint64_t held = nvtx_bits_of(frame->bytes.at + offset, NVTX_POINTER_SIZE);
    const struct nvtx_bytes *flexible = &frame->decoding->flexible;
    if (entry->flags & (NVTX_ENTRY_OFFSET_FROM_BASE | NVTX_ENTRY_OFFSET_FROM_HERE)) {
        if (flexible->at)
            return nvtx_bytes_from(*flexible, held);
        if (entry->flags & NVTX_ENTRY_OFFSET_FROM_BASE)
            return nvtx_bytes_from(frame->bytes, held);
        if (held > frame->bytes.size)
            return (struct nvtx_bytes){NULL, 0};
        return nvtx_bytes_from(frame->bytes, offset + NVTX_POINTER_SIZE + held);
    }
    return follow(frame, held, size);
}

/* ---- How many -------------------------------------------------------------------------------- */

/* The product of integers; what is negative counts as none. */
uint64_t nvtx_product_of(uint64_t type, const struct nvtx_layout *layout, struct nvtx_bytes bytes)
{
    uint64_t product = 1;
    struct annot_value value;
    size_t at = 0;
    for (; layout->size && bytes.size - at >= layout->size; at += layout->size) {
        if (layout->class == NVTX_CLASS_SAID)
            value = annot_value_uint64(NULL, nvtx_bits_of(bytes.at + at, layout->size));
        else if (!nvtx_number_of(type, layout, bytes.at + at, &value) ||
                 value.kind == ANNOT_PAYLOAD_DOUBLE)
            return 0;
        uint64_t number = value.value.uint64;
        if (value.kind == ANNOT_PAYLOAD_INT64 && value.value.int64 < 0)
            number = 0;
        if (__builtin_mul_overflow(product, number, &product))
            return UINT64_MAX;
    }
    return at ? product : 0;
}

/* As another payload of the event says: by its type, or the first entry of its schema. */
static uint64_t length_in_blob(const struct nvtx_decoding *decoding, uint64_t index)
{
    if (index >= decoding->blob_count || !decoding->blobs[index].bytes)
        return 0;
    const struct nvtx_blob_said *blob = &decoding->blobs[index];
    struct nvtx_bytes bytes = {blob->bytes, blob->size == SIZE_MAX ? 0 : blob->size};
    struct nvtx_layout layout = nvtx_layout_of(decoding->domain, blob->schema);
    uint64_t type = blob->schema;
    if (layout.class == NVTX_CLASS_SAID && layout.type->type) {
        const struct nvtx_entry *entry = &((const struct nvtx_schema *)layout.type)->entries[0];
        uint64_t array = entry->flags & NVTX_ENTRY_ARRAYS, count = 1;
        type = entry->type;
        layout = nvtx_layout_of(decoding->domain, type);
        bytes = nvtx_bytes_from(bytes, entry->offset);
        if (array == NVTX_ENTRY_ARRAY_FIXED)
            count = entry->detail;
        if ((!array || array == NVTX_ENTRY_ARRAY_FIXED) && layout.size &&
            count <= bytes.size / layout.size)
            bytes.size = (size_t)(count * layout.size);
        if (layout.class == NVTX_CLASS_SAID)
            return 0;
    }
    return nvtx_product_of(type, &layout, bytes);
}

static uint64_t count_to_zero(struct nvtx_bytes bytes, uint64_t size)
{
    uint64_t count = 0;
    while (size && bytes.size / size > count) {
        const uint8_t *at = bytes.at + count * size;
        uint64_t i = 0;
        while (i < size && at[i] == 0)
            i++;
        if (i == size)
            break;
        count++;
    }
    return count;
}

/* How many elements an entry has; UINT64_MAX: up to a zero. */
static uint64_t count_of(const struct nvtx_frame *frame, const struct nvtx_entry *entry,
                         const struct nvtx_layout *layout)
{
    int is_text = layout->class == NVTX_CLASS_TEXT;
    switch (entry->flags & NVTX_ENTRY_ARRAYS) {
    case 0:
        if (!is_text)
            return 1;
        return entry->detail ? entry->detail : UINT64_MAX;
    case NVTX_ENTRY_ARRAY_FIXED:
        return entry->detail;
    case NVTX_ENTRY_ARRAY_LENGTH_ENTRY:
        return entry->takes ? frame->kept[entry->takes - 1] : 0;
    case NVTX_ENTRY_ARRAY_LENGTH_BLOB:
        return length_in_blob(frame->decoding, entry->detail);
    default:
        return UINT64_MAX;
    }
}

/* ---- Entries --------------------------------------------------------------------------------- */

/* Cuts an entry's elements to what is there of them. */
static void bound_place(struct nvtx_frame *frame, struct nvtx_place *place)
{
    uint64_t size = place->layout.size;
    if (size == 0) /* as long as it says itself */
        return;
    if (place->count == UINT64_MAX)
        place->count = count_to_zero(place->bytes, size);
    if (place->count > place->bytes.size / size) {
        place->count = place->bytes.size / size;
        frame->decoding->left_out++;
    }
    place->bytes.size = (size_t)(place->count * size);
}

/* A text that is not there is one, as in all of annot. */
static int is_null_text(const struct nvtx_frame *frame, const struct nvtx_entry *entry,
                        const struct nvtx_place *place, uint64_t offset)
{
    const uint64_t offsets = NVTX_ENTRY_OFFSET_FROM_BASE | NVTX_ENTRY_OFFSET_FROM_HERE;
    return place->layout.class == NVTX_CLASS_TEXT && place->layout.size == 1 &&
           !(entry->flags & offsets) &&
           nvtx_bits_of(frame->bytes.at + offset, NVTX_POINTER_SIZE) == 0;
}

int nvtx_find_place(struct nvtx_frame *frame, uint32_t index, struct nvtx_place *place)
{
    const struct nvtx_entry *entry = &frame->schema->entries[index];
    int is_indirect = nvtx_entry_is_indirect(entry);
    place->type = entry->type;
    place->layout = nvtx_layout_of(frame->decoding->domain, entry->type);
    uint64_t alignment = is_indirect ? NVTX_POINTER_SIZE : place->layout.alignment;
    uint64_t offset = nvtx_entry_offset(frame->schema, index, frame->cursor, alignment);
    if (place->layout.class == NVTX_CLASS_NONE || offset > frame->bytes.size)
        return 0;
    place->count = count_of(frame, entry, &place->layout);
    place->is_array = (entry->flags & NVTX_ENTRY_ARRAYS) != 0;
    if (place->is_array && place->layout.size == 0)
        return 0;
    if (is_indirect) {
        uint64_t size = NVTX_COPY_ROOM / 2;
        if (frame->bytes.size - offset < NVTX_POINTER_SIZE)
            return 0;
        if (place->count != UINT64_MAX && place->layout.size && place->layout.size <= size &&
            place->count <= size / place->layout.size)
            size = place->count * place->layout.size;
        place->bytes = resolve(frame, entry, offset, (size_t)size);
        if (is_null_text(frame, entry, place, offset))
            place->bytes = (struct nvtx_bytes){(const uint8_t *)"(null)", 6};
        frame->cursor = offset + NVTX_POINTER_SIZE;
        if (!place->bytes.at)
            return 0;
        bound_place(frame, place);
        return 1;
    }
    place->bytes = nvtx_bytes_from(frame->bytes, offset);
    uint64_t said = place->count, size;
    bound_place(frame, place);
    if (said == UINT64_MAX) /* up to a zero, which is passed as well */
        said = place->count + 1;
    if (__builtin_mul_overflow(said, place->layout.size, &size) ||
        __builtin_add_overflow(offset, size, &frame->cursor))
        frame->cursor = UINT64_MAX;
    return 1;
}
