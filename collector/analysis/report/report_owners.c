/* SPDX-License-Identifier: MIT */
/* The tables of processes and of threads.
 *
 * A build or a shell script starts one program hundreds of times: processes with the same label are
 * one row, and so are many forked children that used almost no time. */
#include "report_build.h"
#include "report_functions.h"
#include "report_ranges.h"
#include "report_samples.h"

#include "call_label.h"
#include "row_order.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct owner {
    struct thread_share share;
    uint32_t ordinal;
    uint32_t count; /* processes in this row; 0: merged into another row */
    bool workers;   /* unnamed children of its process */
};

/* Forked children always listed one by one; maximum of samples of a minor child. */
enum { FEW = 16, MINOR_SAMPLES_MAX = 4 };

/* An owner without CPU samples is listed if it waited more than this part (1/20) of the longest
 * waiting time, which leaves out a script's many helpers. */
enum { LITTLE_PART = 20, OWNER_LABEL_SIZE = 4096 };

static uint64_t off_cpu_ns(const struct owner *owner)
{
    return owner->share.blocked_ns + owner->share.runnable_ns;
}

static void add_share(struct owner *owner, const struct thread_share *share)
{
    owner->share.cpu_ns += share->cpu_ns;
    owner->share.sample_count += share->sample_count;
    owner->share.runnable_ns += share->runnable_ns + share->short_runnable_ns;
    owner->share.blocked_ns += share->blocked_ns + share->short_blocked_ns;
    owner->share.gc_ns += share->gc_ns;
    owner->share.gil_ns += share->gil_ns;
}

static void join(struct owner *owner, struct owner *other)
{
    add_share(owner, &other->share);
    owner->count += other->count;
    *other = (struct owner){.ordinal = other->ordinal};
}

/* ---- Processes with the same label ----------------------------------------------------------- */

struct named_owner {
    char *text;
    uint32_t owner;
};

static int by_text(const void *left, const void *right)
{
    const struct named_owner *a = left, *b = right;
    int texts = strcmp(a->text, b->text);
    return texts ? texts : a->owner < b->owner ? -1 : a->owner > b->owner;
}

/* Merges programs with the same label. Labels of forked children have numbers, which are slow to
 * find. */
static int join_programs(const struct trace *trace, struct owner *owners, uint32_t count)
{
    struct named_owner *labels = calloc((size_t)count + 1, sizeof(*labels));
    uint32_t used = 0;
    char text[4096];
    bool failed = !labels;
    for (uint32_t i = 0; i < count && !failed; i++) {
        if (trace_process_get(trace, i)->forked)
            continue;
        trace_process_label(trace, i, text, sizeof(text));
        labels[used] = (struct named_owner){strdup(text), i};
        failed = !labels[used++].text;
    }
    if (!failed)
        qsort(labels, used, sizeof(*labels), by_text);
    for (uint32_t first = 0, i = 1; i < used && !failed; i++) {
        if (strcmp(labels[first].text, labels[i].text) == 0)
            join(&owners[labels[first].owner], &owners[labels[i].owner]);
        else
            first = i;
    }
    for (uint32_t i = 0; i < used; i++)
        free(labels[i].text);
    free(labels);
    return failed ? -ENOMEM : 0;
}

/* True if the CPU time is below that of MINOR_SAMPLES_MAX samples at the steady rate. */
static bool has_minor_time(const struct trace *trace, const struct thread_share *share)
{
    uint64_t hertz = trace_sampling_get(trace)->frequency_hz;
    return hertz ? share->cpu_ns * hertz < MINOR_SAMPLES_MAX * UINT64_C(1000000000) + 500000000
                 : share->sample_count <= MINOR_SAMPLES_MAX;
}

static bool is_minor_worker(const struct trace *trace, const struct owner *owner)
{
    const struct trace_process *process = trace_process_get(trace, owner->ordinal);
    return process->forked && process->parent >= 0 && !process->name &&
           process->end != PROCESS_RUNNING && has_minor_time(trace, &owner->share);
}

