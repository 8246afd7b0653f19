/* SPDX-License-Identifier: MIT */
/* The tree of calls on the page, from call paths and threads. See page_parts.h. */
#include "page_parts.h"

#include "stacks.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROOT = 0, ROLE_SIZE = 300 };

/* ---- Functions ------------------------------------------------------------------------------- */

/* The index, or -ENOMEM. */
static int64_t function_of(struct page_nodes *nodes, enum page_function_kind kind, uint32_t id)
{
    uint64_t key = ((uint64_t)kind << 32 | id) + 1;
    const uint64_t *found = map64_find(&nodes->function_by_key, key);
    if (found)
        return (int64_t)*found;
    struct page_function function = {.kind = (uint8_t)kind, .id = id};
    if (vec_push(&nodes->functions, function) != 0 ||
        map64_put(&nodes->function_by_key, key, nodes->functions.count - 1) != 0)
        return -ENOMEM;
    return (int64_t)nodes->functions.count - 1;
}

/* ---- Roles ----------------------------------------------------------------------------------- */

/* Roles of equal names are one. The index, or -ENOMEM. */
static int64_t find_role(struct page_nodes *nodes, uint32_t thread)
{
    char name[ROLE_SIZE];
    page_role_name(nodes->trace, thread, name, sizeof(name));
    for (size_t i = 0; i < nodes->roles.count; i++)
        if (strcmp(nodes->roles.items[i], name) == 0)
            return (int64_t)i;
    char *copy = strdup(name);
    if (copy && vec_push(&nodes->roles, copy) == 0)
        return (int64_t)nodes->roles.count - 1;
    free(copy);
    return -ENOMEM;
}

