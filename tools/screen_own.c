/* SPDX-License-Identifier: MIT */
/* Tables of a report's first screen: the user's own functions, and where threads waited. */
#include "screen_parts.h"

#include "code_owner.h"
#include "term.h"
#include "text.h"

#include <stdio.h>

/* ---- Own functions --------------------------------------------------------------------------- */

/* The columns behind the first: of all, or with waits of one thread that did the work. */
struct own_view {
    bool by_wall;
    uint64_t whole_ns, most_ns;
    size_t name_width;
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
    return row->label != 0 && at < screen->rows &&
           value_of(view, row) * SCREEN_ROW_PART >= view->whole_ns;
}

static void put_own_numbers(const struct screen *screen, const struct own_view *view,
                            const struct own_row *row)
{
    screen_time(value_of(view, row));
    screen_share(value_of(view, row), view->whole_ns);
    screen_bar(screen, value_of(view, row), view->most_ns);
    if (view->by_wall) {
        screen_time(row->cpu_ns);
        screen_time(row->ready_ns);
        screen_time(row->waiting_ns);
    }
    printf("  ");
}

/* The last cell of a line, of which `used` columns are taken. */
static void put_location(const struct screen *screen, const char *text, size_t used)
{
    char buffer[4 * SCREEN_WIDTH_MAX + 4];
    size_t room =
        screen->width > used + 2 + SCREEN_NAME_MIN ? screen->width - used - 2 : SCREEN_NAME_MIN;
    term_shorten(text, room, buffer, sizeof(buffer));
    printf("  ");
    screen_put(screen, STYLE_DIM, buffer);
}

static void put_own_row(const struct screen *screen, const struct own_view *view,
                        const struct own_row *row)
{
    char text[512];
    put_own_numbers(screen, view, row);
    code_name(screen->trace, row->label, text, sizeof(text));
    screen_put_cut(screen, STYLE_OWN, text, view->name_width);
    code_location(screen->trace, row->label, row->line, text, sizeof(text));
    put_location(screen, text, (view->by_wall ? 43 : 19) + screen->bar + view->name_width);
    printf("\n");
}

/* What the remainder is for: its three largest parts. */
static void describe_rest(const struct screen *screen, const struct own_view *view,
                          struct text *text)
{
    unsigned told = 0;
    bool taken[PURPOSE_COUNT] = {false};
    text_format(text, "(");
    for (unsigned i = PURPOSE_COUNT; i-- > PURPOSE_THREADS;)
        for (uint32_t at = 0; at < view->count; at++)
            if (view->rows[at].label == 0 && view->rows[at].purpose == i && !taken[i] && told < 3 &&
                value_of(view, &view->rows[at]) * 2 * SCREEN_ROW_PART >= view->whole_ns) {
                text_format(text, "%s%s", told++ ? ", " : "", code_purpose_name(i));
                taken[i] = true;
            }
    uint32_t more = 0;
    for (uint32_t at = 0; at < view->count; at++)
        more += view->rows[at].label != 0 && !is_shown(screen, view, at);
    if (more)
        text_format(text, "%s%u more function%s", told++ ? ", " : "", more, more == 1 ? "" : "s");
    text_format(text, "%s)", told ? "" : "other code");
}

static void put_own_rest(const struct screen *screen, const struct own_view *view)
{
    struct own_row rest = {0};
    char buffer[256];
    struct text text = text_init(buffer, sizeof(buffer));
    for (uint32_t i = 0; i < view->count; i++) {
        if (is_shown(screen, view, i))
            continue;
        rest.cpu_ns += view->rows[i].cpu_ns;
        rest.ready_ns += view->rows[i].ready_ns;
        rest.waiting_ns += view->rows[i].waiting_ns;
    }
    if (value_of(view, &rest) == 0)
        return;
    describe_rest(screen, view, &text);
    put_own_numbers(screen, view, &rest);
    screen_put(screen, STYLE_DIM, buffer);
    printf("\n");
}

static size_t name_width(const struct screen *screen, const struct own_view *view)
{
    size_t width = SCREEN_NAME_MIN;
    char name[512];
    for (uint32_t i = 0; i < view->count; i++) {
        if (!is_shown(screen, view, i))
            continue;
        code_name(screen->trace, view->rows[i].label, name, sizeof(name));
        width = term_text_width(name) > width ? term_text_width(name) : width;
    }
    size_t most = SCREEN_NAME_MAX - (SCREEN_WIDTH_MAX - screen->width) * 2 / 5;
    return width < most ? width : most;
}

static const char *own_title(const struct own_totals *totals, bool by_wall)
{
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
    return by_wall ? wall[totals->level] : cpu[totals->level];
}

void screen_own(const struct screen *screen)
{
    if (!screen->facts->own)
        return;
    const struct own_totals *totals = own_time_totals(screen->facts->own);
    struct own_view view = {.by_wall = screen->facts->wall && totals->busy_count <= 1,
                            .whole_ns = totals->cpu_ns};
    struct own_row brief = {0};
    if (view.by_wall)
        brief.waiting_ns = wall_totals(screen->facts->wall)->short_ns;
    view.whole_ns += view.by_wall ? totals->ready_ns + totals->waiting_ns + brief.waiting_ns : 0;
    view.count = own_time_rows(screen->facts->own, view.by_wall, &view.rows);
    if (view.count == 0)
        return;
    for (uint32_t i = 0; i < view.count; i++)
        if (value_of(&view, &view.rows[i]) > view.most_ns)
            view.most_ns = value_of(&view, &view.rows[i]);
    view.name_width = name_width(screen, &view);
    screen_title(screen, own_title(totals, view.by_wall));
    if (view.by_wall)
        printf(" %7s %6s  %-*s %7s %7s %7s  %-*s  %s\n", "wall", "", (int)screen->bar, "", "CPU",
               "ready", "waits", (int)view.name_width, "function", "location");
    for (uint32_t i = 0; i < view.count; i++)
        if (is_shown(screen, &view, i))
            put_own_row(screen, &view, &view.rows[i]);
    put_own_rest(screen, &view);
    if (brief.waiting_ns * SCREEN_ROW_PART >= view.whole_ns && brief.waiting_ns > 0) {
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
    if (own_time_totals(screen->facts->own)->busy_count <= 1)
        screen_share(wait->waiting_ns, wall_ns);
    else
        printf("%7s", "");
    printf("  %-13.13s", wait_reason_name((enum wait_reason)wait->reason));
    printf(" %7s", number_count(wait->count, count));
    screen_time(wait->count ? wait->waiting_ns / wait->count : 0);
    screen_time(wait->max_ns);
    printf("  ");
    if (wait->label == 0) {
        snprintf(text, sizeof(text), "(%s)",
                 wait->purpose ? code_purpose_name(wait->purpose) : "other code");
        screen_put(screen, STYLE_DIM, text);
    } else {
        code_name(screen->trace, wait->label, text, sizeof(text));
        screen_put_cut(screen, STYLE_OWN, text, names);
        code_location(screen->trace, wait->label, wait->line, text, sizeof(text));
        put_location(screen, text, 56 + names);
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
