/* SPDX-License-Identifier: MIT */
/* Finds the times when the processes of a recording with --capture-range recorded: while a range of
 * that name was open in them. The begins and ends of those ranges are on all threads, so all events
 * are read once, before samples are.
 *
 * Counts like the program (libannot/src/watched.c): ranges of all threads, on the stack or with an
 * id; a forked child begins with those that were open where it was forked. */
#include "captures.h"

#include "pass_state.h"
#include "reader.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPTURE_PREFIX "capture-range="

/* A range opens (+1) or closes (-1), or a pop closes one that was open before its thread began
 * (0). */
struct edge {
    uint32_t process;
    int32_t change;
    int64_t time_ns;
};

struct end {
    uint64_t id;
    struct edge edge;
};

/* The ranges of that name open on a thread's stack: the number of ranges around each. */
struct thread_stack {
    VEC(uint32_t) around;
    uint32_t depth;
};

struct scan {
    struct trace *trace;
    char name[512], domain[512];     /* patterns; "": all domains */
    VEC(uint8_t) named;              /* by name: 1 matches, 2 does not */
    VEC(struct thread_stack) stacks; /* by thread */
    VEC(struct edge) edges;
    VEC(struct end) ends;
    struct map64 starts;
};

/* ---- Selected range -------------------------------------------------------------------------- */

/* Length of the name, up to the rules of the filter after it (capture_parse() refuses names that
 * look like rules). */
static size_t length_of(const char *text)
{
    size_t length = 0;
    for (; text[length]; length++)
        if (text[length] == ' ' && strchr("+-", text[length + 1]) && text[length + 1] &&
            !strchr(" ", text[length + 2]))
            break;
    return length;
}

/* Converts a pattern of filters, which have no [] and no escapes, to one of text_matches. */
static void take_pattern(char *pattern, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (strchr("[]\\", bytes[i]))
            *pattern++ = '\\';
        *pattern++ = bytes[i];
    }
    *pattern = 0;
}

/* Parses "capture-range=NAME@DOMAIN RULES". False if it has another form. */
static bool read_capture(struct scan *scan)
{
    const struct trace_filter *filter =
        trace_filter_count(scan->trace) > 0 ? trace_filter_get(scan->trace, 0) : NULL;
    const char *text = filter ? trace_string(scan->trace, filter->rules)->bytes : "";
    if (strncmp(text, CAPTURE_PREFIX, strlen(CAPTURE_PREFIX)) != 0)
        return false;
    text += strlen(CAPTURE_PREFIX);
    size_t length = length_of(text);
    if (length == 0 || 2 * length >= sizeof(scan->name))
        return false;
    const char *at = memrchr(text, '@', length);
    size_t name_length = at ? (size_t)(at - text) : length;
    take_pattern(scan->name, text, name_length);
    if (at)
        take_pattern(scan->domain, at + 1, length - name_length - 1);
    return true;
}

static bool is_domain(const struct scan *scan, const struct event *event)
{
    const char *domain =
        trace_string(scan->trace, trace_scope_domain(scan->trace, event->scope))->bytes;
    return !scan->domain[0] || text_matches(scan->domain, domain[0] ? domain : "default");
}

