/* SPDX-License-Identifier: MIT */
/* The first screen of `annot report`: where the time went, in words, then the few most relevant
 * tables, own code first. All content comes from the tables and facts of profile/report.h. */
#include "screen.h"

#include "cmd.h"
#include "headline.h"
#include "losses.h"
#include "missing.h"
#include "owner_counts.h"
#include "reader.h"
#include "recording.h"
#include "report_lines.h"
#include "report_source.h"
#include "report_text.h"
#include "screen_functions.h"
#include "term.h"
#include "text.h"
#include "trace.h"
#include "wait_kind.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The headline ---------------------------------------------------------------------------- */

/* Gives "39 % runnable but without a processor" the style of the column. */
static void mark_ready(struct screen_text *text)
{
    const char *phrase = wait_phrase(WAIT_PREEMPTED);
    const char *found = strstr(text->text, phrase), *from = found;
    if (!found)
        return;
    while (from > text->text && !(from[-1] == ' ' && strchr(",:", from[-2])))
        from--;
    text->mark_at = (size_t)(from - text->text);
    text->mark_size = (size_t)(found - from) + strlen(phrase);
    text->mark_style = STYLE_BOLD ";" STYLE_RUNNABLE;
}

/* The title of the table as a sentence. */
static void put_resident(const struct screen *screen)
{
    const struct table *table = report_find(screen->report, "process_memory");
    char buffer[HEADLINE_SIZE];
    if (!table || !table->title)
        return;
    snprintf(buffer, sizeof(buffer), "%s.", table->title);
    buffer[0] = 'R';
    screen_put_wrapped(screen, STYLE_PLAIN, buffer, 0);
}

static void put_headline(const struct screen *screen)
{
    char buffer[HEADLINE_SIZE];
    struct screen_text text = {.style = STYLE_BOLD, .text = buffer};
    headline_wall(screen->trace, screen->facts, buffer, sizeof(buffer));
    mark_ready(&text);
    screen_put_text(screen, &text);
    size_t name = headline_hottest(screen->trace, screen->facts, buffer, sizeof(buffer));
    if (name > 0) {
        fputs("Hottest: ", screen->out);
        screen_put_text(screen, &(struct screen_text){.style = STYLE_PLAIN,
                                                      .text = buffer,
                                                      .indent = strlen("Hottest: "),
                                                      .mark_size = name,
                                                      .mark_style = STYLE_OWN});
    }
    if (headline_gpu(screen->trace, screen->facts, buffer, sizeof(buffer)) > 0)
        screen_put_wrapped(screen, STYLE_BOLD, buffer, 0);
    if (headline_memory(screen->trace, screen->facts, buffer, sizeof(buffer)) > 0)
        screen_put_wrapped(screen, STYLE_BOLD, buffer, 0);
    put_resident(screen);
    if (command_ending(screen->trace, buffer, sizeof(buffer)) > 0)
        screen_put_wrapped(screen, STYLE_LOSS, buffer, 0);
    if (screen->view->options->only[0]) {
        fputs("Only: ", screen->out);
        screen_put_wrapped(screen, STYLE_DIM, screen->view->options->only, strlen("Only: "));
    }
}

/* ---- The end --------------------------------------------------------------------------------- */

static void add_losses(const struct screen *screen, struct text *text)
{
    const struct report_facts *facts = screen->facts;
    const struct sample_wholes wholes = {facts->samples->all.sample_count,
                                         facts->samples->stretch_count};
    if (facts->lost_count > 0) {
        count_add(text, "; ", facts->lost_count, "record");
        text_format(text, facts->lost_count == 1 ? " was lost" : " were lost");
    } else if (sample_loss_any(screen->trace) && sample_loss_counts(screen->trace, &wholes)) {
        text_format(text, "; parts of the samples are missing");
    } else if (queued_any(screen->trace)) {
        text_format(text, "; activities of queues are missing");
    } else if (trace_refusal_count(screen->trace) > 0) {
        count_add(text, "; ", trace_refusal_count(screen->trace), "process");
        text_format(text, " could not take part");
    } else if (trace_idle_option_count(screen->trace) > 0) {
        count_add(text, "; ", trace_idle_option_count(screen->trace), "option");
        text_format(text, " without effect (annot info)");
    } else {
        text_format(text, "; nothing lost");
    }
    if (recording_is_cut(screen->view->options->reader))
        text_format(text, ", up to where it was cut short");
}

