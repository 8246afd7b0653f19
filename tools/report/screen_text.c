/* SPDX-License-Identifier: MIT */
/* Texts and numbers of a report's first screen, in the colours and the width that it has. */
#include "screen_parts.h"

#include "term.h"

#include <string.h>

/* Of a whole: below, a time is what rounding left. */
enum { RESIDUE_PART = 100000 };

/* ---- Text ------------------------------------------------------------------------------------ */

static void put_bytes(const struct screen *screen, const char *style, const char *text, size_t size)
{
    bool styled = screen->view->color && *style && size > 0;
    if (styled)
        fprintf(screen->out, "\033[%sm", style);
    term_write(screen->out, text, size);
    if (styled)
        fputs("\033[0m", screen->out);
}

void screen_put(const struct screen *screen, const char *style, const char *text)
{
    put_bytes(screen, style, text, strlen(text));
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The bytes of a text from `from` to `to`. */
static void put_marked(const struct screen *screen, const struct screen_text *text, size_t from,
                       size_t to)
{
    size_t mark = text->mark_size ? smaller(text->mark_at, to) : to;
    size_t after = text->mark_size ? smaller(text->mark_at + text->mark_size, to) : to;
    mark = mark < from ? from : mark;
    after = after < from ? from : after;
    put_bytes(screen, text->style, text->text + from, mark - from);
    put_bytes(screen, text->mark_style ? text->mark_style : "", text->text + mark, after - mark);
    put_bytes(screen, text->style, text->text + after, to - after);
}

void screen_put_text(const struct screen *screen, const struct screen_text *text)
{
    const char *at = text->text;
    while (*at) {
        size_t from = (size_t)(at - text->text);
        size_t size = term_line(at, screen->width - text->indent);
        put_marked(screen, text, from, from + size);
        fputs("\n", screen->out);
        at += size;
        at += strspn(at, " ");
        fprintf(screen->out, "%*s", *at ? (int)text->indent : 0, "");
    }
}

void screen_put_wrapped(const struct screen *screen, const char *style, const char *text,
                        unsigned indent)
{
    screen_put_text(screen, &(struct screen_text){.style = style, .text = text, .indent = indent});
}

void screen_title(const struct screen *screen, const char *title)
{
    fputs("\n", screen->out);
    screen_put_wrapped(screen, STYLE_BOLD, title, 0);
}

void screen_put_cut(const struct screen *screen, const char *style, const char *text, size_t width)
{
    char buffer[4 * SCREEN_WIDTH_MAX + 4];
    size_t used = term_shorten(text, smaller(width, SCREEN_WIDTH_MAX), buffer, sizeof(buffer));
    screen_put(screen, style, buffer);
    fprintf(screen->out, "%*s", (int)(width > used ? width - used : 0), "");
}

/* ---- Numbers --------------------------------------------------------------------------------- */

void screen_time(const struct screen *screen, const char *style, uint64_t ns, uint64_t whole)
{
    char text[NUMBER_TEXT_SIZE];
    number_time_short(ns >= whole / RESIDUE_PART ? ns : 0, text);
    fprintf(screen->out, " %*s", strlen(text) < 7 ? (int)(7 - strlen(text)) : 0, "");
    screen_put(screen, style, text);
}

void screen_share(const struct screen *screen, uint64_t part, uint64_t whole)
{
    char text[NUMBER_TEXT_SIZE];
    fprintf(screen->out, " %6s", number_share(part, whole, text));
}

void screen_put_bar(const struct screen *screen, const struct screen_bar *bar)
{
    char text[SCREEN_BAR_MAX + 1];
    uint64_t cells =
        bar->whole ? (uint64_t)((double)bar->part / (double)bar->whole * bar->width + 0.5) : 0;
    cells = cells > bar->width ? bar->width : cells;
    if (bar->width == 0)
        return;
    memset(text, '#', cells);
    text[cells] = '\0';
    fputs("  ", screen->out);
    screen_put(screen, bar->style, text);
    fprintf(screen->out, "%*s", (int)(bar->width - cells), "");
}
