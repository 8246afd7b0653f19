/* SPDX-License-Identifier: MIT */
/* The tree of calls and the sums of CPU time and waits, as columns. Writes only entries that have
 * time, renumbered. */
#include "page_calls.h"

#include "code_owner.h"
#include "page_data.h"
#include "page_model.h"
#include "page_ranges.h"
#include "page_samples.h"
#include "page_sources.h"
#include "stacks.h"
#include "text.h"
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Folding: visible frames of a stack ------------------------------------------------------ */

enum { NO_FRAME = -1 };

/* Properties of a path that decide about its frames. */
struct outline {
    const struct own_time *own;
    const struct stacks *stacks;
    const uint32_t *labels; /* by call path */
    const uint32_t *paths;
    uint32_t count;
    int64_t bootstrap, first_python, last_python; /* NO_FRAME if absent */
    int64_t last_other;                           /* last Python frame that does not import */
};

static uint32_t label_at(const struct outline *outline, uint32_t at)
{
    return outline->labels[outline->paths[at]];
}

static const struct label *entry_at(const struct outline *outline, uint32_t at)
{
    return stacks_get_label(outline->stacks, label_at(outline, at));
}

static struct outline look_at(const struct own_time *own, const struct page_paths *call_paths,
                              const uint32_t *paths, uint32_t count)
{
    struct outline outline = {.own = own,
                              .stacks = trace_stacks_get(own_time_trace(own)),
                              .labels = call_paths->labels.items,
                              .paths = paths,
                              .count = count,
                              .bootstrap = NO_FRAME,
                              .first_python = NO_FRAME,
                              .last_python = NO_FRAME,
                              .last_other = NO_FRAME};
    for (uint32_t i = 0; i < count; i++) {
        const struct own_label *label = own_time_label(own, label_at(&outline, i));
        if (entry_at(&outline, i)->kind != FRAME_PYTHON)
            continue;
        if (label->bootstrap)
            outline.bootstrap = i;
        if (outline.first_python == NO_FRAME)
            outline.first_python = i;
        outline.last_python = i;
        if (label->purpose != PURPOSE_IMPORT)
            outline.last_other = i;
    }
    return outline;
}

/* True for frames of the bootstrap's module, and for native code between its functions. */
static bool is_bootstrap(const struct outline *outline, uint32_t at)
{
    const struct label *label = entry_at(outline, at);
    if (label->kind != FRAME_PYTHON)
        return (int64_t)at < outline->last_python;
    return label->source == entry_at(outline, (uint32_t)outline->bootstrap)->source;
}

/* The first frame that may be shown. After a bootstrap, skips the frames of its module. */
static uint32_t start_of(const struct outline *outline)
{
    uint32_t at = 0;
    if (outline->bootstrap != NO_FRAME) {
        at = (uint32_t)outline->bootstrap + 1;
        while (at < outline->count && is_bootstrap(outline, at))
            at++;
        return at;
    }
    while (outline->first_python == NO_FRAME && at + 1 < outline->count &&
           code_is_start_up(own_time_trace(outline->own), label_at(outline, at)))
        at++;
    return at;
}

/* Decides about a frame. An import is shown, once, if no other Python code follows it. */
static bool is_shown(const struct outline *outline, uint32_t at, bool *importing)
{
    const struct own_label *label = own_time_label(outline->own, label_at(outline, at));
    bool python = entry_at(outline, at)->kind == FRAME_PYTHON;
    bool inner = (int64_t)at < outline->last_python; /* a Python function is below */
    if (!python)
        return !inner || label->owner == CODE_OWN;
    if (label->purpose != PURPOSE_IMPORT)
        return !inner || (label->purpose != PURPOSE_START_UP && label->owner != CODE_ANNOT);
    bool first = !*importing && (int64_t)at > outline->last_other;
    *importing |= first;
    return first;
}

/* Moves the indices of the shown frames to the front of `paths`, which has `count` entries,
 * outermost first. Returns their number. */
static uint32_t page_fold(const struct own_time *own, const struct page_paths *call_paths,
                          uint32_t *paths, uint32_t count)
{
    const struct outline outline = look_at(own, call_paths, paths, count);
    uint32_t shown = 0;
    bool importing = false;
    for (uint32_t at = start_of(&outline); at < count; at++)
        if (is_shown(&outline, at, &importing))
            paths[shown++] = paths[at];
    return shown;
}

/* ---- Roles ----------------------------------------------------------------------------------- */