/* Matches the name, cached. 1, 0 or -ENOMEM. */
static int is_capture(struct scan *scan, const struct event *event)
{
    uint8_t observer = trace_scope(scan->trace, event->scope)->observer;
    while (scan->named.count <= event->name)
        if (vec_push(&scan->named, 0) != 0)
            return -ENOMEM;
    uint8_t *known = &scan->named.items[event->name];
    if (*known == 0)
        *known = text_matches(scan->name, trace_string(scan->trace, event->name)->bytes) ? 1 : 2;
    return *known == 1 && observer != OBSERVER_NATIVE_CALLS && is_domain(scan, event);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static int add_edge(struct scan *scan, const struct event *event, int64_t time_ns, int change)
{
    const struct trace_thread *thread = trace_thread_get(scan->trace, event->thread);
    const struct edge edge = {thread ? thread->process : 0, change, time_ns};
    return thread ? vec_push(&scan->edges, edge) : 0;
}

/* Ranges open after an event that closes some; those inherited by a forked child have no push. */
static uint32_t left_open(const struct thread_stack *stack, const struct event *event)
{
    uint32_t depth = stack->depth - (event->kind == EVENT_POP);
    return event->kind == EVENT_EDGE ? 0 : event->depth < depth ? event->depth : depth;
}

/* Closes the ranges above the level left open. 0 or -ENOMEM. */
static int close_some(struct scan *scan, struct thread_stack *stack, const struct event *event)
{
    int64_t time_ns = event->kind == EVENT_LOST ? event->end_ns : event->time_ns;
    int error = 0;
    if (event->kind == EVENT_POP && stack->depth == 0)
        return add_edge(scan, event, time_ns, 0);
    stack->depth = left_open(stack, event);
    while (error == 0 && stack->around.count > 0 &&
           stack->around.items[stack->around.count - 1] >= stack->depth) {
        stack->around.count--;
        error = add_edge(scan, event, time_ns, -1);
    }
    return error;
}

static int push(struct scan *scan, struct thread_stack *stack, const struct event *event)
{
    int is_one = is_capture(scan, event);
    int error = is_one < 0 ? is_one : 0;
    if (is_one == 1)
        error = vec_push(&stack->around, stack->depth);
    stack->depth++;
    return error == 0 && is_one == 1 ? add_edge(scan, event, event->time_ns, 1) : error;
}

static int start(struct scan *scan, const struct event *event)
{
    int is_one = is_capture(scan, event);
    if (is_one <= 0)
        return is_one;
    int error = map64_put(&scan->starts, event->id, 1);
    return error == 0 ? add_edge(scan, event, event->time_ns, 1) : error;
}

/* Keeps the end, since its start may come later, from another thread. */
static int end(struct scan *scan, const struct event *event)
{
    const struct trace_thread *thread = trace_thread_get(scan->trace, event->thread);
    const struct end one = {event->id, {thread ? thread->process : 0, -1, event->time_ns}};
    return thread ? vec_push(&scan->ends, one) : 0;
}

static int take(struct scan *scan, const struct event *event)
{
    static const struct thread_stack none;
    while (scan->stacks.count <= event->thread)
        if (vec_push(&scan->stacks, none) != 0)
            return -ENOMEM;
    struct thread_stack *stack = &scan->stacks.items[event->thread];
    switch (event->kind) {
    case EVENT_PUSH:
        return push(scan, stack, event);
    case EVENT_POP:
    case EVENT_LOST:
    case EVENT_EDGE:
    case EVENT_RESUME:
        return close_some(scan, stack, event);
    case EVENT_START:
        return start(scan, event);
    case EVENT_END:
        return end(scan, event);
    default:
        return 0;
    }
}

/* 0 or -errno. */
static int scan_events(struct scan *scan, struct store_reader *reader)
{
    struct event_batch batch;
    int status;
    while ((status = store_reader_next(reader, &batch)) == 1)
        for (uint32_t i = 0; i < batch.count; i++) {
            int error = trace_thread_get(scan->trace, batch.events[i].thread)
                            ? take(scan, &batch.events[i])
                            : 0;
            if (error != 0)
                return error;
        }
    return status;
}

/* ---- Times ----------------------------------------------------------------------------------- */

static int compare_edges(const void *a, const void *b)
{
    const struct edge *left = a, *right = b;
    if (left->process != right->process)
        return left->process < right->process ? -1 : 1;
    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    return right->change - left->change; /* begins first, so that the recording continues if another
                                          * range ends at the same time */
}

static int match_ends(struct scan *scan)
{
    int error = 0;
    for (size_t i = 0; i < scan->ends.count && error == 0; i++) {
        uint64_t *left = map64_find(&scan->starts, scan->ends.items[i].id);
        if (left && *left > 0)
            error = vec_push(&scan->edges, scan->ends.items[i].edge);
        if (left)
            *left = 0;
    }
    return error;
}

/* True if a process was forked where its parent recorded. */
static bool begins_inside(const struct trace *trace, uint32_t process)
{
    const struct trace_process *child = trace_process_get(trace, process);
    size_t count = 0;
    if (!child->forked || child->fork_ns == 0 || child->parent < 0 ||
        (uint32_t)child->parent >= process)
        return false;
    const struct trace_capture *near =
        trace_captures_from(trace, (uint32_t)child->parent, child->fork_ns, &count);
    return count > 0 && near->process == (uint32_t)child->parent && near->from_ns <= child->fork_ns;
}

/* Adds the times of one process, from its first edge on; moves to the next process. 0 or
 * -ENOMEM. */
static int add_process(struct scan *scan, uint32_t process, size_t *at)
{
    int64_t inherited = begins_inside(scan->trace, process), open = inherited;
    struct trace_capture capture = {.process = process, .from_ns = INT64_MIN};
    int error = 0;
    for (; *at < scan->edges.count && scan->edges.items[*at].process == process; ++*at) {
        const struct edge *edge = &scan->edges.items[*at];
        int64_t before = open;
        open += edge->change != 0 ? edge->change : -inherited;
        inherited = edge->change != 0 ? inherited : 0;
        if (before <= 0 && open > 0)
            capture.from_ns = edge->time_ns;
        capture.to_ns = edge->time_ns;
        if (before > 0 && open <= 0 && error == 0)
            error = trace_capture_add(scan->trace, &capture);
    }
    capture.to_ns = INT64_MAX;
    return open > 0 && error == 0 ? trace_capture_add(scan->trace, &capture) : error;
}

static int add_all(struct scan *scan)
{
    size_t at = 0;
    int error = match_ends(scan);
    if (error == 0 && scan->edges.count > 0)
        qsort(scan->edges.items, scan->edges.count, sizeof(*scan->edges.items), compare_edges);
    for (uint32_t i = 0; i < trace_process_count(scan->trace) && error == 0; i++)
        error = add_process(scan, i, &at);
    return error;
}

/* Recordings read as one had different ranges each, or no range: all is shown. */
static bool is_joined(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        if (trace_process_get(trace, i)->known_until_ns != 0)
            return true;
    return false;
}

void captures_read(struct store_reader *reader)
{
    struct scan scan = {.trace = store_reader_trace(reader)};
    struct store_reader *again = NULL;
    if (trace_captures(scan.trace) != CAPTURES_UNKNOWN)
        return;
    if (is_joined(scan.trace) || !read_capture(&scan)) {
        trace_captures_set(scan.trace, CAPTURES_ALL);
        return;
    }
    int error = store_reader_again(reader, &again);
    if (error == 0)
        error = scan_events(&scan, again);
    store_reader_close(again);
    if (error == 0)
        error = add_all(&scan);
    for (size_t i = 0; i < scan.stacks.count; i++)
        vec_free(&scan.stacks.items[i].around);
    vec_free(&scan.named);
    vec_free(&scan.stacks);
    vec_free(&scan.edges);
    vec_free(&scan.ends);
    map64_free(&scan.starts);
    trace_captures_set(scan.trace, error == 0 ? CAPTURES_KNOWN : CAPTURES_FAILED);
}
