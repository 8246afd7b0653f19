/* SPDX-License-Identifier: MIT */
/* The writer of flame_svg.h. Boxes are written in preorder. What stands above them is measured
 * before, as their place depends on it. */
#include "flame_svg.h"

#include "call_label.h"
#include "code_owner.h"
#include "export_facts.h"
#include "flame_parts.h"
#include "json_writer.h"
#include "missing.h"
#include "number.h"
#include "out_stream.h"
#include "stacks.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A row counts if it has a box that is so wide that it has a label, or so many times wider than
 * what is drawn at all. */
static const double row_pixels = 30, row_part = 50;

void flame_put(struct flame *f, const char *format, ...)
{
    char piece[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(piece, sizeof(piece), format, arguments);
    va_end(arguments);
    out_text(f->out, piece);
}

uint64_t flame_total_ns(const struct flame *f)
{
    return call_tree_node(f->tree, 0)->total_ns;
}

/* "12.3 ms", "2.00 MiB" */
const char *flame_weight_text(const struct flame *f, uint64_t weight, char *buffer)
{
    if (f->options->unit == UNIT_NS)
        return number_time_short(weight, buffer);
    return f->options->unit == UNIT_BYTES ? number_size(weight, buffer)
                                          : number_count(weight, buffer);
}

static void put_weight(struct flame *f, uint64_t weight)
{
    char text[NUMBER_TEXT_SIZE];
    out_text(f->out, flame_weight_text(f, weight, text));
}

static void put_share(struct flame *f, uint64_t part)
{
    char text[NUMBER_TEXT_SIZE];
    number_share(part, flame_total_ns(f), text);
    out_xml(f->out, text, strlen(text)); /* "<0.1 %" */
}

/* "sample", "samples", "launches" */
static const char *ending_of(const struct flame *f, uint64_t count)
{
    if (count == 1)
        return "";
    return f->options->piece[strlen(f->options->piece) - 1] == 'h' ? "es" : "s";
}

/* "of CPU time": what is measured has a name of the recording. */
static void put_measure(struct flame *f)
{
    out_text(f->out, " of ");
    out_xml(f->out, f->options->measure, strlen(f->options->measure));
}

/* ---- Boxes ----------------------------------------------------------------------------------- */

/* One box. */
struct box {
    const struct call_node *node;
    double x, width;
    int y;
    const char *class, *label, *name, *place; /* name: what stands in it; place: of a file */
    const char *aside;
    const struct flame_change *change; /* NULL: nothing is compared */
    uint64_t start_ns;
    uint32_t depth;
};

/* Columns of a character: those of East Asia and pictures take two. */
static unsigned columns_of(const char *text, size_t length, size_t *ret_size)
{
    size_t size = utf8_character(text, length);
    *ret_size = size ? size : 1;
    return size >= 3 ? 2 : 1;
}

unsigned flame_text_columns(const char *text)
{
    unsigned columns = 0;
    size_t length = strlen(text), size;
    for (size_t at = 0; at < length; at += size)
        columns += columns_of(text + at, length - at, &size);
    return columns;
}

/* As much of the text as fits into `columns`. */
void flame_put_fitting(struct flame *f, const char *text, unsigned columns)
{
    size_t length = strlen(text), cut = 0, at = 0, size;
    unsigned used = 0;
    while (at < length && used <= columns) {
        used += columns_of(text + at, length - at, &size);
        if (used <= columns)
            at += size;
        if (used < columns)
            cut = at;
    }
    out_xml(f->out, text, at < length ? cut : length);
    if (at < length)
        out_text(f->out, "…");
}

static void put_change(struct flame *f, const struct flame_change *change)
{
    out_text(f->out, "\nA ");
    put_weight(f, change->a_ns);
    out_text(f->out, ", B ");
    put_weight(f, change->b_ns);
    if (change->a_ns > 0)
        flame_put(f, ": %+.1f %%", 100 * ((double)change->b_ns / (double)change->a_ns - 1));
    if (change->level == 0)
        out_text(f->out, ", too few samples to tell");
}

static void put_title(struct flame *f, const struct box *box)
{
    const struct call_node *node = box->node;
    out_text(f->out, "<title>");
    out_xml(f->out, box->label, strlen(box->label));
    out_text(f->out, "\n");
    out_xml(f->out, box->place, strlen(box->place));
    out_text(f->out, box->place[0] ? "\n" : "");
    put_weight(f, node->total_ns);
    out_text(f->out, ", ");
    put_share(f, node->total_ns);
    put_measure(f);
    flame_put(f, ", %" PRIu64 " %s%s", node->count, f->options->piece, ending_of(f, node->count));
    if (node->self_ns > 0 && node->self_ns < node->total_ns) {
        out_text(f->out, "\nitself ");
        put_weight(f, node->self_ns);
        out_text(f->out, ", ");
        put_share(f, node->self_ns);
    }
    if (box->change)
        put_change(f, box->change);
    out_text(f->out, "</title>");
}

/* Place and share at the right end, or the share alone, if they fit beside the name. */
static void put_aside(struct flame *f, const struct box *box, double room)
{
    char share[NUMBER_TEXT_SIZE], both[CALL_LABEL_SIZE];
    struct text text = text_init(both, sizeof(both));
    const char *aside = both;
    number_share(box->node->total_ns, flame_total_ns(f), share);
    text_format(&text, "%s%s%s", box->aside, box->aside[0] ? "  " : "", share);
    if (flame_text_columns(both) * FLAME_CODE_LETTER > room)
        aside = share;
    if (box->width < ASIDE_LEAST || flame_text_columns(aside) * FLAME_CODE_LETTER > room)
        return;
    flame_put(f, "<text class=\"more\" x=\"%.2f\" y=\"%d\">", box->x + box->width - PADDING - 2,
              box->y + 14);
    out_xml(f->out, aside, strlen(aside));
    out_text(f->out, "</text>");
}

static void put_label(struct flame *f, const struct box *box)
{
    double room = box->width - 2 * PADDING,
           used = flame_text_columns(box->name) * FLAME_CODE_LETTER;
    if (room < LABEL_COLUMNS_LEAST * FLAME_CODE_LETTER)
        return;
    flame_put(f, "<text x=\"%.2f\" y=\"%d\">", box->x + PADDING, box->y + 14);
    flame_put_fitting(f, box->name, (unsigned)(room / FLAME_CODE_LETTER));
    out_text(f->out, "</text>");
    put_aside(f, box, room - used - 2 * FLAME_CODE_LETTER);
}

static void put_box(struct flame *f, const struct box *box)
{
    const struct call_node *node = box->node;
    flame_put(f, "<g class=\"%s\" data-d=\"%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u\">",
              box->class, box->start_ns, node->total_ns, node->self_ns, node->count, box->depth);
    put_title(f, box);
    flame_put(f, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"/>", box->x, box->y,
              box->width > 3 ? box->width - 1 : box->width, ROW - 1);
    put_label(f, box);
    out_text(f->out, "</g>\n");
    f->counts.drawn++;
}

void flame_one_line(char *label)
{
    for (; *label; label++) {
        if ((unsigned char)*label < 0x20)
            *label = ' ';
    }
}

/* Where a function is: its file and line, or its module. */
static void place_of(const struct flame *f, const struct call_item *item, char *buffer, size_t size)
{
    const struct stacks *stacks = trace_stacks_get(f->trace);
    const struct label *label = stacks_get_label(stacks, item->id);
    uint32_t file = stacks_get_source(stacks, label->source)->path;
    uint32_t module = stacks_get_module(stacks, label->module)->path;
    struct text text = text_init(buffer, size);
    if (file && label->kind == FRAME_PYTHON)
        text_format(&text, "%s:%d", trace_string(f->trace, file)->bytes,
                    item->line > 0 ? item->line : label->first_line);
    else if (module)
        text_format(&text, "%s", trace_string(f->trace, module)->bytes);
}

/* What stands in a box: the name alone, as its place is at the other end. */
static void name_of(const struct flame *f, const struct call_item *item, struct box *box,
                    char buffers[2][CALL_LABEL_SIZE])
{
    box->name = box->label;
    box->aside = "";
    if (item->kind == CALL_ALL) {
        char total[NUMBER_TEXT_SIZE];
        snprintf(buffers[0], CALL_LABEL_SIZE, "all  %s",
                 flame_weight_text(f, flame_total_ns(f), total));
        box->name = buffers[0];
    }
    if (item->kind != CALL_FUNCTION || !item->id)
        return;
    size_t length = code_name(f->trace, item->id, buffers[0], CALL_LABEL_SIZE);
    code_location(f->trace, item->id, item->line, buffers[1], CALL_LABEL_SIZE);
    flame_one_line(buffers[0]);
    flame_one_line(buffers[1]);
    if (length > 0)
        box->name = buffers[0];
    box->aside = buffers[1];
    if (strcmp(buffers[0], "<module>") != 0)
        return;
    snprintf(buffers[0] + length, CALL_LABEL_SIZE - length, " %s", buffers[1]);
    box->aside = "";
}

/* Where the boxes of a row are. */
static int row_top(const struct flame *f, uint32_t depth)
{
    return f->top + ROW * (int)(f->options->root_at_bottom ? f->rows - 1 - depth : depth);
}

static void put_node(struct flame *f, uint32_t index, uint64_t start_ns, uint32_t depth)
{
    static const char *const levels[] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6"};
    const struct call_node *node = call_tree_node(f->tree, index);
    const struct call_item *item = call_tree_item(f->tree, node->item);
    const struct flame_change *change = f->options->changes ? &f->options->changes[index] : NULL;
    double scale = WIDE / (double)(flame_total_ns(f) + !flame_total_ns(f));
    char label[CALL_LABEL_SIZE], place[CALL_LABEL_SIZE] = "", names[2][CALL_LABEL_SIZE];
    struct box box = {.node = node,
                      .x = MARGIN + (double)start_ns * scale,
                      .width = flame_total_ns(f) ? (double)node->total_ns * scale : WIDE,
                      .y = row_top(f, depth),
                      .class = flame_tone_class(flame_tone_of(f->trace, f->tree, node->item)),
                      .label = label,
                      .place = place,
                      .change = change,
                      .start_ns = start_ns,
                      .depth = depth};
    call_item_label(f->tree, node->item, label, sizeof(label));
    if (item->kind == CALL_FUNCTION)
        place_of(f, item, place, sizeof(place));
    flame_one_line(label);
    flame_one_line(place);
    name_of(f, item, &box, names);
    if (change)
        box.class = levels[change->level + FLAME_LEVEL_MAX];
    put_box(f, &box);
}

static int largest_first(const void *left, const void *right)
{
    const struct child *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Those of a node that are drawn, onto the stack of children. How many, or -ENOMEM. */
static int64_t push_children(struct flame *f, uint32_t index, bool room)
{
    size_t first = f->children.count;
    for (uint32_t at = call_tree_node(f->tree, index)->first_child; at;
         at = call_tree_node(f->tree, at)->next_sibling) {
        uint64_t total = call_tree_node(f->tree, at)->total_ns;
        const struct child child = {total, at, (uint32_t)(f->children.count - first)};
        if (total < f->limit_ns || !room) {
            f->counts.folded += f->sizes[at];
            f->counts.unseen_ns += total;
        } else if (vec_push(&f->children, child) != 0) {
            return -ENOMEM;
        }
    }
    int64_t count = (int64_t)(f->children.count - first);
    if (count > 1)
        qsort(f->children.items + first, (size_t)count, sizeof(*f->children.items), largest_first);
    return count;
}

/* As deep as the tree: some thousand levels at most. */
static int put_subtree(struct flame *f, uint32_t index, uint64_t start_ns, uint32_t depth)
{
    size_t first = f->children.count;
    put_node(f, index, start_ns, depth);
    int64_t count = push_children(f, index, depth + 1 < f->rows);
    int error = count < 0 ? (int)count : 0;
    for (int64_t i = 0; i < count && !error; i++) {
        struct child child = f->children.items[first + (size_t)i];
        error = put_subtree(f, child.node, start_ns, depth + 1);
        start_ns += child.total_ns;
    }
    f->children.count = first;
    return error;
}

/* ---- What is drawn --------------------------------------------------------------------------- */

static uint32_t frames_at_least(const struct flame *f, uint64_t limit_ns)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < call_tree_node_count(f->tree); i++)
        count += call_tree_node(f->tree, i)->total_ns >= limit_ns;
    return count;
}

