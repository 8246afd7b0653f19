/* SPDX-License-Identifier: MIT */
/* Differential flame graph (see flame_svg.h): the stacks of all recordings are copied to one trace,
 * from which the drawn tree is built. A tree for each side has that side's times. */
#include "flame_diff.h"

#include "call_tree.h"
#include "chosen_frames.h"
#include "flame_svg.h"
#include "options.h"

#include "call_label.h"
#include "pass.h"
#include "stacks.h"
#include "strtab.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDES = 2, FRAMES_MAX = 2048, KEY_SIZE = 16384 };

struct flame_diff {
    struct trace *trace; /* merged, of all recordings */
    struct call_tree *all, *sides[SIDES];
    size_t runs[SIDES];
    double cpu_ns[SIDES],
        squares[SIDES]; /* sum of all runs' sample weights, and of their squares */
    struct strtab keys; /* of functions: ordinal = index into labels */
    VEC(uint32_t) labels;
    bool any;
};

/* A recording being added. */
struct adding {
    struct flame_diff *diff;
    const struct trace *from;
    uint32_t *stacks; /* stack of the recording to merged stack + 1; 0: not mapped yet */
    uint32_t count;
    unsigned side;
};

struct flame_diff *flame_diff_create(size_t a_runs, size_t b_runs)
{
    const struct call_tree_options options = {.prefixes = CALL_STRIP_LIBRARIES,
                                              .frames = FRAMES_OWNERS};
    struct flame_diff *diff = calloc(1, sizeof(*diff));
    if (!diff)
        return NULL;
    diff->runs[0] = a_runs;
    diff->runs[1] = b_runs;
    diff->trace = trace_create();
    if (diff->trace) {
        diff->all = call_tree_create(diff->trace, &options);
        diff->sides[0] = call_tree_create(diff->trace, &options);
        diff->sides[1] = call_tree_create(diff->trace, &options);
    }
    if (diff->all && diff->sides[0] && diff->sides[1])
        return diff;
    flame_diff_destroy(diff);
    return NULL;
}

void flame_diff_destroy(struct flame_diff *diff)
{
    if (!diff)
        return;
    call_tree_destroy(diff->all);
    call_tree_destroy(diff->sides[0]);
    call_tree_destroy(diff->sides[1]);
    trace_destroy(diff->trace);
    strtab_free(&diff->keys);
    vec_free(&diff->labels);
    free(diff);
}

/* ---- Merged stacks --------------------------------------------------------------------------- */

static int64_t copy_string(const struct adding *a, uint32_t string)
{
    const struct trace_string *text = trace_string(a->from, string);
    return trace_string_add(a->diff->trace, text->bytes, text->length);
}

/* Makes a label from the first recording that has the function. */
static int64_t make_label(const struct adding *a, const struct label *label)
{
    struct stacks *stacks = trace_stacks(a->diff->trace);
    const struct stacks *from = trace_stacks_get(a->from);
    struct label copy = *label;
    struct code_module module = *stacks_get_module(from, label->module);
    int64_t path = copy_string(a, stacks_get_source(from, label->source)->path);
    int64_t file = copy_string(a, module.path), text = copy_string(a, label->text);
    if (path < 0 || file < 0 || text < 0)
        return -ENOMEM;
    module.path = (uint32_t)file;
    int64_t source = label->source ? stacks_source_of(stacks, (uint32_t)path) : 0;
    int64_t code = label->module ? stacks_module(stacks, &module) : 0;
    if (source < 0 || code < 0)
        return -ENOMEM;
    copy.text = (uint32_t)text;
    copy.source = (uint32_t)source;
    copy.module = (uint32_t)code;
    return stacks_label(stacks, &copy);
}

