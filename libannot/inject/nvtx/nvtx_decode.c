/* SPDX-License-Identifier: MIT */
/* See nvtx_decode.h. */
#include "nvtx_frame.h"

#include <annot_barrier.h>
#include <pthread.h>
#include <string.h>

/* ---- Places ---------------------------------------------------------------------------------- */

enum { PLACES = 64 };

static struct nvtx_decoding places[PLACES];

/* The threads that had taken them are not there. */
static void in_child(void)
{
    for (uint32_t i = 0; i < PLACES; i++)
        annot_store_relaxed(&places[i].is_taken, 0);
}

__attribute__((constructor)) static void set_up(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

/* Each thread begins at one of its own. */
static struct nvtx_decoding *take_place(void)
{
    static const char here;
    uint64_t at = nvtx_hash((uintptr_t)nvtx_thread, (uintptr_t)&here) >> 40;
    for (uint32_t i = 0; i < PLACES; i++) {
        struct nvtx_decoding *place = &places[(at + i) % PLACES];
        uint32_t nobody = 0;
        if (annot_cas_acq_rel(&place->is_taken, &nobody, 1)) /* partner: nvtx_decoding_give */
            return place;
    }
    return NULL;
}

struct nvtx_decoding *nvtx_decoding_take(annot_domain domain, const struct nvtx_blob_said *blobs,
                                         size_t count)
{
    const struct nvtx_stamp never = {0};
    struct nvtx_decoding *decoding = take_place();
    if (!decoding)
        return NULL;
    /* One by one: a compiler makes that a few wide stores, of a memset a slow instruction. */
    decoding->is_deferred = 0;
    decoding->flexible = (struct nvtx_bytes){NULL, 0};
    decoding->message = (struct nvtx_message){0, NULL};
    decoding->scope = decoding->range = 0;
    decoding->begin = decoding->end = decoding->mark = never;
    decoding->color = decoding->category = decoding->role = 0;
    decoding->path_length = decoding->text_used = 0;
    decoding->copy_used = decoding->value_count = 0;
    decoding->domain = domain;
    decoding->blobs = blobs;
    decoding->steps = NVTX_STEPS;
    decoding->blob_count = blobs ? (uint32_t)(count < NVTX_BLOBS ? count : NVTX_BLOBS) : 0;
    decoding->left_out = (uint32_t)(count > NVTX_BLOBS && blobs ? count - NVTX_BLOBS : 0);
    return decoding;
}

void nvtx_decoding_give(struct nvtx_decoding *decoding)
{
    if (decoding)
        annot_store_release(&decoding->is_taken, 0); /* partner: take_place */
}

/* ---- Blobs ----------------------------------------------------------------------------------- */

/* A payload that needs no schema: as if one had it as its only entry. */
static void decode_plain(struct nvtx_decoding *decoding, const struct nvtx_blob_said *blob,
                         const struct nvtx_layout *layout)
{
    static const char name[] = "payload";

    union {
        struct nvtx_schema schema;
        uint8_t room[sizeof(struct nvtx_schema) + sizeof(struct nvtx_entry)];
    } one = {.schema.type = {.type = NVTX_SCHEMA_STATIC, .count = 1, .name = name}};
    struct nvtx_entry *entry = one.schema.entries;
    *entry = (struct nvtx_entry){.type = blob->schema, .name = name};
    struct nvtx_frame frame = {
        .decoding = decoding, .schema = &one.schema, .bytes = {blob->bytes, blob->size}};
    struct nvtx_place place = {
        .type = blob->schema, .layout = *layout, .bytes = frame.bytes, .count = 1};
    if (blob->size == SIZE_MAX)
        place.bytes = nvtx_copy_memory(decoding, (uintptr_t)blob->bytes, NVTX_COPY_ROOM);
    place.count = place.bytes.size / layout->size;
    place.is_array = place.count > 1;
    if (place.count == 0) {
        decoding->left_out++;
        return;
    }
    nvtx_walk_place(&frame, 0, &place);
    /* The entry is gone with this frame. */
    for (uint32_t i = 0; i < decoding->value_count; i++)
        if (decoding->entries[i] == entry)
            decoding->entries[i] = NULL;
}

/* Returns 0 if it takes more than this. */
static int decode_numbers(struct nvtx_decoding *decoding, const struct nvtx_schema *schema,
                          struct nvtx_bytes bytes)
{
    uint32_t count = schema->type.count;
    if (!schema->plain_size || schema->plain_size > bytes.size || decoding->path_length ||
        count >= NVTX_VALUES - 1 - decoding->value_count)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct nvtx_entry *entry = &schema->entries[i];
        struct annot_value *value = &decoding->values[decoding->value_count];
        nvtx_number_of(entry->type, &entry->plain, bytes.at + entry->plain_offset, value);
        value->key_name = entry->key;
        decoding->entries[decoding->value_count++] = entry;
    }
    return 1;
}

