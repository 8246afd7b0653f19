/* SPDX-License-Identifier: MIT */
/* The first screen of `annot report`: where the time went, in words, then the few tables that
 * matter, own code first. All of it is of the tables and facts of profile/report.h. */
#include "losses.h"
#include "missing.h"
#include "recording.h"
#include "screen_parts.h"
#include "term.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Text ------------------------------------------------------------------------------------ */

void screen_put(const struct screen *screen, const char *style, const char *text)
{
    bool styled = screen->view->color && *style && *text;
    if (styled)
        printf("\033[%sm", style);
    term_print(text);
    if (styled)
        printf("\033[0m");
}

void screen_put_wrapped(const struct screen *screen, const char *style, const char *text,
                        unsigned indent)
{
    unsigned room = screen->width - indent;
    while (*text) {
        size_t size = strlen(text), cut = size;
        if (term_text_width(text) > room) {
            for (cut = room; cut > 0 && (text[cut] != ' ' || text[cut + 1] == '%');)
                cut--;
            if (cut == 0)
                cut = strcspn(text, " ");
        }
        char line[HEADLINE_SIZE];
        snprintf(line, sizeof(line), "%.*s", (int)cut, text);
        screen_put(screen, style, line);
        printf("\n");
        text += cut;
        text += strspn(text, " ");
        if (*text)
            printf("%*s", (int)indent, "");
    }
}

void screen_title(const struct screen *screen, const char *title)
{
    printf("\n");
    screen_put(screen, STYLE_BOLD, title);
    printf("\n");
}

void screen_bar(const struct screen *screen, unsigned width, uint64_t part, uint64_t whole)
{
    char bar[SCREEN_BAR_MAX + 1];
    uint64_t cells = whole ? (uint64_t)((double)part / (double)whole * width + 0.5) : 0;
    cells = cells > width ? width : cells;
    memset(bar, '#', cells);
    bar[cells] = '\0';
    printf("  ");
    screen_put(screen, STYLE_DIM, bar);
    printf("%*s", (int)(width - cells), "");
}

void screen_put_cut(const struct screen *screen, const char *style, const char *text, size_t width)
{
    char buffer[4 * SCREEN_WIDTH_MAX + 4];
    size_t used = term_shorten(text, width < SCREEN_WIDTH_MAX ? width : SCREEN_WIDTH_MAX, buffer,
                               sizeof(buffer));
    screen_put(screen, style, buffer);
    printf("%*s", (int)(width > used ? width - used : 0), "");
}

void screen_location(const struct screen *screen, const char *text, size_t used)
{
    char buffer[4 * SCREEN_WIDTH_MAX + 4];
    size_t room =
        screen->width > used + 2 + SCREEN_NAME_MIN ? screen->width - used - 2 : SCREEN_NAME_MIN;
    term_shorten(text, room, buffer, sizeof(buffer));
    printf("  ");
    screen_put(screen, STYLE_DIM, buffer);
}

void screen_time(uint64_t ns)
{
    char text[NUMBER_TEXT_SIZE];
    printf(" %7s", number_time_short(ns, text));
}

void screen_share(uint64_t part, uint64_t whole)
{
    char text[NUMBER_TEXT_SIZE];
    printf(" %6s", number_share(part, whole, text));
}

/* ---- The headline ---------------------------------------------------------------------------- */

static void put_headline(const struct screen *screen)
{
    char text[HEADLINE_SIZE];
    headline_wall(screen->trace, screen->facts, text, sizeof(text));
    screen_put_wrapped(screen, STYLE_BOLD, text, 0);
    if (headline_hottest(screen->trace, screen->facts, text, sizeof(text)) > 0) {
        printf("Hottest: ");
        screen_put_wrapped(screen, STYLE_OWN, text, 9);
    }
    if (screen->view->options->only[0]) {
        printf("Only: ");
        screen_put_wrapped(screen, STYLE_DIM, screen->view->options->only, 6);
    }
}

/* ---- The end --------------------------------------------------------------------------------- */

