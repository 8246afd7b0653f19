/* SPDX-License-Identifier: MIT */
/* Implements talk.h. */
#include "talk.h"

#include "clock_now.h"
#include "cmd.h"
#include "collector_recover.h"
#include "headline.h"
#include "losses.h"
#include "missing.h"
#include "owner_counts.h"
#include "pass.h"
#include "reader.h"
#include "recording.h"
#include "report_text.h"
#include "stacks.h"
#include "store.h"
#include "term.h"
#include "text.h"
#include "trace.h"
#include "volumes.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

/* ---- Verbosity ------------------------------------------------------------------------------- */

int talk_begin(const struct talk_values *values, int status)
{
    if (values->quiet && values->verbose)
        return cmd_fail(status,
                        "options --quiet and --verbose: use only one\n--quiet prints errors "
                        "and losses only");
    cmd_set_quiet(values->quiet);
    return 0;
}

static void print_text(const struct trace *trace, uint32_t text)
{
    const struct trace_string *string = trace_string(trace, text);
    term_write(stderr, string->bytes, string->length);
}

void talk_report_start(const struct talk_values *values, const struct trace *trace,
                       const char *output)
{
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    char text[NUMBER_TEXT_SIZE];
    if (!values->verbose)
        return;
    fputs("annot: the recording is ", stderr);
    term_write(stderr, output, strlen(output));
    fprintf(stderr, "\nannot: sampling: %s", sampling_rung_text(sampling->rung));
    if (sampling->rung > SAMPLING_NONE)
        fprintf(stderr, ", %u times a second", sampling->frequency_hz);
    if (sampling->first_hz)
        fprintf(stderr, " (at first %u)", sampling->first_hz);
    if (sampling->rung > SAMPLING_NONE && sampling->off_cpu)
        fprintf(stderr, ", and waits from %s on",
                number_time_plain((uint64_t)sampling->off_cpu_threshold_ns, text));
    if (sampling->reason) {
        fputs("; reason: ", stderr);
        print_text(trace, sampling->reason);
    }
    fputc('\n', stderr);
}

void talk_report_facts(const struct talk_values *values, const struct trace *trace)
{
    char text[NUMBER_TEXT_SIZE];
    for (uint32_t i = 0; values->verbose && i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        if (fact->value == 0 || fact->kind == FACT_LOSS)
            continue;
        fputs("annot: ", stderr);
        print_text(trace, fact->name);
        if (fact->kind == FACT_COUNT)
            fprintf(stderr, ": %s", number_count(fact->value, text));
        fputc('\n', stderr);
    }
}

void sampling_note(const struct trace *trace)
{
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    const char *reason = trace_string(trace, sampling->reason)->bytes;
    const char *hint = trace_string(trace, sampling->hint)->bytes;
    const char *what =
        sampling->rung == SAMPLING_REMOTE
            ? "sampled by reading memory: Python stacks only, no other code, no waits"
            : "threads were not sampled";
    if (sampling->rung == SAMPLING_OFF || sampling->rung == SAMPLING_BPF)
        return;
    if (*hint)
        cmd_note("%s: %s\n%s", what, *reason ? reason : "reason unknown", hint);
    else
        cmd_note("%s: %s", what, *reason ? reason : "reason unknown");
}

/* ---- The live line --------------------------------------------------------------------------- */

#define INTERVAL_NS INT64_C(500000000)
#define SECOND_NS   INT64_C(1000000000)

void status_line_begin(struct status_line *line)
{
    *line = (struct status_line){.begin_ns = clock_now_ns()};
    line->next_ns = line->begin_ns + SECOND_NS;
}

/* Requires a terminal that can erase a line, in cooked mode, with annot in its foreground. */
static bool is_wanted(void)
{
    struct termios mode;
    const char *kind = getenv("TERM");
    return !cmd_is_quiet() && kind && strcmp(kind, "dumb") != 0 && isatty(STDERR_FILENO) &&
           tcgetpgrp(STDERR_FILENO) == getpgrp() && tcgetattr(STDERR_FILENO, &mode) == 0 &&
           (mode.c_lflag & ICANON);
}

