/* SPDX-License-Identifier: MIT */
/* Counted calls on the first screen: the user's own functions, and estimated numbers. */
#include "screen_functions.h"

#include "report_text.h"

#include "call_counts.h"
#include "code_owner.h"
#include "term.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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

static struct screen_place place_of(const struct screen *screen,
                                    const struct call_function *function)
{
    return (struct screen_place){.label = function->label,
                                 .name = calls_name(screen->trace, function)};
}

static size_t width_of_numbers(const struct calls_view *view)
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
    const struct screen_place place = place_of(screen, function);
    const struct call_numbers *sum = &function->sum;
    put_numbers(screen, view, sum, function->sources & CALLS_ESTIMATED);
    screen_time(screen, STYLE_PLAIN, sum->primitive ? sum->total_ns / sum->primitive : 0, 0);
    screen_time(screen, STYLE_PLAIN, sum->total_ns, 0);
    fputs("  ", screen->out);
    screen_places_put(screen, &view->places, &place, width_of_numbers(view));
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
        const struct screen_place place = place_of(screen, function);
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
    screen_places_fit(screen, &view.places, width_of_numbers(&view));
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
