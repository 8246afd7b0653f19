/* SPDX-License-Identifier: MIT */
/* Writes flame_svg.h. Boxes are written in preorder. The notes above them are measured first, as
 * they determine the boxes' positions. */
#include "flame_svg.h"

#include "call_label.h"
#include "call_tree.h"
#include "code_owner.h"
#include "export_facts.h"
#include "gpu_stacks.h"
#include "json_writer.h"
#include "missing.h"
#include "number.h"
#include "out_stream.h"
#include "page_tones.h"
#include "sample.h"
#include "sample_weight.h"
#include "stacks.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MARGIN = 16,
    WIDE = FLAME_WIDTH - 2 * MARGIN, /* of the outermost box */
    ROW = 21,                        /* pixels from one level to the next */
    LINE = 22,                       /* from one line of text to the next */
    TITLE_COLUMNS = 105,
    NOTES_MAX = 64,
    NOTE_SIZE = MISSING_LABEL_SIZE + 32,
    SWATCH = 18, /* width with its gap */
    GAP = 22,    /* between notes */
    PADDING = 6, /* of a label */
    LABEL_COLUMNS_LEAST = 3,
    ASIDE_LEAST = 240, /* least width of a box with place and share at its right end */
};

/* Estimated widths of letters in boxes and above them; real ones depend on the viewer. */
#define FLAME_CODE_LETTER 7.4
#define FLAME_TEXT_LETTER 6.7

enum flame_tone {
    TONE_OF_OWN, /* in the order of enum code_colour */
    TONE_OF_LIBRARY,
    TONE_OF_INTERPRETER,
    TONE_OF_NATIVE,
    TONE_OF_KERNEL,
    TONE_OF_COLLECTOR,
    TONE_OF_OTHERS, /* without a stack; also processes, threads and notes */
    TONE_OF_RANGE,
    TONE_OF_WORK, /* of a GPU queue */
    TONE_OF_RUNNABLE,
    TONE_OF_LOCK,
    TONE_OF_GIL,
    TONE_OF_DISK,
    TONE_OF_SLEEP,
    TONE_OF_PIPE,
    TONE_OF_POLL,
    TONE_OF_FAULT,
    TONE_OF_CHILD,
    TONE_OF_OTHER,
    FLAME_TONES,
};

struct child {
    uint64_t total_ns;
    uint32_t node, rank; /* rank: by label */
};

/* A note above the boxes. */
struct note {
    char text[NOTE_SIZE];
    enum flame_tone tone;
    bool loss;
    uint64_t weight; /* of a legend key */
    int x, line;
};

struct flame {
    const struct trace *trace;
    const struct call_tree *tree;
    const struct flame_options *options;
    struct out_stream *out;
    struct flame_counts counts;
    uint32_t *sizes; /* by node: number of nodes in its subtree */
    uint64_t limit_ns;
    uint32_t rows;
    VEC(struct child) children; /* stack of the children being drawn */
    uint64_t tone_ns[FLAME_TONES];
    bool tone_seen[FLAME_TONES];
    uint64_t reason_ns[WAIT_REASON_COUNT];
    struct note *notes; /* losses, then the legend */
    unsigned note_count;
    int line_count, top; /* lines of notes; top of the first row */
};

static int flame_notes_measure(struct flame *f);
static void flame_notes_put(struct flame *f);

/* A row is kept if one of its boxes is wide enough for a label (row_pixels), or row_part times as
 * wide as the limit. */
static const double row_pixels = 30, row_part = 50;

