/* SPDX-License-Identifier: MIT */
/* Weights are added up by stack; functions are only looked at once all samples are in, once per
 * stack. A parent's ordinal is smaller than its children's, so one walk backwards gives each stack
 * the weight of all that it called. Thread-safety: none. */
#include "frame_stats.h"

#include "call_label.h"
#include "call_tree.h"
#include "map64.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_FUNCTION UINT32_MAX

/* Of the samples that end in a stack; from finish on, also of those that end further inside. */
struct stack_sum {
    uint64_t weight_ns, count;
};

struct frame_stats {
    const struct trace *trace;
    const struct stacks *stacks;
    struct stack_sum *sums; /* by stack; the first: without one */
    uint32_t *function_of_frame;
    VEC(struct function_row) rows;
    VEC(uint32_t) next_rows;  /* of a row: the next with the same hash + 1 */
    struct map64 rows_by_key; /* row + 1, the first of a chain */
    struct frame_totals totals;
};

struct frame_stats *frame_stats_create(const struct trace *trace)
{
    struct frame_stats *stats = calloc(1, sizeof(*stats));
    if (!stats)
        return NULL;
    stats->trace = trace;
    stats->stacks = trace_stacks_get(trace);
    stats->sums = calloc(stacks_stack_count(stats->stacks), sizeof(*stats->sums));
    stats->function_of_frame =
        malloc(stacks_frame_count(stats->stacks) * sizeof(*stats->function_of_frame));
    if (stats->sums && stats->function_of_frame)
        return stats;
    frame_stats_destroy(stats);
    return NULL;
}

void frame_stats_destroy(struct frame_stats *stats)
{
    if (!stats)
        return;
    free(stats->sums);
    free(stats->function_of_frame);
    vec_free(&stats->rows);
    vec_free(&stats->next_rows);
    map64_free(&stats->rows_by_key);
    free(stats);
}

void frame_stats_add(struct frame_stats *stats, const struct sample *sample)
{
    uint64_t weight_ns = call_sample_weight_ns(trace_sets_get(stats->trace), sample);
    bool known = sample->stack < stacks_stack_count(stats->stacks);
    struct stack_sum *sum = &stats->sums[known ? sample->stack : 0];
    stats->totals.total_ns += weight_ns;
    sum->weight_ns += weight_ns;
    sum->count++;
}

/* The row of a frame's function, made if new; -ENOMEM. */
static int64_t row_of(struct frame_stats *stats, uint32_t ordinal)
{
    const struct frame *frame = stacks_get_frame(stats->stacks, ordinal);
    uint64_t key = call_function_hash(frame) | 1;
    const uint64_t *first = map64_find(&stats->rows_by_key, key);
    uint32_t chain = first ? (uint32_t)*first : 0;
    for (uint32_t at = chain; at != 0; at = stats->next_rows.items[at - 1])
        if (call_same_function(frame,
                               stacks_get_frame(stats->stacks, stats->rows.items[at - 1].frame)))
            return at - 1;
    if (vec_push(&stats->rows, ((struct function_row){.frame = ordinal})) != 0 ||
        vec_push(&stats->next_rows, chain) != 0 ||
        map64_put(&stats->rows_by_key, key, stats->rows.count) != 0)
        return -ENOMEM;
    return (int64_t)stats->rows.count - 1;
}

static int name_functions(struct frame_stats *stats)
{
    stats->function_of_frame[0] = NO_FUNCTION;
    for (uint32_t i = 1; i < stacks_frame_count(stats->stacks); i++) {
        int64_t row = row_of(stats, i);
        if (row < 0)
            return -ENOMEM;
        stats->function_of_frame[i] = (uint32_t)row;
    }
    return 0;
}

static uint32_t function_of(const struct frame_stats *stats, uint32_t stack)
{
    return stats->function_of_frame[stacks_get_stack(stats->stacks, stack)->frame];
}

/* The garbage collector interrupts a Python function, which is not to blame for its time. */
static bool is_python(const struct frame_stats *stats, uint32_t stack)
{
    const struct stack *node = stacks_get_stack(stats->stacks, stack);
    uint8_t kind = stacks_get_frame(stats->stacks, node->frame)->kind;
    return kind == FRAME_PYTHON || kind == FRAME_COLLECTOR;
}

