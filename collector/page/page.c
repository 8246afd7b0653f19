/* SPDX-License-Identifier: MIT */
/* Reads the recording for a page, and writes the file: head, data, script; limits its size. */
#include "page.h"

#include "headline.h"
#include "page_calls.h"
#include "page_counters.h"
#include "page_data.h"
#include "page_facts.h"
#include "page_model.h"
#include "page_ranges.h"
#include "page_samples.h"
#include "page_sources.h"
#include "page_spans.h"
#include "page_states.h"
#include "page_tables.h"
#include "page_tasks.h"
#include "page_web.h"
#include "reader.h"
#include "report_lines.h"
#include "stacks.h"
#include "text.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* The span of range_stats, except that for truncated recordings reading may find a later end. */
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

/* Call once all paths are known. */
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

bool page_has_stacks(const struct page *page)
{
    return page->nodes.sums.items.count > 0;
}

/* ---- The data -------------------------------------------------------------------------------- */

/* Threads and processes come first, as the others refer to them. */
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

enum {
    GZIP_WINDOW = 15 + 16,
    GZIP_MEMORY = 9,
    GZIP_LEVEL = 6,
    PIECE = 16 * 1024,
    TRIES = 10,
    HEAD_SIZE = 8192, /* limit of the file without data, script and style */
};

/* ---- Compression ----------------------------------------------------------------------------- */

struct bytes {
    VEC(uint8_t) items;
};

static int deflate_all(z_stream *z, struct bytes *into)
{
    int status;
    do {
        if (vec_reserve(&into->items, PIECE) != 0)
            return -ENOMEM;
        z->next_out = into->items.items + into->items.count;
        z->avail_out = PIECE;
        status = deflate(z, Z_FINISH);
        into->items.count += PIECE - z->avail_out;
    } while (status == Z_OK);
    return status == Z_STREAM_END ? 0 : -ENOMEM;
}

static int compress_bytes(const uint8_t *bytes, size_t size, struct bytes *into)
{
    z_stream z = {.next_in = (uint8_t *)bytes, .avail_in = (uInt)size};
    into->items.count = 0;
    if (size > UINT32_MAX)
        return -EFBIG;
    if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return -ENOMEM;
    int error = deflate_all(&z, into);
    deflateEnd(&z);
    return error;
}

/* Makes the compressed data. 0 or -errno. */
static int make_data(struct page *page, struct bytes *into)
{
    struct out_stream *json = out_stream_memory();
    size_t size = 0;
    int error = json ? page_write_data(page, json) : -ENOMEM;
    if (!error)
        error = out_error(json);
    const uint8_t *bytes = error ? NULL : out_stream_memory_bytes(json, &size);
    if (!error)
        error = compress_bytes(bytes, size, into);
    out_stream_abandon(json);
    return error;
}

/* ---- Size limit ------------------------------------------------------------------------------ */

static bool is_too_long(const struct bytes *data)
{
    return data->items.count / 3 * 4 + sizeof(page_script) + sizeof(page_style) + HEAD_SIZE >
           PAGE_BYTES_MAX;
}

/* Reduces the data: first shortens names, then halves drawn ranges and table rows, at last the
 * sums. */
static int make_shorter(struct page *page, unsigned attempt)
{
    static const uint32_t text_limits[] = {300, 120, 80};
    struct page_spans *spans = &page->spans;
    unsigned last = sizeof(text_limits) / sizeof(*text_limits) - 1;
    page->text_limit = text_limits[attempt < last ? attempt : last];
    if (attempt == 0)
        return 0;
    page->row_limit = page->row_limit / 2 + 1;
    int error = page_spans_limit(spans, spans->drawn.items.count / 2);
    if (!error)
        error = page_longest_limit(&spans->tasks, spans->tasks.items.count / 2);
    if (!error)
        error = page_longest_limit(&spans->requests, spans->requests.items.count / 2);
    if (!error)
        error = page_pools_limit(&page->pools, page->pools.items.count / 2);
    if (!error && attempt > 1 && !page->ranges.cells.dropped) {
        error = page_cells_shrink(&page->ranges.cells);
        page_cells_sort(&page->ranges.cells);
    }
    if (error || attempt == 1)
        return error;
    return page_sums_limit(&page->nodes.sums, page->nodes.sums.items.count / 2);
}

static int make_short_data(struct page *page, struct bytes *into)
{
    int error = make_data(page, into);
    for (unsigned i = 0; i < TRIES && !error && is_too_long(into); i++) {
        error = make_shorter(page, i);
        if (!error)
            error = make_data(page, into);
    }
    return error;
}

/* ---- The file -------------------------------------------------------------------------------- */

static void write_head(const struct page *page, struct out_stream *out)
{
    char headline[HEADLINE_SIZE], title[PAGE_TEXT_MAX];
    size_t length =
        headline_wall(page->trace, report_facts(page->report), headline, sizeof(headline));
    page_title(page, title, sizeof(title));
    out_text(out,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" PAGE_MARK
             "\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
             "style-src '" page_style_hash "'; script-src '" page_script_hash
             "'; base-uri 'none'; form-action 'none'\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n"
             "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    out_xml(out, title, strlen(title));
    out_text(out, "</title>\n<style>");
    out_write(out, page_style, sizeof(page_style));
    out_text(out, "</style>\n</head>\n<body>\n<h1>");
    out_xml(out, headline, length);
    out_text(out, "</h1>\n");
}

int page_write(struct page *page, struct out_stream *out)
{
    struct bytes data = {0};
    int error = make_short_data(page, &data);
    if (!error) {
        write_head(page, out);
        out_text(out, "<script type=\"application/json\" id=\"data\">");
        page_write_base64(out, data.items.items, data.items.count);
        out_text(out, "</script>\n<script>");
        out_write(out, page_script, sizeof(page_script));
        out_text(out, "</script>\n</body>\n</html>\n");
    }
    vec_free(&data.items);
    return error;
}