static void choose_limit(struct flame *f)
{
    double width = f->options->min_width > 0 ? f->options->min_width : FLAME_WIDTH_MIN;
    double per_pixel = (double)flame_total_ns(f) / WIDE;
    f->limit_ns = (uint64_t)(width * per_pixel);
    while (frames_at_least(f, f->limit_ns) > FLAME_FRAMES_MAX) {
        width *= 1.5;
        f->limit_ns = (uint64_t)(width * per_pixel) + 1;
    }
    f->counts.min_width = width;
}

static int measure_tree(struct flame *f)
{
    uint32_t count = call_tree_node_count(f->tree);
    uint32_t *depths = calloc(count, sizeof(*depths));
    double least = fmin(row_pixels, row_part * f->counts.min_width);
    double row_ns = (double)flame_total_ns(f) / WIDE * fmax(least, f->counts.min_width);
    f->sizes = calloc(count, sizeof(*f->sizes));
    if (!depths || !f->sizes) {
        free(depths);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct call_node *node = call_tree_node(f->tree, i);
        depths[i] = i ? depths[node->parent] + 1 : 0;
        if ((double)node->total_ns >= row_ns && depths[i] >= f->rows)
            f->rows = depths[i] + 1;
    }
    for (uint32_t i = count; i-- > 0;) {
        f->sizes[i]++;
        if (i > 0)
            f->sizes[call_tree_node(f->tree, i)->parent] += f->sizes[i];
    }
    f->rows += f->rows == 0;
    free(depths);
    return 0;
}

