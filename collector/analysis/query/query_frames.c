/* SPDX-License-Identifier: MIT */
/* Frames in tables, the owners of their code, and the frames of a stack, one a row. */
#include "query_frames.h"

#include "query_cells.h"
#include "query_report.h"
#include "query_state.h"

#include "code_owner.h"
#include "stacks.h"

#include <errno.h>
#include <string.h>

/* ---- Owners ---------------------------------------------------------------------------------- */

unsigned query_owner_of(struct query *query, uint32_t label)
{
    if (label >= stacks_label_count(trace_stacks_get(query->trace)))
        return CODE_UNKNOWN;
    while (query->owners.count <= label)
        if (vec_push(&query->owners, 0) != 0)
            return code_owner_of(query->trace, label);
    uint8_t *known = &query->owners.items[label];
    if (*known == 0)
        *known = (uint8_t)(1 + code_owner_of(query->trace, label));
    return *known - 1U;
}

uint32_t query_own_frame(struct query *query, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(query->trace);
    while (stack) {
        const struct stack *node = stacks_get_stack(stacks, stack);
        const struct frame *frame = stacks_get_frame(stacks, node->frame);
        if (query_owner_of(query, frame->label) == CODE_OWN)
            return node->frame;
        stack = node->parent < stack ? node->parent : 0;
    }
    return 0;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static const char *kind_name(unsigned kind)
{
    static const char *const names[] = {
        [FRAME_NATIVE] = "native", [FRAME_PYTHON] = "python",       [FRAME_KERNEL] = "kernel",
        [FRAME_JIT] = "jit",       [FRAME_COLLECTOR] = "collector", [FRAME_NOTE] = "note",
    };
    return kind > 0 && kind < sizeof(names) / sizeof(*names) ? names[kind] : "unknown";
}

struct query_cell frame_cell(struct query *query, uint32_t ordinal, enum frame_part part)
{
    const struct query_cell none = {.type = QUERY_NULL};
    const struct stacks *stacks = trace_stacks_get(query->trace);
    const struct frame *frame = stacks_get_frame(stacks, ordinal);
    const struct label *label = stacks_get_label(stacks, frame->label);
    if (!ordinal)
        return none;
    switch (part) {
    case FRAME_FUNCTION:
        return string_cell(query->trace, label->text);
    case FRAME_FILE:
        return string_cell(query->trace, stacks_get_source(stacks, label->source)->path);
    case FRAME_LINE:
        return frame->line > 0 ? integer_cell(frame->line) : none;
    case FRAME_OWNER:
        return constant_cell(code_owner_name(query_owner_of(query, frame->label)));
    case FRAME_KIND_NAME:
        return constant_cell(kind_name(frame->kind));
    case FRAME_MODULE:
        return string_cell(
            query->trace,
            stacks_get_module(stacks, frame->module ? frame->module : label->module)->path);
    case FRAME_FIRST_LINE:
        return label->first_line > 0 ? integer_cell(label->first_line) : none;
    }
    return none;
}

/* ---- The frames of a stack ------------------------------------------------------------------- */

enum { STACK_DEPTH_MAX = 1 << 16 };

enum { AT_STACK, AT_DEPTH, AT_INSIDE, AT_FRAME, AT_PARTS };

static const struct schema_column stack_frame_columns[] = {
    {"stack", "INTEGER", "stacks.id, samples.stack", BOUND_ID, NULL},
    {"depth", "INTEGER", "frames around it: 0 is the outermost", BOUND_NONE, NULL},
    {"inside", "INTEGER", "frames inside of it: 0 is the innermost", BOUND_NONE, NULL},
    {"frame", "INTEGER", "frames.id", BOUND_NONE, NULL},
    {"function", "TEXT", "what its function is called", BOUND_NONE, NULL},
    {"file", "TEXT", "its source; NULL: not known", BOUND_NONE, NULL},
    {"line", "INTEGER", "the line; NULL: not known", BOUND_NONE, NULL},
    {"owner", "TEXT", "whose it is: \"own\", \"library\", \"stdlib\", ...", BOUND_NONE, NULL},
    {"kind", "TEXT", "\"native\", \"python\", \"kernel\", ...", BOUND_NONE, NULL},
    {"module", "TEXT", "the file of native code; NULL: none", BOUND_NONE, NULL},
    {0},
};

const struct query_table query_stack_frames = {
    "stack_frames",
    "the frames of each stack, to be joined by samples.stack",
    stack_frame_columns,
    &stack_frame_rows,
    0,
    false};

struct stack_scan {
    uint32_t stack, last; /* current stack; last wanted stack */
    uint32_t node;        /* of the frame; 0: end of the stack */
    uint32_t depth, inside;
};

static uint32_t depth_of(const struct stacks *stacks, uint32_t stack)
{
    uint32_t depth = 0;
    while (stack && depth < STACK_DEPTH_MAX) {
        uint32_t parent = stacks_get_stack(stacks, stack)->parent;
        stack = parent < stack ? parent : 0;
        depth += stack != 0;
    }
    return depth;
}

static void begin_stack(struct stack_scan *scan, const struct stacks *stacks)
{
    scan->node = scan->stack;
    scan->depth = depth_of(stacks, scan->stack);
    scan->inside = 0;
}

static int filter(struct query_cursor *cursor, const struct query_bounds *bounds)
{
    struct stack_scan *scan = cursor->state;
    uint32_t count = stacks_stack_count(trace_stacks_get(cursor->query->trace));
    *scan = (struct stack_scan){.last = count - 1};
    if (bounds->given & BIT_ID) {
        bool known = bounds->id > 0 && bounds->id < (int64_t)count;
        scan->last = known ? (uint32_t)bounds->id : 0;
        scan->stack = known ? scan->last - 1 : 0;
    }
    return 0;
}

static int next(struct query_cursor *cursor)
{
    struct stack_scan *scan = cursor->state;
    const struct stacks *stacks = trace_stacks_get(cursor->query->trace);
    uint32_t parent = scan->node ? stacks_get_stack(stacks, scan->node)->parent : 0;
    if (scan->depth > 0 && parent && parent < scan->node) {
        scan->node = parent;
        scan->depth--;
        scan->inside++;
        return 1;
    }
    if (scan->stack >= scan->last)
        return 0;
    scan->stack++;
    begin_stack(scan, stacks);
    return 1;
}

static void put(const struct query_cursor *cursor, unsigned column, sqlite3_context *context)
{
    const struct stack_scan *scan = cursor->state;
    const struct stacks *stacks = trace_stacks_get(cursor->query->trace);
    uint32_t frame = stacks_get_stack(stacks, scan->node)->frame;
    if (column == AT_STACK)
        put_integer(context, scan->stack);
    else if (column == AT_DEPTH)
        put_integer(context, scan->depth);
    else if (column == AT_INSIDE)
        put_integer(context, scan->inside);
    else if (column == AT_FRAME)
        put_integer(context, frame);
    else
        put_cell(context, frame_cell(cursor->query, frame, (enum frame_part)(column - AT_PARTS)));
}

static int64_t number(const struct query_cursor *cursor)
{
    const struct stack_scan *scan = cursor->state;
    return ((int64_t)scan->stack << 16) | scan->inside;
}

static double count(const struct query *query, unsigned kind)
{
    (void)kind;
    return 20.0 * stacks_stack_count(trace_stacks_get(query->trace)) + 1;
}

const struct query_rows stack_frame_rows = {
    .state_size = sizeof(struct stack_scan),
    .count = count,
    .filter = filter,
    .next = next,
    .put = put,
    .number = number,
};
