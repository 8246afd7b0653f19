/* SPDX-License-Identifier: MIT */
/* Walks a schema entry by entry; where one has no offset of its own, it stands behind the one
 * before it. */
#include "nvtx_frame.h"

static size_t walk(struct nvtx_decoding *decoding, const struct nvtx_schema *schema,
                   struct nvtx_bytes bytes, uint32_t level);

static size_t walk_union(struct nvtx_frame *frame, const struct nvtx_schema *schema,
                         struct nvtx_bytes bytes, uint64_t selected);

/* One or several structs. Returns where the last one ends. */
static uint64_t put_structs(struct nvtx_frame *frame, uint32_t index,
                            const struct nvtx_place *place)
{
    struct nvtx_decoding *decoding = frame->decoding;
    const struct nvtx_entry *entry = &frame->schema->entries[index];
    const struct nvtx_schema *schema = (const struct nvtx_schema *)place->layout.type;
    uint32_t before = nvtx_path_put_entry(frame, index);
    uint64_t end = 0;
    if (schema->type.type == NVTX_SCHEMA_UNION) {
        nvtx_path_put(decoding, ".");
        uint64_t selected = entry->takes ? frame->kept[entry->takes - 1] : UINT64_MAX;
        end = walk_union(frame, schema, place->bytes, selected);
    } else if (!place->is_array) {
        nvtx_path_put(decoding, ".");
        end = walk(decoding, schema, place->bytes, frame->level + 1);
    } else {
        for (uint64_t i = 0; i < place->count && decoding->steps > 0; i++) {
            uint32_t name = nvtx_path_put_number(decoding, "[", i, "].");
            struct nvtx_bytes one = nvtx_bytes_from(place->bytes, i * place->layout.size);
            if (one.size > place->layout.size)
                one.size = (size_t)place->layout.size;
            walk(decoding, schema, one, frame->level + 1);
            decoding->path_length = name;
        }
        end = place->count * place->layout.size;
    }
    decoding->path_length = before;
    return place->layout.size ? place->layout.size * (place->is_array ? place->count : 1) : end;
}

/* A struct that is nothing but a number is that number, as Python's package for NVTX has it. */
static void unwrap(const struct nvtx_decoding *decoding, struct nvtx_place *place)
{
    for (uint32_t i = 0; i < NVTX_LEVELS && place->layout.class == NVTX_CLASS_SAID; i++) {
        const struct nvtx_schema *schema = (const struct nvtx_schema *)place->layout.type;
        const struct nvtx_entry *entry = schema->entries;
        if (schema->type.type != NVTX_SCHEMA_STATIC || schema->type.count != 1 || entry->flags ||
            entry->offset || nvtx_entry_is_indirect(entry))
            return;
        struct nvtx_layout inner = nvtx_layout_of(decoding->domain, entry->type);
        if (inner.class == NVTX_CLASS_NONE || inner.class == NVTX_CLASS_TEXT ||
            inner.size != place->layout.size)
            return;
        place->layout = inner;
        place->type = entry->type;
    }
}

void nvtx_walk_place(struct nvtx_frame *frame, uint32_t index, struct nvtx_place *place)
{
    unwrap(frame->decoding, place);
    const struct nvtx_entry *entry = &frame->schema->entries[index];
    int is_struct = place->layout.class == NVTX_CLASS_SAID && place->layout.type->type != 0;
    int is_indirect = nvtx_entry_is_indirect(entry);
    if (is_struct) {
        uint64_t begin = (uint64_t)(place->bytes.at - frame->bytes.at);
        uint64_t size = put_structs(frame, index, place);
        if (!is_indirect && !__builtin_add_overflow(begin, size, &size))
            frame->cursor = size;
        return;
    }
    nvtx_put_place(frame, index, place);
}

/* 0: what follows cannot be found. */
static int walk_entry(struct nvtx_frame *frame, uint32_t index)
{
    struct nvtx_decoding *decoding = frame->decoding;
    struct nvtx_place place;
    if (decoding->steps == 0) {
        decoding->left_out++;
        return 0;
    }
    decoding->steps--;
    uint64_t before = frame->cursor;
    if (!nvtx_find_place(frame, index, &place)) {
        decoding->left_out++;
        return frame->cursor > before; /* a pointer to nothing is passed */
    }
    nvtx_keep_copy(decoding, place.bytes);
    nvtx_walk_place(frame, index, &place);
    if (frame->cursor > frame->end)
        frame->end = frame->cursor;
    return 1;
}

static size_t end_of(const struct nvtx_frame *frame)
{
    return frame->end < frame->bytes.size ? (size_t)frame->end : frame->bytes.size;
}

static size_t walk_union(struct nvtx_frame *frame, const struct nvtx_schema *schema,
                         struct nvtx_bytes bytes, uint64_t selected)
{
    struct nvtx_frame inner = {frame->decoding, schema, bytes, 0, 0, frame->level + 1, {0}};
    if (selected >= schema->type.count || inner.level > NVTX_LEVELS)
        frame->decoding->left_out++;
    else
        walk_entry(&inner, (uint32_t)selected);
    return end_of(&inner);
}

/* The entry that selects has its own index in none of its values. */
static size_t walk_selected(struct nvtx_frame *frame)
{
    const struct nvtx_schema *schema = frame->schema;
    uint64_t selected = UINT64_MAX;
    for (uint32_t i = 0; i < schema->type.count; i++) {
        const struct nvtx_entry *entry = &schema->entries[i];
        if (entry->type != NVTX_TYPE_SELECTOR)
            continue;
        struct nvtx_bytes at = nvtx_bytes_from(frame->bytes, entry->offset);
        if (at.size >= 4)
            selected = nvtx_bits_of(at.at, 4);
        if (selected == i)
            selected = UINT64_MAX;
        break;
    }
    return walk_union(frame, schema, frame->bytes, selected);
}

static size_t walk(struct nvtx_decoding *decoding, const struct nvtx_schema *schema,
                   struct nvtx_bytes bytes, uint32_t level)
{
    struct nvtx_frame frame = {decoding, schema, bytes, 0, 0, level, {0}};
    if (level > NVTX_LEVELS) {
        decoding->left_out++;
        return 0;
    }
    if (schema->type.type == NVTX_SCHEMA_UNION_INTERNAL)
        return walk_selected(&frame);
    if (schema->size && schema->type.type == NVTX_SCHEMA_STATIC && schema->size < bytes.size)
        frame.bytes.size = (size_t)schema->size;
    for (uint32_t i = 0; i < schema->type.count; i++)
        if (!walk_entry(&frame, i)) {
            decoding->left_out += schema->type.count - 1 - i;
            break;
        }
    return end_of(&frame);
}

size_t nvtx_decode_schema(struct nvtx_decoding *decoding, const struct nvtx_schema *schema,
                          struct nvtx_bytes bytes)
{
    return walk(decoding, schema, bytes, 0);
}