/* "1 process, 1 thread; 30 samples (99 Hz), 118 waits; nothing lost". Returns the length of the
 * part before the losses. */
static size_t format_counts(const struct screen *screen, bool with_rate, struct text *text)
{
    const struct sample_stats *samples = screen->facts->samples;
    const struct trace_sampling *sampling = trace_sampling_get(screen->trace);
    char rate[SAMPLING_RATE_SIZE];
    owner_counts_add(text, screen->trace, true);
    if (screen->facts->own) {
        count_add(text, "; ", samples->all.sample_count, "sample");
        if (sampling->frequency_hz && with_rate)
            text_format(text, " (%s)", sampling_rate_text(sampling, rate));
        count_add(text, ", ", samples->stretch_count, "wait");
    }
    if (screen->facts->event_count)
        count_add(text, ", ", screen->facts->event_count, "event");
    size_t counts = text->length;
    add_losses(screen, text);
    return counts;
}

/* Omits the rate if that makes it one line; two lines include it. */
static void put_counts(const struct screen *screen)
{
    char buffer[512];
    struct text text = text_init(buffer, sizeof(buffer));
    size_t counts = format_counts(screen, true, &text);
    for (int with_rate = 0; with_rate < 2 && term_text_width(buffer) > screen->width; with_rate++) {
        text = text_init(buffer, sizeof(buffer));
        counts = format_counts(screen, with_rate, &text);
    }
    if (term_text_width(buffer) > screen->width) { /* "nothing lost" stays together */
        buffer[counts + 1] = 0;
        screen_put_wrapped(screen, STYLE_DIM, buffer, 0);
        counts += 2;
    } else {
        counts = 0;
    }
    screen_put_wrapped(screen, STYLE_DIM, buffer + counts, 0);
}

enum { SAMPLES_LEAST = 5 };

/* Half the width of the 95 % confidence interval of the first row's share of CPU time, in points:
 * 1.96 times the root of p (1 - p) / n, where n samples of one weight would be as precise. */
static double imprecision(const struct screen *screen)
{
    const struct own_row *rows;
    uint32_t count = own_time_rows(screen->facts->own, false, &rows);
    double cpu_ns = (double)own_time_totals(screen->facts->own)->cpu_ns;
    double weight_ns = sample_stats_weight_ns(screen->facts->samples);
    if (count == 0 || cpu_ns <= 0 || weight_ns <= 0)
        return 0;
    double p = (double)rows[0].cpu_ns / cpu_ns;
    double root = p * (1 - p) * weight_ns / cpu_ns, guess = 0.5;
    for (int i = 0; i < 40; i++)
        guess = (guess + root / guess) / 2;
    return 196 * guess;
}

/* Prints text after "hint: " or the like, wrapped and indented. */
static void put_line(const struct screen *screen, const char *before, const char *text)
{
    fputs(before, screen->out);
    screen_put_wrapped(screen, STYLE_DIM, text, (unsigned)strlen(before));
}

/* Warns if shares are based on few samples. */
static void put_few(const struct screen *screen)
{
    double points = screen->facts->own ? imprecision(screen) : 0;
    uint64_t samples = screen->facts->own ? own_time_totals(screen->facts->own)->sample_count : 0;
    char text[128];
    if (samples > 0 && samples < SAMPLES_LEAST)
        snprintf(text, sizeof(text),
                 "few samples: shares of CPU time say next to nothing (--rate 999)");
    else if (points >= 10)
        snprintf(text, sizeof(text),
                 "few samples: shares of CPU time are right to within %.0f points (--rate 999)",
                 points);
    else
        return;
    screen_put_wrapped(screen, STYLE_DIM, text, 0);
}