/* Returns a length. */
static size_t without_number(const char *name)
{
    size_t all = strlen(name), length = all;
    while (length > 0 && strchr("0123456789", name[length - 1]))
        length--;
    while (length > 0 && name[length] && strchr("-_ #.", name[length - 1]))
        length--;
    return length > 0 ? length : all;
}

void page_cut_number(char *name)
{
    name[without_number(name)] = '\0';
}

/* True for names of worker processes: "worker 3", "app.py (worker 3)", and Python's
 * "ForkPoolWorker-1", "SpawnProcess-2". */
static bool is_worker_name(const char *name)
{
    static const char *const begins[] = {"Fork", "Spawn", "Loky", "Process"};
    bool worker = strstr(name, "PoolWorker") || strstr(name, "Process");
    if (strncmp(name, "worker ", 7) == 0 || strstr(name, " (worker "))
        return true;
    for (size_t i = 0; worker && i < sizeof(begins) / sizeof(*begins); i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* "Thread-12 (consume)", Python's default name for a thread, becomes "thread consume". */
static void name_thread(struct text *text, const char *name)
{
    size_t length = without_number(name);
    if (strncmp(name, "Thread-", 7) == 0 || strncmp(name, "thread ", 7) == 0) {
        const char *inner = strstr(name, " (");
        length = inner ? strlen(inner) : 0;
        if (length > 3)
            text_format(text, "thread %.*s", (int)length - 3, inner + 2);
        else
            text_format(text, "thread without a name");
        return;
    }
    text_format(text, "thread %.*s", (int)length, name);
}

/* For workers of another program than the command, "bash helper (worker 2)", returns the length of
 * "bash helper"; else 0. */
static size_t other_program(const struct trace *trace, const char *name)
{
    char own[256];
    const char *end = strstr(name, " (worker ");
    size_t length = end ? (size_t)(end - name) : 0;
    trace_process_label(trace, 0, own, sizeof(own));
    return strlen(own) == length && strncmp(own, name, length) == 0 ? 0 : length;
}

void page_role_name(const struct trace *trace, uint32_t thread, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    char name[256];
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    const struct trace_process *process = entry ? trace_process_get(trace, entry->process) : NULL;
    if (!process) {
        text_format(&text, "other threads");
        return;
    }
    if (entry->tid != process->ns_pid) {
        trace_thread_label(trace, thread, name, sizeof(name));
        name_thread(&text, name);
        return;
    }
    trace_process_label(trace, entry->process, name, sizeof(name));
    if (entry->process == 0)
        text_format(&text, "main");
    else if (other_program(trace, name) > 0)
        text_format(&text, "%.*s", (int)other_program(trace, name), name);
    else if (is_worker_name(name))
        text_format(&text, "worker");
    else
        text_format(&text, "%.*s", (int)without_number(name), name);
}

/* ---- The tree -------------------------------------------------------------------------------- */

enum { ROOT = 0, ROLE_SIZE = 300 };

/* ---- Functions ------------------------------------------------------------------------------- */

/* Returns the index, or -ENOMEM. */
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

/* Roles with equal names are one. Returns the index, or -ENOMEM. */
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

/* Finds or adds a child. `variant` is 0, or 1 + the own function that it counts for if the child
 * with this name counts for another one. -ENOMEM. */
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
    if (row == UINT32_MAX) /* merged into another row */
        return function_of(nodes, PAGE_PURPOSE, PURPOSE_NONE);
    const struct own_row *own = own_time_row(nodes->own, row);
    if (own->label)
        return function_of(nodes, PAGE_FUNCTION, own->label);
    if (own->purpose == PURPOSE_NONE && own->program)
        return function_of(nodes, PAGE_PROGRAM, own->program);
    return function_of(nodes, PAGE_PURPOSE, own->purpose);
}

/* Returns the node, or a sibling with the same function that counts for `own`. */
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

/* The line with most of the time at a call path, in rows of own functions. */
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
    time_ns[moment->stack] += times->cpu_ns + times->runnable_ns + times->blocked_ns;
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

/* Returns NULL if out of memory. */
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

/* ---- Paths to nodes -------------------------------------------------------------------------- */

struct walker {
    struct page_nodes *nodes;
    const struct page_paths *paths;
    struct path_line *lines;
    struct page_lines *sources; /* NULL: time is not split by lines */
    VEC(uint32_t) frames;       /* call paths, outermost first */
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
    uint32_t *frames = walker->frames.items; /* NULL for path 0 */
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

/* ---- Making the tree ------------------------------------------------------------------------- */

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
                                              sum.cause == PAGE_RUNNABLE ? sum.reason : sum.cause};
        if (sum.cause < WAIT_REASON_COUNT)
            sum.cause = wait_kind_of(nodes->own, moment.stack, sum.cause);
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

/* Marks functions that count as own; trees of own code show them. */
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
    nodes->sums.limit = SIZE_MAX; /* nodes cannot be more than paths */
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
    bool exact = samples->sums.node_steps == 0 &&
                 !samples->sums.no_lines; /* the line of a sum is that of its stack */
    struct walker walker = {
        .nodes = nodes, .paths = &samples->paths, .sources = exact ? lines : NULL};
    int error = begin(nodes, own);
    page_sums_sort(&samples->sums); /* frees the index, which is not used afterwards */
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

enum { NAME_SIZE = 1024 };

/* Numbers in the output; PAGE_NONE: not written. */
struct calls {
    const struct page *page;
    struct json_doc *doc;
    uint32_t *nodes, *functions, *paths;
    uint32_t path_count;
    const uint32_t *names; /* by path */
};

/* ---- Numbers --------------------------------------------------------------------------------- */

static uint32_t *new_numbers(size_t count)
{
    uint32_t *numbers = malloc((count + 1) * sizeof(*numbers));
    for (size_t i = 0; i <= count && numbers; i++)
        numbers[i] = PAGE_NONE;
    return numbers;
}

static void number(uint32_t *numbers, size_t count)
{
    uint32_t next = 0;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != PAGE_NONE)
            numbers[i] = next++;
}

