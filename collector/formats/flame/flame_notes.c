/* SPDX-License-Identifier: MIT */
/* What stands above the boxes of a flame graph: losses, and the legend with the time of each owner.
 * See flame_parts.h. */
#include "flame_parts.h"

#include "gpu_stacks.h"
#include "number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time by what ran and by what was waited for. All work is a GPU's. */
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
        enum flame_tone tone = flame_tone_of(f->trace, f->tree, node->item);
        f->tone_seen[tone] |= tone != TONE_OF_NOTHING && node->total_ns >= f->limit_ns;
        if (item->kind == CALL_REASON && item->id < WAIT_REASON_COUNT)
            f->reason_ns[item->id] += node->self_ns;
        else if (item->kind == CALL_RUNNABLE)
            f->tone_ns[TONE_OF_READY] += node->self_ns;
    }
}

/* ---- Above the boxes ------------------------------------------------------------------------- */

/* NULL: there are too many. */
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

/* "your code 1.20 s 45 %" */
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

/* Of how many the stack is known itself. */
static void add_stacks(struct flame *f)
{
    const struct gpu_stacks_totals *work = f->options->work;
    struct note *note = work ? add_note(f) : NULL;
    if (!note)
        return;
    note->tone = TONE_OF_NOTHING;
    gpu_stacks_say(work, note->text, sizeof(note->text));
}

static void add_legend(struct flame *f)
{
    add_stacks(f);
    for (unsigned i = 0; i <= TONE_OF_READY; i++)
        if (f->tone_ns[i] > 0 || f->tone_seen[i])
            add_key(f, (enum flame_tone)i, flame_tone_text((enum flame_tone)i), f->tone_ns[i]);
    for (unsigned i = 0; i < WAIT_REASON_COUNT; i++)
        if (f->reason_ns[i] > 0) {
            char name[64];
            snprintf(name, sizeof(name), "waits: %s", wait_reason_name((enum wait_reason)i));
            add_key(f, flame_tone_of_reason(i), name, f->reason_ns[i]);
        }
}

/* Notes in lines, those of losses apart from the legend. */
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

int flame_notes_measure(struct flame *f)
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
                flame_tone_class(note->tone), note->x, y - 10);
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

void flame_notes_put(struct flame *f)
{
    put_all(f);
    if (f->options->changes)
        put_change_legend(f);
}