/* Merges the minor children of one parent into the first of them, labelled by the parent. */
static int join_workers(const struct trace *trace, struct owner *owners, uint32_t count)
{
    uint32_t minor = 0, *first_of = calloc((size_t)count + 1, sizeof(*first_of)); /* + 1 */
    if (!first_of)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        minor += is_minor_worker(trace, &owners[i]);
    for (uint32_t i = 0; i < count && minor > FEW; i++) {
        uint32_t parent = (uint32_t)trace_process_get(trace, i)->parent;
        if (!is_minor_worker(trace, &owners[i]) || parent >= count)
            continue;
        if (first_of[parent])
            join(&owners[first_of[parent] - 1], &owners[i]);
        else
            first_of[parent] = i + 1;
        owners[first_of[parent] - 1].workers = true;
    }
    free(first_of);
    return 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

enum { LABEL, PID, PROCESS, PROCESS_COUNT, CPU, SHARE, SAMPLES, RUNNABLE, BLOCKED, GC, GIL, TID };

enum { THREAD = PROCESS_COUNT }; /* of the table of threads */

/* The rows of a table of owners. */
struct owners {
    bool by_thread;
    uint64_t worth; /* number of leading rows that are listed */
    struct owner items[];
};

static bool is_seen(const struct owner *owner)
{
    return owner->share.sample_count + off_cpu_ns(owner) > 0;
}

/* Threads of a pool share one name: the kernel's number distinguishes them. A thread without a name
 * gets its entry function's. */
static size_t thread_name(const struct report *report, uint32_t ordinal, char *to, size_t size)
{
    const struct trace *trace = report->trace;
    const struct trace_thread *thread = trace_thread_get(trace, ordinal);
    const struct trace_process *process = trace_process_get(trace, thread->process);
    struct text text = text_init(to, size);
    char name[1024], function[CALL_LABEL_SIZE];
    bool is_main = process && thread->tid == process->ns_pid;
    bool by_kernel =
        !thread->name && thread->comm && process && thread->comm != process->comm && !is_main;
    trace_thread_label(trace, ordinal, name, sizeof(name));
    uint32_t entry =
        thread->name || by_kernel || is_main ? 0 : report->samples.entries[ordinal].label;
    text_format(&text, ", %s", name);
    if (entry) {
        call_label(trace, entry, CALL_STRIP_LIBRARIES, function, sizeof(function));
        text_format(&text, ": %s", function);
    } else if (by_kernel) {
        text_format(&text, " (%d)", thread->tid);
    }
    return text.length;
}

static size_t owner_text(const struct report *report, bool by_thread, const struct owner *owner,
                         struct text *text)
{
    const struct trace *trace = report->trace;
    uint32_t process =
        by_thread ? trace_thread_get(trace, owner->ordinal)->process : owner->ordinal;
    if (owner->workers && owner->count > 1)
        process = (uint32_t)trace_process_get(trace, process)->parent;
    text->length = trace_process_label(trace, process, text->buffer, text->size / 2);
    if (by_thread)
        text->length += thread_name(report, owner->ordinal, text->buffer + text->length,
                                    text->size - text->length);
    else if (owner->count > 1)
        text_format(text, " (%u %s)", owner->count,
                    owner->workers ? "forked children" : "processes");
    return text->length;
}

static void fill_texts(const struct report *report, const struct owners *owners,
                       const struct owner *owner, struct table_row *row)
{
    const struct trace *trace = report->trace;
    const struct trace_thread *thread =
        owners->by_thread ? trace_thread_get(trace, owner->ordinal) : NULL;
    uint32_t process = thread ? thread->process : owner->ordinal;
    size_t size;
    char *room = row_room(row, &size);
    struct text text = text_init(room, size < OWNER_LABEL_SIZE ? size : OWNER_LABEL_SIZE);
    owner_text(report, owners->by_thread, owner, &text);
    row_take(row, LABEL, text.length);
    row_number(row, PID, trace_process_get(trace, process)->pid);
    room = row_room(row, &size);
    row_take(row, PROCESS, trace_process_label(trace, process, room, size));
    if (!thread)
        return;
    room = row_room(row, &size);
    row_take(row, THREAD, trace_thread_label(trace, owner->ordinal, room, size));
    row_number(row, TID, thread->tid);
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct owners *owners = table->rows;
    const struct owner *owner = &owners->items[index];
    const struct thread_share *share = &owner->share;
    row->role = index < owners->worth ? ROW_PLAIN : ROW_MINOR;
    row->few = report_few_samples(share->sample_count);
    if (!row->sums_only)
        fill_texts(table->context, owners, owner, row);
    if (!owners->by_thread)
        row_count(row, PROCESS_COUNT, owner->count);
    row_count(row, CPU, share->cpu_ns);
    row_count(row, SAMPLES, share->sample_count);
    row_count(row, RUNNABLE, share->runnable_ns);
    row_count(row, BLOCKED, share->blocked_ns);
    row_count(row, GC, share->gc_ns);
    row_count(row, GIL, share->gil_ns);
}

/* ---- Order ----------------------------------------------------------------------------------- */

struct order {
    const struct report *report;
    const struct owners *owners;
};

/* Writes a text that orders owners of the same time. */
static size_t text_of(const void *context, uint32_t index, char *buffer, size_t size)
{
    const struct order *order = context;
    const struct owner *owner = &order->owners->items[index];
    const struct trace *trace = order->report->trace;
    bool by_thread = order->owners->by_thread;
    struct text text = text_init(buffer, size);
    owner_text(order->report, by_thread, owner, &text);
    const struct trace_thread *thread = by_thread ? trace_thread_get(trace, owner->ordinal) : NULL;
    uint32_t process = thread ? thread->process : owner->ordinal;
    text_format(&text, "\n%d %d", trace_process_get(trace, process)->pid, thread ? thread->tid : 0);
    return text.length;
}

/* Sorts the owners with samples, by CPU time. Returns their number, or -ENOMEM. */
static int64_t sort_owners(const struct report *report, struct owners *owners, uint32_t count)
{
    const struct order order = {report, owners};
    struct order_entry *entries = calloc((size_t)count + 1, sizeof(*entries));
    struct owner *sorted = calloc((size_t)count + 1, sizeof(*sorted));
    uint32_t seen = 0;
    int rc = entries && sorted ? 0 : -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < count; i++)
        if (is_seen(&owners->items[i]))
            entries[seen++] = (struct order_entry){.first = owners->items[i].share.cpu_ns,
                                                   .second = off_cpu_ns(&owners->items[i]),
                                                   .row = i};
    if (rc == 0)
        rc = order_sort(entries, seen, text_of, &order);
    for (uint32_t i = 0; rc == 0 && i < seen; i++)
        sorted[i] = owners->items[entries[i].row];
    if (rc == 0)
        memcpy(owners->items, sorted, seen * sizeof(*sorted));
    free(entries);
    free(sorted);
    return rc == 0 ? (int64_t)seen : rc;
}

