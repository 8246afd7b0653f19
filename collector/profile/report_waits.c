/* SPDX-License-Identifier: MIT */
/* The tables of waits: what threads waited for, and where. */

#include "report_parts.h"

#include "call_label.h"
#include "hash_map.h"
#include "stacks.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RUNNABLE "a CPU (runnable)"

static uint64_t off_cpu_ns(const struct report *report)
{
    const struct thread_share *inside = &report->samples.inside.all;
    return inside->blocked_ns + inside->runnable_ns;
}

/* ---- Reasons --------------------------------------------------------------------------------- */

enum { REASON_LABEL, REASON, COUNT, TOTAL, SHARE, MEAN, MAX };

static const struct table_column reason_columns[] = {
    [REASON_LABEL] = {.title = "waited for", .type = COLUMN_TEXT},
    [REASON] = {.name = "reason", .type = COLUMN_TEXT},
    [COUNT] = {.name = "count", .title = "count", .type = COLUMN_COUNT, .rank = 1, .adds_up = true},
    [TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME, .adds_up = true},
    [SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = TOTAL},
    [MEAN] = {.name = "mean_ns", .title = "mean", .type = COLUMN_TIME, .rank = 2},
    [MAX] = {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 3},
};

static void fill_reason(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct sample_stats *inside = &report->samples.inside;
    uint8_t reason = ((const uint8_t *)table->rows)[index];
    bool runnable = reason == WAIT_REASON_COUNT;
    const struct wait_share *wait = runnable ? &inside->runnable : &inside->waits[reason];
    const char *name = runnable ? NULL : wait_reason_name((enum wait_reason)reason);
    row_text(row, REASON_LABEL, runnable ? RUNNABLE : name);
    row_text(row, REASON, runnable ? "runnable" : name);
    row_count(row, COUNT, wait->count);
    row_count(row, TOTAL, wait->total_ns);
    row_count(row, MEAN, wait->count ? wait->total_ns / wait->count : 0);
    row_count(row, MAX, wait->max_ns);
}

/* Those that came up, the longest first; then that for a CPU. */
static uint64_t sort_reasons(const struct report *report, uint8_t *rows)
{
    const struct wait_share *waits = report->samples.inside.waits;
    bool used[WAIT_REASON_COUNT] = {false};
    uint64_t count = 0;
    for (;;) {
        int most = -1;
        for (int i = 0; i < WAIT_REASON_COUNT; i++)
            if (!used[i] && waits[i].count > 0 &&
                (most < 0 || waits[i].total_ns > waits[most].total_ns))
                most = i;
        if (most < 0)
            break;
        used[most] = true;
        rows[count++] = (uint8_t)most;
    }
    rows[count++] = WAIT_REASON_COUNT;
    return count;
}

static int add_reasons(struct report *report)
{
    struct table *table = report_add_table(report, "waits", fill_reason);
    table->rows = calloc(WAIT_REASON_COUNT + 1, sizeof(uint8_t));
    if (!table->rows)
        return -ENOMEM;
    for (size_t i = 0; i < sizeof(reason_columns) / sizeof(*reason_columns); i++)
        table_add_column(table, reason_columns[i]);
    table->columns[SHARE].whole = off_cpu_ns(report);
    table->long_labels = true;
    if (report->samples.inside.stretch_count > 0)
        table->row_count = sort_reasons(report, table->rows);
    return report_title(report, table, "waits: why threads did not run");
}

/* ---- Places ---------------------------------------------------------------------------------- */

enum {
    LABEL,
    FUNCTION,
    KIND,
    MODULE,
    PLACE_REASON_TITLE,
    PLACE_REASON,
    PLACE_COUNT,
    PLACE_TOTAL,
    PLACE_SHARE,
    PLACE_MAX,
    UNFINISHED,
};

