/* SPDX-License-Identifier: MIT */
/* See report_lists.h. */
#include "report_lists.h"

#include "call_label.h"

#include <stddef.h>

struct visit {
    const struct report_data_options *options;
    report_item_fn *each;
    void *context;
};

static void put(struct report_item *item, const char *name, const char *column,
                struct report_value value)
{
    item->cells[item->count++] = (struct report_cell){name, column, value};
}

static void put_text(struct report_item *item, const char *name, const char *column,
                     const char *text)
{
    put(item, name, column, (struct report_value){.is_text = true, .text = text});
}

static void put_count(struct report_item *item, const char *name, uint64_t count)
{
    put(item, name, name, (struct report_value){.count = count});
}

static void put_number(struct report_item *item, const char *name, int32_t number)
{
    put(item, name, name, (struct report_value){.is_integer = true, .integer = number});
}

/* By process and thread. */
static void each_thread(const struct visit *visit)
{
    const struct trace *trace = visit->options->trace;
    const struct sample_stats *all = &visit->options->samples->all;
    char process_label[REPORT_LABEL_SIZE], thread_label[REPORT_LABEL_SIZE];
    for (uint32_t i = 0; i < all->thread_count; i++) {
        struct report_item item = {.kind = "thread"};
        const struct thread_share *share = &all->threads[i];
        const struct trace_thread *thread = trace_thread_get(trace, i);
        const struct trace_process *process = trace_process_get(trace, thread->process);
        if (share->sample_count + share->runnable_ns + share->blocked_ns == 0)
            continue;
        trace_process_label(trace, thread->process, process_label, sizeof(process_label));
        trace_thread_label(trace, i, thread_label, sizeof(thread_label));
        put_number(&item, "pid", process ? process->pid : 0);
        put_text(&item, "process", "process", process_label);
        put_number(&item, "tid", thread->tid);
        put_text(&item, "thread", "thread", thread_label);
        put_count(&item, "cpu_ns", share->cpu_ns);
        put_count(&item, "sample_count", share->sample_count);
        put_count(&item, "runnable_ns", share->runnable_ns);
        put_count(&item, "blocked_ns", share->blocked_ns);
        put_count(&item, "gc_ns", share->gc_ns);
        put_count(&item, "gil_ns", share->gil_ns);
        visit->each(visit->context, &item);
    }
}

/* `label` holds its text as long as the item lives. */
static void put_function(const struct visit *visit, struct report_item *item, uint32_t ordinal,
                         char label[CALL_LABEL_SIZE])
{
    static const char *const kinds[] = {
        [0] = "unknown",           [FRAME_NATIVE] = "native", [FRAME_PYTHON] = "python",
        [FRAME_KERNEL] = "kernel", [FRAME_JIT] = "jit",       [FRAME_COLLECTOR] = "gc",
        [FRAME_NOTE] = "note",
    };
    const struct trace *trace = visit->options->trace;
    const struct frame *frame = stacks_get_frame(trace_stacks_get(trace), ordinal);
    unsigned kind = frame->kind < sizeof(kinds) / sizeof(*kinds) ? frame->kind : 0;
    call_frame_label(trace, frame, CALL_STRIP_LIBRARIES, label, CALL_LABEL_SIZE);
    put_text(item, "function", "path", ordinal ? label : "");
    put_text(item, "kind", "code", ordinal ? kinds[kind] : "none");
    put_text(item, "module", "module", trace_string(trace, frame->module)->bytes);
}

static void each_function(const struct visit *visit)
{
    const struct function_row *rows;
    char label[CALL_LABEL_SIZE];
    bool total = visit->options->sort == RANGE_COLUMN_TOTAL;
    uint32_t count = frame_stats_sort(visit->options->samples->frames,
                                      total ? FRAME_ORDER_TOTAL : FRAME_ORDER_SELF, &rows);
    for (uint32_t i = 0; i < count; i++) {
        struct report_item item = {.kind = "function"};
        put_function(visit, &item, rows[i].frame, label);
        put_count(&item, "cpu_self_ns", rows[i].self_ns);
        put_count(&item, "cpu_python_ns", rows[i].python_ns);
        put(&item, "cpu_total_ns", "cpu_ns", (struct report_value){.count = rows[i].total_ns});
        put_count(&item, "sample_count", rows[i].count);
        visit->each(visit->context, &item);
    }
}

static void put_wait(struct report_item *item, uint64_t count, uint64_t total_ns, uint64_t max_ns)
{
    put_count(item, "count", count);
    put_count(item, "total_ns", total_ns);
    put_count(item, "max_ns", max_ns);
}

static void each_wait(const struct visit *visit)
{
    const struct sample_stats *inside = &visit->options->samples->inside;
    for (unsigned reason = 0; reason <= WAIT_REASON_COUNT; reason++) {
        bool runnable = reason == WAIT_REASON_COUNT;
        const struct wait_share *wait = runnable ? &inside->runnable : &inside->waits[reason];
        struct report_item item = {.kind = "wait"};
        if (wait->count == 0)
            continue;
        put_text(&item, "reason", "path",
                 runnable ? "runnable" : wait_reason_name((enum wait_reason)reason));
        put_wait(&item, wait->count, wait->total_ns, wait->max_ns);
        visit->each(visit->context, &item);
    }
}

static void each_place(const struct visit *visit)
{
    const struct wait_place *places;
    char label[CALL_LABEL_SIZE];
    uint32_t count = wait_places_sort(visit->options->samples->places, &places);
    for (uint32_t i = 0; i < count; i++) {
        struct report_item item = {.kind = "wait place"};
        put_function(visit, &item, places[i].frame, label);
        put_text(&item, "reason", "reason", wait_reason_name((enum wait_reason)places[i].reason));
        put_wait(&item, places[i].count, places[i].blocked_ns, places[i].max_ns);
        visit->each(visit->context, &item);
    }
}

void report_list_each(const struct report_data_options *options, enum report_list list,
                      report_item_fn *each, void *context)
{
    const struct visit visit = {options, each, context};
    if (!options->samples->present)
        return;
    switch (list) {
    case REPORT_THREADS:
        each_thread(&visit);
        break;
    case REPORT_FUNCTIONS:
        each_function(&visit);
        break;
    case REPORT_WAITS:
        each_wait(&visit);
        break;
    case REPORT_PLACES:
        each_place(&visit);
        break;
    }
}
