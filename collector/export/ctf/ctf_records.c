/* SPDX-License-Identifier: MIT */
/* See ctf_parts.h. Numbers are little-endian as the metadata says, which is how this machine has
 * them; nothing is aligned. Thread-safety: none. */
#include "ctf_parts.h"

#include "call_label.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* For the sort; what is open until the end, or a wait, is told long before or behind its time. */
enum { SORT_BYTES = 64 << 20, MADE_KEPT = 1 << 20 };

/* Times so far out have no sum with the clock's offset. */
#define TIME_MAX_NS (INT64_MAX / 4)

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
        free(records->contexts[i].bytes);
    free(records->contexts);
    vec_free(&records->bytes);
    sorter_destroy(records->sorter);
    out_stream_abandon(records->made);
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static void put(struct ctf_records *records, const void *bytes, size_t size)
{
    if (vec_reserve(&records->bytes, size) != 0) {
        records->error = records->error ? records->error : -ENOMEM;
        return;
    }
    memcpy(records->bytes.items + records->bytes.count, bytes, size);
    records->bytes.count += size;
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
    put(records, &value, sizeof(value));
}

/* Texts of recordings are UTF-8 without NUL. An empty one is written as "-": in its place
 * babeltrace2 2.0 prints one of an event before. */
void ctf_put_text(struct ctf_records *records, const char *text, size_t length)
{
    put(records, length ? text : "-", length ? length : 1);
    put(records, "", 1);
}

void ctf_put_string(struct ctf_records *records, uint32_t string)
{
    const struct trace_string *text = trace_string(records->trace, string);
    ctf_put_text(records, text->bytes, text->length);
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

static uint32_t host_name(const struct trace *trace, const struct trace_process *process)
{
    const struct trace_host *host = process ? trace_host_get(trace, process->host) : NULL;
    return host && host->name ? host->name : trace_session_get(trace)->hostname;
}

static void put_context(struct ctf_records *records, uint32_t process, uint32_t thread)
{
    const struct trace *trace = records->trace;
    const struct trace_process *of = trace_process_get(trace, process);
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    char label[CALL_LABEL_SIZE] = "annot";
    ctf_put_string(records, host_name(trace, of));
    ctf_put_uint32(records, of ? (uint32_t)of->pid : 0);
    ctf_put_uint32(records, entry ? (uint32_t)entry->tid : 0);
    if (of)
        trace_process_label(trace, process, label, sizeof(label));
    ctf_put_text(records, label, strlen(label));
    label[0] = '\0';
    if (entry)
        trace_thread_label(trace, thread, label, sizeof(label));
    ctf_put_text(records, label, strlen(label));
}

static void begin(struct ctf_records *records, enum ctf_event event)
{
    records->bytes.count = 0;
    ctf_put_uint64(records, 0); /* lost */
    ctf_put_uint8(records, (uint8_t)event);
}

void ctf_begin_process(struct ctf_records *records, enum ctf_event event, uint32_t process)
{
    begin(records, event);
    put_context(records, process, UINT32_MAX);
}

void ctf_begin(struct ctf_records *records, enum ctf_event event, uint32_t thread)
{
    const struct trace_thread *entry = trace_thread_get(records->trace, thread);
    struct ctf_context *context =
        &records
             ->contexts[entry && thread < records->thread_count ? thread : records->thread_count];
    begin(records, event);
    if (context->bytes) {
        put(records, context->bytes, context->size);
        return;
    }
    size_t head = records->bytes.count;
    put_context(records, entry ? entry->process : UINT32_MAX, thread);
    context->size = records->bytes.count - head;
    context->bytes = malloc(context->size);
    if (context->bytes)
        memcpy(context->bytes, records->bytes.items + head, context->size);
}

void ctf_end(struct ctf_records *records, int64_t time_ns, uint64_t lost)
{
    int64_t after_ns = time_ns <= records->origin_ns                 ? 0
                       : time_ns >= records->origin_ns + TIME_MAX_NS ? TIME_MAX_NS
                                                                     : time_ns - records->origin_ns;
    if (records->error)
        return;
    memcpy(records->bytes.items, &lost, sizeof(lost));
    if (records->bytes.count > UINT32_MAX) {
        records->error = -EMSGSIZE;
        return;
    }
    records->error = sorter_add(records->sorter, (struct sorter_key){after_ns, 0, 0},
                                records->bytes.items, (uint32_t)records->bytes.count);
}