/* Counts the leading owners that are worth a row. */
static uint64_t count_worth(const struct report *report, const struct owners *owners,
                            uint64_t count)
{
    uint64_t worth = 0, waited_least = 0;
    for (uint64_t i = 0; i < count && !report->options.all; i++)
        if (off_cpu_ns(&owners->items[i]) / LITTLE_PART > waited_least)
            waited_least = off_cpu_ns(&owners->items[i]) / LITTLE_PART;
    while (worth < count && (owners->items[worth].share.cpu_ns > 0 ||
                             off_cpu_ns(&owners->items[worth]) > waited_least))
        worth++;
    return worth;
}

static int collect(const struct report *report, struct table *table, struct owners *owners,
                   uint32_t count)
{
    const struct sample_stats *all = &report->samples.all;
    bool joined = !owners->by_thread && !report->options.all;
    for (uint32_t i = 0; i < count; i++)
        owners->items[i] = (struct owner){.ordinal = i, .count = 1};
    for (uint32_t i = 0; i < all->thread_count; i++) {
        uint32_t at = owners->by_thread ? i : trace_thread_get(report->trace, i)->process;
        if (at < count)
            add_share(&owners->items[at], &all->threads[i]);
    }
    int64_t rc = joined ? join_programs(report->trace, owners->items, count) : 0;
    if (joined && rc == 0)
        rc = join_workers(report->trace, owners->items, count);
    if (rc == 0)
        rc = sort_owners(report, owners, count);
    if (rc < 0)
        return (int)rc;
    table->row_count = (uint64_t)rc;
    owners->worth = count_worth(report, owners, table->row_count);
    return 0;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* True if any range of the program has a row. */
static bool has_ranges(const struct range_stats *stats)
{
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++) {
        const struct range_row *row = range_stats_row(stats, i);
        if (row->kind == RANGE_PUSHED && (row->count > 0 || row->cpu_ns > 0) &&
            !report_row_is_observed(stats, i))
            return true;
    }
    return false;
}

