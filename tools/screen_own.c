/* SPDX-License-Identifier: MIT */
/* Tables of a report's first screen: the user's own functions, and where threads waited. */
#include "screen_parts.h"

#include "code_owner.h"
#include "term.h"
#include "text.h"

#include <stdio.h>

/* ---- Own functions --------------------------------------------------------------------------- */

/* The columns behind the first: of CPU time, or with waits. */
struct own_view {
    bool by_wall;   /* with waits: of one thread that did the work, or of threads that waited */
    bool has_ready; /* some row has such time to speak of */
    uint64_t whole_ns, most_ns;
    size_t name_width;
    unsigned bar;
    const struct own_row *rows;
    uint32_t count;
};

static uint64_t value_of(const struct own_view *view, const struct own_row *row)
{
    return row->cpu_ns + (view->by_wall ? row->ready_ns + row->waiting_ns : 0);
}

static bool is_shown(const struct screen *screen, const struct own_view *view, uint32_t at)
{
    const struct own_row *row = &view->rows[at];
    return (row->label || row->program) && at < screen->rows &&
           value_of(view, row) * SCREEN_ROW_PART >= view->whole_ns;
}

static void put_own_numbers(const struct screen *screen, const struct own_view *view,
                            const struct own_row *row)
{
    screen_time(value_of(view, row));
    screen_share(value_of(view, row), view->whole_ns);
    screen_bar(screen, view->bar, value_of(view, row), view->most_ns);
    if (view->by_wall)
        screen_time(row->cpu_ns);
    if (view->has_ready)
        screen_time(row->ready_ns);
    if (view->by_wall)
        screen_time(row->waiting_ns);
    printf("  ");
}

/* Columns of the numbers and of what is between them. */
static size_t width_before_name(const struct own_view *view)
{
    return 19u + view->bar + (view->by_wall ? 16 : 0) + (view->has_ready ? 8 : 0);
}

/* "render"; "(gzip)": another program, or a library's own thread. */
static void name_row(const struct screen *screen, const struct own_row *row, char *buffer,
                     size_t size)
{
    char name[256];
    if (row->label) {
        code_name(screen->trace, row->label, buffer, size);
        return;
    }
    code_rest_name(screen->trace, row->purpose, row->program, name, sizeof(name));
    snprintf(buffer, size, "(%s)", name);
}

static void put_own_row(const struct screen *screen, const struct own_view *view,
                        const struct own_row *row)
{
    char text[512];
    put_own_numbers(screen, view, row);
    name_row(screen, row, text, sizeof(text));
    if (row->label == 0) {
        screen_put(screen, STYLE_DIM, text);
        printf("\n");
        return;
    }
    screen_put_cut(screen, owner_style(code_owner_of(screen->trace, row->label)), text,
                   view->name_width);
    code_location(screen->trace, row->label, row->line, text, sizeof(text));
    screen_location(screen, text, width_before_name(view) + view->name_width);
    printf("\n");
}

/* It is worth a line from this part of the whole on. */
enum { REST_PART = 1000 };

/* The largest part of the remainder that was not told yet; NULL if it is too small. */
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

/* What the remainder is for: its three largest parts. */
static void describe_rest(const struct screen *screen, const struct own_view *view,
                          struct text *text)
{
    unsigned told = 0;
    bool taken[PURPOSE_COUNT] = {false};
    const struct own_row *part;
    text_format(text, "(");
    while (told < 3 && (part = next_part(view, taken))) {
        text_format(text, "%s%s", told++ ? ", " : "",
                    part->purpose ? code_purpose_name(part->purpose) : "other code");
        taken[part->purpose] = true;
    }
    uint32_t more = 0;
    for (uint32_t at = 0; at < view->count; at++)
        more += view->rows[at].label != 0 && !is_shown(screen, view, at);
    if (more)
        text_format(text, "%s%u more function%s", told++ ? ", " : "", more, more == 1 ? "" : "s");
    text_format(text, "%s)", told ? "" : "other code");
}

/* All that has no line, and `more`. */
static void put_own_rest(const struct screen *screen, const struct own_view *view,
                         const struct own_row *more)
{
    struct own_row rest = *more;
    char buffer[256];
    struct text text = text_init(buffer, sizeof(buffer));
    for (uint32_t i = 0; i < view->count; i++) {
        if (is_shown(screen, view, i))
            continue;
        rest.cpu_ns += view->rows[i].cpu_ns;
        rest.ready_ns += view->rows[i].ready_ns;
        rest.waiting_ns += view->rows[i].waiting_ns;
    }
    if (value_of(view, &rest) * REST_PART < view->whole_ns || value_of(view, &rest) == 0)
        return;
    describe_rest(screen, view, &text);
    put_own_numbers(screen, view, &rest);
    screen_put(screen, STYLE_DIM, buffer);
    printf("\n");
}

struct widths {
    size_t name, place;
};

static struct widths find_widths(const struct screen *screen, const struct own_view *view)
{
    struct widths widths = {SCREEN_NAME_MIN, 0};
    char text[512];
    for (uint32_t i = 0; i < view->count; i++) {
        const struct own_row *row = &view->rows[i];
        if (!is_shown(screen, view, i))
            continue;
        name_row(screen, row, text, sizeof(text));
        widths.name = term_text_width(text) > widths.name ? term_text_width(text) : widths.name;
        code_location(screen->trace, row->label, row->line, text, sizeof(text));
        widths.place = term_text_width(text) > widths.place ? term_text_width(text) : widths.place;
    }
    return widths;
}

