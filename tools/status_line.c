/* SPDX-License-Identifier: MIT */
/* Texts of `annot record` while it runs and when it is done. */
#include "status_line.h"

#include "cmd.h"
#include "number_text.h"
#include "term.h"
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_NS INT64_C(500000000)
#define SECOND_NS   INT64_C(1000000000)

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

void status_line_begin(struct status_line *line)
{
    *line = (struct status_line){.begin_ns = now_ns()};
    line->next_ns = line->begin_ns + SECOND_NS;
}

/* A terminal that can erase a line, in cooked mode, and we in its foreground. */
static bool is_wanted(void)
{
    struct termios mode;
    const char *kind = getenv("TERM");
    return kind && strcmp(kind, "dumb") != 0 && isatty(STDERR_FILENO) &&
           tcgetpgrp(STDERR_FILENO) == getpgrp() && tcgetattr(STDERR_FILENO, &mode) == 0 &&
           (mode.c_lflag & ICANON);
}

void status_line_update(struct status_line *line, const struct collector *collector)
{
    struct collector_counts counts;
    char events[NUMBER_TEXT_SIZE], lost[NUMBER_TEXT_SIZE], size[NUMBER_TEXT_SIZE], text[256],
        cut[1024];
    int64_t now = now_ns();
    if (now < line->next_ns)
        return;
    line->next_ns = now + INTERVAL_NS;
    if (!is_wanted())
        return;
    collector_count(collector, &counts);
    snprintf(text, sizeof(text), "annot: %.0f s, %u process%s, %s events, %s lost, %s",
             (double)(now - line->begin_ns) / 1e9, counts.live_count,
             counts.live_count == 1 ? "" : "es", number_count(counts.event_count, events),
             number_count(counts.lost_count, lost), number_size(counts.file_bytes, size));
    unsigned width = term_width(STDERR_FILENO);
    term_shorten(text, width > 1 && width < 200 ? width - 1 : 79, cut, sizeof(cut));
    fprintf(stderr, "\r\033[K%s\r", cut);
    fflush(stderr);
    line->shown = true;
}

void status_line_clear(struct status_line *line)
{
    if (line->shown && is_wanted())
        fputs("\r\033[K", stderr);
    line->shown = false;
}

/* ---- Summary ---- */

static void print_losses(const struct trace *trace)
{
    uint64_t lost[LOSS_COUNT] = {0};
    char number[NUMBER_TEXT_SIZE];
    bool any = false;
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        for (int cause = 0; cause < LOSS_COUNT; cause++)
            lost[cause] += trace_process_get(trace, i)->lost[cause];
    for (int cause = 0; cause < LOSS_COUNT; cause++) {
        if (lost[cause] == 0)
            continue;
        fprintf(stderr, "%s%s (%s)",
                any ? ", " : "annot: LOST records: ", number_count(lost[cause], number),
                loss_name((enum loss)cause));
        any = true;
    }
    if (any)
        fputs("\n", stderr);
    if (lost[LOSS_POOL_FULL] || lost[LOSS_COLLECTOR_LATE])
        fputs("hint: give each process more room with --pool-size 64M\n", stderr);
    if (lost[LOSS_NO_MEMORY])
        fputs("hint: the shared-memory file system is full; ANNOT_DIR can name another place\n",
              stderr);
}

static void print_refusals(const struct trace *trace)
{
    enum { SHOWN = 3 };

    uint32_t count = trace_refusal_count(trace);
    for (uint32_t i = 0; i < count && i < SHOWN; i++) {
        const struct trace_refusal *refusal = trace_refusal_get(trace, i);
        fprintf(stderr, "annot: process %d (%s) is not in it: %s\n", (int)refusal->pid,
                trace_string(trace, refusal->comm)->bytes,
                trace_string(trace, refusal->reason)->bytes);
    }
    if (count > SHOWN)
        fprintf(stderr, "annot: and %u more; \"annot info\" lists them\n", count - SHOWN);
}

void status_line_summary(const struct collector *collector, const char *output, const char *hint)
{
    const struct trace *trace = collector_trace(collector);
    const struct trace_session *session = trace_session_get(trace);
    struct collector_counts counts;
    struct stat status;
    char events[NUMBER_TEXT_SIZE], size[NUMBER_TEXT_SIZE], lasted[NUMBER_TEXT_SIZE],
        quoted[4 * 4096];
    collector_count(collector, &counts);
    print_refusals(trace);
    if (counts.event_count == 0 && counts.lost_count == 0) {
        fputs("annot: 0 annotated events\n", stderr);
        if (trace_refusal_count(trace) == 0)
            fprintf(stderr, "hint: %s\n", hint);
        return;
    }
    fprintf(stderr, "annot: %u process%s, %u thread%s, %s event%s in %s%s\n", counts.process_count,
            counts.process_count == 1 ? "" : "es", counts.thread_count, plural(counts.thread_count),
            number_count(counts.event_count, events), plural(counts.event_count),
            number_time_plain((uint64_t)(session->end_ns - session->begin_ns), lasted),
            counts.lost_count == 0 ? ", nothing lost" : "");
    print_losses(trace);
    uint64_t bytes = stat(output, &status) == 0 ? (uint64_t)status.st_size : 0;
    cmd_quote(output, quoted, sizeof(quoted));
    fprintf(stderr, "annot: recording %s (%s)\nannot: next: annot report %s\n", output,
            number_size(bytes, size), quoted);
}