static const struct table_column columns[] = {
    [LABEL] = {.title = "process", .type = COLUMN_TEXT},
    [PID] = {.name = "pid", .type = COLUMN_NUMBER},
    [PROCESS] = {.name = "process", .type = COLUMN_TEXT},
    [PROCESS_COUNT] = {.name = "process_count", .type = COLUMN_COUNT},
    [CPU] = {.name = "cpu_ns", .title = "cpu", .type = COLUMN_TIME, .adds_up = true},
    [SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = CPU},
    [SAMPLES] = {.name = "sample_count",
                 .title = "samples",
                 .type = COLUMN_COUNT,
                 .rank = 3,
                 .adds_up = true},
    [RUNNABLE] = {.name = "runnable_ns", .type = COLUMN_TIME, .rank = 1, .adds_up = true},
    [BLOCKED] = {.name = "blocked_ns", .type = COLUMN_TIME, .rank = 2, .adds_up = true},
    [GC] = {.name = "gc_ns", .type = COLUMN_TIME, .adds_up = true},
    [GIL] = {.name = "gil_ns", .type = COLUMN_TIME, .adds_up = true},
    [TID] = {.name = "tid", .type = COLUMN_NUMBER},
};

static void add_columns(const struct report *report, struct table *table, bool by_thread)
{
    for (unsigned i = 0; i < (by_thread ? TID + 1 : TID); i++)
        table_add_column(table, columns[i]);
    if (by_thread) {
        table->columns[LABEL].title = "thread";
        table->columns[THREAD] = (struct table_column){.name = "thread", .type = COLUMN_TEXT};
    }
    table->columns[SHARE].whole = report->samples.all.all.cpu_ns;
    table->columns[RUNNABLE].title = report->samples.off_cpu ? "runnable" : NULL;
    table->columns[BLOCKED].title = report->samples.off_cpu ? "blocked" : NULL;
}

static int add_table(struct report *report, bool by_thread, bool shown)
{
    struct table *table = report_add_table(report, by_thread ? "threads" : "processes", fill);
    uint32_t count =
        by_thread ? report->samples.all.thread_count : trace_process_count(report->trace);
    struct owners *owners =
        calloc(1, sizeof(*owners) + ((size_t)count + 1) * sizeof(*owners->items));
    table->rows = owners;
    if (!owners)
        return -ENOMEM;
    owners->by_thread = by_thread;
    table->limit = report->options.limit;
    table->few = REPORT_FEW_NOTE;
    add_columns(report, table, by_thread);
    int rc = report->samples.present ? collect(report, table, owners, count) : 0;
    if (rc == 0 && shown)
        rc = report_plain_title(table, by_thread ? "CPU time by thread" : "CPU time by process");
    return rc;
}

/* Note after the previous table: no function and no wait is in the chosen ranges. */
static int note_nothing(struct report *report)
{
    const struct report_samples *samples = &report->samples;
    if (!samples->range || !samples->present || samples->inside.all.sample_count > 0)
        return 0;
    if (asprintf(&report->nothing, "There are no samples inside ranges named %s.", samples->range) <
        0) {
        report->nothing = NULL;
        return -ENOMEM;
    }
    table_add_note(&report->tables[report->table_count - 1],
                   (struct table_note){.before = report->nothing, .always = true, .apart = true});
    return 0;
}

static int add_tables(struct report *report)
{
    const struct report_options *options = &report->options;
    bool shown =
        options->all || options->grouping >= RANGE_BY_PROCESS || !has_ranges(report->stats);
    bool by_thread = options->all || options->grouping == RANGE_BY_THREAD;
    int rc = note_nothing(report);
    if (rc == 0)
        rc = add_table(report, false, shown && !by_thread);
    return rc == 0 ? add_table(report, true, shown && by_thread) : rc;
}

const struct report_part report_part_owners = {.add_tables = add_tables};