static void put_count(const char *before, uint64_t count, const char *one, const char *many)
{
    char text[NUMBER_TEXT_SIZE];
    printf("%s%s %s", before, number_count(count, text), count == 1 ? one : many);
}

static void put_losses(const struct screen *screen)
{
    const struct report_facts *facts = screen->facts;
    const struct sample_wholes wholes = {facts->samples->all.sample_count,
                                         facts->samples->stretch_count};
    bool cut = recording_is_cut(screen->view->options->reader);
    if (facts->lost_count > 0)
        put_count("; ", facts->lost_count, "record was lost", "records were lost");
    else if (sample_loss_any(screen->trace) && sample_loss_counts(screen->trace, &wholes))
        printf("; parts of the samples are missing");
    else
        printf("; nothing lost");
    printf(cut ? ", up to where it was cut short\n" : "\n");
}

/* Half of the width in which the first row's share of CPU time lies, 19 times of 20, in points:
 * 1.96 times the root of p (1 - p) / n. */
static double imprecision(const struct screen *screen)
{
    const struct own_row *rows;
    uint32_t count = own_time_rows(screen->facts->own, false, &rows);
    double samples = (double)own_time_totals(screen->facts->own)->sample_count;
    if (count == 0 || samples < 1)
        return 0;
    double p = (double)rows[0].sample_count / samples;
    double root = p * (1 - p) / samples, guess = 0.5;
    for (int i = 0; i < 40; i++)
        guess = (guess + root / guess) / 2;
    return 196 * guess;
}

static void put_end(const struct screen *screen)
{
    const struct sample_stats *samples = screen->facts->samples;
    const struct trace_sampling *sampling = trace_sampling_get(screen->trace);
    char text[NUMBER_TEXT_SIZE];
    printf("\n");
    put_count("", trace_process_count(screen->trace), "process", "processes");
    put_count(", ", trace_thread_count(screen->trace), "thread", "threads");
    if (screen->facts->own) {
        put_count("; ", samples->all.sample_count, "sample", "samples");
        if (sampling->frequency_hz)
            printf(" (%s Hz)", number_count(sampling->frequency_hz, text));
        put_count(", ", samples->stretch_count, "wait", "waits");
    }
    if (screen->facts->event_count)
        put_count(", ", screen->facts->event_count, "event", "events");
    put_losses(screen);
    double points = screen->facts->own ? imprecision(screen) : 0;
    if (points >= 10)
        printf("few samples: a share of CPU time is right to within %.0f points (record --rate "
               "999)\n",
               points);
    if (sampling->reason && sampling->rung < SAMPLING_BPF) {
        printf("without eBPF: ");
        screen_put_wrapped(screen, STYLE_PLAIN,
                           trace_string(screen->trace, sampling->reason)->bytes, 14);
    }
    if (sampling->hint) {
        printf("hint: ");
        screen_put_wrapped(screen, STYLE_PLAIN, trace_string(screen->trace, sampling->hint)->bytes,
                           6);
    }
    printf("next: annot report --all     annot flame     annot export\n");
}

struct screen screen_init(const struct report *report, const struct report_view *view)
{
    unsigned width = view->width ? view->width : SCREEN_WIDTH;
    width = width < SCREEN_WIDTH_MIN   ? SCREEN_WIDTH_MIN
            : width > SCREEN_WIDTH_MAX ? SCREEN_WIDTH_MAX
                                       : width;
    return (struct screen){
        .report = report,
        .view = view,
        .facts = report_facts(report),
        .trace = store_reader_trace(view->options->reader),
        .width = width,
        .bar = SCREEN_BAR_MIN + (width > SCREEN_WIDTH ? (width - SCREEN_WIDTH) / 4 : 0),
        .rows = view->options->limit,
    };
}

int report_screen(const struct report *report, const struct report_view *view)
{
    struct screen screen = screen_init(report, view);
    put_headline(&screen);
    int rc = screen_findings(&screen);
    screen_own(&screen);
    if (rc == 0)
        rc = screen_tables(&screen);
    screen_waits(&screen);
    screen_awaits(&screen);
    report_text_missing(report, view);
    put_end(&screen);
    return rc;
}
