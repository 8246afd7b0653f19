/* SPDX-License-Identifier: MIT */
/* Scans of a pass: it advances after its rows were taken, and the rows may be sorted first. */
#include "query_scan.h"

#include "query_state.h"
#include "reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Readers of the recording, one a scan: made on demand, and reused. */

/* Makes a place: opens the recording with samples, or another reader on the options' trace.
 * -errno. */
static int make_place(struct query *query, bool samples, struct query_place **ret_place)
{
    struct query_place *place = calloc(1, sizeof(*place));
    if (!place)
        return -ENOMEM;
    place->whole = samples;
    int error = samples ? store_reader_open(query->options.path, &place->reader)
                        : store_reader_again(query->options.reader, &place->reader);
    if (!error)
        error = vec_push(&query->places, place);
    if (error) {
        store_reader_close(place->reader);
        free(place);
        return error;
    }
    *ret_place = place;
    return 0;
}

/* Returns a reader at the first event, with samples if wanted. NULL: read_error. */
static struct query_place *query_take_place(struct query *query, bool samples)
{
    struct query_place *place = NULL;
    for (size_t i = 0; i < query->places.count && !place; i++)
        if (!query->places.items[i]->busy && (query->places.items[i]->whole || !samples))
            place = query->places.items[i];
    query->read_error =
        place ? store_reader_rewind(place->reader) : make_place(query, samples, &place);
    if (query->read_error)
        return NULL;
    place->busy = true;
    return place;
}

static void query_give_place(struct query_place *place)
{
    place->busy = false;
}

/* ---- Selection of the pass ------------------------------------------------------------------- */

static bool wants_thread(void *context, uint32_t thread)
{
    const struct query_scan *scan = context;
    const struct trace_thread *entry = trace_thread_get(scan->trace, thread);
    if (scan->has_thread && scan->thread != (int64_t)thread)
        return false;
    if (scan->has_process && (!entry || scan->process != (int64_t)entry->process))
        return false;
    return pass_selects_thread(scan->chosen, thread);
}

int64_t query_time_plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

/* Selects a slightly larger time, so that rows that the pass cuts at its edges are outside of the
 * conditions: SQLite checks the rows again. A range that begins before the time is cut to begin
 * there. */
static void select_times(struct pass_selection *selection, const struct query_bounds *bounds,
                         int64_t begin_ns)
{
    if (bounds->given & BIT_FROM) {
        int64_t from_ns = query_time_plus(query_time_plus(bounds->from_ns, begin_ns), -1);
        selection->from_ns = from_ns > selection->from_ns ? from_ns : selection->from_ns;
    }
    if (bounds->given & BIT_ENDED) {
        int64_t to_ns = query_time_plus(query_time_plus(bounds->ended_ns, begin_ns), 2);
        selection->to_ns = to_ns < selection->to_ns ? to_ns : selection->to_ns;
    }
}