static const struct table_column place_columns[] = {
    [LABEL] = {.title = "function", .type = COLUMN_TEXT},
    [FUNCTION] = {.name = "function", .type = COLUMN_TEXT},
    [KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [MODULE] = {.name = "module", .type = COLUMN_TEXT},
    [PLACE_REASON_TITLE] = {.title = "waited for", .type = COLUMN_TEXT},
    [PLACE_REASON] = {.name = "reason", .type = COLUMN_TEXT},
    [PLACE_COUNT] =
        {.name = "count", .title = "count", .type = COLUMN_COUNT, .rank = 1, .adds_up = true},
    [PLACE_TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME, .adds_up = true},
    [PLACE_SHARE] = {.title = "%", .type = COLUMN_SHARE, .rank = 3, .of = PLACE_TOTAL},
    [PLACE_MAX] = {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 2},
    [UNFINISHED] = {.name = "unfinished", .type = COLUMN_COUNT, .adds_up = true},
};

/* A wait for a CPU may come up anywhere. */
static void fill_runnable(const struct report *report, struct table_row *row)
{
    const struct wait_share *wait = &report->samples.inside.runnable;
    row->role = ROW_REST;
    row->rest = "anywhere";
    row_text(row, PLACE_REASON_TITLE, RUNNABLE);
    row_text(row, PLACE_REASON, "runnable");
    row_count(row, PLACE_COUNT, wait->count);
    row_count(row, PLACE_TOTAL, wait->total_ns);
    row_count(row, PLACE_MAX, wait->max_ns);
}

static void fill_place(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct wait_place *places;
    if (index >= wait_places_sorted(report->samples.places, &places)) {
        fill_runnable(report, row);
        return;
    }
    const struct wait_place *place = &places[index];
    const char *reason = wait_reason_name((enum wait_reason)place->reason);
    if (place->label)
        report_function_label(report, row, LABEL, place->label, "");
    else
        row_text(row, LABEL, "(no stack)");
    report_function_cells(report, row, FUNCTION, place->label);
    row_text(row, PLACE_REASON_TITLE, reason);
    row_text(row, PLACE_REASON, reason);
    row_count(row, PLACE_COUNT, place->count);
    row_count(row, PLACE_TOTAL, place->blocked_ns);
    row_count(row, PLACE_MAX, place->max_ns);
    row_count(row, UNFINISHED, place->unfinished);
}

/* The functions that called what waits; which program did it, their callers tell. */
static int add_places(struct report *report)
{
    struct table *table = report_add_table(report, "wait_places", fill_place);
    const struct wait_place *places = NULL;
    uint64_t unfinished = 0;
    uint32_t count = 0;
    if (report->samples.present)
        count = wait_places_sort(report->samples.places, &places);
    for (uint32_t i = 0; i < count; i++)
        unfinished += places[i].unfinished;
    for (size_t i = 0; i < sizeof(place_columns) / sizeof(*place_columns); i++)
        table_add_column(table, place_columns[i]);
    table->columns[PLACE_SHARE].whole = off_cpu_ns(report);
    table->row_count = count + (report->samples.inside.runnable.count > 0);
    table->limit = report->options.functions;
    table->long_labels = true;
    if (unfinished)
        table_add_note(table, (struct table_note){
                                  .before = "(waits that had not ended when the recording did: ",
                                  .after = ")",
                                  .count = unfinished});
    table_add_note(
        table,
        (struct table_note){.before = "(annot flame --off-cpu shows who called these functions)"});
    return report->samples.off_cpu ? report_title(report, table, "where threads waited") : 0;
}

int report_add_waits(struct report *report)
{
    int rc = add_reasons(report);
    return rc == 0 ? add_places(report) : rc;
}

/* ---- Places ---------------------------------------------------------------------------------- */

/* A stack is searched for its function once: most stretches cost one look-up. Thread-safety: none.
 */

#define NOT_SEARCHED UINT32_MAX

struct wait_places {
    const struct trace *trace;
    const struct stacks *stacks;
    uint32_t *label_of_stack; /* NOT_SEARCHED at first */
    uint32_t stack_count;
    struct map64 place_by_key; /* label and reason -> place + 1 */
    VEC(struct wait_place) places;
};

struct wait_places *wait_places_create(const struct trace *trace)
{
    struct wait_places *places = calloc(1, sizeof(*places));
    if (!places)
        return NULL;
    places->trace = trace;
    places->stacks = trace_stacks_get(trace);
    places->stack_count = stacks_stack_count(places->stacks);
    size_t size = (size_t)places->stack_count * sizeof(*places->label_of_stack);
    places->label_of_stack = malloc(size);
    if (!places->label_of_stack) {
        free(places);
        return NULL;
    }
    memset(places->label_of_stack, 0xff, size);
    return places;
}

void wait_places_destroy(struct wait_places *places)
{
    if (!places)
        return;
    free(places->label_of_stack);
    map64_free(&places->place_by_key);
    vec_free(&places->places);
    free(places);
}

/* What everybody waits in: libc.so.6, libpthread-2.31.so, ld-linux-x86-64.so.2,
 * ld-musl-x86_64.so.1. */
static bool is_of_c_library(const char *module)
{
    static const char *const names[] = {"libc.", "libc-", "libpthread", "ld-linux", "ld-musl"};
    const char *slash = strrchr(module, '/');
    const char *name = slash ? slash + 1 : module;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool is_own(const struct wait_places *places, const struct frame *frame)
{
    uint32_t path = stacks_get_module(places->stacks, frame->module)->path;
    return frame->kind == FRAME_JIT || (frame->kind == FRAME_NATIVE &&
                                        !is_of_c_library(trace_string(places->trace, path)->bytes));
}

static uint32_t search(const struct wait_places *places, uint32_t stack)
{
    uint32_t native = 0, leaf = 0;
    for (; stack != 0; stack = stacks_get_stack(places->stacks, stack)->parent) {
        const struct stack *node = stacks_get_stack(places->stacks, stack);
        const struct frame *frame = stacks_get_frame(places->stacks, node->frame);
        if (frame->kind == FRAME_PYTHON)
            return frame->label;
        leaf = leaf == 0 ? frame->label : leaf;
        native = native == 0 && is_own(places, frame) ? frame->label : native;
    }
    return native != 0 ? native : leaf;
}

static uint32_t label_of(struct wait_places *places, uint32_t stack)
{
    if (stack == 0 || stack >= places->stack_count)
        return 0;
    if (places->label_of_stack[stack] == NOT_SEARCHED)
        places->label_of_stack[stack] = search(places, stack);
    return places->label_of_stack[stack];
}

int wait_places_add(struct wait_places *places, const struct sample *sample)
{
    uint64_t blocked_ns = sample_off_share(trace_sets_get(places->trace), sample).blocked_ns;
    if (blocked_ns == 0)
        return 0;
    uint32_t label = label_of(places, sample->stack);
    uint64_t key = ((uint64_t)label << 8 | sample->reason) + 1;
    const uint64_t *found = map64_find(&places->place_by_key, key);
    if (!found) {
        struct wait_place fresh = {.label = label, .reason = sample->reason};
        if (vec_push(&places->places, fresh) != 0 ||
            map64_put(&places->place_by_key, key, places->places.count) != 0)
            return -ENOMEM;
        found = map64_find(&places->place_by_key, key);
    }
    struct wait_place *place = &places->places.items[*found - 1];
    place->count++;
    place->blocked_ns += blocked_ns;
    place->max_ns = blocked_ns > place->max_ns ? blocked_ns : place->max_ns;
    place->unfinished += (sample->flags & SAMPLE_UNFINISHED) != 0;
    return 0;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct wait_places *places = context;
    const struct wait_place *a = left, *b = right;
    if (a->blocked_ns != b->blocked_ns)
        return a->blocked_ns < b->blocked_ns ? 1 : -1;
    int order = call_compare_labels(places->trace, a->label, b->label);
    if (order)
        return order;
    int reasons = (int)a->reason - (int)b->reason;
    return a->label < b->label ? -1 : a->label > b->label ? 1 : reasons;
}

uint32_t wait_places_sorted(const struct wait_places *places, const struct wait_place **ret_places)
{
    *ret_places = places->places.items;
    return (uint32_t)places->places.count;
}

uint32_t wait_places_sort(struct wait_places *places, const struct wait_place **ret_places)
{
    struct wait_place *items = places->places.items;
    if (places->places.count > 0)
        qsort_r(items, places->places.count, sizeof(*items), compare, places);
    return wait_places_sorted(places, ret_places);
}
