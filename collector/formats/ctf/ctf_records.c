/* SPDX-License-Identifier: MIT */
/* See ctf_parts.h. Numbers are little-endian as the metadata says, which is how this machine has
 * them; nothing is aligned. Thread-safety: none. */
#include "ctf_parts.h"

#include "call_label.h"
#include "varint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* For the sort; what is open until the end, or a wait, is told long before or behind its time. */
enum { SORT_BYTES = 96 << 20 };

/* Times so far out have no sum with the clock's offset. */
#define TIME_MAX_NS (INT64_MAX / 4)

/* A piece begins with a number of variable length: what it is, and above that how many bytes
 * follow, the string, the thread (thread_count: none) and the event, the field of 64 bits, which
 * part, or how many events were lost. */
enum piece {
    PIECE_PLAIN = 0,
    PIECE_STRING = 1,
    PIECE_BEGIN = 2,
    PIECE_UINT64 = 3,
    PIECE_KNOWN = 4,
    PIECE_LOST = 5,
};

enum {
    PIECE_BITS = 3,
    PIECE_MASK = (1 << PIECE_BITS) - 1,
    PLAIN_MAX = 0x7f >> PIECE_BITS,
    EVENT_BITS = 4,
    EVENT_MASK = (1 << EVENT_BITS) - 1,
};

#define LOST_MAX (UINT64_MAX >> PIECE_BITS)

/* Of fields that many records have. */
enum { KNOWN_MAX = 1 << 16, KNOWN_BYTES_MAX = 16 << 20 };

int ctf_records_init(struct ctf_records *records, const struct trace *trace)
{
    *records = (struct ctf_records){.trace = trace};
    records->thread_count = trace_thread_count(trace);
    records->contexts = calloc(records->thread_count + 1u, sizeof(*records->contexts));
    records->sorter = sorter_create(NULL, SORT_BYTES);
    records->made = out_stream_memory();
    return records->contexts && records->sorter && records->made ? 0 : -ENOMEM;
}

