/* SPDX-License-Identifier: MIT */
/* The processes and threads on the page: the most active ones, in display order. */
#include "page_owners.h"

#include "page_calls.h"
#include "page_data.h"
#include "page_model.h"
#include "report_samples.h"

#include "trace.h"

#include <errno.h>
#include <stdlib.h>

enum { LABEL_SIZE = 512 };

/* ---- Selection ------------------------------------------------------------------------------- */

struct activity {
    uint64_t value;
    uint32_t thread;
};

static int most_first(const void *left, const void *right)
{
    const struct activity *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    return a->thread < b->thread ? -1 : 1;
}

/* Sets shown threads to 0, the others to PAGE_NONE. */
static int choose_threads(struct page *page)
{
    uint32_t count = trace_thread_count(page->trace);
    const struct sample_stats *samples = report_facts(page->report)->samples;
    struct activity *items = calloc((size_t)count + 1, sizeof(*items));
    page->thread_index = calloc((size_t)count + 1, sizeof(*page->thread_index));
    page->process_index =
        calloc((size_t)trace_process_count(page->trace) + 1, sizeof(*page->process_index));
    bool made = items && page->thread_index && page->process_index;
    for (uint32_t i = 0; i < count && made; i++) {
        const struct thread_share *share = &samples->threads[i];
        items[i].thread = i;
        items[i].value = share->cpu_ns * 16 + share->blocked_ns + share->runnable_ns +
                         trace_thread_get(page->trace, i)->event_count;
    }
    if (made && count > 0)
        qsort(items, count, sizeof(*items), most_first);
    for (uint32_t i = 0; i < count && made; i++)
        if (i >= PAGE_OWNERS_MAX ||
            !pass_selects_thread(page->options.report.selection, items[i].thread))
            page->thread_index[items[i].thread] = PAGE_NONE;
    free(items);
    return made ? 0 : -ENOMEM;
}

/* Marks processes of shown threads, and their ancestors. */
static void choose_processes(struct page *page)
{
    uint32_t count = trace_process_count(page->trace);
    for (uint32_t i = 0; i < count; i++)
        page->process_index[i] = PAGE_NONE;
    for (uint32_t i = 0; i < trace_thread_count(page->trace); i++) {
        if (page->thread_index[i] == PAGE_NONE)
            continue;
        int64_t at = trace_thread_get(page->trace, i)->process;
        for (; at >= 0 && page->process_index[at] == PAGE_NONE;
             at = trace_process_get(page->trace, (uint32_t)at)->parent)
            page->process_index[at] = 0;
    }
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_process(const struct page *page, struct json_doc *doc, uint32_t ordinal)
{
    const struct trace_process *process = trace_process_get(page->trace, ordinal);
    const struct trace_session *session = trace_session_get(page->trace);
    char label[LABEL_SIZE];
    int64_t begin_ns = process->start_ns ? process->start_ns : session->begin_ns;
    int64_t end_ns = process->end != PROCESS_RUNNING && process->end_ns
                         ? process->end_ns
                         : page->span.begin_ns + (int64_t)page->span.length_ns;
    json_doc_object(doc, NULL);
    trace_process_label(page->trace, ordinal, label, sizeof(label));
    page_put_text(page, doc, "name", label);
    json_doc_int(doc, "pid", process->pid);
    json_doc_int(doc, "parent",
                 process->parent < 0 ? -1 : (int)page->process_index[process->parent]);
    json_doc_int(doc, "begin", page_since_begin(page, begin_ns));
    json_doc_int(doc, "end", page_since_begin(page, end_ns));
    trace_process_end_label(page->trace, ordinal, label, sizeof(label));
    page_put_text(page, doc, "ended", label);
    json_doc_close(doc);
}

static int put_processes(struct page *page, struct json_doc *doc)
{
    uint32_t count = trace_process_count(page->trace), shown = 0;
    uint32_t *order = calloc((size_t)count + 1, sizeof(*order));
    int error = order ? trace_process_order(page->trace, order) : -ENOMEM;
    for (uint32_t i = 0; i < count && !error; i++)
        if (page->process_index[order[i]] != PAGE_NONE)
            page->process_index[order[i]] = shown++;
    json_doc_array(doc, "processes");
    for (uint32_t i = 0; i < count && !error; i++)
        if (page->process_index[order[i]] != PAGE_NONE)
            put_process(page, doc, order[i]);
    json_doc_close(doc);
    free(order);
    return error;
}

static void put_thread(const struct page *page, struct json_doc *doc, uint32_t ordinal)
{
    const struct trace_thread *thread = trace_thread_get(page->trace, ordinal);
    const struct trace_process *process = trace_process_get(page->trace, thread->process);
    const struct report_facts *facts = report_facts(page->report);
    const struct thread_share *share = &facts->samples->threads[ordinal];
    char label[LABEL_SIZE];
    int64_t begin_ns = thread->first_ns ? thread->first_ns : process->start_ns;
    int64_t end_ns = thread->last_ns ? thread->last_ns : process->end_ns;
    json_doc_object(doc, NULL);
    trace_thread_label(page->trace, ordinal, label, sizeof(label));
    page_put_text(page, doc, "name", label);
    json_doc_int(doc, "tid", thread->tid);
    json_doc_uint(doc, "process", page->process_index[thread->process]);
    page_role_name(page->trace, ordinal, label, sizeof(label));
    page_put_text(page, doc, "role", label);
    json_doc_int(doc, "begin", page_since_begin(page, begin_ns));
    json_doc_int(doc, "end",
                 end_ns ? page_since_begin(page, end_ns) : (int64_t)page->span.length_ns);
    json_doc_uint(doc, "cpu_ns", share->cpu_ns);
    json_doc_uint(doc, "ready_ns", share->runnable_ns + share->short_runnable_ns);
    json_doc_uint(doc, "waiting_ns", share->blocked_ns + share->short_blocked_ns);
    json_doc_uint(doc, "samples", share->sample_count);
    json_doc_bool(doc, "busy", facts->own && own_time_is_busy(facts->own, ordinal));
    json_doc_bool(doc, "helper", facts->own && own_time_is_helper(facts->own, ordinal));
    json_doc_close(doc);
}

struct place {
    uint32_t process, thread;
};

static int by_process(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->thread < b->thread ? -1 : 1;
}

static int put_threads(struct page *page, struct json_doc *doc)
{
    uint32_t count = trace_thread_count(page->trace), shown = 0;
    struct place *places = calloc((size_t)count + 1, sizeof(*places));
    if (!places)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        if (page->thread_index[i] != PAGE_NONE)
            places[shown++] =
                (struct place){page->process_index[trace_thread_get(page->trace, i)->process], i};
    qsort(places, shown, sizeof(*places), by_process);
    json_doc_array(doc, "threads");
    for (uint32_t i = 0; i < shown; i++) {
        page->thread_index[places[i].thread] = i;
        put_thread(page, doc, places[i].thread);
    }
    json_doc_close(doc);
    free(places);
    return 0;
}

int page_put_owners(struct page *page, struct json_doc *doc)
{
    int error = page->thread_index ? 0 : choose_threads(page);
    if (error)
        return error;
    choose_processes(page);
    error = put_processes(page, doc);
    return error ? error : put_threads(page, doc);
}