/* The key has no folders, as checkouts of a program may differ in them. */
static int64_t label_of(const struct adding *a, const struct label *label)
{
    const struct stacks *from = trace_stacks_get(a->from);
    const char *source = trace_string(a->from, stacks_get_source(from, label->source)->path)->bytes;
    const char *module = trace_string(a->from, stacks_get_module(from, label->module)->path)->bytes;
    char *key = malloc(KEY_SIZE);
    if (!key)
        return -ENOMEM;
    struct text text = text_init(key, KEY_SIZE);
    text_format(&text, "%u\n%s\n%s\n%s", label->kind, trace_string(a->from, label->text)->bytes,
                text_base_name(source), text_base_name(module));
    int64_t at = strtab_add(&a->diff->keys, key, text.length);
    free(key);
    if (at < 0 || (size_t)at < a->diff->labels.count)
        return at < 0 ? at : a->diff->labels.items[at];
    int64_t made = make_label(a, label);
    if (made >= 0 && vec_push(&a->diff->labels, (uint32_t)made) != 0)
        return -ENOMEM;
    return made;
}

static int64_t push_frame(const struct adding *a, uint32_t parent, uint32_t frame)
{
    struct stacks *stacks = trace_stacks(a->diff->trace);
    const struct stacks *from = trace_stacks_get(a->from);
    int64_t label = label_of(a, stacks_label_of(from, frame));
    if (label < 0)
        return label;
    /* One frame per function, wherever in it the sample was. */
    struct frame copy = {
        .kind = stacks_get_frame(from, frame)->kind,
        .label = (uint32_t)label,
        .address = (uint64_t)label,
    };
    int64_t made = stacks_frame(stacks, &copy);
    const struct frame_name name = {.frame = (uint32_t)made, .label = (uint32_t)label};
    if (made >= 0 && stacks_get_frame(stacks, (uint32_t)made)->label != (uint32_t)label &&
        stacks_name_frame(stacks, &name) < 0)
        return -ENOMEM;
    return made < 0 ? made : stacks_push(stacks, parent, (uint32_t)made);
}

static int64_t stack_of(const struct adding *a, uint32_t stack)
{
    uint32_t frames[FRAMES_MAX];
    if (stack >= a->count || stack == 0)
        return 0;
    if (a->stacks[stack])
        return a->stacks[stack] - 1;
    uint32_t count = stacks_frames(trace_stacks_get(a->from), stack, frames, FRAMES_MAX);
    int64_t at = 0;
    for (uint32_t i = 0; i < count && at >= 0; i++)
        at = push_frame(a, (uint32_t)at, frames[i]);
    if (at >= 0)
        a->stacks[stack] = (uint32_t)at + 1;
    return at;
}

static int take(void *context, const struct item *item)
{
    const struct adding *a = context;
    struct flame_diff *diff = a->diff;
    uint64_t cpu_ns = sample_cpu_ns(trace_sets_get(a->from), item->sample);
    if (sample_role(trace_sets_get(a->from), item->sample) != SAMPLE_ROLE_CPU || cpu_ns == 0)
        return 0;
    int64_t stack = stack_of(a, item->sample->stack);
    if (stack < 0)
        return (int)stack;
    int64_t of_run = (int64_t)(cpu_ns / diff->runs[a->side]);
    const struct sample sample = {
        .stack = (uint32_t)stack, .set = SAMPLE_SET_CPU, SAMPLE_VALUES(of_run)};
    const struct sample half = {
        .stack = (uint32_t)stack, .set = SAMPLE_SET_CPU, SAMPLE_VALUES(of_run / 2)};
    diff->any = true;
    diff->cpu_ns[a->side] += (double)cpu_ns;
    diff->squares[a->side] += (double)cpu_ns * (double)cpu_ns;
    int rc = call_tree_add(diff->sides[a->side], &sample);
    return rc < 0 ? rc : call_tree_add(diff->all, &half);
}

int flame_diff_add(struct flame_diff *diff, unsigned side, struct store_reader *reader)
{
    const struct pass_source source = recording_pass_source(reader);
    const struct pass_selection all = PASS_SELECT_ALL;
    struct adding adding = {.diff = diff, .from = source.trace, .side = side};
    const struct sink sink = {take, &adding, WANT_SAMPLES};
    adding.count = stacks_stack_count(trace_stacks_get(adding.from));
    adding.stacks = calloc(adding.count + 1u, sizeof(*adding.stacks));
    int rc = adding.stacks ? pass_read(&source, &all, &sink, 1) : -ENOMEM;
    free(adding.stacks);
    return rc;
}

