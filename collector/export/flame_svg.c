/* SPDX-License-Identifier: MIT */
/* The writer of flame_svg.h. Frames are written in preorder, each with its place on the tree's own
 * scale, from which the script lays them out anew. */
#include "flame_svg.h"

#include "call_label.h"
#include "export_facts.h"
#include "flame_page.h"
#include "json_writer.h"
#include "missing.h"
#include "out_stream.h"
#include "stacks.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Colours --------------------------------------------------------------------------------- */

/* What a frame is shows in its hue: one per kind, three shades each, chosen so that text on them
 * has a contrast of 7 or more in light mode and of 4.5 in dark mode. */

enum flame_kind {
    FLAME_PYTHON,
    FLAME_NATIVE,
    FLAME_KERNEL,
    FLAME_JIT,
    FLAME_COLLECTOR,
    FLAME_NOTE, /* says what is missing; "(other)" */
    FLAME_RANGE,
    FLAME_PROCESS,
    FLAME_THREAD,
    FLAME_WAIT,
    FLAME_RUNNABLE,
    FLAME_ALL,
    FLAME_KIND_COUNT,
};

enum { FLAME_SHADES = 3 };

static const struct palette {
    char letter;
    unsigned short hue;
    unsigned char saturation, light, dark; /* percent: lightness on a light and on a dark page */
    const char *name;
} palettes[FLAME_KIND_COUNT] = {
    [FLAME_PYTHON] = {'p', 212, 78, 76, 32, "Python"},
    [FLAME_NATIVE] = {'n', 32, 88, 74, 27, "native"},
    [FLAME_KERNEL] = {'k', 6, 78, 78, 33, "kernel"},
    [FLAME_JIT] = {'j', 142, 48, 72, 24, "compiled at run time"},
    [FLAME_COLLECTOR] = {'g', 58, 88, 62, 23, "garbage collector"},
    [FLAME_NOTE] = {'o', 210, 6, 82, 30, "note"},
    [FLAME_RANGE] = {'r', 168, 56, 60, 23, "range"},
    [FLAME_PROCESS] = {'q', 222, 20, 78, 36, "process"},
    [FLAME_THREAD] = {'t', 200, 20, 84, 30, "thread"},
    [FLAME_WAIT] = {'w', 286, 58, 82, 37, "waits for"},
    [FLAME_RUNNABLE] = {'u', 92, 38, 78, 28, "runnable"},
    [FLAME_ALL] = {'a', 220, 8, 86, 26, "all"},
};

static enum flame_kind flame_kind_of(const struct call_tree *tree, uint32_t item)
{
    static const enum flame_kind of_frames[] = {
        [FRAME_NATIVE] = FLAME_NATIVE,       [FRAME_PYTHON] = FLAME_PYTHON,
        [FRAME_KERNEL] = FLAME_KERNEL,       [FRAME_JIT] = FLAME_JIT,
        [FRAME_COLLECTOR] = FLAME_COLLECTOR, [FRAME_NOTE] = FLAME_NOTE,
    };

    static const enum flame_kind of_items[] = {
        [CALL_ALL] = FLAME_ALL,           [CALL_FUNCTION] = FLAME_NOTE,
        [CALL_PROCESS] = FLAME_PROCESS,   [CALL_THREAD] = FLAME_THREAD,
        [CALL_RANGE] = FLAME_RANGE,       [CALL_NO_RANGE] = FLAME_NOTE,
        [CALL_INHERITED] = FLAME_NOTE,    [CALL_REASON] = FLAME_WAIT,
        [CALL_NO_STACK] = FLAME_NOTE,     [CALL_NO_ROOM] = FLAME_NOTE,
        [CALL_RUNNABLE] = FLAME_RUNNABLE,
    };

    unsigned frame = call_item_frame_kind(tree, item);
    if (frame > 0 && frame < sizeof(of_frames) / sizeof(*of_frames))
        return of_frames[frame];
    return of_items[call_tree_item(tree, item)->kind];
}