/* Names short waits, which have no place, if they are at least a tenth of the time. */
static void put_brief(const struct screen *screen)
{
    enum { BRIEF_PART = 10 };

    const struct wall *wall = screen->facts->wall;
    char brief[HEADLINE_BRIEF_SIZE], text[160];
    if (!wall || wall_totals(wall)->short_ns * BRIEF_PART < wall_totals(wall)->wall_ns)
        return;
    snprintf(text, sizeof(text), "%s have no place: annot record --off-cpu records them",
             headline_brief(screen->trace, brief));
    screen_put_wrapped(screen, STYLE_DIM, text, 0);
}

static bool counts_lines(const struct screen *screen)
{
    const struct line_count_function *functions;
    const struct line_counts *counts = report_line_counts(screen->report);
    return counts && line_counts_functions(counts, &functions) > 0;
}

/* Prints counted lines if there is no other data. */
static void put_lines(const struct screen *screen)
{
    const struct report_facts *facts = screen->facts;
    const struct sample_stats *samples = facts->samples;
    if (facts->event_count > 0 || facts->calls ||
        samples->all.sample_count + samples->stretch_count > 0 || !counts_lines(screen))
        return;
    fputs("\n", screen->out);
    (void)report_counts_source(screen->report, screen->view, NULL, screen->out);
}

enum { NEXT_SHOWN = 3 };

/* Suggests commands for this recording, which may not be the newest: on one line if they fit, else
 * one per line. */
static void put_next(const struct screen *screen)
{
    static const char before[] = "next: ", indent[] = "      ", gap[] = "     ";
    static const char *const all[] = {"annot report --source", "annot report --all", "annot html",
                                      "annot export"};
    const char *const *commands = counts_lines(screen) ? all : all + 1;
    char recording[4 * PATH_MAX], buffer[sizeof(recording) + 64];
    struct text text = text_init(buffer, sizeof(buffer));
    cmd_quote(screen->view->options->path, recording, sizeof(recording));
    size_t length =
        strlen(before) + (NEXT_SHOWN - 1) * strlen(gap) + NEXT_SHOWN * (1 + strlen(recording));
    for (int i = 0; i < NEXT_SHOWN; i++)
        length += strlen(commands[i]);
    bool fits = length <= screen->width;
    for (int i = 0; i < NEXT_SHOWN; i++) {
        text.length = 0;
        text_format(&text, "%s%s %s",
                    i == 0 ? before
                    : fits ? gap
                           : indent,
                    commands[i], recording);
        screen_put(screen, STYLE_DIM, buffer);
        if (!fits || i == NEXT_SHOWN - 1)
            fputs("\n", screen->out);
    }
}

static void put_end(const struct screen *screen)
{
    const struct trace_sampling *sampling = trace_sampling_get(screen->trace);
    fputs("\n", screen->out);
    put_counts(screen);
    put_few(screen);
    put_brief(screen);
    if (sampling->reason && sampling->rung < SAMPLING_BPF)
        put_line(screen, "without eBPF: ", trace_string(screen->trace, sampling->reason)->bytes);
    if (sampling->hint)
        put_line(screen, "hint: ", trace_string(screen->trace, sampling->hint)->bytes);
    put_next(screen);
}

/* Closes a stream of open_memstream(). Returns false, after freeing the text, if memory was
 * insufficient. */
static bool close_text(FILE *stream, char **text)
{
    bool whole = ferror(stream) == 0; /* fclose() does not report it again */
    whole &= fclose(stream) == 0 && *text;
    if (whole)
        return true;
    free(*text);
    *text = NULL;
    return false;
}

