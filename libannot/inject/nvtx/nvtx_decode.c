/* SPDX-License-Identifier: MIT */
/* See nvtx_decode.h. A schema is walked entry by entry: find an entry's elements, add them as
 * values. */
#include "nvtx_decode.h"

#include "nvtx_extension.h"
#include "nvtx_line.h"
#include "nvtx_next.h"

#include <annot_barrier.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* A schema during its walk. */
struct nvtx_frame {
    struct nvtx_decoding *decoding;
    const struct nvtx_schema *schema;
    struct nvtx_bytes bytes;
    uint64_t cursor, end; /* end of the last entry; the farthest end */
    uint32_t level;
    uint64_t kept[NVTX_SLOTS]; /* values that other entries use as lengths */
};

/* An entry's elements. */
struct nvtx_place {
    uint64_t type; /* the entry's, or the inner type after unwrapping structs of a single number */
    struct nvtx_layout layout;
    struct nvtx_bytes bytes; /* all of them, if they are of one size */
    uint64_t count;
    int is_array;
};

/* ---- Memory of elements ---------------------------------------------------------------------- */

/* Copies up to `size` bytes of this process, which may be unmapped: whole pages of them. */
static struct nvtx_bytes nvtx_copy_memory(struct nvtx_decoding *decoding, uint64_t address,
                                          size_t size)
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

/* Keeps a copy that find_place made. */
static void nvtx_keep_copy(struct nvtx_decoding *decoding, struct nvtx_bytes bytes)
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

/* Follows a pointer: returns the rest of a payload of this event, else at most `size` bytes. */
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

/* Returns the rest from an offset on; NULL if it is outside. */
static struct nvtx_bytes nvtx_bytes_from(struct nvtx_bytes bytes, uint64_t offset)
{
    if (offset > bytes.size)
        return (struct nvtx_bytes){NULL, 0};
    return (struct nvtx_bytes){bytes.at + offset, bytes.size - (size_t)offset};
}

/* Resolves an entry that holds an address or an offset, to its first byte. */
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

/* ---- Number of elements ---------------------------------------------------------------------- */

