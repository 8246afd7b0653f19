/* SPDX-License-Identifier: MIT */
/* The text around the tables of `annot report` (report_text_table.c): sampling, numbers of records,
 * losses. */
#include "report_text.h"

#include "losses.h"
#include "missing.h"
#include "owner_counts.h"
#include "reader.h"
#include "recording.h"
#include "term.h"
#include "text.h"
#include "volumes.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* ---- The sampling ---------------------------------------------------------------------------- */

static const char *rung_name(unsigned rung)
{
    switch (rung) {
    case SAMPLING_REMOTE:
        return "from Python's memory";
    case SAMPLING_BPF:
        return "with eBPF";
    default:
        return "in a way unknown to this annot";
    }
}

static void print_text(FILE *out, const struct trace *trace, const char *before, uint32_t text)
{
    const struct trace_string *string = trace_string(trace, text);
    fputs(before, out);
    term_write(out, string->bytes, string->length);
    fputs("\n", out);
}

/* Prints why a higher rung was not used, and a hint. */
static void print_reason(const struct trace *trace, const struct trace_sampling *sampling)
{
    if (sampling->reason && sampling->rung != SAMPLING_NONE)
        print_text(stdout, trace, "           without eBPF: ", sampling->reason);
    if (sampling->hint)
        print_text(stdout, trace, "           hint: ", sampling->hint);
}

/* Does not round up to 100 %. */
static const char *complete_text(const struct sample_stats *stats, char *buffer)
{
    uint64_t whole = stats->walk_count, part = stats->complete_count;
    if (part < whole && part * 2000 >= whole * 1999)
        return "99.9%";
    return number_percent(part, whole, buffer);
}

static void print_sampling(const struct trace *trace, const struct report_facts *facts)
{
    char a[NUMBER_TEXT_SIZE], b[NUMBER_TEXT_SIZE], c[NUMBER_TEXT_SIZE];
    char rate[SAMPLING_RATE_SIZE];
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    const struct sample_stats *all = facts->samples;
    if (sampling->rung == SAMPLING_OFF && !facts->has_samples)
        return;
    if (sampling->rung == SAMPLING_NONE) {
        print_text(stdout, trace, "sampled    nothing: ", sampling->reason);
        print_reason(trace, sampling);
        return;
    }
    printf("sampled    %s of CPU time: %s %s", number_time_plain(all->all.cpu_ns, a),
           number_count(all->all.sample_count, b),
           all->all.sample_count == 1 ? "sample" : "samples");
    if (sampling->frequency_hz)
        printf(" at %s", sampling_rate_text(sampling, rate));
    if (sampling->rung != SAMPLING_OFF)
        printf(" %s", rung_name(sampling->rung));
    if (all->walk_count)
        printf(", %s of stacks complete", complete_text(all, a));
    printf("\n");
    if (facts->off_cpu)
        printf("off CPU    %s blocked and %s runnable in %s wait%s\n",
               number_time_plain(all->all.blocked_ns, a),
               number_time_plain(all->all.runnable_ns, b), number_count(all->stretch_count, c),
               all->stretch_count == 1 ? "" : "s");
    print_reason(trace, sampling);
}

/* ---- Losses ---------------------------------------------------------------------------------- */

static struct sample_wholes wholes_of(const struct report_facts *facts)
{
    return (struct sample_wholes){facts->samples->all.sample_count, facts->samples->stretch_count};
}

/* The header's text if no record was lost. */
static const char *lost_text(const struct trace *trace, const struct report_facts *facts)
{
    const struct sample_wholes wholes = wholes_of(facts);
    uint64_t calls[MISUSE_COUNT];
    if (!sample_loss_any(trace) && queued_any(trace))
        return "no records, but activities of queues";
    if (!sample_loss_any(trace))
        return misuse_sums(trace, calls) ? "no records, but see the remarkable calls" : "nothing";
    if (trace_unwatched(trace))
        return "what processes did after recording had stopped (see the end)";
    return sample_loss_counts(trace, &wholes)
               ? "no records, but parts of the samples (see the end)"
               : "no records, and few parts of the samples (see the end)";
}

struct calls_line {
    FILE *out;
    const char *before; /* text before the next call */
};

static void print_call(void *context, const struct missing *missing)
{
    struct calls_line *line = context;
    char text[NUMBER_TEXT_SIZE];
    if (missing->kind != MISSING_CALLS)
        return;
    fprintf(line->out, "%s%s %s", line->before, number_count(missing->count, text), missing->what);
    line->before = ", ";
}

/* Prints refused processes and remarkable calls. */
static void print_missing(FILE *out, const struct trace *trace)
{
    static const char first[] = "remarkable calls: ";
    struct calls_line line = {out, first};
    char text[NUMBER_TEXT_SIZE];
    uint32_t refused = trace_refusal_count(trace);
    if (refused)
        fprintf(out, "refused    %s %s could not take part; annot info says why\n",
                number_count(refused, text), refused == 1 ? "process" : "processes");
    missing_each(trace, NULL, print_call, &line);
    if (line.before != first)
        fputs("\n", out);
    if (queued_any(trace))
        fputs("MISSING\n", out);
    queue_loss_print(trace, out);
}

