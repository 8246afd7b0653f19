/* SPDX-License-Identifier: MIT */
/* Colours of flame graphs. page_tones.h is generated from the page's style sheet, as SVG viewers
 * may not support CSS variables. */
#include "flame_tones.h"

#include "call_tree.h"
#include "code_owner.h"
#include "flame_svg.h"
#include "out_stream.h"
#include "page_tones.h"
#include "sample.h"
#include "stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    [TONE_OF_NOTHING] = {"role", "unknown", {TONE_ROLE}, {TONE_ROLE_INK}},
    [TONE_OF_RANGE] = {"range", "ranges", {TONE_R2}, {TONE_INK}},
    [TONE_OF_WORK] = {"work", "GPU", {TONE_KERNEL}, {TONE_KERNEL_INK}},
    [TONE_OF_READY] = {"ready", "runnable", {TONE_READY}, {TONE_GC_INK}},
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

/* ---- Classes --------------------------------------------------------------------------------- */

enum flame_tone flame_tone_of_reason(uint32_t reason)
{
    static const enum flame_tone of_reasons[WAIT_REASON_COUNT] = {
        [WAIT_UNKNOWN] = TONE_OF_OTHER, [WAIT_PREEMPTED] = TONE_OF_READY,
        [WAIT_DISK] = TONE_OF_DISK,     [WAIT_PAGE_FAULT] = TONE_OF_FAULT,
        [WAIT_PIPE] = TONE_OF_PIPE,     [WAIT_SOCKET] = TONE_OF_PIPE,
        [WAIT_LOCK] = TONE_OF_LOCK,     [WAIT_GIL] = TONE_OF_GIL,
        [WAIT_SLEEP] = TONE_OF_SLEEP,   [WAIT_POLL] = TONE_OF_POLL,
        [WAIT_CHILD] = TONE_OF_CHILD,   [WAIT_TERMINAL] = TONE_OF_OTHER,
        [WAIT_SIGNAL] = TONE_OF_POLL,   [WAIT_OTHER_FILE] = TONE_OF_OTHER,
    };

    return reason < WAIT_REASON_COUNT ? of_reasons[reason] : TONE_OF_OTHER;
}

enum flame_tone flame_tone_of(const struct trace *trace, const struct call_tree *tree,
                              uint32_t item)
{
    const struct call_item *entry = call_tree_item(tree, item);
    switch ((enum call_kind)entry->kind) {
    case CALL_FUNCTION:
        if (stacks_get_label(trace_stacks_get(trace), entry->id)->flags & LABEL_WORK)
            return TONE_OF_WORK;
        return call_item_frame_kind(tree, item) == FRAME_NOTE
                   ? TONE_OF_NOTHING
                   : (enum flame_tone)code_colour_of(trace, entry->id);
    case CALL_RANGE:
        return TONE_OF_RANGE;
    case CALL_REASON:
        return flame_tone_of_reason(entry->id);
    case CALL_RUNNABLE:
        return TONE_OF_READY;
    default:
        return TONE_OF_NOTHING;
    }
}

const char *flame_tone_class(enum flame_tone tone)
{
    return tones[tone].class;
}

const char *flame_tone_text(enum flame_tone tone)
{
    return tones[tone].text;
}

/* ---- Rules ----------------------------------------------------------------------------------- */

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
    const struct tone *none = &tones[TONE_OF_NOTHING];
    for (int level = -FLAME_LEVEL_MAX; level <= FLAME_LEVEL_MAX; level++) {
        char class[4], fill[8];
        snprintf(class, sizeof(class), "d%d", level + FLAME_LEVEL_MAX);
        mix((level < 0 ? less : more)[theme], ground[theme], parts[abs(level)], fill);
        bool strong = abs(level) == FLAME_LEVEL_MAX;
        put_rule(out, class, level ? fill : none->fill[theme],
                 strong  ? ground[theme]
                 : level ? ink[theme]
                         : none->ink[theme]);
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

void flame_style_write(struct out_stream *out, bool changes)
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
