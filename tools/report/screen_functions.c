/* SPDX-License-Identifier: MIT */
/* The first table of a report's first screen: the user's own functions. */

#include "screen_functions.h"
#include "report_text.h"

#include "code_owner.h"
#include "headline.h"
#include "term.h"
#include "text.h"

#include <stdio.h>

/* ---- Own functions --------------------------------------------------------------------------- */

/* Columns after the first: of CPU time, or with waits. */
struct own_view {
    bool by_wall;   /* with waits: of the one thread that did the work, or of threads that waited */
    bool has_ready; /* a row has significant ready time */
    uint64_t whole_ns, most_ns, limit_ns;
    struct screen_places places;
    unsigned bar;
    const struct own_row *rows;
    uint32_t count;
};

static uint64_t value_of(const struct own_view *view, const struct own_row *row)
{
    uint64_t value = row->cpu_ns + (view->by_wall ? row->ready_ns + row->waiting_ns : 0);
    return value < view->limit_ns ? value : view->limit_ns;
}

static bool is_shown(const struct screen *screen, const struct own_view *view, uint32_t at)
{
    const struct own_row *row = &view->rows[at];
    return (row->label || row->program) && at < screen->rows.own &&
           value_of(view, row) * SCREEN_ROW_PART >= view->whole_ns;
}

/* The style of the row's largest time. */
static const char *bar_style(const struct own_row *row)
{
    if (row->cpu_ns >= row->ready_ns && row->cpu_ns >= row->waiting_ns)
        return STYLE_OWN;
    return row->ready_ns >= row->waiting_ns ? STYLE_READY : STYLE_DIM;
}

static void put_own_numbers(const struct screen *screen, const struct own_view *view,
                            const struct own_row *row)
{
    uint64_t value = value_of(view, row), whole = view->whole_ns;
    screen_time(screen, STYLE_PLAIN, value, whole);
    screen_share(screen, value, whole);
    screen_put_bar(screen, &(struct screen_bar){view->bar, value, view->most_ns, bar_style(row)});
    if (view->by_wall)
        screen_time(screen, STYLE_PLAIN, row->cpu_ns < value ? row->cpu_ns : value, whole);
    if (view->has_ready)
        screen_time(screen, STYLE_READY, row->ready_ns, whole);
    if (view->by_wall)
        screen_time(screen, STYLE_PLAIN, row->waiting_ns, whole);
    fprintf(screen->out, "  ");
}

/* Width of the numbers and the gaps between them. */
static size_t width_of_numbers(const struct own_view *view)
{
    return 17u + (view->bar ? 2 + view->bar : 0) + (view->by_wall ? 16 : 0) +
           (view->has_ready ? 8 : 0);
}

/* The least share of the whole for a line of the remainder. */
enum { REST_PART = 1000 };

/* The largest part of the remainder that is not listed yet; NULL if it is too small. */
static const struct own_row *next_part(const struct own_view *view, const bool *told)
{
    const struct own_row *found = NULL;
    for (uint32_t at = 0; at < view->count; at++) {
        const struct own_row *row = &view->rows[at];
        if (row->label == 0 && row->program == 0 && !told[row->purpose] &&
            (!found || value_of(view, row) > value_of(view, found)))
            found = row;
    }
    return found && value_of(view, found) * 2 * SCREEN_ROW_PART >= view->whole_ns ? found : NULL;
}

enum { PARTS_MAX = 3 };

/* Names the purposes of the remainder's largest parts, at most three. Returns their number. */
static unsigned find_parts(const struct own_view *view, const char *names[PARTS_MAX])
{
    unsigned count = 0;
    bool taken[PURPOSE_COUNT] = {false};
    const struct own_row *part;
    while (count < PARTS_MAX && (part = next_part(view, taken))) {
        names[count++] = part->purpose ? code_purpose_name(part->purpose) : "other code";
        taken[part->purpose] = true;
    }
    return count;
}

static uint32_t count_more(const struct screen *screen, const struct own_view *view)
{
    uint32_t more = 0;
    for (uint32_t at = 0; at < view->count; at++)
        more += (view->rows[at].label || view->rows[at].program) && !is_shown(screen, view, at);
    return more;
}