static int64_t role_of(struct page_nodes *nodes, uint32_t thread)
{
    uint32_t at = thread < nodes->thread_count ? thread : nodes->thread_count;
    if (nodes->role_of[at] == PAGE_NONE) {
        int64_t role = find_role(nodes, thread);
        if (role < 0)
            return role;
        nodes->role_of[at] = (uint32_t)role;
    }
    return nodes->role_of[at];
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* The child of a node; `variant` 0, or 1 + the own function that it counts for, where the one of
 * that name counts for another. -ENOMEM. */
static int64_t child_of(struct page_nodes *nodes, uint32_t parent, int64_t function,
                        uint64_t variant)
{
    if (function < 0)
        return function;
    const struct wide_key *key = WIDE_KEY((uint64_t)parent << 32 | (uint64_t)function, variant, 1);
    const uint64_t *found = wide_map_find(&nodes->child_by_key, key);
    if (found)
        return (int64_t)*found;
    struct page_node node = {.function = (uint32_t)function, .own = PAGE_NONE};
    if (vec_push(&nodes->items, node) != 0 || vec_push(&nodes->parents, parent) != 0 ||
        wide_map_put(&nodes->child_by_key, key, nodes->items.count - 1) != 0)
        return -ENOMEM;
    return (int64_t)nodes->items.count - 1;
}

/* The function that a path counts for in the report's table of own functions. */
static int64_t own_of(struct page_nodes *nodes, uint32_t stack)
{
    int32_t line;
    uint32_t row = own_time_row_of(nodes->own, stack, &line);
    if (row == UINT32_MAX) /* it was joined with another one */
        return function_of(nodes, PAGE_PURPOSE, PURPOSE_NONE);
    const struct own_row *own = own_time_row(nodes->own, row);
    if (own->label)
        return function_of(nodes, PAGE_FUNCTION, own->label);
    if (own->purpose == PURPOSE_NONE && own->program)
        return function_of(nodes, PAGE_PROGRAM, own->program);
    return function_of(nodes, PAGE_PURPOSE, own->purpose);
}

/* The node itself, or its like that counts for that function. */
static int64_t end_at(struct page_nodes *nodes, uint32_t node, int64_t own)
{
    if (own < 0)
        return own;
    struct page_node *item = &nodes->items.items[node];
    if (item->own == PAGE_NONE)
        item->own = (uint32_t)own;
    if (item->own == (uint32_t)own)
        return node;
    int64_t other = child_of(nodes, nodes->parents.items[node], item->function, (uint64_t)own + 1);
    if (other >= 0)
        nodes->items.items[other].own = (uint32_t)own;
    return other;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Where most of the time at a call path is, of what is in the rows of own functions. */
struct path_line {
    int32_t line;
    uint64_t time_ns;
};

struct stack_line {
    uint32_t path;
    int32_t line;
    uint64_t time_ns;
};

static int add_stack_time(void *context, const struct own_moment *moment,
                          const struct own_times *times)
{
    uint64_t *time_ns = context;
    time_ns[moment->stack] += times->cpu_ns + times->ready_ns + times->waiting_ns;
    return 0;
}

static int by_line(const void *left, const void *right)
{
    const struct stack_line *a = left, *b = right;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static void take_lines(const struct stack_line *lines, size_t count, struct path_line *ret_lines)
{
    for (size_t i = 0; i < count;) {
        const struct stack_line *first = &lines[i];
        uint64_t time_ns = 0;
        for (; i < count && lines[i].path == first->path && lines[i].line == first->line; i++)
            time_ns += lines[i].time_ns;
        if (time_ns > ret_lines[first->path].time_ns || ret_lines[first->path].line == 0)
            ret_lines[first->path] = (struct path_line){first->line, time_ns};
    }
}

/* NULL: out of memory. */
static struct path_line *find_lines(const struct own_time *own, const struct page_paths *paths)
{
    const struct stacks *stacks = trace_stacks_get(own_time_trace(own));
    uint32_t count = paths->stack_count;
    uint64_t *times = calloc((size_t)count + 1, sizeof(*times));
    struct stack_line *lines = calloc((size_t)count + 1, sizeof(*lines));
    struct path_line *result = calloc(paths->parents.count + 1, sizeof(*result));
    bool made = times && lines && result && own_time_each(own, add_stack_time, times) == 0;
    for (uint32_t i = count; made && i-- > 1;) {
        const struct stack *stack = stacks_get_stack(stacks, i);
        lines[i] = (struct stack_line){paths->of_stack[i],
                                       stacks_get_frame(stacks, stack->frame)->line, times[i]};
        times[stack->parent] += times[i];
    }
    if (made && count > 1) {
        qsort(lines, count, sizeof(*lines), by_line);
        take_lines(lines, count, result);
    }
    free(times);
    free(lines);
    if (made)
        return result;
    free(result);
    return NULL;
}

/* ---- From a path to a node ------------------------------------------------------------------- */

struct walker {
    struct page_nodes *nodes;
    const struct page_paths *paths;
    struct path_line *lines;
    struct page_lines *sources; /* NULL: time is not told apart by lines */
    VEC(uint32_t) frames;       /* call paths, the outermost first */
};

static int list_frames(struct walker *walker, uint32_t path)
{
    walker->frames.count = 0;
    for (uint32_t at = path; at != 0; at = walker->paths->parents.items[at])
        if (vec_push(&walker->frames, at) != 0)
            return -ENOMEM;
    uint32_t *items = walker->frames.items;
    for (size_t i = 0, j = walker->frames.count; i + 1 < j; i++) {
        uint32_t other = items[--j];
        items[j] = items[i];
        items[i] = other;
    }
    return 0;
}

static void see_line(const struct walker *walker, struct page_node *node, uint32_t path)
{
    const struct path_line *line = &walker->lines[path];
    if (node->line == 0 || line->time_ns > node->line_ns) {
        node->line = line->line;
        node->line_ns = line->time_ns;
    }
}

/* The node of a call path below a role, or -ENOMEM. */
static int64_t walk(struct walker *walker, uint32_t role, uint32_t path)
{
    struct page_nodes *nodes = walker->nodes;
    uint64_t key = ((uint64_t)role << 32 | path) + 1;
    const uint64_t *found = map64_find(&nodes->node_by_path, key);
    if (found)
        return (int64_t)*found;
    if (list_frames(walker, path) != 0)
        return -ENOMEM;
    uint32_t *frames = walker->frames.items; /* NULL: of path 0 there are none */
    uint32_t count =
        frames ? page_fold(nodes->own, walker->paths, frames, (uint32_t)walker->frames.count) : 0;
    int64_t node = child_of(nodes, ROOT, function_of(nodes, PAGE_ROLE, role), 0);
    for (uint32_t i = 0; i < count && frames && node >= 0; i++) {
        uint32_t label = walker->paths->labels.items[frames[i]];
        node = child_of(nodes, (uint32_t)node, function_of(nodes, PAGE_FUNCTION, label), 0);
        if (node >= 0)
            see_line(walker, &nodes->items.items[node], frames[i]);
    }
    if (node >= 0)
        node = end_at(nodes, (uint32_t)node, own_of(nodes, walker->paths->stacks.items[path]));
    if (node >= 0 && map64_put(&nodes->node_by_path, key, (uint64_t)node) != 0)
        return -ENOMEM;
    return node;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static int take_sums(struct walker *walker, const struct page_sums *from)
{
    struct page_nodes *nodes = walker->nodes;
    uint32_t path_count = stacks_path_count(trace_stacks_get(nodes->trace));
    int error = 0;
    for (size_t i = 0; i < from->items.count && !error; i++) {
        struct page_sum sum = from->items.items[i];
        int64_t role = role_of(nodes, sum.thread);
        uint32_t path = walker->paths->of_stack[sum.node];
        int64_t node = role < 0 ? role : walk(walker, (uint32_t)role, path);
        int64_t line = walker->sources ? page_line_of(walker->sources, sum.node) : 0;
        if (node < 0 || line < 0)
            return -ENOMEM;
        const struct own_moment moment = {.stack = walker->paths->stacks.items[path],
                                          .thread = sum.thread,
                                          .reason =
                                              sum.cause == PAGE_READY ? sum.reason : sum.cause};
        sum.idle = sum.cause != PAGE_CPU && sum.thread != PAGE_NONE &&
                   own_time_is_idle(nodes->own, &moment);
        sum.reason = 0;
        sum.path = sum.path < path_count ? sum.path : 0;
        sum.node = (uint32_t)node;
        sum.line = (uint32_t)line;
        error = page_sums_add(&nodes->sums, &sum);
    }
    return error;
}

/* Those that count as own: in a tree of own code they are shown. */
static void mark_own(struct page_nodes *nodes)
{
    const struct stacks *stacks = trace_stacks_get(nodes->trace);
    for (size_t i = 0; i < nodes->functions.count; i++) {
        struct page_function *function = &nodes->functions.items[i];
        const struct frame frame = {.label = function->id,
                                    .kind = stacks_get_label(stacks, function->id)->kind};
        function->mine =
            function->kind == PAGE_FUNCTION && own_time_is_own(nodes->own, &frame, true);
    }
    for (size_t i = 0; i < nodes->items.count; i++)
        if (nodes->items.items[i].own != PAGE_NONE)
            nodes->functions.items[nodes->items.items[i].own].mine |=
                nodes->functions.items[nodes->items.items[i].own].kind == PAGE_FUNCTION;
}

static int begin(struct page_nodes *nodes, const struct own_time *own)
{
    *nodes = (struct page_nodes){.trace = own_time_trace(own), .own = own};
    nodes->thread_count = trace_thread_count(nodes->trace);
    nodes->role_of = malloc(((size_t)nodes->thread_count + 1) * sizeof(*nodes->role_of));
    nodes->sums.limit = SIZE_MAX; /* fewer than there were of paths */
    if (!nodes->role_of)
        return -ENOMEM;
    for (uint32_t i = 0; i <= nodes->thread_count; i++)
        nodes->role_of[i] = PAGE_NONE;
    int error = vec_push(&nodes->parents, ROOT);
    return error ? error : vec_push(&nodes->items, ((struct page_node){.own = PAGE_NONE}));
}

int page_nodes_make(struct page_nodes *nodes, struct page_samples *samples,
                    const struct own_time *own, struct page_lines *lines)
{
    bool exact =
        samples->sums.node_steps == 0 && !samples->sums.no_lines; /* a line is its stack's */
    struct walker walker = {
        .nodes = nodes, .paths = &samples->paths, .sources = exact ? lines : NULL};
    int error = begin(nodes, own);
    page_sums_sort(&samples->sums); /* nothing is looked for there any more */
    walker.lines = error ? NULL : find_lines(own, &samples->paths);
    if (!error)
        error = walker.lines ? take_sums(&walker, &samples->sums) : -ENOMEM;
    free(walker.lines);
    vec_free(&walker.frames);
    nodes->sums.node_steps = samples->sums.node_steps;
    nodes->sums.slot_shift = samples->sums.slot_shift;
    nodes->sums.no_lines = !exact || samples->sums.no_lines;
    nodes->sums.no_paths = samples->sums.no_paths;
    nodes->sums.no_threads = samples->sums.no_threads;
    page_sums_fini(&samples->sums);
    wide_map_free(&nodes->child_by_key);
    map64_free(&nodes->node_by_path);
    map64_free(&nodes->function_by_key);
    if (error)
        return error;
    mark_own(nodes);
    nodes->sums.parents = nodes->parents.items;
    nodes->sums.node_count = (uint32_t)nodes->parents.count;
    return page_sums_limit_nodes(&nodes->sums, PAGE_NODES_MAX);
}

void page_nodes_fini(struct page_nodes *nodes)
{
    for (size_t i = 0; i < nodes->roles.count; i++)
        free(nodes->roles.items[i]);
    vec_free(&nodes->roles);
    vec_free(&nodes->items);
    vec_free(&nodes->parents);
    vec_free(&nodes->functions);
    free(nodes->role_of);
    wide_map_free(&nodes->child_by_key);
    map64_free(&nodes->node_by_path);
    map64_free(&nodes->function_by_key);
    page_sums_fini(&nodes->sums);
}
