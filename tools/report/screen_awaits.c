/* SPDX-License-Identifier: MIT */
/* Where tasks of asyncio were suspended, on the first screen. */
#include "screen_parts.h"

#include "code_owner.h"
#include "term.h"

#include <string.h>

struct awaits_view {
    const struct await_place *places;
    uint64_t count; /* that are shown */
    struct screen_places widths;
    size_t awaits; /* how wide that column is */
};

enum { LOCATION_SIZE = 512, AWAITS_WIDTH = 20 };

/* `location` has room for its text. */
static struct screen_place place_of(const struct screen *screen, const struct await_place *await,
                                    char location[LOCATION_SIZE])
{
    code_file_location(screen->trace, await->file, await->line, location, LOCATION_SIZE);
    return (struct screen_place){.name = trace_string(screen->trace, await->function)->bytes,
                                 .location = location};
}

static const char *awaits_of(const struct screen *screen, const struct await_place *await)
{
    return trace_string(screen->trace, await->awaits)->bytes;
}

static struct awaits_view make_view(const struct screen *screen)
{
    struct awaits_view view = {.widths = screen_places_init(), .awaits = strlen("awaits")};
    uint32_t count = awaits_places(screen->facts->awaits, &view.places);
    uint64_t wall_ns = (uint64_t)screen->facts->totals->wall_ns;
    char location[LOCATION_SIZE];
    for (; view.count < count && view.count < screen->rows.waits; view.count++) {
        const struct await_place *await = &view.places[view.count];
        const struct screen_place place = place_of(screen, await, location);
        size_t width = term_text_width(awaits_of(screen, await));
        if (await->function == 0 || await->total_ns * SCREEN_PART < wall_ns)
            break;
        screen_places_add(screen, &view.widths, &place);
        view.awaits = width > view.awaits ? width : view.awaits;
    }
    view.awaits = view.awaits < AWAITS_WIDTH ? view.awaits : AWAITS_WIDTH;
    return view;
}

static size_t width_of_numbers(const struct awaits_view *view)
{
    return 36 + view->awaits;
}

static void put_await(const struct screen *screen, const struct awaits_view *view,
                      const struct await_place *await)
{
    char count[NUMBER_TEXT_SIZE], location[LOCATION_SIZE];
    const struct screen_place place = place_of(screen, await, location);
    screen_time(screen, STYLE_PLAIN, await->total_ns, 0);
    fputs("  ", screen->out);
    screen_put_cut(screen, STYLE_PLAIN, awaits_of(screen, await), view->awaits);
    fprintf(screen->out, " %7s", number_count(await->count, count));
    screen_time(screen, STYLE_PLAIN, await->total_ns / await->count, 0);
    screen_time(screen, STYLE_PLAIN, await->max_ns, 0);
    fputs("  ", screen->out);
    screen_places_put(screen, &view->widths, &place, width_of_numbers(view));
}

/* Tasks of a loop that always has something to do wait for that. */
static bool is_idle(const struct screen *screen)
{
    const struct wall_wait *waits;
    uint32_t count = screen->facts->wall ? wall_waits(screen->facts->wall, &waits) : 0;
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < count; i++)
        sum_ns += waits[i].reason == WAIT_POLL ? waits[i].time_ns : 0;
    return !screen->facts->wall || sum_ns * SCREEN_PART >= (uint64_t)screen->facts->totals->wall_ns;
}

void screen_awaits(const struct screen *screen)
{
    struct awaits_view view = make_view(screen);
    if (view.count == 0 || !is_idle(screen))
        return;
    screen_places_fit(screen, &view.widths, width_of_numbers(&view));
    screen_title(screen, "Awaits of asyncio tasks, which overlap");
    fprintf(screen->out, " %7s  %-*s %7s %7s %7s", "total", (int)view.awaits, "awaits", "times",
            "mean", "max");
    screen_places_head(screen, &view.widths);
    for (uint64_t i = 0; i < view.count; i++)
        put_await(screen, &view, &view.places[i]);
}