static void print_missing_volumes(FILE *out, const struct store_reader *reader)
{
    for (uint32_t i = 0; i < store_reader_damage_count(reader); i++) {
        const struct store_damage *damage = store_reader_damage(reader, i);
        char text[STORE_DAMAGE_TEXT_SIZE];
        if (!damage->missing_count)
            continue;
        store_damage_text(damage, text);
        fputs("incomplete ", out);
        term_write(out, text, sizeof(text));
        fputs("\n", out);
    }
}

static void print_damage(FILE *out, const struct store_reader *reader,
                         const struct report_facts *facts)
{
    char text[NUMBER_TEXT_SIZE];
    uint32_t parts = damaged_part_count(reader);
    uint64_t missing = facts->unreadable_count;
    const char *before = "; ";
    print_missing_volumes(out, reader);
    if (recording_is_cut(reader))
        fprintf(out, "cut        it has no end: what was not written yet is missing");
    else if (parts)
        fprintf(out, "damage     %u %s", parts, parts == 1 ? "part" : "parts");
    else
        before = "           ";
    if (missing)
        fprintf(out, "%srecords missing from the numbers below: %s", before,
                number_count(missing, text));
    if (parts || missing)
        fprintf(out, "\n");
}

/* Explains an empty recording, and suggests remedies. */
static const char *nothing_text(const struct trace *trace)
{
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    switch (sampling->rung) {
    case SAMPLING_BPF:
        return sampling->off_cpu
                   ? "Nothing was seen: hardly any CPU time was used, and no wait began or ended. "
                     "annot "
                     "dump\n-p PID shows what threads wait for at present."
                   : "Nothing was seen: hardly any CPU time was used. --rate 999 samples "
                     "more often;\nwithout --off-cpu=none annot record also records waits.";
    case SAMPLING_REMOTE:
        return "Nothing was sampled: no Python code ran for long, and without eBPF no other code "
               "is "
               "sampled.";
    default:
        return "There are no events: the program is not annotated, or its annotations were off.";
    }
}

/* Prints the omissions due to limits, and the inaccuracies of the numbers. */
static void print_remarks(FILE *out, const struct trace *trace, const struct report_facts *facts)
{
    const struct range_totals *totals = facts->totals;
    char text[NUMBER_TEXT_SIZE];
    if (facts->event_count == 0 && !facts->has_samples)
        fprintf(out, "\n%s\n", nothing_text(trace));
    if (totals->lost_outside)
        fprintf(out, "\nRecords lost outside of all ranges above: %s.\n",
                number_count(totals->lost_outside, text));
    if (totals->orphan_count)
        fprintf(out, "\nEnds without a beginning in this recording, not counted: %s.\n",
                number_count(totals->orphan_count, text));
    if (totals->other_count)
        fprintf(out,
                "\nToo many paths: further ones share the row \"(other)\"; entries there: %s.\n",
                number_count(totals->other_count, text));
    if (totals->quantile_count)
        fprintf(out, "\nToo many paths: durations left out of the quantiles: %s.\n",
                number_count(totals->quantile_count, text));
    if (totals->threads_cut)
        fprintf(out, "\nToo many threads: the columns procs and threads are lower bounds.\n");
}

/* Ignores a share below 1 in 50, which may come from the last instruction before a sample. */
static void print_checks(FILE *out, const struct sample_checks *checks, bool few_as_well)
{
    char text[NUMBER_TEXT_SIZE], all[NUMBER_TEXT_SIZE];
    if (checks->contradicted && (few_as_well || checks->contradicted * 50 >= checks->checked))
        fprintf(
            out,
            "\n%s of %s samples contradict the events of their threads.\nThey count for the ranges "
            "that the events show.\n",
            number_count(checks->contradicted, text), number_count(checks->checked, all));
}

static void print_losses(FILE *out, const struct trace *trace, const struct report_facts *facts,
                         bool all)
{
    char text[NUMBER_TEXT_SIZE];
    const struct sample_wholes wholes = wholes_of(facts);
    if (sample_loss_any(trace))
        fprintf(out, trace_unwatched(trace) ? "\nMissing:\n" : "\nMissing from the samples:\n");
    sample_loss_print(trace, &wholes, out);
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        if (fact->kind == FACT_NOTE && fact->value > 0)
            print_text(out, trace, "\n", fact->name);
    }
    print_checks(out, &facts->checks, all);
    if (facts->late_count)
        fprintf(out, "\nSamples that arrived too late to get their exact ranges: %s.\n",
                number_count(facts->late_count, text));
}

/* ---- The report ------------------------------------------------------------------------------ */

static bool is_sampled(const struct trace *trace, const struct report_facts *facts)
{
    return facts->has_samples || trace_sampling_get(trace)->rung > SAMPLING_NONE;
}

