/* SPDX-License-Identifier: MIT */
/* The one reading behind a page, and the order of its data. */
#include "page_parts.h"

#include "stacks.h"
#include "text.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Time ------------------------------------------------------------------------------------ */

uint32_t page_slot(const struct page_span *span, uint32_t slots, int64_t time_ns)
{
    if (time_ns <= span->begin_ns)
        return 0;
    uint64_t after_ns = (uint64_t)time_ns - (uint64_t)span->begin_ns;
    if (after_ns >= span->length_ns)
        return slots - 1;
    if (after_ns < UINT64_MAX / slots) /* always, but for foreign times */
        return (uint32_t)(after_ns * slots / span->length_ns);
    return (uint32_t)((unsigned __int128)after_ns * slots / span->length_ns);
}

int64_t page_slot_begin(const struct page_span *span, uint32_t slots, uint32_t slot)
{
    unsigned __int128 product = (unsigned __int128)span->length_ns * slot;
    return span->begin_ns + (int64_t)((product + slots - 1) / slots);
}

int64_t page_since_begin(const struct page *page, int64_t time_ns)
{
    uint64_t after_ns = (uint64_t)time_ns - (uint64_t)page->span.begin_ns;
    if (time_ns <= page->span.begin_ns)
        return 0;
    return (int64_t)(after_ns < page->span.length_ns ? after_ns : page->span.length_ns);
}