/* Whose samples end here. */
static void add_self(struct frame_stats *stats, uint32_t stack)
{
    uint64_t weight_ns = stats->sums[stack].weight_ns;
    uint32_t leaf = function_of(stats, stack), at = stack;
    if (leaf != NO_FUNCTION)
        stats->rows.items[leaf].self_ns += weight_ns;
    while (at != 0 && !is_python(stats, at))
        at = stacks_get_stack(stats->stacks, at)->parent;
    if (at == 0)
        return;
    stats->totals.python_ns += weight_ns;
    stats->rows.items[function_of(stats, at)].python_ns += weight_ns;
}

/* Is the function on the way to the root, too? Then that one counts. */
static bool is_nested(const struct frame_stats *stats, uint32_t stack, uint32_t function)
{
    for (uint32_t at = stacks_get_stack(stats->stacks, stack)->parent; at != 0;
         at = stacks_get_stack(stats->stacks, at)->parent)
        if (function_of(stats, at) == function)
            return true;
    return false;
}

/* Functions of waits alone go; what no function has gets its row. */
static int keep_sampled(struct frame_stats *stats, uint64_t no_stack_count)
{
    size_t kept = 0;
    uint64_t self_ns = 0;
    for (size_t i = 0; i < stats->rows.count; i++) {
        self_ns += stats->rows.items[i].self_ns;
        if (stats->rows.items[i].count > 0)
            stats->rows.items[kept++] = stats->rows.items[i];
    }
    stats->rows.count = kept;
    struct function_row none = {.count = no_stack_count,
                                .self_ns = stats->totals.total_ns - self_ns,
                                .total_ns = stats->totals.total_ns - self_ns,
                                .python_ns = stats->totals.total_ns - stats->totals.python_ns};
    stats->totals.no_stack_ns = none.self_ns;
    return none.count || none.python_ns ? vec_push(&stats->rows, none) : 0;
}

int frame_stats_finish(struct frame_stats *stats)
{
    uint32_t count = stacks_stack_count(stats->stacks);
    if (name_functions(stats) != 0)
        return -ENOMEM;
    for (uint32_t stack = 1; stack < count; stack++)
        if (stats->sums[stack].count > 0)
            add_self(stats, stack);
    uint64_t no_stack_count = stats->sums[0].count;
    for (uint32_t stack = count; stack-- > 1;) {
        struct stack_sum *parent = &stats->sums[stacks_get_stack(stats->stacks, stack)->parent];
        parent->weight_ns += stats->sums[stack].weight_ns;
        parent->count += stats->sums[stack].count;
    }
    for (uint32_t stack = 1; stack < count; stack++) {
        uint32_t function = stats->sums[stack].count > 0 ? function_of(stats, stack) : NO_FUNCTION;
        if (function == NO_FUNCTION || is_nested(stats, stack, function))
            continue;
        stats->rows.items[function].total_ns += stats->sums[stack].weight_ns;
        stats->rows.items[function].count += stats->sums[stack].count;
    }
    return keep_sampled(stats, no_stack_count);
}

const struct frame_totals *frame_stats_totals(const struct frame_stats *stats)
{
    return &stats->totals;
}

static uint64_t value_of(const struct function_row *row, enum frame_order order)
{
    return order == FRAME_ORDER_SELF    ? row->self_ns
           : order == FRAME_ORDER_TOTAL ? row->total_ns
                                        : row->python_ns;
}

struct order_context {
    const struct frame_stats *stats;
    enum frame_order order;
};

static int compare(const void *left, const void *right, void *context)
{
    const struct function_row *a = left, *b = right;
    const struct order_context *by = context;
    uint64_t a_value = value_of(a, by->order), b_value = value_of(b, by->order);
    if ((a->frame == 0) != (b->frame == 0))
        return a->frame == 0 ? 1 : -1;
    if (a_value != b_value)
        return a_value < b_value ? 1 : -1;
    int functions = call_compare_functions(by->stats->trace, a->frame, b->frame);
    return functions ? functions : a->frame < b->frame ? -1 : a->frame > b->frame;
}

uint32_t frame_stats_sort(struct frame_stats *stats, enum frame_order order,
                          const struct function_row **ret_rows)
{
    struct order_context context = {stats, order};
    if (stats->rows.count > 0)
        qsort_r(stats->rows.items, stats->rows.count, sizeof(*stats->rows.items), compare,
                &context);
    *ret_rows = stats->rows.items;
    return (uint32_t)stats->rows.count;
}