/* Marks nodes and paths that sums refer to, with their ancestors. */
static void find_used(struct calls *calls)
{
    const struct page_nodes *nodes = &calls->page->nodes;
    const struct stacks *stacks = trace_stacks_get(calls->page->trace);
    calls->nodes[0] = calls->paths[0] = 0;
    for (size_t i = 0; i < nodes->sums.items.count; i++) {
        const struct page_sum *sum = &nodes->sums.items.items[i];
        for (uint32_t at = sum->node; calls->nodes[at] == PAGE_NONE; at = nodes->parents.items[at])
            calls->nodes[at] = 0;
        for (uint32_t at = sum->path; calls->paths[at] == PAGE_NONE;
             at = stacks_get_path(stacks, at)->parent)
            calls->paths[at] = 0;
    }
    for (size_t i = 1; i < nodes->items.count; i++) {
        const struct page_node *node = &nodes->items.items[i];
        if (calls->nodes[i] == PAGE_NONE)
            continue;
        calls->functions[node->function] = 0;
        if (node->own != PAGE_NONE)
            calls->functions[node->own] = 0;
    }
    number(calls->nodes, nodes->items.count);
    number(calls->functions, nodes->functions.count);
    number(calls->paths, calls->path_count);
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* Follow enum code_colour. */
enum { ROLE = COLOUR_COUNT, REST };

/* "json" for "json/decoder.py", "numpy" for "numpy/linalg/linalg.py", the library of native
 * code. */
static void put_module(const struct calls *calls, const struct label *label, const char *file)
{
    const struct stacks *stacks = trace_stacks_get(calls->page->trace);
    const struct trace_string *path =
        trace_string(calls->page->trace, stacks_get_module(stacks, label->module)->path);
    char module[NAME_SIZE];
    if (label->kind != FRAME_PYTHON) {
        page_put_text(calls->page, calls->doc, NULL, text_base_name(path->bytes));
        return;
    }
    const char *end = file[0] == '/' ? NULL : strchr(file, '/');
    size_t length = end ? (size_t)(end - file) : strlen(text_base_name(file));
    const char *begin = end ? file : text_base_name(file);
    if (length > 3 && strncmp(begin + length - 3, ".py", 3) == 0)
        length -= 3;
    struct text text = text_init(module, sizeof(module));
    text_add(&text, begin, length);
    page_put_text(calls->page, calls->doc, NULL, module);
}

static void put_label(const struct calls *calls, uint32_t ordinal)
{
    static const char *const kinds[] = {
        [0] = "unknown",           [FRAME_NATIVE] = "native", [FRAME_PYTHON] = "python",
        [FRAME_KERNEL] = "kernel", [FRAME_JIT] = "jit",       [FRAME_COLLECTOR] = "gc",
        [FRAME_NOTE] = "note",
    };
    const struct trace *trace = calls->page->trace;
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct label *label = stacks_get_label(stacks, ordinal);
    char name[NAME_SIZE + 64], file[NAME_SIZE + 64];
    code_name(trace, ordinal, name, sizeof(name));
    if (label->source)
        code_file_location(trace, stacks_get_source(stacks, label->source)->path, 0, file,
                           sizeof(file));
    else
        code_location(trace, ordinal, 0, file, sizeof(file));
    page_put_text(calls->page, calls->doc, NULL, name);
    page_put_text(calls->page, calls->doc, NULL, file);
    json_doc_int(calls->doc, NULL, label->first_line);
    json_doc_uint(calls->doc, NULL, code_colour_of(trace, ordinal));
    put_module(calls, label, file);
    json_doc_text(calls->doc, NULL,
                  kinds[label->kind < sizeof(kinds) / sizeof(*kinds) ? label->kind : 0]);
    json_doc_text(calls->doc, NULL, code_owner_name(code_owner_of(trace, ordinal)));
}

/* Writes the name of an entry that is not a function: a role, or the purpose of time outside own
 * functions, named as in the report. */
static void put_other(const struct calls *calls, const struct page_function *function)
{
    const struct page_nodes *nodes = &calls->page->nodes;
    bool role = function->kind == PAGE_ROLE, program = function->kind == PAGE_PROGRAM;
    char name[NAME_SIZE], shown[NAME_SIZE + 2];
    code_rest_name(nodes->trace, function->kind == PAGE_PURPOSE ? function->id : PURPOSE_NONE,
                   program ? function->id : 0, name, sizeof(name));
    snprintf(shown, sizeof(shown), function->kind == PAGE_PURPOSE && function->id ? "%s" : "(%s)",
             name);
    page_put_text(calls->page, calls->doc, NULL, role ? nodes->roles.items[function->id] : shown);
    json_doc_text(calls->doc, NULL, "");
    json_doc_int(calls->doc, NULL, 0);
    json_doc_uint(calls->doc, NULL, role ? ROLE : REST);
    json_doc_text(calls->doc, NULL, "");
    json_doc_text(calls->doc, NULL, role ? "role" : program ? "program" : "purpose");
    json_doc_text(calls->doc, NULL, "");
}

static void put_function(const struct calls *calls, const struct page_function *function)
{
    json_doc_array(calls->doc, NULL);
    if (function->kind == PAGE_FUNCTION)
        put_label(calls, function->id);
    else
        put_other(calls, function);
    json_doc_int(calls->doc, NULL, function->mine);
    json_doc_close(calls->doc);
}

static void put_functions(const struct calls *calls)
{
    const struct page_nodes *nodes = &calls->page->nodes;
    json_doc_array(calls->doc, "functions");
    for (size_t i = 0; i < nodes->functions.count; i++)
        if (calls->functions[i] != PAGE_NONE)
            put_function(calls, &nodes->functions.items[i]);
    json_doc_close(calls->doc);
}

/* ---- Nodes and paths ------------------------------------------------------------------------- */

enum node_column { NODE_PARENT, NODE_FUNCTION, NODE_LINE, NODE_OWN };

static void put_node_column(const struct calls *calls, const char *name, enum node_column column)
{
    const struct page_nodes *nodes = &calls->page->nodes;
    json_doc_array(calls->doc, name);
    json_doc_int(calls->doc, NULL, column == NODE_LINE ? 0 : -1); /* root */
    for (size_t i = 1; i < nodes->items.count; i++) {
        const struct page_node *node = &nodes->items.items[i];
        if (calls->nodes[i] == PAGE_NONE)
            continue;
        int64_t value = node->line;
        if (column == NODE_PARENT)
            value = calls->nodes[nodes->parents.items[i]];
        else if (column == NODE_FUNCTION)
            value = calls->functions[node->function];
        else if (column == NODE_OWN)
            value = node->own == PAGE_NONE ? -1 : (int64_t)calls->functions[node->own];
        json_doc_int(calls->doc, NULL, value);
    }
    json_doc_close(calls->doc);
}

static void put_nodes(const struct calls *calls)
{
    json_doc_object(calls->doc, "nodes");
    put_node_column(calls, "parent", NODE_PARENT);
    put_node_column(calls, "function", NODE_FUNCTION);
    put_node_column(calls, "line", NODE_LINE);
    put_node_column(calls, "own", NODE_OWN);
    json_doc_close(calls->doc);
}

static void put_paths(const struct calls *calls)
{
    const struct page *page = calls->page;
    const struct stacks *stacks = trace_stacks_get(page->trace);
    static const char *const keys[] = {"parent", "name", "kind"};
    json_doc_object(calls->doc, "paths");
    for (unsigned column = 0; column < sizeof(keys) / sizeof(*keys); column++) {
        json_doc_array(calls->doc, keys[column]);
        for (uint32_t i = 0; i < calls->path_count; i++) {
            const struct range_path *path = stacks_get_path(stacks, i);
            int64_t default_value = column == 2 ? 0 : -1;
            if (calls->paths[i] == PAGE_NONE)
                continue;
            json_doc_int(calls->doc, NULL,
                         i == 0        ? default_value
                         : column == 0 ? (int64_t)calls->paths[path->parent]
                         : column == 1 ? page_use_name(&page->names, calls->names[i])
                                       : (int64_t)path->kind);
        }
        json_doc_close(calls->doc);
    }
    json_doc_close(calls->doc);
}

/* ---- Sums ------------------------------------------------------------------------------------ */

enum sum_column {
    SUM_SLOT,
    SUM_THREAD,
    SUM_NODE,
    SUM_PATH,
    SUM_LINE,
    SUM_CAUSE,
    SUM_IDLE,
    SUM_COUNT,
    SUM_TIME,
    SUM_MAX
};

static int64_t sum_value(const struct calls *calls, const struct page_sum *sum,
                         enum sum_column column)
{
    const struct page *page = calls->page;
    bool known = sum->thread < trace_thread_count(page->trace) &&
                 page->thread_index[sum->thread] != PAGE_NONE;
    switch (column) {
    case SUM_SLOT:
        return sum->slot >> page->nodes.sums.slot_shift;
    case SUM_THREAD:
        return known ? (int64_t)page->thread_index[sum->thread] : -1;
    case SUM_NODE:
        return calls->nodes[sum->node];
    case SUM_PATH:
        return calls->paths[sum->path];
    case SUM_LINE:
        return sum->line;
    case SUM_CAUSE:
        return sum->cause;
    case SUM_IDLE:
        return sum->idle;
    case SUM_COUNT:
        return (int64_t)sum->count;
    case SUM_TIME:
        return (int64_t)sum->time_ns;
    default:
        return (int64_t)sum->max_ns;
    }
}

static void put_sum_column(const struct calls *calls, const char *name, enum sum_column column,
                           bool cpu)
{
    const struct page_sums *sums = &calls->page->nodes.sums;
    json_doc_array(calls->doc, name);
    for (size_t i = 0; i < sums->items.count; i++)
        if ((sums->items.items[i].cause == PAGE_CPU) == cpu)
            json_doc_int(calls->doc, NULL, sum_value(calls, &sums->items.items[i], column));
    json_doc_close(calls->doc);
}

static void put_sums(const struct calls *calls, bool cpu)
{
    static const struct {
        const char *name;
        enum sum_column column;
        bool of_cpu;
    } columns[] = {
        {"slot", SUM_SLOT, true},  {"thread", SUM_THREAD, true}, {"node", SUM_NODE, true},
        {"path", SUM_PATH, true},  {"line", SUM_LINE, true},     {"cause", SUM_CAUSE, false},
        {"idle", SUM_IDLE, false}, {"count", SUM_COUNT, true},   {"ns", SUM_TIME, true},
        {"max", SUM_MAX, false},
    };

    bool lines = !calls->page->nodes.sums.no_lines;
    json_doc_object(calls->doc, cpu ? "cpu" : "off");
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        if ((!cpu || columns[i].of_cpu) && (columns[i].column != SUM_LINE || lines))
            put_sum_column(calls, columns[i].name, columns[i].column, cpu);
    json_doc_close(calls->doc);
}

int page_put_calls(struct page *page, struct json_doc *doc)
{
    struct calls calls = {.page = page, .doc = doc, .names = page->name_of_path};
    calls.path_count = page->path_count;
    calls.nodes = new_numbers(page->nodes.items.count + 1);
    calls.functions = new_numbers(page->nodes.functions.count);
    calls.paths = new_numbers((size_t)calls.path_count + 1);
    int error = calls.nodes && calls.functions && calls.paths ? 0 : -ENOMEM;
    if (!error) {
        page_sums_sort(&page->nodes.sums);
        find_used(&calls);
        put_functions(&calls);
        put_nodes(&calls);
        put_paths(&calls);
        page_put_lines(page, doc);
        json_doc_uint(doc, "slots", PAGE_SLOTS >> page->nodes.sums.slot_shift);
        put_sums(&calls, true);
        put_sums(&calls, false);
    }
    free(calls.nodes);
    free(calls.functions);
    free(calls.paths);
    return error;
}