void status_line_update(struct status_line *line, const struct collector *collector)
{
    struct collector_counts counts;
    char events[NUMBER_TEXT_SIZE], samples[NUMBER_TEXT_SIZE], lost[NUMBER_TEXT_SIZE],
        size[NUMBER_TEXT_SIZE], text[256], cut[1024];
    int64_t now = clock_now_ns();
    if (now < line->next_ns)
        return;
    line->next_ns = now + INTERVAL_NS;
    if (!is_wanted())
        return;
    collector_count(collector, &counts);
    snprintf(text, sizeof(text), "annot: %.0f s, %u process%s, %s events, %s samples, %s lost, %s",
             (double)(now - line->begin_ns) / 1e9, counts.live_count,
             counts.live_count == 1 ? "" : "es", number_count(counts.event_count, events),
             number_count(counts.sample_count, samples), number_count(counts.lost_count, lost),
             number_size(counts.file_bytes, size));
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

/* ---- Summary --------------------------------------------------------------------------------- */

static void print_losses(const struct trace *trace)
{
    bool full = false, no_memory = false;
    loss_note_records(trace);
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const uint64_t *lost = trace_process_get(trace, i)->lost;
        full = full || lost[LOSS_POOL_FULL] || lost[LOSS_COLLECTOR_LATE];
        no_memory = no_memory || lost[LOSS_NO_MEMORY];
    }
    if (full)
        fputs("hint: give each process more room with --pool-size 64M\n", stderr);
    if (no_memory)
        fputs("hint: the shared-memory file system is full; ANNOT_DIR can name another place\n",
              stderr);
}

static void print_refusals(const struct trace *trace, uint32_t limit)
{
    uint32_t count = trace_refusal_count(trace);
    for (uint32_t i = 0; i < count && i < limit; i++) {
        const struct trace_refusal *refusal = trace_refusal_get(trace, i);
        fprintf(stderr, "annot: process %d (", (int)refusal->pid);
        print_text(trace, refusal->comm);
        fputs(") is not in it: ", stderr);
        print_text(trace, refusal->reason);
        fputs("\n", stderr);
    }
    if (count > limit)
        fprintf(stderr, "annot: and %u more; \"annot info\" lists them\n", count - limit);
}

/* Last words of processes. */
static void print_notes(const struct trace *trace, uint32_t limit)
{
    enum { LABEL_SIZE = 256 };

    char label[LABEL_SIZE];
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        if (!process->note || count++ >= limit)
            continue;
        size_t length = trace_process_label(trace, i, label, sizeof(label));
        fputs("annot: last word of ", stderr);
        term_write(stderr, label, length);
        fprintf(stderr, " (%d): ", (int)process->pid);
        print_text(trace, process->note);
        fputs("\n", stderr);
    }
    if (count > limit)
        fprintf(stderr, "annot: and %u more; \"annot info\" lists them\n", count - limit);
}

static bool begins(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* Prints why GPUs were not recorded or only in part, and options without effect; --verbose lists
 * all notes. */
static void print_own_notes(const struct trace *trace, uint32_t limit)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        const char *text = trace_string(trace, fact->name)->bytes;
        bool is_own = fact->kind == FACT_NOTE &&
                      (begins(text, "GPU: ") || begins(text, TRACE_FACT_IDLE_OPTION));
        if (!is_own || fact->value == 0 || count++ >= limit)
            continue;
        fputs("annot: ", stderr);
        print_text(trace, fact->name);
        fputs("\n", stderr);
    }
    if (count > limit)
        fprintf(stderr, "annot: and %u more; \"annot info\" lists them\n", count - limit);
}

static bool nothing_lost(const struct trace *trace, const struct collector_counts *counts)
{
    uint64_t calls[MISUSE_COUNT];
    return counts->lost_count == 0 && trace_refusal_count(trace) == 0 &&
           trace_idle_option_count(trace) == 0 && !sample_loss_any(trace) && !queued_any(trace) &&
           misuse_sums(trace, calls) == 0;
}

static const char prefix[] = "annot: ";

/* A larger recording is not read again, so that the prompt returns quickly. LINE_WIDTH: width
 * without a terminal. */
enum { HEADLINE_RECORDS_MAX = 2000000, LINE_WIDTH = 80, PREFIX_WIDTH = sizeof(prefix) - 1 };

static unsigned line_width(void)
{
    unsigned width = term_width(STDERR_FILENO);
    return width ? width : LINE_WIDTH;
}

/* Prints "annot: TEXT", wrapped at the terminal's width. */
static void say(const char *text)
{
    fputs(prefix, stderr);
    term_wrap(stderr, text, line_width(), PREFIX_WIDTH, PREFIX_WIDTH);
}

/* The same, but `end` is kept on one line. */
static void say_and(const char *text, const char *end)
{
    char whole[2 * HEADLINE_SIZE];
    snprintf(whole, sizeof(whole), "%s%s%s", text, *end ? "; " : "", end);
    if (!*end || PREFIX_WIDTH + term_text_width(whole) <= line_width()) {
        say(whole);
        return;
    }
    snprintf(whole, sizeof(whole), "%s;", text);
    say(whole);
    fprintf(stderr, "%*s", PREFIX_WIDTH, "");
    term_wrap(stderr, end, line_width(), PREFIX_WIDTH, PREFIX_WIDTH);
}

