/* SPDX-License-Identifier: MIT */
/* Exports a call graph in Graphviz's language: a box for each function with its total and own share
 * of all samples, an arrow for each pair of caller and callee.
 *
 * Recursion counts a function, and a pair, once per sample. Functions and pairs below the
 * thresholds are left out; the graph's title gives their numbers. Memory: that of call_tree.h, 40
 * bytes a function and 80 a pair. Thread-safety: none. */
#include "call_label.h"
#include "call_tree.h"
#include "export.h"
#include "export_facts.h"
#include "hash_map.h"
#include "number.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARE_MIN "0.5" /* percent */

enum { LINE_SIZE = 256, WRAP_AT = 40 };

struct function {
    uint32_t item;
    uint32_t on_path; /* occurrences on the path to the current node of the walk */
    uint64_t self, total;
};

struct pair {
    uint32_t caller, callee; /* items */
    uint32_t on_path;
    uint64_t total;
};

struct state {
    const struct export_job *job;
    struct call_tree *tree;
    struct sample_weight weight;
    enum sample_unit unit;
    struct function *functions; /* indexed by item */
    uint32_t function_count;
    VEC(struct pair) pairs;
    struct map64 by_pair; /* pair of items to index + 1 */
    uint64_t all;

    struct {
        uint32_t functions, pairs;
    } left_out;
};

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    const struct trace *trace = job->source->trace;
    s->job = job;
    int error = export_tree_create(job, export_frames(job->options), &s->weight, &s->tree);
    s->unit = sample_unit_of(trace, sample_weight_type(trace, s->weight));
    return error;
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    return export_tree_add(s->job, s->weight, s->tree, item->sample);
}

/* ---- From the tree to the graph -------------------------------------------------------------- */

/* NULL: out of memory. */
static struct pair *find_pair(struct state *s, uint32_t caller, uint32_t callee)
{
    uint64_t key = ((uint64_t)caller << 32 | callee) + 1;
    const uint64_t *known = map64_find(&s->by_pair, key);
    if (known)
        return &s->pairs.items[*known - 1];
    if (vec_push(&s->pairs, ((struct pair){caller, callee, 0, 0})) != 0 ||
        map64_put(&s->by_pair, key, s->pairs.count) != 0)
        return NULL;
    return &s->pairs.items[s->pairs.count - 1];
}

static int enter(struct state *s, uint32_t at)
{
    const struct call_node *node = call_tree_node(s->tree, at);
    struct function *function = &s->functions[node->item];
    function->self += node->self_ns;
    if (function->on_path++ == 0)
        function->total += node->total_ns;
    if (node->parent == 0)
        return 0;
    struct pair *pair = find_pair(s, call_tree_node(s->tree, node->parent)->item, node->item);
    if (!pair)
        return -ENOMEM;
    if (pair->on_path++ == 0)
        pair->total += node->total_ns;
    return 0;
}

static void leave(struct state *s, uint32_t at)
{
    const struct call_node *node = call_tree_node(s->tree, at);
    s->functions[node->item].on_path--;
    if (node->parent == 0)
        return;
    struct pair *pair = find_pair(s, call_tree_node(s->tree, node->parent)->item, node->item);
    if (pair)
        pair->on_path--;
}

/* Returns the next node in preorder after leaving finished ones, or 0 at the end. */
static uint32_t next_node(struct state *s, uint32_t at)
{
    const struct call_node *node = call_tree_node(s->tree, at);
    if (node->first_child)
        return node->first_child;
    while (at != 0) {
        leave(s, at);
        if (node->next_sibling)
            return node->next_sibling;
        at = node->parent;
        node = call_tree_node(s->tree, at);
    }
    return 0;
}

static int make_graph(struct state *s)
{
    uint32_t nodes = call_tree_node_count(s->tree);
    for (uint32_t i = 1; i < nodes; i++)
        if (call_tree_node(s->tree, i)->item >= s->function_count)
            s->function_count = call_tree_node(s->tree, i)->item + 1;
    s->functions = calloc(s->function_count + 1u, sizeof(*s->functions));
    if (!s->functions)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->function_count; i++)
        s->functions[i].item = i;
    s->all = call_tree_node(s->tree, 0)->total_ns;
    int error = 0;
    for (uint32_t at = next_node(s, 0); at != 0 && !error; at = next_node(s, at))
        error = enter(s, at);
    return error;
}

/* ---- The file -------------------------------------------------------------------------------- */

static double share_of(const struct state *s, uint64_t weight)
{
    return s->all ? 100.0 * (double)weight / (double)s->all : 0;
}

static bool is_shown(const struct state *s, uint32_t item)
{
    const struct function *function = &s->functions[item];
    return function->total > 0 && share_of(s, function->total) >= s->job->options->min_share;
}

static bool is_pair_shown(const struct state *s, const struct pair *pair)
{
    return pair->total > 0 && is_shown(s, pair->caller) && is_shown(s, pair->callee) &&
           share_of(s, pair->total) >= s->job->options->min_edge;
}

/* Escapes text for a quoted string. Breaks long lines if `wraps`. */
static void put_text(struct out_stream *out, const char *text, bool wraps)
{
    size_t column = 0;
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            out_write(out, "\\", 1);
        if (byte == '&') { /* it could begin an entity */
            out_text(out, "&amp;");
            continue;
        }
        size_t control = utf8_control(text);
        out_write(out, control ? "  " : text, control ? control : 1);
        text += control == 2;
        bool ends = wraps && ++column >= WRAP_AT && (byte == ' ' || byte == ':' || byte == '/');
        if (ends) {
            out_write(out, "\\n", 2);
            column = 0;
        }
    }
}