/* Names and locations come before bars, and before a column that says next to nothing. */
static void fit(const struct screen *screen, struct own_view *view)
{
    struct widths widths = find_widths(screen, view);
    size_t most = SCREEN_NAME_MAX - (SCREEN_WIDTH_MAX - screen->width) * 2 / 5;
    uint64_t ready_ns = own_time_totals(screen->facts->own)->ready_ns;
    view->bar = screen->bar;
    view->has_ready = view->by_wall;
    view->name_width = widths.name < most ? widths.name : most;
    size_t after = view->name_width + 2 + widths.place;
    if (width_before_name(view) + after > screen->width && ready_ns * SCREEN_PART < view->whole_ns)
        view->has_ready = false;
    if (width_before_name(view) + after > screen->width)
        view->bar = SCREEN_BAR_LEAST;
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

/* What of the wall time is in no row: before the first thread was there, after the last, and what
 * samples of CPU time miss. */
static void put_unseen(const struct screen *screen, const struct own_view *view, uint64_t brief_ns)
{
    const struct own_totals *totals = own_time_totals(screen->facts->own);
    uint64_t sum_ns = totals->cpu_ns + totals->ready_ns + totals->waiting_ns + brief_ns;
    struct own_row unseen = {0};
    if (!screen->facts->by_wall || view->whole_ns <= sum_ns)
        return;
    unseen.cpu_ns = view->whole_ns - sum_ns;
    if (unseen.cpu_ns * SCREEN_ROW_PART < view->whole_ns)
        return;
    screen_time(unseen.cpu_ns);
    screen_share(unseen.cpu_ns, view->whole_ns);
    screen_bar(screen, view->bar, unseen.cpu_ns, view->most_ns);
    printf("%*s", view->has_ready ? 26 : 18, "");
    screen_put(screen, STYLE_DIM, "(not seen by samples)");
    printf("\n");
}

static void put_own_head(const struct screen *screen, const struct own_view *view)
{
    if (!view->by_wall)
        return;
    printf(" %7s %6s  %-*s %7s", screen->facts->by_wall ? "wall" : "time", "", (int)view->bar, "",
           "CPU");
    if (view->has_ready)
        printf(" %7s", "ready");
    printf(" %7s  %-*s  %s\n", "waits", (int)view->name_width, "function", "location");
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

void screen_own(const struct screen *screen)
{
    if (!screen->facts->own)
        return;
    struct own_view view = {.by_wall = screen->facts->with_waits, .whole_ns = screen_whole(screen)};
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
    for (uint32_t i = 0; i < view.count; i++)
        if (is_shown(screen, &view, i))
            put_own_row(screen, &view, &view.rows[i]);
    bool is_told = brief.waiting_ns * SCREEN_ROW_PART >= view.whole_ns && brief.waiting_ns > 0;
    put_own_rest(screen, &view, is_told ? &(struct own_row){0} : &brief);
    put_unseen(screen, &view, brief.waiting_ns);
    if (is_told) {
        put_own_numbers(screen, &view, &brief);
        screen_put(screen, STYLE_DIM, "(short waits, whose places are not recorded)");
        printf("\n");
    }
}

/* ---- Waits ----------------------------------------------------------------------------------- */

static void put_wait(const struct screen *screen, const struct own_wait *wait, size_t names)
{
    char text[512], count[NUMBER_TEXT_SIZE];
    uint64_t wall_ns = (uint64_t)screen->facts->totals->wall_ns;
    screen_time(wait->waiting_ns);
    if (screen->facts->by_wall)
        screen_share(wait->waiting_ns, wall_ns);
    else
        printf("%7s", "");
    printf("  %-13.13s", wait_reason_name((enum wait_reason)wait->reason));
    printf(" %7s", number_count(wait->count, count));
    screen_time(wait->count ? wait->waiting_ns / wait->count : 0);
    screen_time(wait->max_ns);
    printf("  ");
    if (wait->label == 0) {
        name_row(screen, &(struct own_row){.purpose = wait->purpose, .program = wait->program},
                 text, sizeof(text));
        screen_put(screen, STYLE_DIM, text);
    } else {
        code_name(screen->trace, wait->label, text, sizeof(text));
        screen_put_cut(screen, owner_style(code_owner_of(screen->trace, wait->label)), text, names);
        code_location(screen->trace, wait->label, wait->line, text, sizeof(text));
        screen_location(screen, text, 56 + names);
    }
    printf("\n");
}

/* Waits in places that cost two hundredths of the wall time and more. */
void screen_waits(const struct screen *screen)
{
    const struct own_wait *waits;
    uint32_t count = screen->facts->wall ? own_time_waits(screen->facts->own, &waits) : 0;
    uint64_t wall_ns = (uint64_t)screen->facts->totals->wall_ns, shown = 0;
    size_t names = SCREEN_NAME_MIN;
    char name[512];
    for (; shown < count && shown < screen->rows; shown++) {
        const struct own_wait *wait = &waits[shown];
        if (wait->helper || wait->waiting_ns * SCREEN_PART < wall_ns)
            break;
        code_name(screen->trace, wait->label, name, sizeof(name));
        names = wait->label && term_text_width(name) > names ? term_text_width(name) : names;
    }
    if (shown == 0)
        return;
    names = names < SCREEN_NAME_MIN + 8 ? names : SCREEN_NAME_MIN + 8;
    screen_title(screen, "Waits");
    printf(" %7s %6s  %-13s %7s %7s %7s  %-*s  %s\n", "total", "", "for", "times", "mean", "max",
           (int)names, "function", "location");
    for (uint64_t i = 0; i < shown; i++)
        put_wait(screen, &waits[i], names);
}