/* Prints the report's headline about the use of time. Returns true if the recording was read. */
static bool print_headline(const char *path, const struct collector_counts *counts,
                           uint32_t stack_count)
{
    const struct pass_selection all = PASS_SELECT_ALL;
    struct report_options options = {.path = path, .only = "", .selection = &all};
    struct report *report = NULL;
    char text[2 * HEADLINE_SIZE];
    if (stack_count > STACKS_READ_AGAIN_MAX ||
        counts->event_count + counts->sample_count + counts->stretch_count > HEADLINE_RECORDS_MAX ||
        store_reader_open(path, &options.reader) != 0)
        return false;
    bool read = report_create(&options, &report) == 0;
    if (read) {
        static const char hottest[] = " Hottest: ";
        const struct trace *trace = store_reader_trace(options.reader);
        const struct report_facts *facts = report_facts(report);
        size_t length = headline_wall(trace, facts, text, HEADLINE_SIZE),
               size = sizeof(hottest) - 1;
        if (headline_hottest(trace, facts, text + length + size, HEADLINE_SIZE - size) > 0)
            memcpy(text + length, hottest, size);
        say(text);
    }
    report_destroy(report);
    store_reader_close(options.reader);
    return read;
}

static uint64_t size_of_files(const struct status_summary *summary)
{
    struct stat status;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i == 0 || summary->volumes; i++) {
        char *path = store_volume_path(summary->output, i);
        bool there = path && stat(path, &status) == 0;
        bytes += there ? (uint64_t)status.st_size : 0;
        free(path);
        if (!there)
            break;
    }
    return bytes;
}