/* "(imports, other code, 2 more functions)", with fewer names if there is no room. */
static void describe_rest(const struct screen *screen, const struct own_view *view, char *buffer,
                          size_t size)
{
    const char *names[PARTS_MAX] = {"other code"};
    unsigned count = find_parts(view, names), told;
    uint32_t more = count_more(screen, view);
    size_t room = screen->row_width - width_of_numbers(view);
    bool known = count > 0 || more > 0;
    for (told = known ? count : 1;; told--) {
        struct text text = text_init(buffer, size);
        uint32_t left = more + (known ? count - told : 0);
        text_format(&text, "(");
        for (unsigned i = 0; i < told; i++)
            text_format(&text, "%s%s", i ? ", " : "", names[i]);
        if (left)
            text_format(&text, "%s%u %s", told ? ", " : "", left,
                        told == count && known ? (left == 1 ? "more function" : "more functions")
                                               : "more");
        text_format(&text, ")");
        if (told == 0 || text.length <= room)
            return;
    }
}

/* Prints a line for the remainder outside the rows, if it is large enough. */
static void put_own_rest(const struct screen *screen, const struct own_view *view,
                         const struct own_row *more)
{
    struct own_row rest = *more;
    char text[256];
    for (uint32_t i = 0; i < view->count; i++) {
        if (is_shown(screen, view, i))
            continue;
        rest.cpu_ns += view->rows[i].cpu_ns;
        rest.ready_ns += view->rows[i].ready_ns;
        rest.waiting_ns += view->rows[i].waiting_ns;
    }
    if (value_of(view, &rest) * REST_PART < view->whole_ns || value_of(view, &rest) == 0)
        return;
    describe_rest(screen, view, text, sizeof(text));
    put_own_numbers(screen, view, &rest);
    screen_put(screen, STYLE_DIM, text);
    fprintf(screen->out, "\n");
}

static struct screen_place place_of(const struct own_row *row)
{
    return (struct screen_place){.label = row->label, .line = row->line};
}

static bool is_wide(const struct screen *screen, const struct own_view *view)
{
    return width_of_numbers(view) + screen_places_want(&view->places) > screen->row_width;
}

/* Names and locations take precedence over bars, and over a column of insignificant times. */
static void fit(const struct screen *screen, struct own_view *view)
{
    const unsigned bars[] = {screen->bar, SCREEN_BAR_MIN, SCREEN_BAR_LEAST, 0};
    uint64_t ready_ns = own_time_totals(screen->facts->own)->ready_ns;
    view->places = screen_places_init();
    view->has_ready = view->by_wall;
    for (uint32_t i = 0; i < view->count; i++) {
        const struct screen_place place = place_of(&view->rows[i]);
        if (place.label && is_shown(screen, view, i))
            screen_places_add(screen, &view->places, &place);
    }
    for (size_t i = 0; i < sizeof(bars) / sizeof(*bars); i++) {
        view->bar = bars[i];
        if (!is_wide(screen, view))
            break;
        if (bars[i] == SCREEN_BAR_LEAST && ready_ns * SCREEN_PART < view->whole_ns)
            view->has_ready = false;
        if (!is_wide(screen, view))
            break;
    }
    screen_places_fit(screen, &view->places, width_of_numbers(view));
}

static const char *own_title(const struct screen *screen)
{
    const struct own_totals *totals = own_time_totals(screen->facts->own);
    static const char *const cpu[OWN_LEVELS] = {
        "Own code, with what libraries do for it (CPU time)",
        "Installed packages, with what they call (CPU time)",
        "Python functions, with what they call (CPU time)",
        "Functions (CPU time)",
    };
    static const char *const wall[OWN_LEVELS] = {
        "Where the wall time went, by the innermost own function",
        "Where the wall time went, by the innermost function of a package",
        "Where the wall time went, by the innermost Python function",
        "Where the wall time went, by function",
    };
    static const char *const threads[OWN_LEVELS] = {
        "Where threads spent their time, by the innermost own function",
        "Where threads spent their time, by the innermost function of a package",
        "Where threads spent their time, by the innermost Python function",
        "Where threads spent their time, by function",
    };
    return screen->facts->by_wall      ? wall[totals->level]
           : screen->facts->with_waits ? threads[totals->level]
                                       : cpu[totals->level];
}

/* Prints the wall time outside all rows: before the first thread started, after the last one ended,
 * and between samples of CPU time. */
