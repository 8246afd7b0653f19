/* SPDX-License-Identifier: MIT */
/* The first table of a report's first screen: the user's own functions, by time or by
 * counted calls. */
#include "screen_functions.h"
#include "call_counts.h"
#include "code_owner.h"
#include "headline.h"
#include "report_text.h"
#include "term.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Counted calls on the first screen: the user's own functions, and estimated numbers. */

/* Functions of others are shown from a twentieth of the time on, in at most one of three rows. */
enum { OTHERS_PART = 20, OTHERS_ROWS = 2, ROWS_OF_ONE = 3 };

enum { COUNT_WIDTH = 10, COUNT_TEXT_SIZE = NUMBER_TEXT_SIZE + 1 }; /* the least width */

struct calls_view {
    const struct call_totals *totals;
    const struct call_function *functions;
    uint32_t count;
    struct screen_places places;
    uint64_t shown;
    int count_width;          /* width of the longest count */
    bool has_own;             /* false: functions of others are treated as own ones */
    struct call_numbers rest; /* of functions without a row */
    uint32_t rest_count;
};

static bool is_own(const struct screen *screen, const struct call_function *function)
{
    return !function->label || code_owner_of(screen->trace, function->label) == CODE_OWN;
}

static bool find_own(const struct screen *screen, const struct calls_view *view)
{
    for (uint32_t i = 0; i < view->count; i++)
        if (is_own(screen, &view->functions[i]))
            return true;
    return false;
}

static struct screen_place place_of_call(const struct screen *screen,
                                         const struct call_function *function)
{
    return (struct screen_place){.label = function->label,
                                 .name = calls_name(screen->trace, function)};
}

static size_t width_of_counts(const struct calls_view *view)
{
    return 8 + 7 + 1 + (size_t)view->count_width + 8 + 8 + 2;
}

/* Writes "~1,234" and returns its length. */
static int count_text(uint64_t count, bool rough, char text[COUNT_TEXT_SIZE])
{
    char number[NUMBER_TEXT_SIZE];
    return snprintf(text, COUNT_TEXT_SIZE, "%s%s", rough ? "~" : "", number_count(count, number));
}

static void fit_count(struct calls_view *view, uint64_t count, bool rough)
{
    char text[COUNT_TEXT_SIZE];
    int width = count_text(count, rough, text);
    view->count_width = width > view->count_width ? width : view->count_width;
}

static void put_numbers(const struct screen *screen, const struct calls_view *view,
                        const struct call_numbers *sum, bool rough)
{
    char text[COUNT_TEXT_SIZE];
    screen_time(screen, STYLE_PLAIN, sum->own_ns, 0);
    screen_share(screen, sum->own_ns, view->totals->own_ns);
    (void)count_text(sum->calls, rough, text);
    fprintf(screen->out, " %*s", view->count_width, text);
}

static void put_function(const struct screen *screen, const struct calls_view *view,
                         const struct call_function *function)
{
    const struct screen_place place = place_of_call(screen, function);
    const struct call_numbers *sum = &function->sum;
    put_numbers(screen, view, sum, function->sources & CALLS_ESTIMATED);
    screen_time(screen, STYLE_PLAIN, sum->primitive ? sum->total_ns / sum->primitive : 0, 0);
    screen_time(screen, STYLE_PLAIN, sum->total_ns, 0);
    fputs("  ", screen->out);
    screen_places_put(screen, &view->places, &place, width_of_counts(view));
}

static void put_rest(const struct screen *screen, const struct calls_view *view)
{
    char number[NUMBER_TEXT_SIZE], text[NUMBER_TEXT_SIZE + 64];
    if (view->rest_count == 0)
        return;
    put_numbers(screen, view, &view->rest, false);
    snprintf(text, sizeof(text), "(%s more %s: annot report --table calls)",
             number_count(view->rest_count, number),
             view->rest_count == 1 ? "function" : "functions");
    fprintf(screen->out, "%18s", "");
    screen_put(screen, STYLE_DIM, text);
    fputs("\n", screen->out);
}

static bool is_worth(uint64_t part, uint64_t whole, unsigned smallest)
{
    return part > 0 && part * smallest >= whole;
}

/* An own function gets a row for its time, total time or calls; another function only for its own
 * time, without its waits. */
static bool deserves_row(const struct calls_view *view, const struct call_function *function,
                         bool own)
{
    const struct call_numbers *sum = &function->sum;
    const struct call_totals *all = view->totals;
    uint64_t off_ns = function->off_known ? function->off_ns : 0;
    if (!own)
        return off_ns < sum->own_ns && is_worth(sum->own_ns - off_ns, all->own_ns, OTHERS_PART);
    return is_worth(sum->own_ns, all->own_ns, SCREEN_ROW_PART) ||
           is_worth(sum->calls, all->calls, SCREEN_ROW_PART) ||
           is_worth(sum->total_ns, all->own_ns, SCREEN_ROW_PART);
}

