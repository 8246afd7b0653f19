/* SPDX-License-Identifier: MIT */
/* Prints the tree of calls (profile/own_tree.h), as lines with branches. */
#include "screen_functions.h"

#include "report_text.h"
#include "screen.h"

#include "headline.h"
#include "term.h"
#include "text.h"
#include "wait_kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TREE_DEPTH_MAX = 24, TREE_WORTH = 3, TREE_NUMBERS = 25 };

struct tree_view {
    const struct own_node *nodes;
    uint32_t count, shown_count;
    bool *shown; /* by node: it has a line */
    bool by_wall;
    uint64_t whole_ns, limit_ns;
    struct screen_places places;
    bool open[TREE_DEPTH_MAX];       /* by depth: a later line hangs from the same branch */
    uint32_t within[TREE_DEPTH_MAX]; /* the line above and its ancestors */
    uint32_t within_count;
};

static uint64_t value_of(const struct tree_view *view, const struct own_times *times)
{
    uint64_t value = times->cpu_ns + (view->by_wall ? times->runnable_ns + times->blocked_ns : 0);
    return value < view->limit_ns ? value : view->limit_ns;
}

/* ---- Choosing lines -------------------------------------------------------------------------- */

struct size_order {
    uint64_t value;
    uint32_t node;
};