static void flame_put(struct flame *f, const char *format, ...)
{
    char piece[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(piece, sizeof(piece), format, arguments);
    va_end(arguments);
    out_text(f->out, piece);
}

static uint64_t flame_total_ns(const struct flame *f)
{
    return call_tree_node(f->tree, 0)->total_ns;
}

/* "12.3 ms", "2.00 MiB" */
static const char *flame_weight_text(const struct flame *f, uint64_t weight, char *buffer)
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

/* Writes "of CPU time"; the measure may be a name from the recording. */
static void put_measure(struct flame *f)
{
    out_text(f->out, " of ");
    out_xml(f->out, f->options->measure, strlen(f->options->measure));
}

/* ---- Colours --------------------------------------------------------------------------------- */

/* page_tones.h is generated from the page's style sheet, as SVG viewers may not support CSS
 * variables. */

enum { LIGHT, DARK, THEMES };

/* Colours of a box and of its text, for each theme. */
static const struct tone {
    const char *class, *text;
    const char *fill[THEMES], *ink[THEMES];
} tones[FLAME_TONES] = {
    [TONE_OF_OWN] = {"own", "your code", {TONE_OWN}, {TONE_OWN_INK}},
    [TONE_OF_LIBRARY] = {"lib", "libraries", {TONE_LIB}, {TONE_LIB_INK}},
    [TONE_OF_INTERPRETER] = {"interp", "interpreter", {TONE_INTERP}, {TONE_INTERP_INK}},
    [TONE_OF_NATIVE] = {"native", "native code", {TONE_NATIVE}, {TONE_NATIVE_INK}},
    [TONE_OF_KERNEL] = {"kernel", "kernel", {TONE_KERNEL}, {TONE_KERNEL_INK}},
    [TONE_OF_COLLECTOR] = {"gc", "garbage collector", {TONE_GC}, {TONE_GC_INK}},
    [TONE_OF_OTHERS] = {"role", "unknown", {TONE_ROLE}, {TONE_ROLE_INK}},
    [TONE_OF_RANGE] = {"range", "ranges", {TONE_R2}, {TONE_INK}},
    [TONE_OF_WORK] = {"work", "GPU", {TONE_KERNEL}, {TONE_KERNEL_INK}},
    [TONE_OF_RUNNABLE] = {"runnable", "runnable", {TONE_RUNNABLE}, {TONE_GC_INK}},
    [TONE_OF_LOCK] = {"lock", "", {TONE_W_LOCK}, {TONE_WAIT_INK}},
    [TONE_OF_GIL] = {"gil", "", {TONE_W_GIL}, {TONE_WAIT_INK}},
    [TONE_OF_DISK] = {"disk", "", {TONE_W_DISK}, {TONE_WAIT_INK}},
    [TONE_OF_SLEEP] = {"sleep", "", {TONE_W_SLEEP}, {TONE_WAIT_INK}},
    [TONE_OF_PIPE] = {"pipe", "", {TONE_W_PIPE}, {TONE_WAIT_INK}},
    [TONE_OF_POLL] = {"poll", "", {TONE_W_POLL}, {TONE_WAIT_INK}},
    [TONE_OF_FAULT] = {"fault", "", {TONE_W_FAULT}, {TONE_WAIT_INK}},
    [TONE_OF_CHILD] = {"child", "", {TONE_W_CHILD}, {TONE_WAIT_INK}},
    [TONE_OF_OTHER] = {"other", "", {TONE_W_OTHER}, {TONE_WAIT_INK}},
};

static enum flame_tone tone_of_reason(uint32_t reason)
{
    static const enum flame_tone of_reasons[WAIT_REASON_COUNT] = {
        [WAIT_UNKNOWN] = TONE_OF_OTHER, [WAIT_PREEMPTED] = TONE_OF_RUNNABLE,
        [WAIT_DISK] = TONE_OF_DISK,     [WAIT_PAGE_FAULT] = TONE_OF_FAULT,
        [WAIT_PIPE] = TONE_OF_PIPE,     [WAIT_SOCKET] = TONE_OF_PIPE,
        [WAIT_LOCK] = TONE_OF_LOCK,     [WAIT_GIL] = TONE_OF_GIL,
        [WAIT_SLEEP] = TONE_OF_SLEEP,   [WAIT_POLL] = TONE_OF_POLL,
        [WAIT_CHILD] = TONE_OF_CHILD,   [WAIT_TERMINAL] = TONE_OF_OTHER,
        [WAIT_SIGNAL] = TONE_OF_POLL,   [WAIT_OTHER_FILE] = TONE_OF_OTHER,
    };

    return reason < WAIT_REASON_COUNT ? of_reasons[reason] : TONE_OF_OTHER;
}

static enum flame_tone tone_of(const struct trace *trace, const struct call_tree *tree,
                               uint32_t item)
{
    const struct call_item *entry = call_tree_item(tree, item);
    switch ((enum call_kind)entry->kind) {
    case CALL_FUNCTION:
        if (stacks_get_label(trace_stacks_get(trace), entry->id)->flags & LABEL_WORK)
            return TONE_OF_WORK;
        return call_item_frame_kind(tree, item) == FRAME_NOTE
                   ? TONE_OF_OTHERS
                   : (enum flame_tone)code_colour_of(trace, entry->id);
    case CALL_RANGE:
        return TONE_OF_RANGE;
    case CALL_REASON:
        return tone_of_reason(entry->id);
    case CALL_RUNNABLE:
        return TONE_OF_RUNNABLE;
    default:
        return TONE_OF_OTHERS;
    }
}

static const char *tone_class(enum flame_tone tone)
{
    return tones[tone].class;
}

static const char *tone_text(enum flame_tone tone)
{
    return tones[tone].text;
}

/* The style sheet, for both themes. */

static void put_rule(struct out_stream *out, const char *class, const char *fill, const char *ink)
{
    char rule[160];
    snprintf(rule, sizeof(rule), ".%s rect{fill:%s}.%s text{fill:%s}\n", class, fill, class, ink);
    out_text(out, rule);
}

/* Parses "#fff" or "#1a1d23" into red, green, blue. */
static void channels_of(const char *colour, unsigned channels[3])
{
    unsigned long value = strtoul(colour + 1, NULL, 16);
    bool brief = strlen(colour) == 4;
    for (int i = 0; i < 3; i++)
        channels[i] = brief ? (value >> (8 - 4 * i) & 0xf) * 0x11 : value >> (16 - 8 * i) & 0xff;
}

/* Blends `part` of `colour` over a ground. */
static void mix(const char *colour, const char *ground, double part, char mixed[8])
{
    unsigned over[3], under[3];
    channels_of(colour, over);
    channels_of(ground, under);
    for (int i = 0; i < 3; i++)
        over[i] = (unsigned)(over[i] * part + under[i] * (1 - part) + 0.5);
    snprintf(mixed, 8, "#%02x%02x%02x", over[0] & 0xff, over[1] & 0xff, over[2] & 0xff);
}

/* The larger the change in B, the stronger the colour. */
static void put_changes(struct out_stream *out, int theme)
{
    static const char *const less[] = {TONE_BETTER}, *const more[] = {TONE_WORSE};
    static const char *const ground[] = {TONE_SURFACE}, *const ink[] = {TONE_INK};
    static const double parts[] = {0, 0.2, 0.45, 1};
    const struct tone *unchanged = &tones[TONE_OF_OTHERS];
    for (int level = -FLAME_LEVEL_MAX; level <= FLAME_LEVEL_MAX; level++) {
        char class[4], fill[8];
        snprintf(class, sizeof(class), "d%d", level + FLAME_LEVEL_MAX);
        mix((level < 0 ? less : more)[theme], ground[theme], parts[abs(level)], fill);
        bool strong = abs(level) == FLAME_LEVEL_MAX;
        put_rule(out, class, level ? fill : unchanged->fill[theme],
                 strong  ? ground[theme]
                 : level ? ink[theme]
                         : unchanged->ink[theme]);
    }
}

static void put_theme(struct out_stream *out, int theme, bool changes)
{
    static const struct {
        const char *selector, *fill[THEMES];
    } texts[] = {
        {"text", {TONE_INK}},  {".page", {TONE_BG}},    {".sub", {TONE_INK2}},
        {".key", {TONE_INK2}}, {".loss", {TONE_WORSE}},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        char rule[64];
        snprintf(rule, sizeof(rule), "%s{fill:%s}\n", texts[i].selector, texts[i].fill[theme]);
        out_text(out, rule);
    }
    for (unsigned i = 0; i < FLAME_TONES; i++)
        put_rule(out, tones[i].class, tones[i].fill[theme], tones[i].ink[theme]);
    if (changes)
        put_changes(out, theme);
}

static void put_style(struct out_stream *out, bool changes)
{
    out_text(out, "text{font:13px -apple-system,\"Segoe UI\",Roboto,\"Noto Sans\","
                  "\"Liberation Sans\",Arial,sans-serif}\n"
                  "#frames text{font:12px ui-monospace,\"SF Mono\",\"Cascadia Mono\","
                  "\"DejaVu Sans Mono\",Menlo,monospace;white-space:pre}\n"
                  "text.title{font-size:18px;font-weight:600}\n.more{text-anchor:end}\n");
    put_theme(out, LIGHT, changes);
    out_text(out, "@media (prefers-color-scheme:dark){\n");
    put_theme(out, DARK, changes);
    out_text(out, "}\n");
}

/* ---- Boxes ----------------------------------------------------------------------------------- */

/* One box. */
struct box {
    const struct call_node *node;
    double x, width;
    int y;
    const char *class, *label, *name, *place; /* name: text in the box; place: source location */
    const char *aside;
    const struct flame_change *change; /* NULL without a comparison */
    uint64_t start_ns;
    uint32_t depth;
};

/* Columns of a character: East Asian characters and pictograms take two. */
static unsigned columns_of(const char *text, size_t length, size_t *ret_size)
{
    size_t size = utf8_character(text, length);
    *ret_size = size ? size : 1;
    return size >= 3 ? 2 : 1;
}

/* Width of a text in columns. */
static unsigned flame_text_columns(const char *text)
{
    unsigned columns = 0;
    size_t length = strlen(text), size;
    for (size_t at = 0; at < length; at += size)
        columns += columns_of(text + at, length - at, &size);
    return columns;
}

/* Writes as much of the text as fits into `columns`. */
static void flame_put_fitting(struct flame *f, const char *text, unsigned columns)
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

/* Writes place and share at the right end, or only the share, if they fit beside the name. */
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

/* Control characters become spaces. */
static void flame_one_line(char *label)
{
    for (; *label; label++) {
        if ((unsigned char)*label < 0x20)
            *label = ' ';
    }
}

/* The location of a function: file and line, or module. */
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

/* Sets the text of a box: the name only, as the place is at the right end. */
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

/* The y coordinate of a row. */
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
                      .class = tone_class(tone_of(f->trace, f->tree, node->item)),
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

/* Pushes the visible children of a node. Returns their number, or -ENOMEM. */
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

/* Recursion is as deep as the tree: a few thousand levels at most. */
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

/* ---- Selection of boxes ---------------------------------------------------------------------- */

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
    if (f->options->rate && f->options->rate[0])
        flame_put(f, " at %s", f->options->rate);
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
    put_style(f->out, f->options->changes != NULL);
    out_text(f->out, "]]></style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
    flame_put(f, "<text class=\"title\" x=\"%d\" y=\"29\">", MARGIN);
    flame_put_fitting(f, title, TITLE_COLUMNS);
    out_text(f->out, "</text>\n");
    put_facts(f);
    flame_notes_put(f);
}

/* Writes the line about boxes left out. */
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

/* ---- Losses and the legend with the time of each owner --------------------------------------- */

/* Sums the time by tone and by reason of waiting. GPU work has a single tone. */
static void sum_tones(struct flame *f)
{
    const uint64_t *colours = call_tree_colours(f->tree);
    for (unsigned i = 0; i <= COLOUR_COUNT && !f->options->work; i++)
        f->tone_ns[i] = colours[i];
    if (f->options->work)
        f->tone_ns[TONE_OF_WORK] = flame_total_ns(f);
    for (uint32_t i = 0; i < call_tree_node_count(f->tree); i++) {
        const struct call_node *node = call_tree_node(f->tree, i);
        const struct call_item *item = call_tree_item(f->tree, node->item);
        enum flame_tone tone = tone_of(f->trace, f->tree, node->item);
        f->tone_seen[tone] |= tone != TONE_OF_OTHERS && node->total_ns >= f->limit_ns;
        if (item->kind == CALL_REASON && item->id < WAIT_REASON_COUNT)
            f->reason_ns[item->id] += node->self_ns;
        else if (item->kind == CALL_RUNNABLE)
            f->tone_ns[TONE_OF_RUNNABLE] += node->self_ns;
    }
}

/* ---- Above the boxes ------------------------------------------------------------------------- */

/* NULL if all NOTES_MAX are in use. */
static struct note *add_note(struct flame *f)
{
    return f->note_count < NOTES_MAX ? &f->notes[f->note_count++] : NULL;
}

static void add_missing(void *context, const struct missing *missing)
{
    struct note *note = add_note(context);
    char label[MISSING_LABEL_SIZE];
    if (!note)
        return;
    missing_label(missing, label);
    note->loss = true;
    snprintf(note->text, sizeof(note->text), "%s: %" PRIu64, label, missing->count);
}

/* Adds a legend key such as "your code 1.20 s 45 %". */
static void add_key(struct flame *f, enum flame_tone tone, const char *name, uint64_t weight)
{
    char text[NUMBER_TEXT_SIZE], share[NUMBER_TEXT_SIZE];
    struct note *note = add_note(f);
    if (!note)
        return;
    note->tone = tone;
    note->weight = weight;
    snprintf(note->text, sizeof(note->text), "%s%s%s%s%s", name, weight ? " " : "",
             weight ? flame_weight_text(f, weight, text) : "", weight ? " " : "",
             weight ? number_share(weight, flame_total_ns(f), share) : "");
}

/* Adds a note on how much work has an exact stack. */
static void add_stacks(struct flame *f)
{
    const struct gpu_stacks_totals *work = f->options->work;
    struct note *note = work ? add_note(f) : NULL;
    if (!note)
        return;
    note->tone = TONE_OF_OTHERS;
    gpu_stacks_say(work, note->text, sizeof(note->text));
}

static void add_legend(struct flame *f)
{
    add_stacks(f);
    for (unsigned i = 0; i <= TONE_OF_RUNNABLE; i++)
        if (f->tone_ns[i] > 0 || f->tone_seen[i])
            add_key(f, (enum flame_tone)i, tone_text((enum flame_tone)i), f->tone_ns[i]);
    for (unsigned i = 0; i < WAIT_REASON_COUNT; i++)
        if (f->reason_ns[i] > 0) {
            char name[64];
            snprintf(name, sizeof(name), "waits: %s", wait_reason_name((enum wait_reason)i));
            add_key(f, tone_of_reason(i), name, f->reason_ns[i]);
        }
}

/* Arranges notes in lines; losses are separate from the legend. */
static void place_notes(struct flame *f, struct note *notes)
{
    int x = 0, line = -1;
    for (unsigned i = 0; i < f->note_count; i++) {
        struct note *note = &notes[i];
        int room = note->loss ? 0 : SWATCH;
        flame_one_line(note->text);
        int wide = room + (int)(flame_text_columns(note->text) * FLAME_TEXT_LETTER);
        bool apart = i > 0 && note->loss != notes[i - 1].loss;
        if (line < 0 || apart || x + wide > WIDE) {
            x = 0;
            line++;
        }
        note->x = MARGIN + x;
        note->line = line;
        x += wide + GAP;
    }
    f->line_count = line + 1;
}

/* Makes the notes (losses, then the legend), which sets the top of the first row. 0 or -ENOMEM. */
static int flame_notes_measure(struct flame *f)
{
    sum_tones(f);
    struct note *notes = calloc(NOTES_MAX, sizeof(*notes));
    f->notes = notes;
    if (!notes)
        return -ENOMEM;
    missing_each(f->trace, NULL, add_missing, f);
    struct note *note = call_tree_cut_count(f->tree) ? add_note(f) : NULL;
    if (note) {
        note->loss = true;
        snprintf(note->text, sizeof(note->text),
                 "%" PRIu64 " samples are cut: too many different stacks",
                 call_tree_cut_count(f->tree));
    }
    if (!f->options->changes)
        add_legend(f);
    place_notes(f, notes);
    f->top = 66 + LINE * (f->line_count + (f->options->changes != NULL));
    return 0;
}

static void put_all(struct flame *f)
{
    out_text(f->out, "<g id=\"legend\">\n");
    for (unsigned i = 0; i < f->note_count; i++) {
        const struct note *note = &f->notes[i];
        int y = 52 + LINE * (note->line + 1);
        if (!note->loss)
            flame_put(
                f,
                "<g class=\"%s\"><rect x=\"%d\" y=\"%d\" width=\"11\" height=\"11\" rx=\"2.5\"/>"
                "</g>",
                tone_class(note->tone), note->x, y - 10);
        flame_put(f, "<text class=\"%s\"", note->loss ? "loss" : "key");
        if (!note->loss)
            flame_put(f, " data-ns=\"%" PRIu64 "\"", note->weight);
        flame_put(f, " x=\"%d\" y=\"%d\">", note->x + (note->loss ? 0 : SWATCH), y);
        flame_put_fitting(f, note->text, (unsigned)((WIDE - SWATCH) / FLAME_TEXT_LETTER));
        out_text(f->out, "</text>\n");
    }
    out_text(f->out, "</g>\n");
}

static void put_change_legend(struct flame *f)
{
    static const struct {
        int level;
        const char *text;
    } keys[] = {
        {-3, "B has less"}, {0, "no difference, or too few samples to tell"}, {3, "B has more"}};

    int x = MARGIN, y = 52 + LINE * (f->line_count + 1);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        flame_put(
            f,
            "<g class=\"d%d\"><rect x=\"%d\" y=\"%d\" width=\"11\" height=\"11\" rx=\"2.5\"/></g>"
            "<text class=\"key\" x=\"%d\" y=\"%d\">%s</text>\n",
            keys[i].level + FLAME_LEVEL_MAX, x, y - 10, x + SWATCH, y, keys[i].text);
        x += SWATCH + GAP + (int)((double)strlen(keys[i].text) * FLAME_TEXT_LETTER);
    }
}

static void flame_notes_put(struct flame *f)
{
    put_all(f);
    if (f->options->changes)
        put_change_legend(f);
}