/* Up to two functions of others get a row, if there is room. */
static uint64_t rows_of_others(const struct screen *screen, const struct calls_view *view)
{
    uint64_t count = 0, most = screen->rows.calls / ROWS_OF_ONE;
    for (uint32_t i = 0; i < view->count && count < OTHERS_ROWS && count < most; i++)
        count += !is_own(screen, &view->functions[i]) &&
                 deserves_row(view, &view->functions[i], !view->has_own);
    return count;
}

static void choose_some(const struct screen *screen, struct calls_view *view, bool *chosen,
                        bool own)
{
    uint64_t left = own ? rows_of_others(screen, view) : 0;
    for (uint32_t i = 0; i < view->count; i++) {
        const struct call_function *function = &view->functions[i];
        if (is_own(screen, function) != own || view->shown + left >= screen->rows.calls ||
            !deserves_row(view, function, own || !view->has_own))
            continue;
        const struct screen_place place = place_of_call(screen, function);
        screen_places_add(screen, &view->places, &place);
        fit_count(view, function->sum.calls, function->sources & CALLS_ESTIMATED);
        chosen[i] = true;
        view->shown++;
    }
}

/* Chooses the functions with a row. NULL: out of memory. */
static bool *choose(const struct screen *screen, struct calls_view *view)
{
    bool *chosen = calloc((size_t)view->count + 1, sizeof(*chosen));
    if (!chosen)
        return NULL;
    choose_some(screen, view, chosen, true);
    choose_some(screen, view, chosen, false);
    for (uint32_t i = 0; i < view->count; i++) {
        view->rest.calls += chosen[i] ? 0 : view->functions[i].sum.calls;
        view->rest.own_ns += chosen[i] ? 0 : view->functions[i].sum.own_ns;
        view->rest_count += !chosen[i];
    }
    fit_count(view, view->rest.calls, false);
    return chosen;
}

static void put_estimates(const struct screen *screen, const struct calls_view *view)
{
    char count[NUMBER_TEXT_SIZE], share[NUMBER_TEXT_SIZE], text[256];
    if (view->totals->stopped_count == 0)
        return;
    if (view->totals->estimated_calls == 0)
        snprintf(text, sizeof(text),
                 "~ small functions are no longer counted once they are known, and no sample was "
                 "in them: these counts are too low");
    else
        snprintf(text, sizeof(text),
                 "~ small functions are no longer counted once they are known: %s calls or more, "
                 "with %s of the time, are estimated from samples",
                 number_count(view->totals->estimated_calls, count),
                 number_percent(view->totals->estimated_ns, view->totals->own_ns, share));
    fputs(" ", screen->out);
    screen_put_wrapped(screen, STYLE_DIM, text, 1);
}

/* Prints the overhead of recording in these times, if it is significant. */
static void put_recording(const struct screen *screen, const struct calls_view *view)
{
    const struct call_totals *totals = view->totals;
    char share[NUMBER_TEXT_SIZE], time[NUMBER_TEXT_SIZE], all[NUMBER_TEXT_SIZE];
    char count[NUMBER_TEXT_SIZE], text[256];
    uint64_t all_ns = totals->recording_ns * totals->span_count;
    if (all_ns == 0 || !is_worth(all_ns, totals->own_ns, SCREEN_PART))
        return;
    snprintf(text, sizeof(text),
             "tracing slowed the program down by at least %s: about %s in each of %s calls, %s of "
             "these times",
             number_time_short(all_ns, all), number_time(totals->recording_ns, time),
             number_count(totals->span_count, count),
             number_percent(all_ns, totals->own_ns, share));
    fputs(" ", screen->out);
    screen_put_wrapped(screen, STYLE_DIM, text, 1);
}

/* Prints the notes of the table that are sentences without a number. */
static void put_basis(const struct screen *screen)
{
    const struct table *table = report_find(screen->report, "calls");
    for (unsigned i = 0; i < table->note_count; i++) {
        if (table->notes[i].after)
            continue;
        fputs(" ", screen->out);
        screen_put_wrapped(screen, STYLE_DIM, table->notes[i].before, 1);
    }
}

/* Prints the number of counted calls outside the requested ranges, or without known ranges. */
static int put_elsewhere(const struct screen *screen, const struct calls_view *view)
{
    char count[NUMBER_TEXT_SIZE], text[160];
    if (view->totals->outside_sums == 0)
        return 0;
    snprintf(text, sizeof(text),
             "%s calls were counted elsewhere, or without their ranges, which "
             "--trace-functions=ranges records",
             number_count(view->totals->outside_sums, count));
    fputs("\n", screen->out);
    screen_put_wrapped(screen, STYLE_PLAIN, text, 0);
    return 0;
}

static void put_chosen(const struct screen *screen, const struct calls_view *view,
                       const bool *chosen, bool own)
{
    for (uint32_t i = 0; i < view->count; i++)
        if (chosen[i] && is_own(screen, &view->functions[i]) == own)
            put_function(screen, view, &view->functions[i]);
}