/* "3 processes, 5 threads, 567 samples, 26 waits; nothing lost" */
static void print_counts(const struct trace *trace, const struct collector_counts *counts,
                         const struct status_summary *summary, bool with_headline)
{
    const struct trace_session *session = trace_session_get(trace);
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    char buffer[HEADLINE_SIZE], number[NUMBER_TEXT_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    owner_counts_add(&text, trace, false);
    if (counts->event_count || sampling->rung <= SAMPLING_NONE)
        count_add(&text, ", ", counts->event_count, "event");
    if (sampling->rung > SAMPLING_NONE)
        count_add(&text, ", ", counts->sample_count, "sample");
    if (counts->stretch_count)
        count_add(&text, ", ", counts->stretch_count, "wait");
    if (!with_headline) {
        /* An incomplete recording has no end time. */
        int64_t end_ns = session->end_ns ? session->end_ns : clock_now_ns();
        text_format(&text, " in %s",
                    number_time_plain((uint64_t)(end_ns - session->begin_ns), number));
        text_format(&text, " (%s)", number_size(size_of_files(summary), number));
    }
    say_and(buffer, summary->incomplete           ? "not all of it could be written"
                    : nothing_lost(trace, counts) ? "nothing lost"
                                                  : "");
}

/* Adds "annot html x.annot", unless the file x.html exists. */
static void add_export(struct text *text, const struct status_summary *summary, const char *command,
                       const char *extension)
{
    char name[PATH_MAX], recording[4 * PATH_MAX];
    size_t length = strlen(summary->output);
    if (text_ends_with(summary->output, ".annot"))
        length -= strlen(".annot");
    snprintf(name, sizeof(name), "%.*s%s", (int)length, summary->output, extension);
    cmd_quote(summary->output, recording, sizeof(recording));
    if (access(name, F_OK) != 0 && !(summary->also && text_ends_with(summary->also, extension)))
        text_format(text, "\n%s %s", command, recording);
}

/* Suggests a report, a page, and a timeline: on one line if they fit, else one per line. */
static void print_next(const struct status_summary *summary)
{
    static const char before[] = "annot: next: ", gap[] = "    ";
    char recording[4 * PATH_MAX], *rest = NULL, buffer[3 * sizeof(recording)];
    struct text text = text_init(buffer, sizeof(buffer));
    cmd_quote(summary->output, recording, sizeof(recording));
    text_format(&text, "annot report %s", recording);
    add_export(&text, summary, "annot html", ".html");
    add_export(&text, summary, "annot export", ".pftrace");
    bool fits = sizeof(before) - 1 + text.length + 2 * sizeof(gap) <= line_width();
    fputs(before, stderr);
    for (char *line = strtok_r(buffer, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (line > buffer && fits)
            fputs(gap, stderr);
        else if (line > buffer)
            fprintf(stderr, "\n%*s", (int)sizeof(before) - 1, "");
        term_write(stderr, line, strlen(line));
    }
    fputs("\n", stderr);
}

static const char *likely_reason(const struct trace_sampling *sampling)
{
    switch (sampling->rung) {
    case SAMPLING_BPF:
        return sampling->off_cpu ? "the command used hardly any CPU time; --rate 999 looks more "
                                   "often"
                                 : "the command used hardly any CPU time; --rate 999 looks more "
                                   "often; without --off-cpu=none its waits are recorded";
    case SAMPLING_REMOTE:
        return "no Python code ran for long, and no other code can be sampled in this way; annot "
               "doctor says what would permit more";
    default:
        return "without samples the command must use annot (C: <annot/annot.h>, Python: import "
               "pyannot), NVTX or ITT";
    }
}

/* The rules in force at the end, or "". */
static const char *filter_text(const struct trace *trace)
{
    uint32_t count = trace_filter_count(trace);
    return count ? trace_string(trace, trace_filter_get(trace, count - 1)->rules)->bytes : "";
}

enum { LISTED = 3 };

static void print_nothing(const struct trace *trace, const char *hint)
{
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    fprintf(stderr, "annot: 0 annotated events%s\n",
            sampling->rung > SAMPLING_NONE ? ", 0 samples" : "");
    print_own_notes(trace, LISTED);
    if (trace_refusal_count(trace) + trace_idle_option_count(trace) > 0)
        return;
    if (!hint && *filter_text(trace))
        hint = "the filter may exclude all of them: \"annot info\" shows it, annot-set(1) "
               "describes names";
    fprintf(stderr, "hint: %s\n", hint ? hint : likely_reason(sampling));
}

/* Prints the command's end, unless it was a success. */
static void print_ending(const struct trace *trace)
{
    char text[HEADLINE_SIZE];
    if (command_ending(trace, text, sizeof(text)) > 0)
        say(text);
}

static void print_quiet(const struct trace *trace, const struct sample_wholes *wholes)
{
    uint64_t calls[MISUSE_COUNT];
    print_losses(trace);
    if (sample_loss_counts(trace, wholes))
        loss_note_samples(trace, wholes);
    loss_note_queues(trace);
    if (misuse_sums(trace, calls))
        loss_note_calls(trace);
}

bool status_line_summary(const struct status_summary *summary)
{
    const struct trace *trace = collector_trace(summary->collector);
    struct collector_counts counts;
    collector_count(summary->collector, &counts);
    const struct sample_wholes wholes = {counts.sample_count, counts.stretch_count};
    bool any = counts.event_count + counts.sample_count + counts.stretch_count > 0;
    if (cmd_is_quiet()) {
        print_quiet(trace, &wholes);
        return any;
    }
    print_refusals(trace, summary->verbose ? UINT32_MAX : LISTED);
    print_notes(trace, summary->verbose ? UINT32_MAX : LISTED);
    sampling_note(trace);
    if (!summary->incomplete && !any && counts.lost_count == 0) {
        print_ending(trace);
        print_nothing(trace, summary->hint);
        return false;
    }
    bool told = !summary->incomplete && print_headline(summary->output, &counts,
                                                       stacks_stack_count(trace_stacks_get(trace)));
    print_ending(trace);
    print_counts(trace, &counts, summary, told);
    print_losses(trace);
    loss_note_samples(trace, &wholes);
    loss_note_queues(trace);
    loss_note_calls(trace);
    if (!summary->verbose)
        print_own_notes(trace, LISTED);
    print_next(summary);
    return any;
}

/* ---- Recovered sessions ---------------------------------------------------------------------- */

void recover_note(const struct collector_recovered *what)
{
    char count[NUMBER_TEXT_SIZE], lost[NUMBER_TEXT_SIZE];
    if (what->living)
        return;
    if (what->error == -ENOENT) {
        cmd_note("%s was cut short and is gone\nwhat its programs left stays in shared memory: "
                 "\"annot recover\" makes a new recording of it",
                 what->recording);
        return;
    }
    if (what->error != 0) {
        cmd_fail(0,
                 "cannot recover %s: %s\nthe data stay where they are; \"annot recover\" tries "
                 "again",
                 what->recording[0] ? what->recording : "a session", strerror(-what->error));
        return;
    }
    if (what->recording[0] == 0 || cmd_is_quiet())
        return;
    fprintf(stderr, "annot: %s ", what->resumed ? "completed" : "made");
    term_write(stderr, what->recording, strlen(what->recording));
    fprintf(stderr, ", which was cut short: %s event%s added",
            number_count(what->event_count, count), what->event_count == 1 ? "" : "s");
    if (what->lost_count > 0)
        fprintf(stderr, "; %s lost, see \"annot info\"", number_count(what->lost_count, lost));
    fputc('\n', stderr);
    if (what->left_count > 0)
        cmd_note("programs may have gone on unrecorded after it was cut short\n\"annot info\" says "
                 "from when on their events are missing");
}