static void put_weight(const struct state *s, uint64_t weight, char buffer[NUMBER_TEXT_SIZE])
{
    if (s->unit == UNIT_NS)
        number_time_short(weight, buffer);
    else if (s->unit == UNIT_BYTES)
        number_size(weight, buffer);
    else
        number_count(weight, buffer);
}

/* Fills the box from pale to strong by its share. */
static void put_function(struct state *s, const struct function *function)
{
    struct out_stream *out = s->job->out;
    char label[CALL_LABEL_SIZE], line[LINE_SIZE], total[NUMBER_TEXT_SIZE];
    double share = share_of(s, function->total), own = share_of(s, function->self);
    call_item_label(s->tree, function->item, label, sizeof(label));
    put_weight(s, function->total, total);
    snprintf(line, sizeof(line), "  f%" PRIu32 " [label=\"", function->item);
    out_text(out, line);
    put_text(out, label, true);
    snprintf(line, sizeof(line), "\\n%.1f %% (self %.1f %%)\\n%s\" fillcolor=\"0.08 %.3f 1.0\" ",
             share, own, total, share / 100);
    out_text(out, line);
    snprintf(line, sizeof(line), "tooltip=\"total %" PRIu64 ", self %" PRIu64 ": ", function->total,
             function->self);
    out_text(out, line);
    put_text(out, label, false);
    out_text(out, "\"];\n");
}

static void put_pair(const struct state *s, const struct pair *pair)
{
    char line[LINE_SIZE];
    double share = share_of(s, pair->total);
    snprintf(line, sizeof(line),
             "  f%" PRIu32 " -> f%" PRIu32
             " [label=\"%.1f %%\" penwidth=%.2f tooltip=\"total %" PRIu64 "\"];\n",
             pair->caller, pair->callee, share, 0.5 + share / 25, pair->total);
    out_text(s->job->out, line);
}

static void put_title(const struct state *s)
{
    struct out_stream *out = s->job->out;
    char line[LINE_SIZE], all[NUMBER_TEXT_SIZE];
    const char *title = s->job->options->title, *value = s->job->options->value;
    put_weight(s, s->all, all);
    put_text(out, title ? title : session_title(s->job->source->trace), false);
    snprintf(line, sizeof(line), "\\n%s of ", all);
    out_text(out, line);
    put_text(out, value ? value : "CPU time", false);
    if (s->job->options->subtitle) {
        out_text(out, ", ");
        put_text(out, s->job->options->subtitle, false);
    }
    if (s->left_out.functions + s->left_out.pairs == 0)
        return;
    snprintf(line, sizeof(line),
             "\\nnot shown: functions below %g %%: %" PRIu32 ", other arrows below %g %%: %" PRIu32,
             s->job->options->min_share, s->left_out.functions, s->job->options->min_edge,
             s->left_out.pairs);
    out_text(out, line);
}

static void count_left_out(struct state *s)
{
    for (uint32_t i = 0; i < s->function_count; i++)
        s->left_out.functions += s->functions[i].total > 0 && !is_shown(s, i);
    for (size_t i = 0; i < s->pairs.count; i++) {
        const struct pair *pair = &s->pairs.items[i];
        bool ends = is_shown(s, pair->caller) && is_shown(s, pair->callee);
        s->left_out.pairs += ends && !is_pair_shown(s, pair);
    }
}

static int end(void *state)
{
    struct state *s = state;
    struct out_stream *out = s->job->out;
    int error = call_tree_finish(s->tree);
    if (!error)
        error = make_graph(s);
    if (error)
        return error;
    count_left_out(s);
    out_text(out, "digraph calls {\n  graph [fontname=\"sans-serif\" labelloc=t label=\"");
    put_title(s);
    out_text(out, "\"];\n  node [shape=box style=filled fontname=\"sans-serif\" fontsize=10];\n"
                  "  edge [fontname=\"sans-serif\" fontsize=9];\n");
    for (uint32_t i = 0; i < s->function_count; i++)
        if (is_shown(s, i))
            put_function(s, &s->functions[i]);
    for (size_t i = 0; i < s->pairs.count; i++)
        if (is_pair_shown(s, &s->pairs.items[i]))
            put_pair(s, &s->pairs.items[i]);
    out_text(out, "}\n");
    return 0;
}

static void destroy(void *state)
{
    struct state *s = state;
    call_tree_destroy(s->tree);
    free(s->functions);
    vec_free(&s->pairs);
    map64_free(&s->by_pair);
}

static const struct option_spec options[] = {
    EXPORT_OPTION_BY,
    EXPORT_OPTION_PYTHON,
    EXPORT_OPTION_NATIVE,
    EXPORT_OPTION_LINES,
    EXPORT_OPTION_VALUE,
    EXPORT_OPTIONS_GPU,
    EXPORT_OPTION_STRIP(CALL_STRIP_FOLDERS),
    {"title", 0, OPTION_TEXT, EXPORT_AT(title), "TEXT", "title (default: the recorded command)",
     NULL},
    {"min-share", 0, OPTION_NUMBER, EXPORT_AT(min_share), "PERCENT",
     "leave out functions with a smaller share of the whole", SHARE_MIN},
    {"min-edge", 0, OPTION_NUMBER, EXPORT_AT(min_edge), "PERCENT",
     "leave out arrows with a smaller share of the whole", "0.1"},
    {0},
};

extern const struct exporter export_dot;
const struct exporter export_dot = {
    .name = "dot",
    .extension = ".dot",
    .summary = "a call graph of samples with shares, callers and callees, for Graphviz",
    .carries = "functions of samples, their callers and callees",
    .viewer = "with dot -Tsvg, xdot",
    .lacks = EXPORT_LACKS_EVENTS,
    .options = options,
    .wants = WANT_SAMPLES,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