/* Callers sort before their callees. */
static int largest_first(const void *left, const void *right)
{
    const struct size_order *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Chooses the largest nodes, down to a hundredth of the time. */
static int choose(struct tree_view *view, uint64_t limit)
{
    struct size_order *order = calloc((size_t)view->count + 1, sizeof(*order));
    view->shown = calloc((size_t)view->count + 1, sizeof(*view->shown));
    if (!order || !view->shown) {
        free(order);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < view->count; i++)
        order[i] = (struct size_order){value_of(view, &view->nodes[i].total), i};
    qsort(order, view->count, sizeof(*order), largest_first);
    for (uint32_t i = 0; i < view->count && i < limit; i++) {
        const struct own_node *node = &view->nodes[order[i].node];
        if (order[i].value * SCREEN_ROW_PART < view->whole_ns || order[i].value == 0 ||
            node->depth >= TREE_DEPTH_MAX || !(node->depth == 0 || view->shown[node->parent]))
            continue;
        view->shown[order[i].node] = true;
        view->shown_count++;
    }
    free(order);
    return 0;
}

/* Returns true if own functions are nested; otherwise the table of own functions shows the same. */
static bool is_worth(const struct tree_view *view)
{
    unsigned functions = 0, below = 0;
    for (uint32_t i = 0; i < view->count; i++)
        if (view->shown[i] && view->nodes[i].label != 0) {
            functions++;
            below += view->nodes[i].depth > 0;
        }
    return functions >= TREE_WORTH && below > 0;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* A lock waited for below a thread's or a pool's frames is an internal one: the thread or the pool
 * is named instead. */
static const char *phrase_of(const struct own_node *node, const struct own_node *caller)
{
    unsigned purpose = caller && caller->label == 0 ? caller->purpose : PURPOSE_NONE;
    if (node->reason == WAIT_LOCK && purpose == PURPOSE_THREADS)
        return "waiting for a thread";
    if (node->reason == WAIT_LOCK && purpose == PURPOSE_POOL)
        return "waiting for the pool";
    return wait_phrase(node->reason);
}

/* The text of a node that is not a function. */
static void node_text(const struct tree_view *view, const struct own_node *node, char *buffer,
                      size_t size)
{
    const struct own_node *caller = node->depth > 0 ? &view->nodes[node->parent] : NULL;
    if (node->reason != OWN_NODE_RUNS)
        snprintf(buffer, size, "%s", phrase_of(node, caller));
    else
        snprintf(buffer, size, "(%s)",
                 node->purpose ? code_purpose_name(node->purpose) : "other code");
}

static struct screen_place place_of(const struct own_node *node)
{
    return (struct screen_place){.label = node->label, .indent = 2 * (size_t)node->depth};
}

/* Returns true if a line with the function's own time follows its callees. */
static bool has_self(const struct tree_view *view, uint32_t at)
{
    const struct own_node *node = &view->nodes[at];
    uint64_t self = value_of(view, &node->self);
    bool calls = false;
    for (uint32_t i = at + 1; i < view->count && view->nodes[i].depth > node->depth; i++)
        calls = calls || view->shown[i];
    return calls && node->label != 0 && self > 0 && self * SCREEN_ROW_PART >= view->whole_ns;
}

/* Returns true if a later line hangs from the same branch. */
static bool has_next(const struct tree_view *view, uint32_t node)
{
    uint32_t depth = view->nodes[node].depth;
    for (uint32_t i = node + 1; i < view->count && view->nodes[i].depth >= depth; i++)
        if (view->nodes[i].depth == depth && view->shown[i])
            return true;
    return depth > 0 && has_self(view, view->nodes[node].parent);
}

static void add_branch(const struct tree_view *view, uint32_t node, struct text *text)
{
    uint32_t depth = view->nodes[node].depth;
    for (uint32_t i = 1; i < depth; i++)
        text_format(text, view->open[i] ? "\xe2\x94\x82 " : "  ");
    if (depth > 0)
        text_format(text, view->open[depth] ? "\xe2\x94\x9c " : "\xe2\x94\x94 ");
}

/* Prints the numbers of a line, and the branches before its name. */
static void put_numbers(const struct screen *screen, const struct tree_view *view,
                        const struct own_times *times, const char *branch)
{
    uint64_t value = value_of(view, times), cpu = times->cpu_ns < value ? times->cpu_ns : value;
    screen_time(screen, STYLE_PLAIN, value, view->whole_ns);
    screen_share(screen, value, view->whole_ns);
    screen_time(screen, STYLE_PLAIN, view->by_wall ? cpu : times->blocked_ns, view->whole_ns);
    fputs("  ", screen->out);
    screen_put(screen, STYLE_DIM, branch);
}

/* Prints the own times of the functions that end before line `next`, innermost first. */
static void put_selves(const struct screen *screen, struct tree_view *view, uint32_t next)
{
    uint32_t depth = next < view->count ? view->nodes[next].depth : 0;
    while (view->within_count > depth) {
        uint32_t at = view->within[--view->within_count];
        char branch[4 * TREE_DEPTH_MAX] = "";
        struct text text = text_init(branch, sizeof(branch));
        if (!has_self(view, at))
            continue;
        for (uint32_t i = 1; i <= view->nodes[at].depth; i++)
            text_format(&text, view->open[i] ? "\xe2\x94\x82 " : "  ");
        text_format(&text, "\xe2\x94\x94 ");
        put_numbers(screen, view, &view->nodes[at].self, branch);
        screen_put(screen, STYLE_DIM, "(self)");
        fputs("\n", screen->out);
    }
}

static void put_line(const struct screen *screen, const struct tree_view *view, uint32_t at)
{
    const struct own_node *node = &view->nodes[at];
    const struct screen_place place = place_of(node);
    char text[128], branch[4 * TREE_DEPTH_MAX] = "";
    struct text branches = text_init(branch, sizeof(branch));
    add_branch(view, at, &branches);
    put_numbers(screen, view, &node->total, branch);
    if (node->label != 0) {
        screen_places_put(screen, &view->places, &place, TREE_NUMBERS);
        return;
    }
    node_text(view, node, text, sizeof(text));
    screen_put(screen, STYLE_DIM, text);
    fputs("\n", screen->out);
}

static void put_lines(const struct screen *screen, struct tree_view *view)
{
    fprintf(screen->out, " %7s %6s %7s",
            screen->facts->by_wall ? "wall"
            : view->by_wall        ? "time"
                                   : "CPU",
            "", view->by_wall ? "CPU" : "blocked");
    screen_places_head(screen, &view->places);
    for (uint32_t i = 0; i < view->count; i++) {
        if (!view->shown[i])
            continue;
        put_selves(screen, view, i);
        view->open[view->nodes[i].depth] = has_next(view, i);
        put_line(screen, view, i);
        view->within[view->within_count++] = i;
    }
    put_selves(screen, view, view->count);
}

static void fit(const struct screen *screen, struct tree_view *view)
{
    view->places = screen_places_init();
    for (uint32_t i = 0; i < view->count; i++) {
        const struct screen_place place = place_of(&view->nodes[i]);
        if (view->shown[i] && place.label)
            screen_places_add(screen, &view->places, &place);
    }
    screen_places_fit(screen, &view->places, TREE_NUMBERS);
}

static struct tree_view make_view(const struct screen *screen)
{
    struct tree_view view = {.by_wall = screen->facts->with_waits,
                             .whole_ns = screen_whole(screen),
                             .limit_ns = screen_limit(screen)};
    view.count = own_tree_rows(screen->facts->tree, &view.nodes);
    return view;
}

static int put_tree(const struct screen *screen, uint64_t limit, bool always)
{
    if (!screen->facts->own)
        return 0;
    struct tree_view view = make_view(screen);
    int rc = choose(&view, limit);
    if (rc == 0 && view.shown_count > 0 && (always || is_worth(&view))) {
        fit(screen, &view);
        screen_title(screen, screen->facts->by_wall ? "Call tree (wall time)"
                             : view.by_wall         ? "Call tree (time of threads)"
                                                    : "Call tree (CPU time)");
        put_lines(screen, &view);
        if (!always && view.shown_count == limit)
            fputs(" (more of it: annot report --tree)\n", screen->out);
    }
    free(view.shown);
    return rc;
}

int screen_tree(const struct screen *screen)
{
    return put_tree(screen, screen->rows.tree, false);
}

int report_tree(const struct report *report, const struct report_view *view)
{
    struct screen screen = screen_init(report, view);
    return put_tree(&screen, UINT64_MAX, true);
}