static char flame_kind_letter(enum flame_kind kind)
{
    return palettes[kind].letter;
}

static const char *flame_kind_name(enum flame_kind kind)
{
    return palettes[kind].name;
}

static void write_palettes(struct out_stream *out, bool dark)
{
    for (unsigned kind = 0; kind < FLAME_KIND_COUNT; kind++) {
        const struct palette *palette = &palettes[kind];
        for (int shade = 0; shade < FLAME_SHADES; shade++) {
            char rule[80];
            int light = (dark ? palette->dark : palette->light) + 3 * (shade - 1);
            snprintf(rule, sizeof(rule), ".%c%d rect{fill:hsl(%d,%d%%,%d%%)}\n", palette->letter,
                     shade, palette->hue + 4 * (shade - 1),
                     dark ? palette->saturation * 2 / 3 : palette->saturation, light);
            out_text(out, rule);
        }
    }
}

/* Blue: B has less; orange: it has more; grey: neither, or too few samples to tell. The stronger
 * the colour, the more. */
static void write_changes(struct out_stream *out, bool dark)
{
    static const unsigned char light[] = {93, 85, 77, 68}, night[] = {22, 26, 31, 36};
    for (int level = -FLAME_LEVEL_MAX; level <= FLAME_LEVEL_MAX; level++) {
        char rule[80];
        snprintf(rule, sizeof(rule), ".d%d rect{fill:hsl(%d,%d%%,%d%%)}\n", level + FLAME_LEVEL_MAX,
                 level < 0 ? 212 : 26, level == 0 ? 6 : 82, (dark ? night : light)[abs(level)]);
        out_text(out, rule);
    }
}

static void flame_style_write(struct out_stream *out, bool changes)
{
    out_text(out, ":root{--page:#fdfdfc;--ink:#16181d;--faint:#5d6470;--loss:#a3240f;"
                  "--tip:#fff;--match:#ff4fd8;--matchink:#16181d}\n");
    if (changes)
        write_changes(out, false);
    write_palettes(out, false);
    out_text(out, "@media (prefers-color-scheme:dark){\n"
                  ":root{--page:#15171b;--ink:#eef0f4;--faint:#a2a9b6;--loss:#ff9b85;"
                  "--tip:#23272e;--match:#ff5edb;--matchink:#16181d}\n");
    if (changes)
        write_changes(out, true);
    write_palettes(out, true);
    out_text(out, "}\n");
}

enum {
    MARGIN = 12,
    ROW = 18, /* pixels from one level to the next */
    HEAD = 104,
    FOOT = 14,
    TEXT_MIN = 28, /* a box narrower than that has no text */
};

static const double character_width = 7.3;

struct flame {
    const struct trace *trace;
    const struct call_tree *tree;
    const struct flame_options *options;
    struct out_stream *out;
    struct flame_counts counts;
    uint32_t *sizes; /* of node: how many nodes it and those below it are */
    uint64_t limit_ns;
    uint32_t depth_max;
    uint64_t kind_ns[FLAME_KIND_COUNT]; /* self time, for the legend */
    bool kind_seen[FLAME_KIND_COUNT];
};

/* One box. */
struct box {
    uint64_t start_ns, total_ns, self_ns, count;
    uint32_t depth;
    enum flame_kind kind;
    unsigned shade;
    const char *label, *place;
    const struct flame_change *change; /* NULL: nothing is compared */
};