/* Prints the losses as the other reports do; its lines may have any width. */
static int put_missing(const struct screen *screen)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return -ENOMEM;
    report_text_missing(screen->report, screen->view, stream);
    if (!close_text(stream, &text))
        return -ENOMEM;
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        unsigned indent = (unsigned)strspn(line, " ");
        *end = 0;
        fprintf(screen->out, "%*s", (int)indent, "");
        if (line[indent])
            screen_put_wrapped(screen, STYLE_PLAIN, line + indent, indent);
        else
            fputs("\n", screen->out);
    }
    free(text);
    return 0;
}

/* ---- The screen ------------------------------------------------------------------------------ */

struct screen screen_init(const struct report *report, const struct report_view *view)
{
    unsigned width = view->width ? view->width : SCREEN_WIDTH;
    uint64_t limit = view->options->limit;
    width = width < SCREEN_WIDTH_MIN   ? SCREEN_WIDTH_MIN
            : width > SCREEN_WIDTH_MAX ? SCREEN_WIDTH_MAX
                                       : width;
    return (struct screen){
        .report = report,
        .view = view,
        .facts = report_facts(report),
        .trace = store_reader_trace(view->options->reader),
        .out = stdout,
        .width = width,
        .row_width = view->width ? width : SCREEN_ROW_MAX,
        .bar = SCREEN_BAR_MIN + (width > SCREEN_WIDTH ? (width - SCREEN_WIDTH) / 4 : 0),
        .rows = {limit, limit, limit, limit, limit, limit, SCREEN_FINDINGS},
    };
}

/* Row limits, tried in order until the text fits on a screen. */
static const struct screen_rows less[] = {
    {10, 10, 10, 6, 6, 6, 3}, {8, 8, 8, 5, 4, 5, 3}, {6, 6, 6, 4, 3, 4, 3},
    {6, 6, 6, 3, 0, 3, 3},    {5, 0, 5, 2, 0, 2, 3}, {5, 0, 4, 2, 0, 2, 2},
};

static struct screen_rows fewer(const struct screen_rows *a, const struct screen_rows *b)
{
    return (struct screen_rows){
        .own = a->own < b->own ? a->own : b->own,
        .tree = a->tree < b->tree ? a->tree : b->tree,
        .calls = a->calls < b->calls ? a->calls : b->calls,
        .tables = a->tables < b->tables ? a->tables : b->tables,
        .minor = a->minor < b->minor ? a->minor : b->minor,
        .waits = a->waits < b->waits ? a->waits : b->waits,
        .findings = b->findings,
    };
}

static int put_all(const struct screen *screen)
{
    put_headline(screen);
    int rc = screen_findings(screen);
    screen_own(screen);
    if (rc == 0)
        rc = screen_calls(screen);
    if (rc == 0)
        rc = screen_tables(screen);
    screen_waits(screen);
    screen_awaits(screen);
    put_lines(screen);
    if (rc == 0)
        rc = put_missing(screen);
    put_end(screen);
    return rc;
}

/* Prints to a memory buffer, which the caller frees. */
static int make_text(const struct screen *like, char **ret_text)
{
    struct screen screen = *like;
    size_t size = 0;
    *ret_text = NULL;
    screen.out = open_memstream(ret_text, &size);
    if (!screen.out)
        return -ENOMEM;
    int rc = put_all(&screen);
    return close_text(screen.out, ret_text) ? rc : -ENOMEM;
}

static unsigned count_lines(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* Uses the requested number of rows, or, without a request, as many as fit on a screen. */
int report_screen(const struct report *report, const struct report_view *view)
{
    const size_t levels = view->limited ? 0 : sizeof(less) / sizeof(*less);
    struct screen screen = screen_init(report, view);
    const struct screen_rows wanted = screen.rows;
    char *text = NULL;
    int rc = make_text(&screen, &text);
    for (size_t i = 0; i < levels && rc == 0 && count_lines(text) > SCREEN_LINES; i++) {
        free(text);
        screen.rows = fewer(&wanted, &less[i]);
        rc = make_text(&screen, &text);
    }
    if (text && fputs(text, stdout) < 0)
        rc = cmd_fail(CMD_FAILED, "cannot write to standard output: %s", strerror(errno));
    free(text);
    return rc;
}