/* ---- The picture ----------------------------------------------------------------------------- */

static void put_facts(struct flame *f)
{
    const struct call_node *root = call_tree_node(f->tree, 0);
    flame_put(f, "<text class=\"sub\" x=\"%d\" y=\"52\">", MARGIN);
    put_weight(f, root->total_ns);
    put_measure(f);
    flame_put(f, " in %" PRIu64 " %s%s", root->count, f->options->piece, ending_of(f, root->count));
    if (f->options->frequency_hz)
        flame_put(f, " at %u Hz", f->options->frequency_hz);
    if (f->options->subtitle) {
        out_text(f->out, " · ");
        flame_put_fitting(f, f->options->subtitle, 120);
    }
    out_text(f->out, "</text>\n");
}

static void put_head(struct flame *f)
{
    const char *title = f->options->title ? f->options->title : session_title(f->trace);
    int height = f->top + ROW * (int)f->rows + LINE + 8;
    flame_put(f,
              "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
              "viewBox=\"0 0 %d %d\">\n<title>",
              FLAME_WIDTH, height, FLAME_WIDTH, height);
    out_xml(f->out, title, strlen(title));
    out_text(f->out, "</title>\n<style><![CDATA[\n");
    flame_style_write(f->out, f->options->changes != NULL);
    out_text(f->out, "]]></style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
    flame_put(f, "<text class=\"title\" x=\"%d\" y=\"29\">", MARGIN);
    flame_put_fitting(f, title, TITLE_COLUMNS);
    out_text(f->out, "</text>\n");
    put_facts(f);
    flame_notes_put(f);
}

/* What is left out. */
static void put_foot(struct flame *f)
{
    char count[NUMBER_TEXT_SIZE];
    int y = f->top + ROW * (int)f->rows + 18;
    if (f->counts.folded > 0) {
        flame_put(f, "<text id=\"left-out\" class=\"sub\" x=\"%d\" y=\"%d\">", MARGIN, y);
        flame_put(f, "Not drawn, as too narrow to see: %s box%s, together ",
                  number_count(f->counts.folded, count), f->counts.folded == 1 ? "" : "es");
        put_share(f, f->counts.unseen_ns);
        put_measure(f);
        out_text(f->out, "</text>\n");
    }
    out_text(f->out, "</svg>\n");
}

int flame_svg_write(const struct trace *trace, const struct call_tree *tree,
                    const struct flame_options *options, struct out_stream *out,
                    struct flame_counts *ret_counts)
{
    struct flame f = {.trace = trace, .tree = tree, .options = options, .out = out};
    choose_limit(&f);
    int error = measure_tree(&f);
    if (!error)
        error = flame_notes_measure(&f);
    if (error)
        goto out;
    put_head(&f);
    out_text(out, "<g id=\"frames\">\n");
    error = put_subtree(&f, 0, 0, 0);
    out_text(out, "</g>\n");
    put_foot(&f);
    error = error ? error : out_error(out);
out:
    vec_free(&f.children);
    free(f.sizes);
    free(f.notes);
    f.counts.cut = call_tree_cut_count(tree);
    *ret_counts = f.counts;
    return error;
}