void ctf_records_fini(struct ctf_records *records)
{
    for (uint32_t i = 0; records->contexts && i <= records->thread_count; i++)
        vec_free(&records->contexts[i]);
    free(records->contexts);
    for (size_t i = 0; i < records->known.count; i++)
        vec_free(&records->known.items[i]);
    vec_free(&records->known);
    wide_map_free(&records->known_numbers);
    vec_free(&records->pieces);
    sorter_destroy(records->sorter);
    out_stream_abandon(records->made);
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static bool has_room(struct ctf_records *records, size_t size)
{
    if (vec_reserve(&records->pieces, VARINT_MAX + size) == 0 && records->pieces.items)
        return true;
    records->error = records->error ? records->error : -ENOMEM;
    return false;
}

static void put_number(struct ctf_records *records, enum piece piece, uint64_t number)
{
    if (!has_room(records, 0))
        return;
    uint8_t *at = records->pieces.items + records->pieces.count;
    at = varint_put(at, number << PIECE_BITS | piece);
    records->pieces.count = (size_t)(at - records->pieces.items);
    records->plain = 0;
}

/* Small ones that come together are one piece. */
static void put(struct ctf_records *records, const void *bytes, size_t size)
{
    if (!has_room(records, size))
        return;
    uint8_t *head = records->plain ? records->pieces.items + records->plain - 1 : NULL;
    if (head && (*head >> PIECE_BITS) + size <= PLAIN_MAX) {
        *head = (uint8_t)(*head + (size << PIECE_BITS));
    } else {
        size_t begin = records->pieces.count;
        put_number(records, PIECE_PLAIN, size);
        records->plain = size <= PLAIN_MAX ? begin + 1 : 0;
    }
    memcpy(records->pieces.items + records->pieces.count, bytes, size);
    records->pieces.count += size;
}

void ctf_put_uint8(struct ctf_records *records, uint8_t value)
{
    put(records, &value, sizeof(value));
}

void ctf_put_uint32(struct ctf_records *records, uint32_t value)
{
    put(records, &value, sizeof(value));
}

void ctf_put_uint64(struct ctf_records *records, uint64_t value)
{
    if (value <= UINT64_MAX >> PIECE_BITS)
        put_number(records, PIECE_UINT64, value);
    else
        put(records, &value, sizeof(value));
}

void ctf_put_text(struct ctf_records *records, const char *text, size_t length)
{
    if (length)
        put(records, text, length);
    else
        ctf_put_string(records, 0);
    if (length)
        put(records, "", 1);
}

void ctf_put_string(struct ctf_records *records, uint32_t string)
{
    put_number(records, PIECE_STRING, string);
}

void ctf_put_made(struct ctf_records *records)
{
    size_t length;
    const uint8_t *bytes = out_stream_memory_bytes(records->made, &length);
    if (out_error(records->made))
        records->error = out_error(records->made);
    ctf_put_text(records, (const char *)bytes, length);
    out_stream_memory_reset(records->made);
}

/* ---- Who it is of ---------------------------------------------------------------------------- */

static int add(ctf_bytes *to, const void *bytes, size_t size)
{
    if (!bytes)
        return 0;
    if (vec_reserve(to, size) != 0 || !to->items)
        return -ENOMEM;
    memcpy(to->items + to->count, bytes, size);
    to->count += size;
    return 0;
}

/* Texts of recordings are UTF-8 without NUL. An empty one is written as "-": in its place
 * babeltrace2 2.0 prints one of an event before. */
static int add_text(ctf_bytes *to, const char *text, size_t length)
{
    return length ? add(to, text, length + 1) : add(to, "-", sizeof("-"));
}

static uint32_t host_name(const struct trace *trace, const struct trace_process *process)
{
    const struct trace_host *host = process ? trace_host_get(trace, process->host) : NULL;
    return host && host->name ? host->name : trace_session_get(trace)->hostname;
}

static int add_context(const struct trace *trace, uint32_t process, uint32_t thread, ctf_bytes *to)
{
    const struct trace_process *of = trace_process_get(trace, process);
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    const struct trace_string *host = trace_string(trace, host_name(trace, of));
    const int32_t ids[] = {of ? of->pid : 0, entry ? entry->tid : 0};
    char label[CALL_LABEL_SIZE] = "annot";
    int error = add_text(to, host->bytes, host->length);
    if (!error)
        error = add(to, ids, sizeof(ids));
    if (of)
        trace_process_label(trace, process, label, sizeof(label));
    if (!error)
        error = add_text(to, label, strlen(label));
    label[0] = '\0';
    if (entry)
        trace_thread_label(trace, thread, label, sizeof(label));
    return error ? error : add_text(to, label, strlen(label));
}

static void begin(struct ctf_records *records)
{
    records->pieces.count = records->plain = 0;
}

void ctf_begin_process(struct ctf_records *records, enum ctf_event event, uint32_t process)
{
    ctf_bytes context = {0};
    begin(records);
    ctf_put_uint8(records, (uint8_t)event);
    if (add_context(records->trace, process, UINT32_MAX, &context) == 0)
        put(records, context.items, context.count);
    else
        records->error = -ENOMEM;
    vec_free(&context);
}

void ctf_begin(struct ctf_records *records, enum ctf_event event, uint32_t thread)
{
    uint32_t number = thread < records->thread_count ? thread : records->thread_count;
    ctf_bytes *context = &records->contexts[number];
    begin(records);
    if (!context->count) {
        const struct trace_thread *entry = trace_thread_get(records->trace, number);
        if (add_context(records->trace, entry ? entry->process : UINT32_MAX, number, context) != 0)
            records->error = -ENOMEM;
    }
    put_number(records, PIECE_BEGIN, (uint64_t)number << EVENT_BITS | event);
}

void ctf_end(struct ctf_records *records, int64_t time_ns, uint64_t lost)
{
    int64_t after_ns = time_ns <= records->origin_ns                 ? 0
                       : time_ns >= records->origin_ns + TIME_MAX_NS ? TIME_MAX_NS
                                                                     : time_ns - records->origin_ns;
    if (lost) /* as many as nobody counts */
        put_number(records, PIECE_LOST, lost < LOST_MAX ? lost : LOST_MAX);
    if (records->pieces.count > UINT32_MAX)
        records->error = -EMSGSIZE;
    if (!records->error)
        records->error = sorter_add(records->sorter, (struct sorter_key){after_ns, 0, 0},
                                    records->pieces.items, (uint32_t)records->pieces.count);
}

/* ---- As the trace has it --------------------------------------------------------------------- */

static int spell_begin(const struct ctf_records *records, uint64_t number, ctf_bytes *bytes)
{
    const ctf_bytes *context = &records->contexts[number >> EVENT_BITS];
    const uint8_t event = number & EVENT_MASK;
    int error = add(bytes, &event, sizeof(event));
    return error ? error : add(bytes, context->items, context->count);
}

static int spell_piece(const struct ctf_records *records, enum piece piece, uint64_t number,
                       ctf_bytes *bytes)
{
    const struct trace_string *text;
    switch (piece) {
    case PIECE_STRING:
        text = trace_string(records->trace, (uint32_t)number);
        return add_text(bytes, text->bytes, text->length);
    case PIECE_BEGIN:
        return spell_begin(records, number, bytes);
    case PIECE_UINT64:
        return add(bytes, &number, sizeof(number));
    case PIECE_KNOWN:
        return add(bytes, records->known.items[number].items, records->known.items[number].count);
    default:
        return 0;
    }
}

int ctf_spell_out(const struct ctf_records *records, const void *pieces, uint32_t size,
                  ctf_bytes *bytes, uint64_t *ret_lost)
{
    struct varint_reader reader = {pieces, (const uint8_t *)pieces + size};
    int error = 0;
    *ret_lost = 0;
    while (!error && reader.at < reader.end) {
        uint64_t word = varint_get(&reader), number = word >> PIECE_BITS;
        enum piece piece = (enum piece)(word & PIECE_MASK);
        if (piece == PIECE_PLAIN) {
            error = add(bytes, reader.at, number);
            reader.at += number;
        } else if (piece == PIECE_LOST) {
            *ret_lost = number;
        } else {
            error = spell_piece(records, piece, number, bytes);
        }
    }
    return error;
}

/* ---- What many have -------------------------------------------------------------------------- */

bool ctf_put_known(struct ctf_records *records, const struct wide_key *key)
{
    const uint64_t *number = wide_map_find(&records->known_numbers, key);
    records->part = records->pieces.count;
    records->plain = 0;
    if (number)
        put_number(records, PIECE_KNOWN, *number);
    return number;
}

void ctf_keep(struct ctf_records *records, const struct wide_key *key)
{
    ctf_bytes part = {0};
    uint64_t lost, number = records->known.count;
    if (number >= KNOWN_MAX || records->known_bytes >= KNOWN_BYTES_MAX || records->error)
        return;
    int error = ctf_spell_out(records, records->pieces.items + records->part,
                              (uint32_t)(records->pieces.count - records->part), &part, &lost);
    if (error || vec_push(&records->known, part) != 0) {
        vec_free(&part);
        records->error = -ENOMEM;
        return;
    }
    if (wide_map_put(&records->known_numbers, key, number) != 0)
        records->error = -ENOMEM;
    records->known_bytes += part.capacity;
    records->pieces.count = records->part;
    put_number(records, PIECE_KNOWN, number);
}