int screen_calls(const struct screen *screen)
{
    struct calls_view view = {.places = screen_places_init(), .count_width = COUNT_WIDTH};
    if (!screen->facts->calls)
        return 0;
    view.totals = calls_totals(screen->facts->calls);
    view.count = calls_functions(screen->facts->calls, &view.functions);
    if (view.totals->calls == 0)
        return put_elsewhere(screen, &view);
    view.has_own = find_own(screen, &view);
    bool *chosen = choose(screen, &view);
    if (!chosen)
        return -ENOMEM;
    screen_places_fit(screen, &view.places, width_of_counts(&view));
    screen_title(screen, report_find(screen->report, "calls")->title);
    fprintf(screen->out, " %7s %6s %*s %7s %7s", "own", "", view.count_width, "calls", "each",
            "total");
    screen_places_head(screen, &view.places);
    put_chosen(screen, &view, chosen, true);
    put_chosen(screen, &view, chosen, false);
    put_rest(screen, &view);
    put_estimates(screen, &view);
    put_recording(screen, &view);
    put_basis(screen);
    free(chosen);
    return 0;
}

/* ---- Own functions --------------------------------------------------------------------------- */

/* Columns after the first: of CPU time, or with waits. */
struct own_view {
    bool by_wall; /* with waits: of the one thread that did the work, or of threads that waited */
    bool has_runnable; /* a row has significant runnable time */
    uint64_t whole_ns, most_ns, limit_ns;
    struct screen_places places;
    unsigned bar;
    const struct own_row *rows;
    uint32_t count;
};

static uint64_t value_of(const struct own_view *view, const struct own_row *row)
{
    uint64_t value = row->cpu_ns + (view->by_wall ? row->runnable_ns + row->blocked_ns : 0);
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
    if (row->cpu_ns >= row->runnable_ns && row->cpu_ns >= row->blocked_ns)
        return STYLE_OWN;
    return row->runnable_ns >= row->blocked_ns ? STYLE_RUNNABLE : STYLE_DIM;
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
    if (view->has_runnable) {
        fputc(' ', screen->out);
        screen_time(screen, STYLE_RUNNABLE, row->runnable_ns, whole);
    }
    if (view->by_wall)
        screen_time(screen, STYLE_PLAIN, row->blocked_ns, whole);
    fprintf(screen->out, "  ");
}

/* Width of the numbers and the gaps between them. */
static size_t width_of_numbers(const struct own_view *view)
{
    return 17u + (view->bar ? 2 + view->bar : 0) + (view->by_wall ? 16 : 0) +
           (view->has_runnable ? 9 : 0);
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
        rest.runnable_ns += view->rows[i].runnable_ns;
        rest.blocked_ns += view->rows[i].blocked_ns;
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
    uint64_t runnable_ns = own_time_totals(screen->facts->own)->runnable_ns;
    view->places = screen_places_init();
    view->has_runnable = view->by_wall;
    for (uint32_t i = 0; i < view->count; i++) {
        const struct screen_place place = place_of(&view->rows[i]);
        if (place.label && is_shown(screen, view, i))
            screen_places_add(screen, &view->places, &place);
    }
    for (size_t i = 0; i < sizeof(bars) / sizeof(*bars); i++) {
        view->bar = bars[i];
        if (!is_wide(screen, view))
            break;
        if (bars[i] == SCREEN_BAR_LEAST && runnable_ns * SCREEN_PART < view->whole_ns)
            view->has_runnable = false;
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
    uint64_t sum_ns = totals->cpu_ns + totals->runnable_ns + totals->blocked_ns + brief_ns;
    uint64_t unseen_ns = view->whole_ns > sum_ns ? view->whole_ns - sum_ns : 0;
    if (!screen->facts->by_wall || unseen_ns == 0 || unseen_ns * SCREEN_ROW_PART < view->whole_ns)
        return;
    screen_time(screen, STYLE_PLAIN, unseen_ns, view->whole_ns);
    screen_share(screen, unseen_ns, view->whole_ns);
    screen_put_bar(screen, &(struct screen_bar){view->bar, unseen_ns, view->most_ns, STYLE_DIM});
    fprintf(screen->out, "%*s", view->has_runnable ? 27 : 18, "");
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
    if (view->has_runnable)
        fprintf(screen->out, " %8s", "runnable");
    fprintf(screen->out, " %7s", "blocked");
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
        sum_ns += totals->runnable_ns + totals->blocked_ns;
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
        brief.blocked_ns = wall_totals(screen->facts->wall)->short_ns;
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
    bool is_told = brief.blocked_ns * SCREEN_ROW_PART >= view.whole_ns && brief.blocked_ns > 0;
    put_own_rest(screen, &view, is_told ? &(struct own_row){0} : &brief);
    put_unseen(screen, &view, brief.blocked_ns);
    if (is_told)
        put_brief(screen, &view, &brief);
}