/* Returns the product of integers; negative ones count as 0. */
static uint64_t nvtx_product_of(uint64_t type, const struct nvtx_layout *layout,
                                struct nvtx_bytes bytes)
{
    uint64_t product = 1;
    struct annot_value value;
    size_t at = 0;
    for (; layout->size && bytes.size - at >= layout->size; at += layout->size) {
        if (layout->class == NVTX_CLASS_GIVEN)
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

/* Returns a length from another payload: by its type, or the first entry of its schema. */
static uint64_t length_in_blob(const struct nvtx_decoding *decoding, uint64_t index)
{
    if (index >= decoding->blob_count || !decoding->blobs[index].bytes)
        return 0;
    const struct nvtx_blob_given *blob = &decoding->blobs[index];
    struct nvtx_bytes bytes = {blob->bytes, blob->size == SIZE_MAX ? 0 : blob->size};
    struct nvtx_layout layout = nvtx_layout_of(decoding->domain, blob->schema);
    uint64_t type = blob->schema;
    if (layout.class == NVTX_CLASS_GIVEN && layout.type->type) {
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
        if (layout.class == NVTX_CLASS_GIVEN)
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

/* Returns the number of elements of an entry; UINT64_MAX: up to a zero. */
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

/* ---- Places of elements ---------------------------------------------------------------------- */

/* Cuts an entry's elements to the available bytes. */
static void bound_place(struct nvtx_frame *frame, struct nvtx_place *place)
{
    uint64_t size = place->layout.size;
    if (size == 0) /* variable size */
        return;
    if (place->count == UINT64_MAX)
        place->count = count_to_zero(place->bytes, size);
    if (place->count > place->bytes.size / size) {
        place->count = place->bytes.size / size;
        frame->decoding->left_out++;
    }
    place->bytes.size = (size_t)(place->count * size);
}

/* True for a NULL text, which is shown as "(null)" as in all of annot. */
static int is_null_text(const struct nvtx_frame *frame, const struct nvtx_entry *entry,
                        const struct nvtx_place *place, uint64_t offset)
{
    const uint64_t offsets = NVTX_ENTRY_OFFSET_FROM_BASE | NVTX_ENTRY_OFFSET_FROM_HERE;
    return place->layout.class == NVTX_CLASS_TEXT && place->layout.size == 1 &&
           !(entry->flags & offsets) &&
           nvtx_bits_of(frame->bytes.at + offset, NVTX_POINTER_SIZE) == 0;
}

/* Finds an entry's elements and moves the cursor past it. Returns 0 if they cannot be found. */
static int nvtx_find_place(struct nvtx_frame *frame, uint32_t index, struct nvtx_place *place)
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
    uint64_t given = place->count, size;
    bound_place(frame, place);
    if (given == UINT64_MAX) /* up to a zero, which is skipped as well */
        given = place->count + 1;
    if (__builtin_mul_overflow(given, place->layout.size, &size) ||
        __builtin_add_overflow(offset, size, &frame->cursor))
        frame->cursor = UINT64_MAX;
    return 1;
}

/* ---- Keys and values ------------------------------------------------------------------------- */

/* Keys begin with the path; each function returns its former length. */
static uint32_t nvtx_path_put(struct nvtx_decoding *decoding, const char *text)
{
    uint32_t before = decoding->path_length;
    size_t length = strlen(text), room = sizeof(decoding->path) - before;
    if (length > room)
        length = room;
    memcpy(decoding->path + before, text, length);
    decoding->path_length += (uint32_t)length;
    return before;
}

static uint32_t nvtx_path_put_number(struct nvtx_decoding *decoding, const char *before,
                                     uint64_t number, const char *behind)
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

/* An unnamed entry uses its index. */
static uint32_t nvtx_path_put_entry(struct nvtx_frame *frame, uint32_t index)
{
    const char *name = frame->schema->entries[index].name;
    if (*name)
        return nvtx_path_put(frame->decoding, name);
    return nvtx_path_put_number(frame->decoding, "", index, "");
}

/* Returns room for a value with the key of an entry, or NULL. The last one is the count's. */
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
        decoding->path_length--; /* the only entry of a struct uses the struct's name */
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

/* ---- Entries that describe the event --------------------------------------------------------- */

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

/* Returns 1 if the entry is only an attribute. */
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

/* ---- Values of elements ---------------------------------------------------------------------- */

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

/* Characters, addresses, wide integers, bytes: types without a kind in annot. */
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

    } else if (place->layout.class == NVTX_CLASS_GIVEN) {
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

/* Adds elements that are not structs. */
static void nvtx_put_place(struct nvtx_frame *frame, uint32_t index, const struct nvtx_place *place)
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

/* ---- Schemas --------------------------------------------------------------------------------- */

/* Walks a schema entry by entry; an entry without an offset follows the one before it. */

static size_t walk(struct nvtx_decoding *decoding, const struct nvtx_schema *schema,
                   struct nvtx_bytes bytes, uint32_t level);

static size_t walk_union(struct nvtx_frame *frame, const struct nvtx_schema *schema,
                         struct nvtx_bytes bytes, uint64_t selected);

/* Adds one or several structs. Returns the end of the last one. */
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

/* A struct of a single number is treated as the number, as in Python's package for NVTX. */
static void unwrap(const struct nvtx_decoding *decoding, struct nvtx_place *place)
{
    for (uint32_t i = 0; i < NVTX_LEVELS && place->layout.class == NVTX_CLASS_GIVEN; i++) {
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

/* Adds elements of any type. */
static void nvtx_walk_place(struct nvtx_frame *frame, uint32_t index, struct nvtx_place *place)
{
    unwrap(frame->decoding, place);
    const struct nvtx_entry *entry = &frame->schema->entries[index];
    int is_struct = place->layout.class == NVTX_CLASS_GIVEN && place->layout.type->type != 0;
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

/* Returns 0 if the next entry cannot be found. */
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
        return frame->cursor > before; /* an unreadable pointer is skipped */
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

/* The selecting entry never selects itself. */
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

/* ---- Places of decodings --------------------------------------------------------------------- */

enum { PLACES = 64 };

static struct nvtx_decoding places[PLACES];

/* The threads that had taken them do not exist in the child. */
static void in_child(void)
{
    for (uint32_t i = 0; i < PLACES; i++)
        annot_store_relaxed(&places[i].is_taken, 0);
}

__attribute__((constructor)) static void set_up(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

/* Threads start the search at different buffers. */
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

struct nvtx_decoding *nvtx_decoding_take(annot_domain domain, const struct nvtx_blob_given *blobs,
                                         size_t count)
{
    const struct nvtx_stamp never = {0};
    struct nvtx_decoding *decoding = take_place();
    if (!decoding)
        return NULL;
    /* One by one: a compiler makes that a few wide stores, a memset a slow instruction. */
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

/* Decodes a payload without a schema, as the only entry of a temporary one. */
static void decode_plain(struct nvtx_decoding *decoding, const struct nvtx_blob_given *blob,
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
    /* The entry is invalid after this frame. */
    for (uint32_t i = 0; i < decoding->value_count; i++)
        if (decoding->entries[i] == entry)
            decoding->entries[i] = NULL;
}

/* Returns 0 if the schema needs the full walk. */
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

static void decode_blob(struct nvtx_decoding *decoding, const struct nvtx_blob_given *blob)
{
    uint64_t type = blob->schema == NVTX_BLOB_RAW ? NVTX_TYPE_BYTE : blob->schema;
    const struct nvtx_type *given = nvtx_registry_find(NVTX_OBJECT_TYPE, decoding->domain, type);
    if (type == NVTX_BLOB_REFERENCED || blob->size == 0)
        return;
    if (given && given->type && blob->bytes && blob->size != SIZE_MAX) {
        decode_struct(decoding, (const struct nvtx_schema *)given,
                      (struct nvtx_bytes){blob->bytes, blob->size});
        return;
    }
    struct nvtx_layout layout = nvtx_layout_of(decoding->domain, type);
    if (layout.class == NVTX_CLASS_NONE || !blob->bytes || (given && given->type) ||
        (blob->size == SIZE_MAX && layout.class != NVTX_CLASS_TEXT)) {
        decoding->left_out++;
        return;
    }
    const struct nvtx_blob_given plain = {type, blob->size, blob->bytes};
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

/* With several payloads, keys begin with the schema's name, else the payload's number. */
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
