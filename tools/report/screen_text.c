/* SPDX-License-Identifier: MIT */
/* Texts and numbers of a report's first screen, with its colours and width. */
#include "screen_text.h"
#include "code_owner.h"
#include "report_text.h"
#include "term.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

/* Times below this fraction of the whole are rounding errors. */
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

/* Prints the bytes from `from` to `to`. */
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
    char buffer[2 * SCREEN_ROW_MAX];
    size_t used = term_shorten(text, smaller(width, SCREEN_ROW_MAX), buffer, sizeof(buffer));
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

/* ---- Functions and their locations ----------------------------------------------------------- */

/* Functions and their locations, in the last columns of rows on a report's first screen. */

enum { GAP = 2, TEXT_SIZE = 512, HEAD_SIZE = 8, NAME_LEAST = 6 };

/* Pseudo-functions such as "[garbage collector]" are printed in parentheses, like all other labels
 * that are not functions. */
static void find_name(const struct screen *screen, const struct screen_place *place,
                      char text[TEXT_SIZE])
{
    if (!place->label) {
        snprintf(text, TEXT_SIZE, "%s", place->name ? place->name : "");
        return;
    }
    size_t length = code_name(screen->trace, place->label, text, TEXT_SIZE);
    if (length > 1 && text[0] == '[' && text[length - 1] == ']') {
        text[0] = '(';
        text[length - 1] = ')';
    }
}

static void find_place(const struct screen *screen, const struct screen_place *place,
                       char text[TEXT_SIZE])
{
    size_t length = 0;
    if (place->label)
        length = code_location(screen->trace, place->label, place->line, text, TEXT_SIZE);
    else
        length = (size_t)snprintf(text, TEXT_SIZE, "%s", place->location ? place->location : "");
    while (length > 2 && strncmp(text, "./", 2) == 0) {
        length -= 2;
        memmove(text, text + 2, length + 1);
    }
}

/* Without a terminal, names and locations are not cut. */
static bool is_endless(const struct screen *screen)
{
    return screen->row_width == SCREEN_ROW_MAX;
}

struct screen_places screen_places_init(void)
{
    return (struct screen_places){.name = SCREEN_NAME_MIN, .place = HEAD_SIZE};
}

void screen_places_add(const struct screen *screen, struct screen_places *places,
                       const struct screen_place *place)
{
    char text[TEXT_SIZE];
    find_name(screen, place, text);
    size_t name = place->indent + term_text_width(text);
    find_place(screen, place, text);
    size_t location = term_text_width(text);
    places->name = name > places->name ? name : places->name;
    places->place = location > places->place ? location : places->place;
}

size_t screen_places_want(const struct screen_places *places)
{
    return places->name + GAP + places->place;
}

void screen_places_fit(const struct screen *screen, struct screen_places *places, size_t used)
{
    size_t room = screen->row_width > used ? screen->row_width - used : 0;
    size_t least = places->name < SCREEN_NAME_ROOM ? places->name : SCREEN_NAME_ROOM;
    if (is_endless(screen) && places->name > SCREEN_NAME_ALIGN)
        places->name = SCREEN_NAME_ALIGN;
    if (screen_places_want(places) <= room)
        return;
    size_t left = room > places->place + GAP ? room - places->place - GAP : 0;
    places->name = left > least ? left : least;
    if (places->name + GAP + HEAD_SIZE > room)
        places->name = SCREEN_NAME_MIN;
    places->headless = places->name + GAP + HEAD_SIZE > room;
}

void screen_places_head(const struct screen *screen, const struct screen_places *places)
{
    if (places->headless)
        fputs("  function\n", screen->out);
    else
        fprintf(screen->out, "  %-*s  location\n", (int)places->name, "function");
}

/* Cuts a location to its last folders that fit, then in the middle of the file's name; the line is
 * kept. */
static void cut_place(const char *text, size_t room, char buffer[TEXT_SIZE])
{
    const char *line = strrchr(text, ':'), *at = text, *slash;
    char file[TEXT_SIZE];
    snprintf(buffer, TEXT_SIZE, "%s", text);
    while (term_text_width(buffer) > room && (slash = strchr(at, '/'))) {
        at = slash + 1;
        snprintf(buffer, TEXT_SIZE, "\xe2\x80\xa6/%.*s", TEXT_SIZE - 8, at);
    }
    if (term_text_width(buffer) <= room)
        return;
    line = line ? line : text + strlen(text);
    size_t number = term_text_width(line);
    snprintf(file, sizeof(file), "%.*s", (int)(line - at), at);
    size_t left = room > number + 2 ? room - number : 2;
    term_shorten(file, left < TEXT_SIZE / 8 ? left : TEXT_SIZE / 8, buffer, TEXT_SIZE - 32);
    snprintf(buffer + strlen(buffer), 32, "%.31s", line);
}

/* The width of a name whose location needs the room: the location loses its folders before the name
 * is cut further. */
static size_t fit_name(const struct screen_places *places, const char *name, const char *place,
                       size_t room)
{
    size_t width = term_text_width(name), whole = term_text_width(place);
    size_t file = strchr(place, '/') ? term_text_width(text_base_name(place)) + 2 : whole;
    size_t left = room > whole + GAP ? room - whole - GAP : 0;
    size_t least = width < SCREEN_NAME_MIN ? width : SCREEN_NAME_MIN;
    if (places->name <= left)
        return places->name;
    if (least + GAP + file > room && least > NAME_LEAST)
        least = NAME_LEAST;
    return left > least ? left : least;
}

void screen_places_put(const struct screen *screen, const struct screen_places *places,
                       const struct screen_place *place, size_t used)
{
    char name[TEXT_SIZE], text[TEXT_SIZE], cut[TEXT_SIZE];
    struct screen_places rest = *places;
    size_t width = screen->row_width;
    size_t room = width > used + place->indent ? width - used - place->indent : 1;
    const char *style =
        place->label ? owner_style(code_owner_of(screen->trace, place->label)) : STYLE_OWN;
    find_name(screen, place, name);
    find_place(screen, place, text);
    rest.name = places->name > place->indent ? places->name - place->indent : 1;
    if (!text[0]) {
        char whole[TEXT_SIZE];
        term_shorten(name, room, whole, sizeof(whole));
        screen_put(screen, name[0] == '(' ? STYLE_DIM : style, whole);
        fputs("\n", screen->out);
        return;
    }
    width = fit_name(&rest, name, text, room);
    if (is_endless(screen) && width < term_text_width(name))
        width = term_text_width(name);
    screen_put_cut(screen, style, name, width);
    fputs("  ", screen->out);
    cut_place(text, room > width + GAP ? room - width - GAP : 1, cut);
    screen_put(screen, STYLE_DIM, cut);
    fputs("\n", screen->out);
}