/* ---- Changes --------------------------------------------------------------------------------- */

/* Returns the matching child of a side's node, or UINT32_MAX. */
static uint32_t same_child(const struct call_tree *side, uint32_t node,
                           const struct call_item *item)
{
    if (node == UINT32_MAX)
        return UINT32_MAX;
    for (uint32_t at = call_tree_node(side, node)->first_child; at;
         at = call_tree_node(side, at)->next_sibling) {
        const struct call_item *other = call_tree_item(side, call_tree_node(side, at)->item);
        if (other->kind == item->kind && other->id == item->id)
            return at;
    }
    return UINT32_MAX;
}

/* Significant beyond two standard deviations, for randomly arriving samples. Times are per run. The
 * variance of a sum of weights is the sum times the mean weight, averaged by weight. */
static int level_of(const struct flame_diff *diff, const uint64_t times[SIDES])
{
    double a = (double)times[0], b = (double)times[1], variance = 0;
    for (int side = 0; side < SIDES; side++) {
        double cpu_ns = fmax(diff->cpu_ns[side], 1);
        variance += (double)times[side] * diff->squares[side] / cpu_ns / (double)diff->runs[side];
    }
    double deviation = sqrt(variance);
    double part = fabs(b - a) / fmax(fmax(a, b), 1e-9);
    if (fabs(b - a) < 2 * deviation || part < 0.02)
        return 0;
    int level = part < 0.1 ? 1 : part < 0.3 ? 2 : 3;
    return b > a ? level : -level;
}

static void set_change(const struct flame_diff *diff, const uint32_t nodes[SIDES],
                       struct flame_change *ret_change)
{
    uint64_t times[SIDES] = {0, 0};
    for (int side = 0; side < SIDES; side++) {
        if (nodes[side] == UINT32_MAX)
            continue;
        times[side] = call_tree_node(diff->sides[side], nodes[side])->total_ns;
    }
    *ret_change = (struct flame_change){times[0], times[1], level_of(diff, times)};
}

/* A parent has a smaller number than its children, so one walk matches the nodes of both sides. */
static struct flame_change *find_changes(const struct flame_diff *diff)
{
    uint32_t count = call_tree_node_count(diff->all);
    struct flame_change *changes = calloc(count, sizeof(*changes));
    uint32_t(*nodes)[SIDES] = calloc(count, sizeof(*nodes));
    for (uint32_t i = 0; changes && nodes && i < count; i++) {
        const struct call_node *node = call_tree_node(diff->all, i);
        const struct call_item *item = call_tree_item(diff->all, node->item);
        for (int side = 0; side < SIDES && i > 0; side++)
            nodes[i][side] = same_child(diff->sides[side], nodes[node->parent][side], item);
        set_change(diff, nodes[i], &changes[i]);
    }
    bool made = nodes != NULL;
    free(nodes);
    if (made)
        return changes;
    free(changes);
    return NULL;
}

int flame_diff_write(struct flame_diff *diff, const char *title, struct out_stream *out)
{
    char subtitle[160];
    struct flame_options options = {.title = title,
                                    .subtitle = subtitle,
                                    .measure = "CPU time of a run",
                                    .piece = "sample",
                                    .min_width = 0.3};
    struct flame_counts counts;
    int rc = diff->any ? call_tree_finish(diff->all) : -ENODATA;
    for (int side = 0; side < SIDES && rc == 0; side++)
        rc = call_tree_finish(diff->sides[side]);
    if (rc < 0)
        return rc;
    struct flame_change *changes = find_changes(diff);
    if (!changes)
        return -ENOMEM;
    snprintf(subtitle, sizeof(subtitle),
             "the mean of A, %zu run%s of %.1f ms, and B, %zu of %.1f ms", diff->runs[0],
             diff->runs[0] == 1 ? "" : "s", (double)changes[0].a_ns / 1e6, diff->runs[1],
             (double)changes[0].b_ns / 1e6);
    options.changes = changes;
    rc = flame_svg_write(diff->trace, diff->all, &options, out, &counts);
    free(changes);
    return rc;
}
