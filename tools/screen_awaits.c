/* SPDX-License-Identifier: MIT */
/* Where tasks of asyncio were suspended, on the first screen. */
#include "screen_parts.h"

#include "code_owner.h"
#include "number.h"
#include "term.h"

#include <stdio.h>

enum { AWAITS_WIDTH = 16 };

static void put_await(const struct screen *screen, const struct await_place *place, size_t names)
{
    char count[NUMBER_TEXT_SIZE], location[512];
    const char *awaits = trace_string(screen->trace, place->awaits)->bytes;
    const char *function = trace_string(screen->trace, place->function)->bytes;
    screen_time(place->total_ns);
    printf("  ");
    screen_put_cut(screen, STYLE_PLAIN, awaits, AWAITS_WIDTH);
    printf(" %7s", number_count(place->count, count));
    screen_time(place->total_ns / place->count);
    screen_time(place->max_ns);
    printf("  ");
    screen_put_cut(screen, STYLE_OWN, function, names);
    code_file_location(screen->trace, place->file, place->line, location, sizeof(location));
    screen_location(screen, location, 52 + names);
    printf("\n");
}

void screen_awaits(const struct screen *screen)
{
    const struct await_place *places;
    uint32_t count = awaits_places(screen->facts->awaits, &places), shown = 0;
    uint64_t wall_ns = (uint64_t)screen->facts->totals->wall_ns;
    size_t names = SCREEN_NAME_MIN;
    for (; shown < count && shown < screen->rows; shown++) {
        const char *name = trace_string(screen->trace, places[shown].function)->bytes;
        if (places[shown].function == 0 || places[shown].total_ns * SCREEN_PART < wall_ns)
            break;
        names = term_text_width(name) > names ? term_text_width(name) : names;
    }
    if (shown == 0)
        return;
    names = names < SCREEN_NAME_MIN + 8 ? names : SCREEN_NAME_MIN + 8;
    screen_title(screen, "Awaits of asyncio tasks, which overlap");
    printf(" %7s  %-*s %7s %7s %7s  %-*s  %s\n", "total", AWAITS_WIDTH, "awaits", "times", "mean",
           "max", (int)names, "function", "location");
    for (uint32_t i = 0; i < shown; i++)
        put_await(screen, &places[i], names);
}