static void put_unseen(const struct screen *screen, const struct own_view *view, uint64_t brief_ns)
{
    const struct own_totals *totals = own_time_totals(screen->facts->own);
    uint64_t sum_ns = totals->cpu_ns + totals->ready_ns + totals->waiting_ns + brief_ns;
    uint64_t unseen_ns = view->whole_ns > sum_ns ? view->whole_ns - sum_ns : 0;
    if (!screen->facts->by_wall || unseen_ns == 0 || unseen_ns * SCREEN_ROW_PART < view->whole_ns)
        return;
    screen_time(screen, STYLE_PLAIN, unseen_ns, view->whole_ns);
    screen_share(screen, unseen_ns, view->whole_ns);
    screen_put_bar(screen, &(struct screen_bar){view->bar, unseen_ns, view->most_ns, STYLE_DIM});
    fprintf(screen->out, "%*s", view->has_ready ? 26 : 18, "");
    screen_put(screen, STYLE_DIM, "(between samples)");
    fprintf(screen->out, "\n");
}

/* Prints waits that were too short to be recorded with their places. */
static void put_brief(const struct screen *screen, const struct own_view *view,
                      const struct own_row *brief)
{
    char text[HEADLINE_BRIEF_SIZE];
    put_own_numbers(screen, view, brief);
    fputs("(", screen->out);
    screen_put(screen, STYLE_DIM, headline_brief(screen->trace, text));
    fputs(")\n", screen->out);
}

static void put_own_head(const struct screen *screen, const struct own_view *view)
{
    if (!view->by_wall)
        return;
    fprintf(screen->out, " %7s %6s%*s %7s", screen->facts->by_wall ? "wall" : "time", "",
            view->bar ? (int)view->bar + 2 : 0, "", "CPU");
    if (view->has_ready)
        fprintf(screen->out, " %7s", "ready");
    fprintf(screen->out, " %7s", "waits");
    screen_places_head(screen, &view->places);
}

static void put_own_row(const struct screen *screen, const struct own_view *view,
                        const struct own_row *row)
{
    char name[256], text[260] = "";
    struct screen_place place = place_of(row);
    if (!row->label) { /* another program, or a library's thread: "(gzip)" */
        code_rest_name(screen->trace, row->purpose, row->program, name, sizeof(name));
        snprintf(text, sizeof(text), "(%s)", name);
        place.name = text;
    }
    put_own_numbers(screen, view, row);
    screen_places_put(screen, &view->places, &place, width_of_numbers(view));
}

/* Functions, then other programs. */
static void put_own_rows(const struct screen *screen, const struct own_view *view, bool functions)
{
    for (uint32_t i = 0; i < view->count; i++)
        if ((view->rows[i].label != 0) == functions && is_shown(screen, view, i))
            put_own_row(screen, view, &view->rows[i]);
}

uint64_t screen_whole(const struct screen *screen)
{
    const struct own_totals *totals = own_time_totals(screen->facts->own);
    uint64_t sum_ns = totals->cpu_ns;
    if (screen->facts->with_waits)
        sum_ns += totals->ready_ns + totals->waiting_ns;
    if (!screen->facts->by_wall)
        return sum_ns;
    const struct wall_totals *wall = wall_totals(screen->facts->wall);
    return sum_ns + wall->short_ns > wall->wall_ns ? sum_ns + wall->short_ns : wall->wall_ns;
}

uint64_t screen_limit(const struct screen *screen)
{
    return screen->facts->by_wall ? wall_totals(screen->facts->wall)->wall_ns : UINT64_MAX;
}

void screen_own(const struct screen *screen)
{
    if (!screen->facts->own)
        return;
    struct own_view view = {.by_wall = screen->facts->with_waits,
                            .whole_ns = screen_whole(screen),
                            .limit_ns = screen_limit(screen)};
    struct own_row brief = {0};
    if (screen->facts->by_wall)
        brief.waiting_ns = wall_totals(screen->facts->wall)->short_ns;
    view.count = own_time_rows(screen->facts->own, view.by_wall, &view.rows);
    if (view.count == 0)
        return;
    for (uint32_t i = 0; i < view.count; i++)
        if (value_of(&view, &view.rows[i]) > view.most_ns)
            view.most_ns = value_of(&view, &view.rows[i]);
    fit(screen, &view);
    screen_title(screen, own_title(screen));
    put_own_head(screen, &view);
    put_own_rows(screen, &view, true);
    put_own_rows(screen, &view, false);
    bool is_told = brief.waiting_ns * SCREEN_ROW_PART >= view.whole_ns && brief.waiting_ns > 0;
    put_own_rest(screen, &view, is_told ? &(struct own_row){0} : &brief);
    put_unseen(screen, &view, brief.waiting_ns);
    if (is_told)
        put_brief(screen, &view, &brief);
}
