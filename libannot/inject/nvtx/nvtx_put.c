/* SPDX-License-Identifier: MIT */
/* Elements of an entry as values of the event, or as what it is besides: see nvtx_frame.h. */
#include "nvtx_frame.h"
#include "nvtx_known.h"

#include <string.h>

/* ---- Keys and values ------------------------------------------------------------------------- */

uint32_t nvtx_path_put(struct nvtx_decoding *decoding, const char *text)
{
    uint32_t before = decoding->path_length;
    size_t length = strlen(text), room = sizeof(decoding->path) - before;
    if (length > room)
        length = room;
    memcpy(decoding->path + before, text, length);
    decoding->path_length += (uint32_t)length;
    return before;
}

uint32_t nvtx_path_put_number(struct nvtx_decoding *decoding, const char *before, uint64_t number,
                              const char *behind)
{
    char digits[24], *at = digits + sizeof(digits) - 1;
    uint32_t length = nvtx_path_put(decoding, before);
    *at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    nvtx_path_put(decoding, at);
    nvtx_path_put(decoding, behind);
    return length;
}

/* An entry without a name has its number. */
uint32_t nvtx_path_put_entry(struct nvtx_frame *frame, uint32_t index)
{
    const char *name = frame->schema->entries[index].name;
    if (*name)
        return nvtx_path_put(frame->decoding, name);
    return nvtx_path_put_number(frame->decoding, "", index, "");
}

/* Room for a value with the key of an entry, or NULL. The last place is the count's. */
static struct annot_value *add_value(struct nvtx_frame *frame, uint32_t index)
{
    struct nvtx_decoding *decoding = frame->decoding;
    const struct nvtx_entry *entry = &frame->schema->entries[index];
    if (entry->flags & NVTX_ENTRY_HIDE)
        return NULL;
    if (decoding->value_count >= NVTX_VALUES - 1) {
        decoding->left_out++;
        return NULL;
    }
    struct annot_value *value = &decoding->values[decoding->value_count];
    *value = annot_value_make(NULL, ANNOT_PAYLOAD_NONE);
    decoding->entries[decoding->value_count++] = entry;
    if (decoding->path_length == 0 && entry->key) {
        value->key_name = entry->key;
        return value;
    }
    uint32_t before = decoding->path_length;
    if (frame->level > 0 && frame->schema->type.count == 1 && before > 0)
        decoding->path_length--; /* the only thing of a struct is called as that is */
    else
        nvtx_path_put_entry(frame, index);
    struct nvtx_line line = nvtx_line_begin(decoding);
    nvtx_line_put(&line, decoding->path, decoding->path_length);
    value->key = nvtx_line_end(decoding, &line);
    decoding->path_length = before;
    return value;
}

static void set_number(struct annot_value *value, const struct annot_value *number)
{
    value->kind = number->kind;
    value->value = number->value;
}

static void set_text(struct annot_value *value, const char *text)
{
    value->kind = ANNOT_PAYLOAD_STRING;
    value->value.string = text;
}

/* ---- What an entry says about its event ------------------------------------------------------ */

static void take_time(struct nvtx_decoding *decoding, const struct nvtx_entry *entry, int64_t ticks)
{
    const struct nvtx_stamp stamp = {ticks, entry->has_time ? entry->time : 0, 1};
    switch (entry->flags & NVTX_ENTRY_ROLES) {
    case NVTX_ENTRY_RANGE_BEGIN:
        decoding->begin = stamp;
        return;
    case NVTX_ENTRY_RANGE_END:
        decoding->end = stamp;
        return;
    case NVTX_ENTRY_MARK:
        decoding->mark = stamp;
        return;
    default: /* the first is the begin, or the only one */
        if (!decoding->begin.is_there)
            decoding->begin = stamp;
        else
            decoding->end = stamp;
    }
}

static int is_time(const struct nvtx_entry *entry)
{
    uint64_t role = entry->flags & NVTX_ENTRY_ROLES;
    return (entry->flags & NVTX_ENTRY_TIMESTAMP) ||
           (role >= NVTX_ENTRY_RANGE_BEGIN && role <= NVTX_ENTRY_MARK);
}

/* Returns 1 if that is all there is to the entry. */
static int take_attribute(struct nvtx_decoding *decoding, const struct nvtx_entry *entry,
                          uint64_t bits)
{
    switch (entry->type) {
    case NVTX_TYPE_CATEGORY:
        decoding->category = (uint32_t)bits;
        return 1;
    case NVTX_TYPE_COLOR:
        decoding->color = (uint32_t)bits;
        return 1;
    case NVTX_TYPE_SCOPE:
        decoding->scope = bits;
        return 0;
    case NVTX_TYPE_RANGE_ID:
        decoding->range = bits;
        return 0;
    default:
        return 0;
    }
}

