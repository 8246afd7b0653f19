/* SPDX-License-Identifier: MIT */
/* Messages of spans, those of one process below what is known of it as a resource. */
#include "otlp_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of TracesData, ResourceSpans, ScopeSpans and InstrumentationScope. */
static const struct otlp_field traces_data = {0, NULL}, resource_spans = {1, "resourceSpans"},
                               resource = {1, "resource"}, attributes = {1, "attributes"},
                               scope_spans = {2, "scopeSpans"}, scope = {1, "scope"},
                               scope_name = {1, "name"}, scope_version = {2, "version"},
                               spans = {2, "spans"};

int otlp_batches_init(struct otlp_batches *batches, const struct export_job *job, bool json)
{
    const struct trace *trace = job->source->trace;
    *batches = (struct otlp_batches){.trace = trace, .out = job->out};
    batches->process_count = trace_process_count(trace);
    batches->items = calloc(batches->process_count + 1ul, sizeof(*batches->items));
    batches->service = export_service(job);
    int error = otlp_writer_init(&batches->message, json);
    return batches->items && batches->service ? error : -ENOMEM;
}

void otlp_batches_fini(struct otlp_batches *batches)
{
    for (uint32_t i = 0; batches->items && i <= batches->process_count; i++)
        free(batches->items[i].bytes);
    free(batches->items);
    free(batches->service);
    otlp_writer_fini(&batches->message);
    *batches = (struct otlp_batches){0};
}

/* ---- Resources ------------------------------------------------------------------------------- */

static void put_text(struct otlp_batches *batches, const char *key, uint32_t string)
{
    if (string)
        otlp_text_fact(&batches->message, key, trace_string(batches->trace, string)->bytes);
}

static void put_number(struct otlp_batches *batches, const char *key, int64_t number)
{
    if (number > 0)
        otlp_int_fact(&batches->message, key, number);
}

static void put_process(struct otlp_batches *batches, uint32_t number)
{
    const struct trace_process *process = trace_process_get(batches->trace, number);
    char text[EXPORT_LABEL_SIZE];
    snprintf(text, sizeof(text), "%016" PRIx64, process->identity);
    otlp_text_fact(&batches->message, "service.instance.id", text);
    put_number(batches, "process.pid", process->pid);
    put_number(batches, "process.parent_pid", process->ppid);
    put_text(batches, "process.executable.name", process->comm);
    put_text(batches, "process.command_line", process->cmdline);
    trace_process_label(batches->trace, number, text, sizeof(text));
    otlp_text_fact(&batches->message, "process.title", text);
}

static void put_host(struct otlp_batches *batches, uint32_t number)
{
    const struct trace_session *session = trace_session_get(batches->trace);
    const struct trace_host *host = trace_host_get(batches->trace, number);
    put_text(batches, "host.name", host && host->name ? host->name : session->hostname);
}

static void put_resource(struct otlp_batches *batches, uint32_t number)
{
    bool known = number < batches->process_count;
    otlp_begin(&batches->message, &resource);
    otlp_list(&batches->message, &attributes);
    otlp_text_fact(&batches->message, "service.name", batches->service);
    if (known)
        put_process(batches, number);
    put_host(batches, known ? trace_process_get(batches->trace, number)->host : 0);
    otlp_text_fact(&batches->message, "os.type", "linux");
    otlp_end(&batches->message);
    otlp_end(&batches->message);
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void put_scope(struct otlp_batches *batches)
{
    const struct trace_session *session = trace_session_get(batches->trace);
    otlp_begin(&batches->message, &scope);
    otlp_text(&batches->message, &scope_name, "annot");
    if (session->annot_version)
        otlp_text(&batches->message, &scope_version,
                  trace_string(batches->trace, session->annot_version)->bytes);
    otlp_end(&batches->message);
}

/* Into the message, which is begun if it was not. */
static void put_batch(struct otlp_batches *batches, uint32_t process)
{
    struct otlp_batch *batch = &batches->items[process];
    struct otlp_writer *w = &batches->message;
    if (w->depth == 0) {
        otlp_restart(w);
        otlp_begin(w, &traces_data);
        otlp_list(w, &resource_spans);
    }
    otlp_item(w);
    put_resource(batches, process);
    otlp_list(w, &scope_spans);
    otlp_item(w);
    put_scope(batches);
    otlp_list(w, &spans);
    otlp_items(w, batch->bytes, batch->size);
    for (int i = 0; i < 4; i++) /* spans, ScopeSpans, their list, ResourceSpans */
        otlp_end(w);
    batches->held -= batch->size;
    batch->size = 0;
}

/* If there is one. */
static int send(struct otlp_batches *batches)
{
    struct otlp_writer *w = &batches->message;
    size_t size;
    if (w->depth == 0)
        return 0;
    while (w->depth > 0)
        otlp_end(w);
    const uint8_t *bytes = otlp_bytes(w, &size);
    if (otlp_error(w))
        return -ENOMEM;
    out_write(batches->out, bytes, size);
    if (w->json)
        out_text(batches->out, "\n");
    out_flush(batches->out);
    return 0;
}

static int append(struct otlp_batch *batch, const void *bytes, size_t size)
{
    if (vec_grow((void **)&batch->bytes, &batch->capacity, batch->size + size, 1) != 0)
        return -ENOMEM;
    memcpy(batch->bytes + batch->size, bytes, size);
    batch->size += size;
    return 0;
}

int otlp_batches_add(struct otlp_batches *batches, uint32_t process, const void *bytes, size_t size)
{
    uint32_t number = process < batches->process_count ? process : batches->process_count;
    struct otlp_batch *batch = &batches->items[number];
    bool comma = batches->message.json && batch->size > 0;
    if ((comma && append(batch, ",", 1) != 0) || append(batch, bytes, size) != 0)
        return -ENOMEM;
    batches->held += comma + size;
    if (batch->size >= OTLP_BATCH_SIZE) {
        put_batch(batches, number);
        return send(batches);
    }
    return batches->held < OTLP_BATCHES_SIZE ? 0 : otlp_batches_finish(batches);
}

int otlp_batches_finish(struct otlp_batches *batches)
{
    int error = 0;
    for (uint32_t i = 0; i <= batches->process_count && !error; i++) {
        size_t size;
        if (batches->items[i].size == 0)
            continue;
        put_batch(batches, i);
        otlp_bytes(&batches->message, &size);
        error = size >= OTLP_BATCH_SIZE ? send(batches) : 0;
    }
    return error ? error : send(batches);
}