/* As range_stats has it, but for what only the reading tells of a recording that was cut. */
static struct page_span find_span(const struct trace *trace, const struct pass_selection *selection)
{
    const struct trace_session *session = trace_session_get(trace);
    int64_t begin_ns = session->begin_ns, end_ns = session->end_ns;
    int64_t from_ns = selection->samples_to_ns ? selection->samples_from_ns : selection->from_ns;
    int64_t to_ns = selection->samples_to_ns ? selection->samples_to_ns : selection->to_ns;
    for (uint32_t i = 0; i < trace_thread_count(trace); i++)
        if (trace_thread_get(trace, i)->last_ns > end_ns)
            end_ns = trace_thread_get(trace, i)->last_ns;
    begin_ns = from_ns > begin_ns ? from_ns : begin_ns;
    end_ns = to_ns < end_ns ? to_ns : end_ns;
    struct page_span span = {begin_ns, 1};
    if (end_ns > begin_ns)
        span.length_ns = (uint64_t)end_ns - (uint64_t)begin_ns;
    if (span.length_ns > INT64_MAX)
        span.length_ns = INT64_MAX;
    return span;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int take_event(void *context, const struct item *item)
{
    struct page *page = context;
    return item->kind == ITEM_COUNTER ? page_counters_take(&page->counters, item)
                                      : page_spans_take(&page->spans, item);
}

static int begin(struct page *page)
{
    const struct report_options *options = &page->options.report;
    struct store_info info;
    store_reader_info(options->reader, &info);
    page->has_samples = info.sample_count > 0 || page->options.gpu;
    page->trace = store_reader_trace(options->reader);
    page->span = find_span(page->trace, options->selection);
    page->row_limit = PAGE_ROWS_MAX;
    page->text_limit = PAGE_TEXT_MAX;
    page->names.trace = page->counters.trace = page->trace;
    page->counters.span = page->ranges.span = page->span;
    page->pools.names = &page->names;
    page_spans_init(&page->spans, page->trace, &page->span, &page->names);
    int error = page_states_init(&page->states, page->trace, &page->span);
    return error || !page->has_samples
               ? error
               : page_samples_init(&page->samples, page->trace, options->range, &page->span);
}

/* Once all paths are known. */
static int name_paths(struct page *page)
{
    const struct stacks *stacks = trace_stacks_get(page->trace);
    page->path_count = stacks_path_count(stacks);
    page->name_of_path = calloc((size_t)page->path_count + 1, sizeof(*page->name_of_path));
    if (!page->name_of_path)
        return -ENOMEM;
    for (uint32_t i = 1; i < page->path_count; i++) {
        const struct range_path *path = stacks_get_path(stacks, i);
        uint32_t domain = trace_scope_domain(page->trace, path->scope);
        int64_t name = page_name_of(&page->names, domain, path->name);
        if (name < 0)
            return (int)name;
        page->name_of_path[i] = (uint32_t)name;
    }
    return 0;
}

static int finish(struct page *page)
{
    int error = page_lanes_finish(&page->spans);
    page_cells_sort(&page->ranges.cells);
    if (!error)
        error = name_paths(page);
    if (!error)
        error = page_tasks_finish(&page->spans);
    if (!error)
        error = page_pools_finish(&page->pools);
    if (error || !page->has_samples)
        return error;
    page_states_finish(&page->states);
    page->lines.texts = report_texts(page->report);
    page->lines.stats = page->options.no_source ? NULL : report_lines(page->report);
    error = page_nodes_make(&page->nodes, &page->samples, report_facts(page->report)->own,
                            &page->lines);
    return error ? error : page_sums_limit(&page->nodes.sums, PAGE_SUMS_MAX);
}

static int read_recording(struct page *page)
{
    struct report_options options = page->options.report;
    int error = begin(page);
    const struct sink sinks[REPORT_SINKS_MAX] = {{take_event, page, WANT_EVENTS},
                                                 page_samples_sink(&page->samples),
                                                 page_states_sink(&page->states)};
    options.sinks = sinks;
    options.sink_count = page->has_samples ? REPORT_SINKS_MAX : 1;
    options.range_watch = (struct range_watch){page_ranges_take, &page->ranges};
    options.task_watch = (struct task_watch){page_pools_take, &page->pools};
    if (!error)
        error = report_create(&options, &page->report);
    if (!error)
        error = finish(page);
    page_samples_fini(&page->samples);
    return error;
}

int page_create(const struct page_options *options, struct page **ret_page)
{
    struct page *page = calloc(1, sizeof(*page));
    if (!page)
        return -ENOMEM;
    page->options = *options;
    int error = read_recording(page);
    if (error)
        page_destroy(page);
    else
        *ret_page = page;
    return error;
}

void page_destroy(struct page *page)
{
    if (!page)
        return;
    page_nodes_fini(&page->nodes);
    page_lines_fini(&page->lines);
    page_samples_fini(&page->samples);
    page_states_fini(&page->states);
    page_spans_fini(&page->spans);
    page_counters_fini(&page->counters);
    page_ranges_fini(&page->ranges);
    vec_free(&page->pools.items);
    page_names_fini(&page->names);
    report_destroy(page->report);
    free(page->thread_index);
    free(page->process_index);
    free(page->name_of_path);
    free(page);
}

const struct report *page_report(const struct page *page)
{
    return page->report;
}

bool page_has_stacks(const struct page *page)
{
    return page->nodes.sums.items.count > 0;
}

/* ---- The data -------------------------------------------------------------------------------- */

void page_put_text(const struct page *page, struct json_doc *doc, const char *key, const char *text)
{
    char cut[PAGE_TEXT_MAX + sizeof("…")];
    size_t length = strnlen(text, page->text_limit + 1);
    if (length <= page->text_limit) {
        json_doc_text(doc, key, text);
        return;
    }
    length = utf8_cut(text, page->text_limit, page->text_limit - 1);
    memcpy(cut, text, length);
    memcpy(cut + length, "…", sizeof("…"));
    json_doc_text(doc, key, cut);
}

/* Threads and processes come first: the others refer to them. */
static int put_all(struct page *page, struct json_doc *doc)
{
    static int (*const all[])(struct page *, struct json_doc *) = {
        page_put_facts,   page_put_wall,    page_put_owners,  page_put_tables, page_put_calls,
        page_put_states,  page_put_lanes,   page_put_ranges,  page_put_pools,  page_put_tasks,
        page_put_loops,   page_put_names,   page_put_compare, page_put_trust,  page_put_counters,
        page_put_sources, page_put_counted, page_put_left_out};
    static int (*const flame[])(struct page *, struct json_doc *) = {
        page_put_facts, page_put_wall,   page_put_owners,  page_put_calls,
        page_put_names, page_put_states, page_put_sources, page_put_left_out};
    bool part = page->options.flame;
    size_t count = part ? sizeof(flame) / sizeof(*flame) : sizeof(all) / sizeof(*all);
    int error = page_names_begin(&page->names);
    if (part)
        json_doc_bool(doc, "flame", true);
    if (page->options.gpu)
        json_doc_bool(doc, "gpu", true);
    for (size_t i = 0; i < count && !error; i++)
        error = (part ? flame : all)[i](page, doc);
    return error;
}

int page_write_data(struct page *page, struct out_stream *out)
{
    struct json_doc doc = {.out = out};
    json_doc_object(&doc, NULL);
    json_doc_int(&doc, "version", 1);
    int error = put_all(page, &doc);
    json_doc_close(&doc);
    return error;
}