static void select_rows(struct query_scan *scan, const struct query_bounds *bounds, bool samples)
{
    int64_t begin_ns = scan->cursor->query->begin_ns;
    scan->selection = *scan->chosen;
    select_times(&scan->selection, bounds, begin_ns);
    scan->until_ns = samples && (bounds->given & BIT_UNTIL)
                         ? query_time_plus(bounds->until_ns, begin_ns)
                         : INT64_MAX;
    scan->has_thread = bounds->given & BIT_THREAD;
    scan->has_process = bounds->given & BIT_PROCESS;
    scan->thread = bounds->thread;
    scan->process = bounds->process;
    if (scan->has_thread || scan->has_process) {
        scan->selection.wants = wants_thread;
        scan->selection.context = scan;
    }
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* SQLite's order: NULL, numbers, texts by their bytes. */
static int compare_cells(const struct query_cell *a, const struct query_cell *b)
{
    if (a->type != b->type || a->type == QUERY_NULL)
        return (a->type > b->type) - (a->type < b->type);
    if (a->type == QUERY_INTEGER)
        return (a->integer > b->integer) - (a->integer < b->integer);
    int order = memcmp(a->bytes, b->bytes, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_groups(void *context, const struct wide_key *a, const struct wide_key *b)
{
    struct query_scan *scan = context;
    for (unsigned i = 0; i < scan->order_count; i++) {
        const struct query_order *term = &scan->order[i];
        const struct query_cell x = scan->rows->cell(scan, a, term->column);
        const struct query_cell y = scan->rows->cell(scan, b, term->column);
        int order = compare_cells(&x, &y);
        if (order)
            return term->down ? -order : order;
    }
    return 0;
}

static int begin_sort(struct query_scan *scan, const struct query_bounds *bounds, size_t row_size)
{
    enum { ROOM_MIN = 1 << 20, ROOM_MAX = 32 << 20 };

    uint64_t part = scan->cursor->query->options.memory_bytes / 8;
    const struct query_sort_options options = {
        .row_size = row_size,
        .room_size = part < ROOM_MIN   ? ROOM_MIN
                     : part > ROOM_MAX ? ROOM_MAX
                                       : (size_t)part,
        .compare = compare_groups,
        .context = scan,
    };
    scan->order_count = bounds->order_count;
    memcpy(scan->order, bounds->order, sizeof(scan->order));
    if (!scan->order_count)
        return 0;
    scan->sort = query_sort_create(&options);
    return scan->sort ? 0 : -ENOMEM;
}

/* ---- A scan ---------------------------------------------------------------------------------- */

void query_scan_end(struct query_scan *scan)
{
    pass_destroy(scan->pass);
    query_sort_destroy(scan->sort);
    if (scan->place)
        query_give_place(scan->place);
    scan->pass = NULL;
    scan->sort = NULL;
    scan->place = NULL;
    scan->sorted = false;
    scan->at = 0;
    if (scan->rows)
        scan->rows->forget(scan);
}

int query_scan_begin(struct query_cursor *cursor, const struct query_bounds *bounds,
                     const struct query_scan_rows *rows, const struct sink *sink, size_t row_size)
{
    struct query_scan *scan = cursor->state;
    struct query *query = cursor->query;
    bool samples = sink->wants & WANT_SAMPLES;
    query_scan_end(scan);
    scan->cursor = cursor;
    scan->rows = rows;
    scan->chosen = query->options.selection;
    scan->place = query_take_place(query, samples || (sink->wants & (WANT_TIMES | WANT_ORIGINS)));
    if (!scan->place)
        return query->read_error;
    scan->trace = store_reader_trace(scan->place->reader);
    select_rows(scan, bounds, samples);
    int error = begin_sort(scan, bounds, row_size);
    if (error)
        return error;
    const struct pass_source source = recording_pass_source(scan->place->reader);
    scan->pass = pass_create(&source, &scan->selection, sink, 1);
    return scan->pass ? 0 : -ENOMEM;
}

/* Advances the pass, if unsorted until it makes rows. 1: may have more, 0: end, -errno. */
static int go_on(struct query_scan *scan)
{
    const volatile sig_atomic_t *stop = scan->cursor->query->options.stop;
    int status = 1;
    while (status == 1 && !scan->rows->count(scan) && !*stop &&
           pass_samples_settled_ns(scan->pass) <= scan->until_ns)
        status = pass_step(scan->pass);
    if (*stop)
        return -EINTR;
    return status < 0 ? status : scan->rows->count(scan) > 0;
}

static int next_sorted(struct query_scan *scan)
{
    const struct wide_key *group = NULL;
    const void *row = NULL;
    int status = 0;
    if (!scan->sorted) {
        status = go_on(scan);
        scan->sorted = status == 0;
        if (status == 0)
            status = query_sort_finish(scan->sort);
    }
    if (status == 0)
        status = query_sort_next(scan->sort, &group, &row);
    scan->cursor->query->file_failed = query_sort_file_failed(scan->sort);
    if (status != 1)
        return status;
    int error = scan->rows->make(scan, group, row);
    return error ? error : 1;
}

int query_scan_next(struct query_cursor *cursor)
{
    struct query_scan *scan = cursor->state;
    if (scan->at + 1 < scan->rows->count(scan)) {
        scan->at++;
        return 1;
    }
    scan->rows->forget(scan);
    scan->at = 0;
    return scan->sort ? next_sorted(scan) : go_on(scan);
}