static void decode_struct(struct nvtx_decoding *decoding, const struct nvtx_schema *schema,
                          struct nvtx_bytes bytes)
{
    if (schema->role)
        decoding->role = schema->role;
    if (!decode_numbers(decoding, schema, bytes))
        nvtx_decode_schema(decoding, schema, bytes);
}

static void decode_blob(struct nvtx_decoding *decoding, const struct nvtx_blob_said *blob)
{
    uint64_t type = blob->schema == NVTX_BLOB_RAW ? NVTX_TYPE_BYTE : blob->schema;
    const struct nvtx_type *said = nvtx_registry_find(NVTX_OBJECT_TYPE, decoding->domain, type);
    if (type == NVTX_BLOB_REFERENCED || blob->size == 0)
        return;
    if (said && said->type && blob->bytes && blob->size != SIZE_MAX) {
        decode_struct(decoding, (const struct nvtx_schema *)said,
                      (struct nvtx_bytes){blob->bytes, blob->size});
        return;
    }
    struct nvtx_layout layout = nvtx_layout_of(decoding->domain, type);
    if (layout.class == NVTX_CLASS_NONE || !blob->bytes || (said && said->type) ||
        (blob->size == SIZE_MAX && layout.class != NVTX_CLASS_TEXT)) {
        decoding->left_out++;
        return;
    }
    const struct nvtx_blob_said plain = {type, blob->size, blob->bytes};
    decode_plain(decoding, &plain, &layout);
}

void nvtx_decode_end(struct nvtx_decoding *decoding)
{
    if (decoding->left_out == 0)
        return;
    decoding->entries[decoding->value_count] = NULL;
    decoding->values[decoding->value_count++] =
        annot_value_uint64(NVTX_KEY_LEFT_OUT, decoding->left_out);
}

/* Of several, keys begin with the schema's name, else the payload's number. */
void nvtx_decode(struct nvtx_decoding *decoding)
{
    uint32_t visible = 0;
    for (uint32_t i = 0; i < decoding->blob_count; i++)
        visible += decoding->blobs[i].schema != NVTX_BLOB_REFERENCED;
    for (uint32_t i = 0; i < decoding->blob_count; i++) {
        const struct nvtx_type *type =
            visible > 1
                ? nvtx_registry_find(NVTX_OBJECT_TYPE, decoding->domain, decoding->blobs[i].schema)
                : NULL;
        if (type && *type->name) {
            nvtx_path_put(decoding, type->name);
            nvtx_path_put(decoding, ".");
        } else if (visible > 1) {
            nvtx_path_put_number(decoding, "", i, ".");
        }
        decode_blob(decoding, &decoding->blobs[i]);
        decoding->path_length = 0;
    }
    nvtx_decode_end(decoding);
}

void nvtx_decoding_apply(const struct nvtx_decoding *decoding, struct annot_event *event)
{
    if (decoding->message.name || decoding->message.text) {
        event->name = decoding->message.name;
        event->text = decoding->message.text;
    }
    if (decoding->color)
        event->color = decoding->color;
    if (decoding->category)
        event->category = nvtx_category_of(decoding->domain, decoding->category);
    event->values = decoding->values;
    event->value_count = decoding->value_count;
}