__attribute__((format(printf, 2, 3))) static void put(struct flame *f, const char *format, ...)
{
    char piece[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(piece, sizeof(piece), format, arguments);
    va_end(arguments);
    out_text(f->out, piece);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static uint64_t total_ns(const struct flame *f)
{
    return call_tree_node(f->tree, 0)->total_ns;
}

/* "12.3 ms", "2.00 MiB" */
static void put_weight(struct flame *f, uint64_t weight)
{
    static const struct {
        double size;
        const char *name;
    } units[][4] = {
        [UNIT_NS] = {{1e9, " s"}, {1e6, " ms"}, {1e3, " µs"}, {1, " ns"}},
        [UNIT_BYTES] = {{0x1p30, " GiB"}, {0x1p20, " MiB"}, {0x1p10, " KiB"}, {1, " B"}},
        [UNIT_OTHER] = {{1e9, " G"}, {1e6, " M"}, {1e3, " k"}, {1, ""}},
    };

    size_t unit = 0;
    while (unit < 3 && (double)weight < units[f->options->unit][unit].size)
        unit++;
    double value = (double)weight / units[f->options->unit][unit].size;
    int decimals = value < 100 && unit < 3 ? 2 : 0;
    put(f, "%.*f%s", decimals, value, units[f->options->unit][unit].name);
}

/* "of CPU time": what is measured has a name of the recording. */
static void put_measure(struct flame *f)
{
    out_text(f->out, " of ");
    out_xml(f->out, f->options->measure, strlen(f->options->measure));
}

/* ---- Boxes ----------------------------------------------------------------------------------- */

/* As much of the label as fits into `columns`; flame_page.js does the same. */
static void put_fitting(struct flame *f, const char *label, unsigned columns)
{
    size_t length = strlen(label), cut = 0, at = 0;
    unsigned used = 0;
    while (at < length) {
        size_t size = utf8_character(label + at, length - at);
        used += size >= 3 ? 2 : 1;
        if (used > columns)
            break;
        at += size ? size : 1;
        if (used <= columns - 1)
            cut = at;
    }
    out_xml(f->out, label, at < length ? cut : length);
    if (at < length)
        out_text(f->out, "…");
}

static uint32_t row_of(const struct flame *f, uint32_t depth)
{
    return HEAD + ROW * (f->options->root_at_bottom ? f->depth_max - depth : depth);
}

static void put_change(struct flame *f, const struct flame_change *change)
{
    out_text(f->out, "\nA ");
    put_weight(f, change->a_ns);
    out_text(f->out, ", B ");
    put_weight(f, change->b_ns);
    if (change->a_ns > 0)
        put(f, ": %+.1f %%", 100 * ((double)change->b_ns / (double)change->a_ns - 1));
    if (change->level == 0)
        out_text(f->out, ", too few samples to tell");
}

static void put_title(struct flame *f, const struct box *box)
{
    uint64_t all = total_ns(f);
    out_text(f->out, "<title>");
    out_xml(f->out, box->label, strlen(box->label));
    out_text(f->out, "\n");
    out_xml(f->out, box->place, strlen(box->place));
    out_text(f->out, "\n");
    put_weight(f, box->total_ns);
    put(f, ", %.2f %%", percent(box->total_ns, all));
    put_measure(f);
    put(f, ", %" PRIu64 " %s%s\nitself ", box->count, f->options->piece,
        box->count == 1 ? "" : "s");
    put_weight(f, box->self_ns);
    put(f, ", %.2f %%", percent(box->self_ns, all));
    if (box->change)
        put_change(f, box->change);
    out_text(f->out, "</title>");
}

static void put_box(struct flame *f, const struct box *box)
{
    double scale = (FLAME_WIDTH - 2.0 * MARGIN) / (double)(total_ns(f) + !total_ns(f));
    double x = MARGIN + (double)box->start_ns * scale, width = (double)box->total_ns * scale;
    uint32_t y = row_of(f, box->depth);
    put(f, "<g class=\"%c%u\" data-d=\"%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u\">",
        box->change ? 'd' : flame_kind_letter(box->kind),
        box->change ? (unsigned)(box->change->level + FLAME_LEVEL_MAX) : box->shade, box->start_ns,
        box->total_ns, box->self_ns, box->count, box->depth);
    put_title(f, box);
    put(f, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" rx=\"1.5\"/>", x, y,
        width > 0.8 ? width - 0.5 : 0.3, ROW - 1);
    if (width >= TEXT_MIN) {
        put(f, "<text x=\"%.2f\" y=\"%u\">", x + 3, y + 13);
        put_fitting(f, box->label, (unsigned)((width - 6) / character_width));
        out_text(f->out, "</text>");
    }
    out_text(f->out, "</g>\n");
    f->counts.drawn++;
}

/* Where a function is: its file and line, or its module. */
static void place_of(const struct flame *f, uint32_t item, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    const struct call_item *entry = call_tree_item(f->tree, item);
    if (entry->kind != CALL_FUNCTION)
        return;
    const struct stacks *stacks = trace_stacks_get(f->trace);
    const struct label *label = stacks_get_label(stacks, entry->id);
    uint32_t file = stacks_get_source(stacks, label->source)->path;
    uint32_t module = stacks_get_module(stacks, label->module)->path;
    if (file && label->kind == FRAME_PYTHON)
        text_format(&text, "%s:%d", trace_string(f->trace, file)->bytes,
                    entry->line > 0 ? entry->line : label->first_line);
    else if (module)
        text_format(&text, "%s", trace_string(f->trace, module)->bytes);
    else
        text_format(&text, "%s", flame_kind_name(flame_kind_of(f->tree, item)));
}

static void one_line(char *label)
{
    for (; *label; label++) {
        if ((unsigned char)*label < 0x20)
            *label = ' ';
    }
}

static void put_node(struct flame *f, uint32_t index, uint64_t start_ns, uint32_t depth)
{
    const struct call_node *node = call_tree_node(f->tree, index);
    char label[CALL_LABEL_SIZE], place[CALL_LABEL_SIZE];
    call_item_label(f->tree, node->item, label, sizeof(label));
    place_of(f, node->item, place, sizeof(place));
    one_line(label);
    one_line(place);
    unsigned hash = 2166136261u;
    for (const char *at = label; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    put_box(f, &(struct box){.start_ns = start_ns,
                             .total_ns = node->total_ns,
                             .self_ns = node->self_ns,
                             .count = node->count,
                             .depth = depth,
                             .kind = flame_kind_of(f->tree, node->item),
                             .shade = (hash >> 8) % FLAME_SHADES,
                             .label = label,
                             .place = place,
                             .change = f->options->changes ? &f->options->changes[index] : NULL});
}

/* What was too narrow below one caller. */
struct narrow {
    uint64_t total_ns, count;
    uint32_t functions;
};

static void put_narrow(struct flame *f, const struct narrow *narrow, uint64_t start_ns,
                       uint32_t depth)
{
    char place[96];
    f->counts.folded += narrow->functions;
    if (narrow->total_ns < f->limit_ns || !narrow->total_ns) {
        f->counts.unseen_ns += narrow->total_ns;
        return;
    }
    snprintf(place, sizeof(place), "%u functions, each too narrow to be drawn", narrow->functions);
    put_box(f, &(struct box){.start_ns = start_ns,
                             .total_ns = narrow->total_ns,
                             .count = narrow->count,
                             .depth = depth,
                             .kind = FLAME_NOTE,
                             .label = "(other)",
                             .place = place});
}

/* As deep as the tree: some thousand levels at most. */
static void put_subtree(struct flame *f, uint32_t index, uint64_t start_ns, uint32_t depth)
{
    struct narrow narrow = {0};
    put_node(f, index, start_ns, depth);
    for (uint32_t at = call_tree_node(f->tree, index)->first_child; at;
         at = call_tree_node(f->tree, at)->next_sibling) {
        const struct call_node *child = call_tree_node(f->tree, at);
        if (child->total_ns < f->limit_ns) {
            narrow.total_ns += child->total_ns;
            narrow.count += child->count;
            narrow.functions += f->sizes[at];
            continue;
        }
        put_subtree(f, at, start_ns, depth + 1);
        start_ns += child->total_ns;
    }
    if (narrow.functions > 0)
        put_narrow(f, &narrow, start_ns, depth + 1);
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
    double per_pixel = (double)total_ns(f) / (FLAME_WIDTH - 2.0 * MARGIN);
    f->limit_ns = (uint64_t)(width * per_pixel);
    while (frames_at_least(f, f->limit_ns) > FLAME_FRAMES_MAX / 2) {
        width *= 1.5;
        f->limit_ns = (uint64_t)(width * per_pixel) + 1;
    }
    f->counts.min_width = width;
}

static int measure(struct flame *f)
{
    uint32_t count = call_tree_node_count(f->tree);
    uint32_t *depths = calloc(count, sizeof(*depths));
    f->sizes = calloc(count, sizeof(*f->sizes));
    if (!depths || !f->sizes) {
        free(depths);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct call_node *node = call_tree_node(f->tree, i);
        depths[i] = i ? depths[node->parent] + 1 : 0;
        if (node->total_ns >= f->limit_ns && depths[i] > f->depth_max)
            f->depth_max = depths[i];
        enum flame_kind kind = flame_kind_of(f->tree, node->item);
        f->kind_ns[kind] += node->self_ns;
        f->kind_seen[kind] = true;
    }
    f->depth_max++; /* room for "(other)" */
    for (uint32_t i = count; i-- > 0;) {
        f->sizes[i]++;
        if (i > 0)
            f->sizes[call_tree_node(f->tree, i)->parent] += f->sizes[i];
    }
    free(depths);
    return 0;
}

/* ---- The page -------------------------------------------------------------------------------- */

static void put_facts(struct flame *f)
{
    const struct call_node *root = call_tree_node(f->tree, 0);
    put(f, "<text class=\"sub\" x=\"%d\" y=\"48\">", MARGIN);
    put_weight(f, root->total_ns);
    put_measure(f);
    put(f, " in %" PRIu64 " %s%s", root->count, f->options->piece, root->count == 1 ? "" : "s");
    if (f->options->frequency_hz)
        put(f, " at %u Hz", f->options->frequency_hz);
    if (f->options->subtitle) {
        out_text(f->out, " · ");
        out_xml(f->out, f->options->subtitle, strlen(f->options->subtitle));
    }
    out_text(f->out, "</text>\n");
}

struct warnings {
    struct flame *f;
    const char *separator;
};

static void put_missing(void *context, const struct missing *missing)
{
    struct warnings *warnings = context;
    char label[MISSING_LABEL_SIZE];
    out_text(warnings->f->out, warnings->separator);
    out_xml(warnings->f->out, label, missing_label(missing, label));
    put(warnings->f, ": %" PRIu64, missing->count);
    warnings->separator = " · ";
}

/* Losses, and what is not drawn. */
static void put_warnings(struct flame *f)
{
    struct warnings warnings = {f, ""};
    put(f, "<text class=\"sub loss\" x=\"%d\" y=\"68\">", MARGIN);
    missing_each(f->trace, NULL, put_missing, &warnings);
    if (call_tree_cut_count(f->tree))
        put(f, "%s%" PRIu64 " samples are cut: too many different stacks", warnings.separator,
            call_tree_cut_count(f->tree));
    out_text(f->out, "</text>\n");
}

static void put_change_legend(struct flame *f)
{
    static const struct {
        int level;
        const char *text;
    } keys[] = {
        {-3, "B has less"}, {0, "no difference, or too few samples to tell"}, {3, "B has more"}};

    int x = MARGIN;
    out_text(f->out, "<g class=\"legend\">");
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        put(f,
            "<g class=\"d%d\"><rect x=\"%d\" y=\"78\" width=\"13\" height=\"13\" rx=\"2\"/>"
            "<text class=\"key\" x=\"%d\" y=\"89\">%s</text></g>",
            keys[i].level + FLAME_LEVEL_MAX, x, x + 18, keys[i].text);
        x += 36 + 7 * (int)strlen(keys[i].text);
    }
    out_text(f->out, "</g>\n");
}

static void put_legend(struct flame *f)
{
    int x = MARGIN;
    out_text(f->out, "<g class=\"legend\">");
    for (unsigned kind = 0; kind < FLAME_ALL; kind++) {
        char label[64];
        if (!f->kind_seen[kind])
            continue;
        snprintf(label, sizeof(label), f->kind_ns[kind] ? "%s %.1f %%" : "%s",
                 flame_kind_name((enum flame_kind)kind), percent(f->kind_ns[kind], total_ns(f)));
        put(f,
            "<g class=\"%c1\"><rect x=\"%d\" y=\"78\" width=\"13\" height=\"13\" rx=\"2\"/>"
            "<text class=\"key\" x=\"%d\" y=\"89\">%s</text></g>",
            flame_kind_letter((enum flame_kind)kind), x, x + 18, label);
        x += 36 + 7 * (int)strlen(label);
    }
    out_text(f->out, "</g>\n");
}

static void put_head(struct flame *f)
{
    uint32_t height = HEAD + ROW * (f->depth_max + 1) + FOOT;
    const char *title = f->options->title ? f->options->title : session_title(f->trace);
    put(f,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" data-root=\"%s\">\n",
        FLAME_WIDTH, height, f->options->root_at_bottom ? "bottom" : "top");
    out_text(f->out, "<title>");
    out_xml(f->out, title, strlen(title));
    out_text(f->out, "</title>\n<style><![CDATA[\n");
    flame_style_write(f->out, f->options->changes != NULL);
    out_write(f->out, flame_page_css, sizeof(flame_page_css));
    out_text(f->out, "]]></style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
    put(f, "<text class=\"title\" x=\"%d\" y=\"28\">", MARGIN);
    put_fitting(f, title, 75);
    out_text(f->out, "</text>\n");
    put_facts(f);
    put_warnings(f);
    if (f->options->changes)
        put_change_legend(f);
    else
        put_legend(f);
}

static void put_foot(struct flame *f)
{
    put(f,
        "<foreignObject id=\"panel\" x=\"%d\" y=\"9\" width=\"400\" height=\"28\">"
        "<div xmlns=\"http://www.w3.org/1999/xhtml\" class=\"panel\">"
        "<span id=\"matched\" role=\"status\"></span>"
        "<input id=\"search\" type=\"search\" placeholder=\"search: / \" "
        "aria-label=\"search\"/>"
        "<button id=\"reset\" type=\"button\" title=\"Escape\">show all</button></div>"
        "</foreignObject>\n<g id=\"tip\" style=\"display:none\"></g>\n",
        FLAME_WIDTH - 412);
    out_text(f->out, "<script><![CDATA[\n");
    out_write(f->out, flame_page_js, sizeof(flame_page_js));
    out_text(f->out, "]]></script>\n</svg>\n");
}

int flame_svg_write(const struct trace *trace, const struct call_tree *tree,
                    const struct flame_options *options, struct out_stream *out,
                    struct flame_counts *ret_counts)
{
    struct flame f = {.trace = trace, .tree = tree, .options = options, .out = out};
    choose_limit(&f);
    int error = measure(&f);
    if (error)
        goto out;
    put_head(&f);
    out_text(out, "<g id=\"frames\">\n");
    put_subtree(&f, 0, 0, 0);
    out_text(out, "</g>\n");
    if (f.counts.folded) {
        put(&f, "<desc>%u functions are narrower than %.2g pixels and drawn together as (other)",
            f.counts.folded, f.counts.min_width);
        put(&f, "; %.3f %% of the time is nowhere.</desc>\n",
            percent(f.counts.unseen_ns, total_ns(&f)));
    }
    put_foot(&f);
    error = out_error(out);
out:
    free(f.sizes);
    f.counts.cut = call_tree_cut_count(tree);
    *ret_counts = f.counts;
    return error;
}
