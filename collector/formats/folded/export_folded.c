/* SPDX-License-Identifier: MIT */
/* Exports collapsed stacks, one line each, "root;caller;leaf WEIGHT", which many tools draw.
 *
 * Weights are whole numbers: microseconds of CPU time, or another value of samples, with times in
 * microseconds; nanoseconds of GPU time. Rounding errors carry over, so that the lines add up to
 * the whole. Kernel functions end in "_[k]". Characters that would end a frame or a line (";",
 * control characters) are replaced. Lines are sorted. Thread-safety: none. */
#include "call_label.h"
#include "call_tree.h"
#include "export.h"
#include "json_writer.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <string.h>

struct state {
    const struct export_job *job;
    struct call_tree *tree;
    VEC(char) line;
    VEC(uint32_t) lengths; /* line length at each level of the tree */
    struct sample_weight weight;
    uint64_t unit;           /* of the output, in units of the samples */
    uint64_t total, written; /* weights so far; in lines */
};

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    const struct trace *trace = job->source->trace;
    enum frame_choice frames = job->options->python ? FRAMES_PYTHON : FRAMES_ALL;
    s->job = job;
    int error = export_tree_create(job, frames, &s->weight, &s->tree);
    bool time = sample_unit_of(trace, sample_weight_type(trace, s->weight)) == UNIT_NS;
    s->unit = time && !job->options->gpu_all ? 1000 : 1;
    return error;
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    return export_tree_add(s->job, s->weight, s->tree, item->sample);
}

/* Replaces ';' and control characters, which end a frame or a line. */
static void make_harmless(char *label)
{
    for (; *label; label++) {
        memset(label, ' ', utf8_control(label));
        if (*label == ';')
            *label = ',';
    }
}

static int push_label(struct state *s, uint32_t item)
{
    char label[CALL_LABEL_SIZE];
    size_t length = call_item_label(s->tree, item, label, sizeof(label));
    const char *ending = call_item_frame_kind(s->tree, item) == FRAME_KERNEL ? "_[k]" : "";
    make_harmless(label);
    if (vec_push(&s->lengths, (uint32_t)s->line.count) || vec_reserve(&s->line, length + 8))
        return -ENOMEM;
    if (s->line.count > 0)
        s->line.items[s->line.count++] = ';';
    char *end = mempcpy(s->line.items + s->line.count, label, length);
    end = mempcpy(end, ending, strlen(ending));
    s->line.count = (size_t)(end - s->line.items);
    return 0;
}

/* Writes the line. A weight that rounds to 0 carries over to the next line. */
static void put_line(struct state *s, uint64_t self)
{
    s->total += self;
    uint64_t weight = (s->total + s->unit / 2) / s->unit - s->written;
    if (weight == 0 || s->line.count == 0)
        return;
    s->written += weight;
    out_write(s->job->out, s->line.items, s->line.count);
    uint8_t *at = out_reserve(s->job->out, JSON_INTEGER_MAX + 2), *begin = at;
    *at++ = ' ';
    at = json_put_uint(at, weight);
    *at++ = '\n';
    out_advance(s->job->out, (size_t)(at - begin));
}

/* Returns the next node in preorder and cuts the line back to its parent. 0 at the end. */
static uint32_t next_node(struct state *s, uint32_t at)
{
    const struct call_node *node = call_tree_node(s->tree, at);
    if (node->first_child)
        return node->first_child;
    while (at != 0) {
        s->line.count = s->lengths.items[--s->lengths.count];
        if (node->next_sibling)
            return node->next_sibling;
        at = node->parent;
        node = call_tree_node(s->tree, at);
    }
    return 0;
}

static int end(void *state)
{
    struct state *s = state;
    int error = call_tree_finish(s->tree);
    for (uint32_t at = error ? 0 : next_node(s, 0); at != 0; at = next_node(s, at)) {
        const struct call_node *node = call_tree_node(s->tree, at);
        error = push_label(s, node->item);
        if (error)
            return error;
        if (node->self_ns > 0)
            put_line(s, node->self_ns);
    }
    return error;
}

static void destroy(void *state)
{
    struct state *s = state;
    call_tree_destroy(s->tree);
    vec_free(&s->line);
    vec_free(&s->lengths);
}

static const struct option_spec options[] = {
    EXPORT_OPTION_BY,
    EXPORT_OPTION_PYTHON,
    EXPORT_OPTION_LINES,
    EXPORT_OPTION_VALUE,
    EXPORT_OPTIONS_GPU,
    EXPORT_OPTION_STRIP(NULL),
    {0},
};

extern const struct exporter export_folded;
const struct exporter export_folded = {
    .name = "folded",
    .extension = ".folded",
    .summary = "collapsed stacks, for flame graph tools",
    .carries = "stacks of samples",
    .options = options,
    .wants = WANT_SAMPLES,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
