/* SPDX-License-Identifier: MIT */
/* The table of a report's first screen with the places and reasons of waits. */
#include "screen.h"

#include "code_owner.h"
#include "report_text.h"
#include "term.h"
#include "wait_kind.h"

#include <string.h>

struct waits_view {
    const struct own_wait *waits;
    uint64_t count; /* shown rows */
    uint64_t wall_ns;
    struct screen_places places;
    size_t reason; /* width of the column */
    bool by_wall, has_max;
};

static const char *reason_name(const struct own_wait *wait)
{
    return wait_kind_name(wait->kind);
}

static struct screen_place place_of(const struct own_wait *wait)
{
    return (struct screen_place){.label = wait->label, .line = wait->line};
}

/* Waits of at least two hundredths of the wall time. */
static struct waits_view make_view(const struct screen *screen)
{
    struct waits_view view = {
        .places = screen_places_init(),
        .wall_ns = (uint64_t)screen->facts->totals->wall_ns,
        .reason = strlen("for"),
        .by_wall = screen->facts->by_wall,
        .has_max = true,
    };
    uint32_t count = screen->facts->wall ? own_time_waits(screen->facts->own, &view.waits) : 0;
    for (; view.count < count && view.count < screen->rows.waits; view.count++) {
        const struct own_wait *wait = &view.waits[view.count];
        const struct screen_place place = place_of(wait);
        size_t width = term_text_width(reason_name(wait));
        if (wait->helper || wait->blocked_ns * SCREEN_PART < view.wall_ns)
            break;
        view.reason = width > view.reason ? width : view.reason;
        if (wait->label)
            screen_places_add(screen, &view.places, &place);
    }
    return view;
}

static size_t width_of_numbers(const struct waits_view *view)
{
    return 28 + view->reason + (view->by_wall ? 7 : 0) + (view->has_max ? 8 : 0);
}

static void put_wait(const struct screen *screen, const struct waits_view *view,
                     const struct own_wait *wait)
{
    struct screen_place place = place_of(wait);
    char count[NUMBER_TEXT_SIZE], name[256], text[260];
    screen_time(screen, STYLE_PLAIN, wait->blocked_ns, 0);
    if (view->by_wall)
        screen_share(screen, wait->blocked_ns, view->wall_ns);
    fprintf(screen->out, "  %-*s %7s", (int)view->reason, reason_name(wait),
            number_count(wait->count, count));
    screen_time(screen, STYLE_PLAIN, wait->count ? wait->blocked_ns / wait->count : 0, 0);
    if (view->has_max)
        screen_time(screen, STYLE_PLAIN, wait->max_ns, 0);
    fputs("  ", screen->out);
    if (!wait->label) {
        code_rest_name(screen->trace, wait->purpose, wait->program, name, sizeof(name));
        snprintf(text, sizeof(text), "(%s)", name);
        place.name = text;
    }
    screen_places_put(screen, &view->places, &place, width_of_numbers(view));
}

void screen_waits(const struct screen *screen)
{
    struct waits_view view = make_view(screen);
    if (view.count == 0)
        return;
    if (width_of_numbers(&view) + SCREEN_NAME_ROOM > screen->row_width)
        view.has_max = false;
    screen_places_fit(screen, &view.places, width_of_numbers(&view));
    screen_title(screen, "Waits");
    fprintf(screen->out, " %7s%*s  %-*s %7s %7s%*s", "total", view.by_wall ? 7 : 0, "",
            (int)view.reason, "for", "times", "mean", view.has_max ? 8 : 0,
            view.has_max ? "max" : "");
    screen_places_head(screen, &view.places);
    for (uint64_t i = 0; i < view.count; i++)
        put_wait(screen, &view, &view.waits[i]);
}

/* ---- Tasks of asyncio ------------------------------------------------------------------------ */

/* Places where tasks of asyncio were suspended, on the first screen. */

struct awaits_view {
    const struct await_place *places;
    uint64_t count; /* shown rows */
    struct screen_places widths;
    size_t awaits; /* width of the column */
};

enum { LOCATION_SIZE = 512, AWAITS_WIDTH = 20 };

/* `location` is the buffer of the returned text. */
static struct screen_place await_place(const struct screen *screen, const struct await_place *await,
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

static struct awaits_view make_await_view(const struct screen *screen)
{
    struct awaits_view view = {.widths = screen_places_init(), .awaits = strlen("awaits")};
    uint32_t count = awaits_places(screen->facts->awaits, &view.places);
    uint64_t wall_ns = (uint64_t)screen->facts->totals->wall_ns;
    char location[LOCATION_SIZE];
    for (; view.count < count && view.count < screen->rows.waits; view.count++) {
        const struct await_place *await = &view.places[view.count];
        const struct screen_place place = await_place(screen, await, location);
        size_t width = term_text_width(awaits_of(screen, await));
        if (await->function == 0 || await->total_ns * SCREEN_PART < wall_ns)
            break;
        screen_places_add(screen, &view.widths, &place);
        view.awaits = width > view.awaits ? width : view.awaits;
    }
    view.awaits = view.awaits < AWAITS_WIDTH ? view.awaits : AWAITS_WIDTH;
    return view;
}

static size_t await_numbers_width(const struct awaits_view *view)
{
    return 36 + view->awaits;
}

static void put_await(const struct screen *screen, const struct awaits_view *view,
                      const struct await_place *await)
{
    char count[NUMBER_TEXT_SIZE], location[LOCATION_SIZE];
    const struct screen_place place = await_place(screen, await, location);
    screen_time(screen, STYLE_PLAIN, await->total_ns, 0);
    fputs("  ", screen->out);
    screen_put_cut(screen, STYLE_PLAIN, awaits_of(screen, await), view->awaits);
    fprintf(screen->out, " %7s", number_count(await->count, count));
    screen_time(screen, STYLE_PLAIN, await->total_ns / await->count, 0);
    screen_time(screen, STYLE_PLAIN, await->max_ns, 0);
    fputs("  ", screen->out);
    screen_places_put(screen, &view->widths, &place, await_numbers_width(view));
}

/* False if the loop is always busy: its tasks then wait for the loop. */
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
    struct awaits_view view = make_await_view(screen);
    if (view.count == 0 || !is_idle(screen))
        return;
    screen_places_fit(screen, &view.widths, await_numbers_width(&view));
    screen_title(screen, "Awaits of asyncio tasks, which overlap");
    fprintf(screen->out, " %7s  %-*s %7s %7s %7s", "total", (int)view.awaits, "awaits", "times",
            "mean", "max");
    screen_places_head(screen, &view.widths);
    for (uint64_t i = 0; i < view.count; i++)
        put_await(screen, &view, &view.places[i]);
}
