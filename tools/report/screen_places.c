/* SPDX-License-Identifier: MIT */
/* Functions and their locations, at the end of rows of a report's first screen. */
#include "screen_parts.h"

#include "code_owner.h"
#include "term.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

enum { GAP = 2, TEXT_SIZE = 512, HEAD_SIZE = 8, NAME_LEAST = 6 };

/* "[garbage collector]" and the like are no names of functions: they stand in ( ) as all that is
 * not. */
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
    size_t room = screen->width > used ? screen->width - used : 0;
    size_t least = places->name < SCREEN_NAME_ROOM ? places->name : SCREEN_NAME_ROOM;
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

/* The last folders that fit, then the middle of the file's name; never the line. */
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

/* How wide the name is where its location needs the room: the location's folders go before the
 * name is cut further. */
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
    size_t room = screen->width > used + place->indent ? screen->width - used - place->indent : 1;
    const char *style =
        place->label ? owner_style(code_owner_of(screen->trace, place->label)) : STYLE_OWN;
    find_name(screen, place, name);
    find_place(screen, place, text);
    rest.name = places->name > place->indent ? places->name - place->indent : 1;
    if (!text[0]) {
        char whole[4 * SCREEN_WIDTH_MAX + 4];
        term_shorten(name, room, whole, sizeof(whole));
        screen_put(screen, name[0] == '(' ? STYLE_DIM : style, whole);
        fputs("\n", screen->out);
        return;
    }
    size_t width = fit_name(&rest, name, text, room);
    screen_put_cut(screen, style, name, width);
    fputs("  ", screen->out);
    cut_place(text, room > width + GAP ? room - width - GAP : 1, cut);
    screen_put(screen, STYLE_DIM, cut);
    fputs("\n", screen->out);
}