static void print_header(const struct trace *trace, const struct report_facts *facts,
                         const struct report_options *options, bool cut)
{
    char a[NUMBER_TEXT_SIZE], b[NUMBER_TEXT_SIZE], c[NUMBER_TEXT_SIZE], d[NUMBER_TEXT_SIZE];
    char buffer[256];
    struct text owners = text_init(buffer, sizeof(buffer));
    const struct range_totals *totals = facts->totals;
    const struct trace_session *session = trace_session_get(trace);
    printf("recording  ");
    term_print(options->path);
    if (session->command)
        printf("\ncommand    ");
    term_print(trace_string(trace, session->command)->bytes);
    if (options->only[0])
        printf("\nonly       ");
    term_print(options->only);
    owner_counts_add(&owners, trace, false);
    printf("\nwall time  %s, %s", number_time_plain((uint64_t)totals->wall_ns, a), buffer);
    bool annotated = facts->event_count > 0 || !is_sampled(trace, facts);
    if (annotated)
        printf(", %s event%s", number_count(facts->event_count, d),
               facts->event_count == 1 ? "" : "s");
    printf("\n");
    if (annotated)
        printf("in ranges  %s of %s of all threads (%s)\n",
               number_time_plain(totals->covered_ns, a), number_time_plain(totals->thread_ns, b),
               number_percent(totals->covered_ns, totals->thread_ns, c));
    print_sampling(trace, facts);
    uint64_t sum = facts->lost_count;
    if (sum == 0)
        printf("lost       %s%s\n", lost_text(trace, facts),
               cut ? ", up to where it was cut short" : "");
    else
        printf("lost       %s %s: ", number_count(sum, a), sum == 1 ? "record" : "records");
    if (sum > 0)
        loss_print(facts->lost);
    print_missing(stdout, trace);
}

void report_text_missing(const struct report *report, const struct report_view *view, FILE *out)
{
    const struct trace *trace = store_reader_trace(view->options->reader);
    const struct report_facts *facts = report_facts(report);
    print_missing(out, trace);
    print_damage(out, view->options->reader, facts);
    print_remarks(out, trace, facts);
    print_losses(out, trace, facts, false);
}

int report_text(const struct report *report, const struct report_view *view)
{
    const struct report_facts *facts = report_facts(report);
    const struct store_reader *reader = view->options->reader;
    const struct trace *trace = store_reader_trace(view->options->reader);
    int rc = 0;
    print_header(trace, facts, view->options, recording_is_cut(reader));
    print_damage(stdout, reader, facts);
    for (unsigned i = 0; rc == 0 && i < report_table_count(report); i++) {
        const struct table *table = report_table(report, i);
        if (table->title && table->limit > 0)
            rc = report_text_table(table, view);
        else
            report_text_notes(table, false);
    }
    print_remarks(stdout, trace, facts);
    print_losses(stdout, trace, facts, true);
    return rc;
}

/* ---- The end of the command ------------------------------------------------------------------ */

static void add_ending(const struct trace *trace, struct text *text)
{
    enum { COMMAND_WIDTH = 60 };

    const struct trace_session *session = trace_session_get(trace);
    int status = session->command_status;
    char command[4 * COMMAND_WIDTH + 4];
    if (!session->command || status == -1 || status == 0 ||
        !(WIFEXITED(status) || WIFSIGNALED(status)))
        return;
    term_shorten(trace_string(trace, session->command)->bytes, COMMAND_WIDTH, command,
                 sizeof(command));
    if (WIFEXITED(status)) {
        text_format(text, "%s ended with exit status %d.", command, WEXITSTATUS(status));
        return;
    }
    const char *name = sigabbrev_np(WTERMSIG(status));
    text_format(text, "%s was killed by signal %d", command, WTERMSIG(status));
    text_format(text, name ? " (SIG%s)." : ".", name);
}

static bool any_killed(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        if (process->end == PROCESS_SIGNALED && process->end_value == SIGKILL)
            return true;
    }
    return false;
}

/* The kernel's count for the whole machine says something only if a recorded process was killed. */
static void add_memory_kills(const struct trace *trace, struct text *text)
{
    uint64_t in_groups = trace_fact_value(trace, TRACE_FACT_GROUP_KILLS);
    uint64_t all = trace_fact_value(trace, TRACE_FACT_MEMORY_KILLS);
    uint64_t count = in_groups ? in_groups : any_killed(trace) ? all : 0;
    if (count == 0)
        return;
    text_format(text, "%sThe kernel killed %" PRIu64 " process%s ", text->length ? " " : "", count,
                count == 1 ? "" : "es");
    if (in_groups)
        text_format(text, "at the memory limit of %s cgroup.", count == 1 ? "its" : "their");
    else
        text_format(text, "of this machine for lack of memory.");
}

size_t command_ending(const struct trace *trace, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    add_ending(trace, &text);
    add_memory_kills(trace, &text);
    return text.length;
}