/* ---- Elements -------------------------------------------------------------------------------- */

static void put_text(struct nvtx_frame *frame, uint32_t index, const struct nvtx_place *place)
{
    struct nvtx_decoding *decoding = frame->decoding;
    int is_message = (frame->schema->entries[index].flags & NVTX_ENTRY_MESSAGE) != 0;
    struct annot_value *value = is_message ? NULL : add_value(frame, index);
    if (!is_message && !value)
        return;
    struct nvtx_line line = nvtx_line_begin(decoding);
    nvtx_line_text(&line, place->bytes, place->layout.size);
    const char *text = nvtx_line_end(decoding, &line);
    if (is_message)
        decoding->message = (struct nvtx_message){0, text};
    else
        set_text(value, text);
}

static void put_handle(struct nvtx_frame *frame, uint32_t index, uint64_t bits)
{
    nvtxStringHandle_t handle = nvtx_string_known((nvtxStringHandle_t)(uintptr_t)bits);
    const struct nvtx_message message = nvtx_message_registered(handle);
    if (frame->schema->entries[index].flags & NVTX_ENTRY_MESSAGE) {
        frame->decoding->message = message;
        return;
    }
    const char *text = nvtx_message_text(&message);
    struct annot_value *value = add_value(frame, index);
    if (!value)
        return;
    struct nvtx_line line = nvtx_line_begin(frame->decoding);
    nvtx_line_put(&line, text, strlen(text));
    set_text(value, nvtx_line_end(frame->decoding, &line));
}

/* Characters, addresses, wide integers, bytes: what has no kind of its own in annot. */
static void put_as_text(struct nvtx_frame *frame, uint32_t index, const struct nvtx_place *place)
{
    struct annot_value *value = add_value(frame, index);
    if (!value)
        return;
    uint64_t type = place->type;
    struct nvtx_line line = nvtx_line_begin(frame->decoding);
    uint64_t bits = place->layout.size <= 8 ? nvtx_bits_of(place->bytes.at, place->layout.size) : 0;
    if (place->layout.class == NVTX_CLASS_CHARACTER) {
        nvtx_line_character(&line, (uint32_t)bits);

    } else if (place->layout.class == NVTX_CLASS_SAID) {
        nvtx_line_enum(&line, (const struct nvtx_enum *)place->layout.type, bits);
    } else {

        nvtx_line_put(&line, "0x", 2);
        if (type == NVTX_TYPE_INT128 || type == NVTX_TYPE_UINT128)
            nvtx_line_hex(&line, nvtx_bits_of(place->bytes.at + 8, 8), 16);
        nvtx_line_hex(&line, nvtx_bits_of(place->bytes.at, place->layout.size < 8 ? 1 : 8),
                      place->layout.size < 8 ? 2 : 16);
    }
    set_text(value, nvtx_line_end(frame->decoding, &line));
}

static void put_scalar(struct nvtx_frame *frame, uint32_t index, const struct nvtx_place *place)
{
    const struct nvtx_entry *entry = &frame->schema->entries[index];
    struct annot_value number, *value;
    int is_number = nvtx_number_of(place->type, &place->layout, place->bytes.at, &number);
    if (is_number && is_time(entry)) {
        take_time(frame->decoding, entry, number.value.int64);
        if (frame->decoding->is_deferred)
            return;
    }
    if (place->type == NVTX_TYPE_STRING_HANDLE) {
        put_handle(frame, index, number.value.uint64);

    } else if (!is_number || place->layout.class == NVTX_CLASS_BYTE) {
        put_as_text(frame, index, place);
    } else if (!take_attribute(frame->decoding, entry, number.value.uint64) &&
               (value = add_value(frame, index))) {

        set_number(value, &number);
    }
}

static void put_array(struct nvtx_frame *frame, uint32_t index, const struct nvtx_place *place)
{
    if (place->layout.class == NVTX_CLASS_CHARACTER) {
        put_text(frame, index, place);
        return;
    }
    struct annot_value *value = add_value(frame, index);
    if (!value)
        return;
    struct nvtx_line line = nvtx_line_begin(frame->decoding);
    nvtx_line_array(&line, place->type, &place->layout, place->bytes);
    set_text(value, nvtx_line_end(frame->decoding, &line));
}

void nvtx_put_place(struct nvtx_frame *frame, uint32_t index, const struct nvtx_place *place)
{
    const struct nvtx_entry *entry = &frame->schema->entries[index];
    if (entry->keeps)
        frame->kept[entry->keeps - 1] = nvtx_product_of(place->type, &place->layout, place->bytes);
    if (place->layout.class == NVTX_CLASS_TEXT)
        put_text(frame, index, place);
    else if (place->is_array)
        put_array(frame, index, place);
    else if (place->count > 0)
        put_scalar(frame, index, place);
}
