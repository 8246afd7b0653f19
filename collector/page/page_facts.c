/* SPDX-License-Identifier: MIT */
/* Describes the recording: title, facts, headline, the page's omissions, processes and threads. */
#include "page_facts.h"

#include "gpu_stacks.h"
#include "headline.h"
#include "missing.h"
#include "number.h"
#include "page_calls.h"
#include "page_data.h"
#include "page_model.h"
#include "page_samples.h"
#include "page_spans.h"
#include "report_samples.h"
#include "text.h"
#include "trace.h"
#include "wait_kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LABEL_SIZE = 512 };

static const char *string_of(const struct page *page, uint32_t ordinal)
{
    return trace_string(page->trace, ordinal)->bytes;
}

/* Copies the next word of a command, up to `size` bytes. */
static const char *take_word(const char *command, char *word, size_t size)
{
    command += strspn(command, " ");
    size_t length = strcspn(command, " ");
    snprintf(word, size, "%.*s", (int)(length < size ? length : size - 1), command);
    return command + length;
}

/* The title is the script for "python3 -u jobs/pipeline.py --all", the module for "python3 -m
 * pytest", else the program. */
static void command_title(const char *command, char *title, size_t size)
{
    char word[PAGE_TEXT_MAX];
    command = take_word(command, word, sizeof(word));
    snprintf(title, size, "%s", text_base_name(word));
    bool python = strncmp(title, "python", 6) == 0 || strncmp(title, "pypy", 4) == 0;
    while (python && *command) {
        command = take_word(command, word, sizeof(word));
        bool module = strcmp(word, "-m") == 0;
        if (strcmp(word, "-c") == 0)
            return;
        if (module)
            take_word(command, word, sizeof(word));
        else if (word[0] == '-' || !word[0])
            continue;
        snprintf(title, size, "%s", text_base_name(word));
        return;
    }
}

void page_title(const struct page *page, char *buffer, size_t size)
{
    const char *title = page->options.title;
    command_title(string_of(page, trace_session_get(page->trace)->command), buffer, size);
    if (!title && !buffer[0] && trace_process_count(page->trace) > 0)
        trace_process_label(page->trace, 0, buffer, size);
    if (title || !buffer[0])
        snprintf(buffer, size, "%s", title ? title : text_base_name(page->options.report.path));
}

static void put_sampling(const struct page *page, struct json_doc *doc)
{
    const struct trace_sampling *sampling = trace_sampling_get(page->trace);
    char buffer[LABEL_SIZE], rate[SAMPLING_RATE_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    if (page->options.gpu)
        text_format(&text, "GPU time by launch");
    else if (!page->has_samples)
        text_format(&text, "no samples");
    else if (sampling->frequency_hz)
        text_format(&text, "%s, %s%s", sampling_rate_text(sampling, rate),
                    sampling_rung_text(sampling->rung),
                    sampling->off_cpu ? ", with waits" : ", without waits");
    else
        text_format(&text, "%s", sampling_rung_text(sampling->rung));
    json_doc_text(doc, "sampling", buffer);
}

static void put_began(const struct page *page, struct json_doc *doc)
{
    const struct trace_session *session = trace_session_get(page->trace);
    int64_t after_ns = page->span.begin_ns - session->begin_ns;
    time_t seconds = (time_t)((session->begin_realtime_ns + after_ns) / 1000000000);
    struct tm parts;
    char text[64] = "";
    if (session->begin_realtime_ns > 0 && gmtime_r(&seconds, &parts))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    json_doc_text(doc, "began", text);
}

/* "1.20 s of GPU time in 99,000 launches; stacks of all launches." */
static void put_gpu_headline(const struct page *page, struct json_doc *doc)
{
    const struct gpu_stacks_totals *gpu = page->options.gpu;
    char time[NUMBER_TEXT_SIZE], count[NUMBER_TEXT_SIZE], said[LABEL_SIZE], sentence[LABEL_SIZE];
    snprintf(sentence, sizeof(sentence), "%s of GPU time in %s launches; %s.",
             number_time_short(gpu->values[LAUNCHED_TIME], time),
             number_count(gpu->values[LAUNCHED_CALLS], count),
             gpu_stacks_say(gpu, said, sizeof(said) / 2));
    json_doc_array(doc, "headline");
    json_doc_text(doc, NULL, sentence);
    json_doc_close(doc);
}

/* The GPU sentence of the headline. */
static void put_gpu(const struct page *page, struct json_doc *doc)
{
    char sentence[HEADLINE_SIZE];
    if (headline_gpu(page->trace, report_facts(page->report), sentence, HEADLINE_SIZE) > 0)
        json_doc_text(doc, NULL, sentence);
}

static void put_headline(const struct page *page, struct json_doc *doc)
{
    const struct report_facts *facts = report_facts(page->report);
    char sentence[HEADLINE_SIZE + sizeof("Hottest: ")];
    if (page->options.gpu) {
        put_gpu_headline(page, doc);
        return;
    }
    bool gpu_first = !facts->wall && !facts->own; /* without CPU data */
    json_doc_array(doc, "headline");
    if (gpu_first)
        put_gpu(page, doc);
    headline_wall(page->trace, facts, sentence, HEADLINE_SIZE);
    json_doc_text(doc, NULL, sentence);
    size_t prefix = (size_t)snprintf(sentence, sizeof(sentence), "Hottest: ");
    if (headline_hottest(page->trace, facts, sentence + prefix, HEADLINE_SIZE) > 0)
        json_doc_text(doc, NULL, sentence);
    if (!gpu_first)
        put_gpu(page, doc);
    if (headline_memory(page->trace, facts, sentence, HEADLINE_SIZE) > 0)
        json_doc_text(doc, NULL, sentence);
    if (page->options.ending && page->options.ending[0])
        json_doc_text(doc, NULL, page->options.ending);
    json_doc_close(doc);
}

int page_put_facts(struct page *page, struct json_doc *doc)
{
    const struct trace_session *session = trace_session_get(page->trace);
    const struct report_facts *facts = report_facts(page->report);
    const struct trace_host *host = trace_host_get(page->trace, 0);
    char title[PAGE_TEXT_MAX];
    page_title(page, title, sizeof(title));
    json_doc_text(doc, "title", title);
    json_doc_object(doc, "facts");
    page_put_text(page, doc, "command", string_of(page, session->command));
    put_began(page, doc);
    json_doc_uint(doc, "wall_ns", (uint64_t)facts->totals->wall_ns);
    json_doc_uint(doc, "duration_ns", page->span.length_ns);
    json_doc_uint(doc, "cpu_count", session->processors);
    page_put_text(page, doc, "host",
                  string_of(page, session->hostname ? session->hostname
                                  : host            ? host->name
                                                    : 0));
    page_put_text(page, doc, "annot", string_of(page, session->annot_version));
    put_sampling(page, doc);
    page_put_text(page, doc, "file", text_base_name(page->options.report.path));
    page_put_text(page, doc, "only", page->options.report.only);
    json_doc_close(doc);
    put_headline(page, doc);
    return 0;
}

/* ---- Omissions ------------------------------------------------------------------------------- */

static void put_sentence(struct json_doc *doc, const char *before, uint64_t count,
                         const char *after)
{
    char number[NUMBER_TEXT_SIZE], sentence[LABEL_SIZE];
    snprintf(sentence, sizeof(sentence), "%s%s%s", before, number_count(count, number), after);
    json_doc_text(doc, NULL, sentence);
}

static void put_stacks_left_out(const struct page *page, struct json_doc *doc)
{
    const struct page_sums *sums = &page->nodes.sums;
    if (sums->node_steps > 0)
        json_doc_text(doc, NULL,
                      "There are too many different stacks: the smallest count for their callers.");
    if (sums->slot_shift > 0)
        put_sentence(doc, "There are too many different stacks: time is cut into ",
                     PAGE_SLOTS >> sums->slot_shift, " slots.");
    if (sums->no_lines)
        json_doc_text(doc, NULL,
                      "There are too many different stacks: lines of source heed no filter.");
    if (sums->no_paths)
        json_doc_text(doc, NULL,
                      "There are too many different stacks: they cannot be filtered by range.");
    if (sums->no_threads)
        json_doc_text(doc, NULL,
                      "There are too many different stacks: they cannot be filtered by thread.");
}

static void put_ranges_left_out(const struct page *page, struct json_doc *doc)
{
    const struct page_spans *spans = &page->spans;
    char time[NUMBER_TEXT_SIZE], after[LABEL_SIZE];
    snprintf(after, sizeof(after), " ranges shorter than %s are counted in the tables, not drawn.",
             number_time_short(spans->drawn.least_ns, time));
    if (spans->short_count > 0)
        put_sentence(doc, "", spans->short_count, after);
    if (spans->refused > 0)
        put_sentence(doc, "", spans->refused,
                     " ranges of further threads and tracks are not drawn.");
    if (spans->tasks.dropped > 0)
        put_sentence(doc, "", spans->tasks.dropped, " shorter tasks of event loops are not shown.");
    if (spans->requests.dropped > 0)
        put_sentence(doc, "", spans->requests.dropped, " shorter ranges of tracks are not listed.");
    if (page->pools.dropped > 0)
        put_sentence(doc, "", page->pools.dropped, " shorter tasks of pools are not shown.");
}

int page_put_left_out(struct page *page, struct json_doc *doc)
{
    size_t counters = page->counters.items.count;
    uint32_t threads = 0;
    json_doc_array(doc, "left_out");
    put_stacks_left_out(page, doc);
    put_ranges_left_out(page, doc);
    if (counters > PAGE_COUNTERS_MAX)
        put_sentence(doc, "", counters - PAGE_COUNTERS_MAX, " counters are in the tables only.");
    for (uint32_t i = 0; i < trace_thread_count(page->trace); i++)
        threads += page->thread_index[i] == PAGE_NONE;
    if (threads > 0 && trace_thread_count(page->trace) > PAGE_OWNERS_MAX)
        put_sentence(doc, "", threads, " threads that did less are not told apart.");
    if (page->ranges.cells.no_slots)
        json_doc_text(doc, NULL,
                      page->ranges.cells.dropped
                          ? "There are too many ranges: they are not counted by thread."
                          : "There are too many ranges: they are counted by thread or by time, "
                            "not by both.");
    if (page->text_limit < PAGE_TEXT_MAX)
        put_sentence(doc, "Texts are cut to ", page->text_limit, " bytes.");
    if (page->row_limit < PAGE_ROWS_MAX)
        put_sentence(doc, "Tables are cut to their first ", page->row_limit, " rows.");
    json_doc_close(doc);
    return 0;
}

/* ---- Trust in the numbers -------------------------------------------------------------------- */

/* How it was recorded, and losses. */

enum { TEXT_SIZE = 600 };

static void put(struct json_doc *doc, const char *what, const char *text, bool good)
{
    json_doc_object(doc, NULL);
    json_doc_text(doc, "what", what);
    json_doc_text(doc, "text", text);
    json_doc_bool(doc, "good", good);
    json_doc_close(doc);
}

static void put_recording(const struct page *page, struct json_doc *doc)
{
    const struct report_facts *facts = report_facts(page->report);
    uint32_t damaged = damaged_part_count(page->options.report.reader);
    bool ended = trace_session_get(page->trace)->end_ns != 0;
    char buffer[TEXT_SIZE], number[NUMBER_TEXT_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    text_format(&text, "%s, %s records, ",
                damaged ? "damaged"
                : ended ? "complete"
                        : "cut: it has no end",
                number_count(facts->event_count, number));
    if (facts->lost_count + facts->unreadable_count == 0)
        text_format(&text, "none lost");
    else
        text_format(&text, "%s lost",
                    number_count(facts->lost_count + facts->unreadable_count, number));
    put(doc, "Recording", buffer,
        !damaged && ended && facts->lost_count + facts->unreadable_count == 0);
}

static void put_trust_in_samples(const struct page *page, struct json_doc *doc)
{
    const struct trace_sampling *sampling = trace_sampling_get(page->trace);
    const struct report_facts *facts = report_facts(page->report);
    char buffer[TEXT_SIZE], number[NUMBER_TEXT_SIZE], rate[SAMPLING_RATE_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    const char *reason = trace_string(page->trace, sampling->reason)->bytes;
    text_format(&text, "%s samples", number_count(facts->samples->all.sample_count, number));
    if (sampling->frequency_hz)
        text_format(&text, " at %s", sampling_rate_text(sampling, rate));
    text_format(&text, ", %s%s%.400s", sampling_rung_text(sampling->rung), *reason ? ": " : "",
                reason);
    put(doc, "Sampling", buffer, sampling->rung != SAMPLING_NONE && !*reason);
    text = text_init(buffer, sizeof(buffer));
    if (facts->off_cpu)
        text_format(&text, "%s waits, exact", number_count(facts->samples->stretch_count, number));
    else
        text_format(&text, "not recorded");
    if (facts->off_cpu && sampling->off_cpu_threshold_ns > 0)
        text_format(&text, " from %s on",
                    number_time_short((uint64_t)sampling->off_cpu_threshold_ns, number));
    put(doc, "Waits", buffer, facts->off_cpu);
}

static void put_stacks(const struct page *page, struct json_doc *doc)
{
    const struct sample_stats *samples = report_facts(page->report)->samples;
    char buffer[TEXT_SIZE], share[NUMBER_TEXT_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    if (samples->walk_count == 0)
        return;
    text_format(&text, "%s complete to their root",
                number_share(samples->complete_count, samples->walk_count, share));
    put(doc, "Stacks", buffer, samples->complete_count * 100 >= samples->walk_count * 99);
}

static void put_ranges(const struct page *page, struct json_doc *doc)
{
    const struct sample_checks *checks = &report_facts(page->report)->checks;
    char buffer[TEXT_SIZE], number[NUMBER_TEXT_SIZE], bad[NUMBER_TEXT_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    if (checks->checked == 0)
        return;
    text_format(&text, "%s checked against the records, %s contradict them",
                number_count(checks->checked, number), number_count(checks->contradicted, bad));
    put(doc, "Ranges of samples", buffer, checks->contradicted == 0);
}

static void put_missing(void *context, const struct missing *missing)
{
    struct json_doc *doc = context;
    char label[MISSING_LABEL_SIZE], buffer[TEXT_SIZE], number[NUMBER_TEXT_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    missing_label(missing, label);
    text_format(&text, "%s: %s", label, number_count(missing->count, number));
    put(doc, missing->kind == MISSING_CALLS ? "Calls" : "Missing", buffer, false);
}

int page_put_trust(struct page *page, struct json_doc *doc)
{
    json_doc_array(doc, "trust");
    put_recording(page, doc);
    if (page->has_samples)
        put_trust_in_samples(page, doc);
    put_stacks(page, doc);
    put_ranges(page, doc);
    missing_each(page->trace, report_facts(page->report)->lost, put_missing, doc);
    json_doc_close(doc);
    return 0;
}

/* ---- The wall bar ---------------------------------------------------------------------------- */

/* Parts of the wall time, which add up to it. */

enum { WAITS_MAX = 40, NAME_SIZE = 256 };

static void put_part(struct json_doc *doc, const char *state, int cause, const char *text,
                     uint64_t time_ns)
{
    if (time_ns == 0)
        return;
    json_doc_object(doc, NULL);
    json_doc_text(doc, "state", state);
    json_doc_int(doc, "cause", cause);
    json_doc_text(doc, "text", text);
    json_doc_uint(doc, "ns", time_ns);
    json_doc_close(doc);
}

/* Running time: on all processors, on one by a single thread, or in between. With two processors,
 * the last is one running and others runnable. */
static void put_running(struct json_doc *doc, const struct wall *wall)
{
    const struct wall_totals *totals = wall_totals(wall);
    const struct wall_host *hosts;
    bool two = totals->processors == 2 && wall_hosts(wall, &hosts) == 1;
    uint64_t all_ns = totals->processors > 1 ? totals->full_ns : 0;
    all_ns = all_ns < totals->running_ns ? all_ns : totals->running_ns;
    uint64_t rest_ns = totals->running_ns - all_ns;
    uint64_t one_ns = totals->alone_ns < rest_ns ? totals->alone_ns : rest_ns;
    put_part(doc, "running", -1, "running on all processors", all_ns);
    put_part(doc, "running", -1,
             two ? "one thread running, others runnable" : "several threads running or runnable",
             rest_ns - one_ns);
    put_part(doc, "running", -1, "one thread running", one_ns);
}

/* "asleep in call_api": the longest waits, then the rest by cause. */
static void put_waits(const struct page *page, struct json_doc *doc)
{
    const struct wall_wait *waits;
    uint32_t count = wall_waits(report_facts(page->report)->wall, &waits);
    uint64_t rest[WAIT_KINDS] = {0};
    char sentence[2 * NAME_SIZE], name[NAME_SIZE];
    for (uint32_t i = 0; i < count; i++) {
        const struct wall_wait *wait = &waits[i];
        struct text text = text_init(sentence, sizeof(sentence));
        if (i >= WAITS_MAX) {
            rest[wait->kind] += wait->time_ns;
            continue;
        }
        if (wait->label)
            code_name(page->trace, wait->label, name, sizeof(name));
        else
            code_rest_name(page->trace, wait->purpose, 0, name, sizeof(name));
        text_format(&text, "%s in %s", wait_phrase(wait->kind), name);
        put_part(doc, "blocked", wait->kind, sentence, wait->time_ns);
    }
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++) {
        snprintf(sentence, sizeof(sentence), "%s elsewhere", wait_phrase(kind));
        put_part(doc, "blocked", (int)kind, sentence, rest[kind]);
    }
}

int page_put_wall(struct page *page, struct json_doc *doc)
{
    const struct report_facts *facts = report_facts(page->report);
    char brief[HEADLINE_BRIEF_SIZE];
    json_doc_array(doc, "wall");
    if (facts->wall) {
        const struct wall_totals *totals = wall_totals(facts->wall);
        put_running(doc, facts->wall);
        put_part(doc, "runnable", PAGE_RUNNABLE, wait_phrase(WAIT_PREEMPTED), totals->runnable_ns);
        put_waits(page, doc);
        put_part(doc, "short", -1, headline_brief(page->trace, brief), totals->short_ns);
        put_part(doc, "other", -1, "before the program's start or after its end",
                 totals->absent_ns);
    }
    json_doc_close(doc);
    json_doc_bool(doc, "by_wall", facts->by_wall);
    json_doc_bool(doc, "with_waits", facts->with_waits);
    json_doc_array(doc, "causes");
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++)
        json_doc_text(doc, NULL, wait_kind_name(kind));
    json_doc_text(doc, NULL, "runnable");
    json_doc_close(doc);
    json_doc_array(doc, "phrases");
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++)
        json_doc_text(doc, NULL, wait_phrase(kind));
    json_doc_text(doc, NULL, wait_phrase(WAIT_PREEMPTED));
    json_doc_close(doc);
    return 0;
}

/* ---- Processes and threads ------------------------------------------------------------------- */

/* The most active ones, in display order. */

struct activity {
    uint64_t value;
    uint32_t thread;
};

static int most_first(const void *left, const void *right)
{
    const struct activity *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    return a->thread < b->thread ? -1 : 1;
}

/* Sets shown threads to 0, the others to PAGE_NONE. */
static int choose_threads(struct page *page)
{
    uint32_t count = trace_thread_count(page->trace);
    const struct sample_stats *samples = report_facts(page->report)->samples;
    struct activity *items = calloc((size_t)count + 1, sizeof(*items));
    page->thread_index = calloc((size_t)count + 1, sizeof(*page->thread_index));
    page->process_index =
        calloc((size_t)trace_process_count(page->trace) + 1, sizeof(*page->process_index));
    bool made = items && page->thread_index && page->process_index;
    for (uint32_t i = 0; i < count && made; i++) {
        const struct thread_share *share = &samples->threads[i];
        items[i].thread = i;
        items[i].value = share->cpu_ns * 16 + share->blocked_ns + share->runnable_ns +
                         trace_thread_get(page->trace, i)->event_count;
    }
    if (made && count > 0)
        qsort(items, count, sizeof(*items), most_first);
    for (uint32_t i = 0; i < count && made; i++)
        if (i >= PAGE_OWNERS_MAX ||
            !pass_selects_thread(page->options.report.selection, items[i].thread))
            page->thread_index[items[i].thread] = PAGE_NONE;
    free(items);
    return made ? 0 : -ENOMEM;
}

/* Marks processes of shown threads, and their ancestors. */
static void choose_processes(struct page *page)
{
    uint32_t count = trace_process_count(page->trace);
    for (uint32_t i = 0; i < count; i++)
        page->process_index[i] = PAGE_NONE;
    for (uint32_t i = 0; i < trace_thread_count(page->trace); i++) {
        if (page->thread_index[i] == PAGE_NONE)
            continue;
        int64_t at = trace_thread_get(page->trace, i)->process;
        for (; at >= 0 && page->process_index[at] == PAGE_NONE;
             at = trace_process_get(page->trace, (uint32_t)at)->parent)
            page->process_index[at] = 0;
    }
}

static void put_process(const struct page *page, struct json_doc *doc, uint32_t ordinal)
{
    const struct trace_process *process = trace_process_get(page->trace, ordinal);
    const struct trace_session *session = trace_session_get(page->trace);
    char label[LABEL_SIZE];
    int64_t begin_ns = process->start_ns ? process->start_ns : session->begin_ns;
    int64_t end_ns = process->end != PROCESS_RUNNING && process->end_ns
                         ? process->end_ns
                         : page->span.begin_ns + (int64_t)page->span.length_ns;
    json_doc_object(doc, NULL);
    trace_process_label(page->trace, ordinal, label, sizeof(label));
    page_put_text(page, doc, "name", label);
    json_doc_int(doc, "pid", process->pid);
    json_doc_int(doc, "parent",
                 process->parent < 0 ? -1 : (int)page->process_index[process->parent]);
    json_doc_int(doc, "begin", page_since_begin(page, begin_ns));
    json_doc_int(doc, "end", page_since_begin(page, end_ns));
    trace_process_end_label(page->trace, ordinal, label, sizeof(label));
    page_put_text(page, doc, "ended", label);
    json_doc_close(doc);
}

static int put_processes(struct page *page, struct json_doc *doc)
{
    uint32_t count = trace_process_count(page->trace), shown = 0;
    uint32_t *order = calloc((size_t)count + 1, sizeof(*order));
    int error = order ? trace_process_order(page->trace, order) : -ENOMEM;
    for (uint32_t i = 0; i < count && !error; i++)
        if (page->process_index[order[i]] != PAGE_NONE)
            page->process_index[order[i]] = shown++;
    json_doc_array(doc, "processes");
    for (uint32_t i = 0; i < count && !error; i++)
        if (page->process_index[order[i]] != PAGE_NONE)
            put_process(page, doc, order[i]);
    json_doc_close(doc);
    free(order);
    return error;
}

static void put_thread(const struct page *page, struct json_doc *doc, uint32_t ordinal)
{
    const struct trace_thread *thread = trace_thread_get(page->trace, ordinal);
    const struct trace_process *process = trace_process_get(page->trace, thread->process);
    const struct report_facts *facts = report_facts(page->report);
    const struct thread_share *share = &facts->samples->threads[ordinal];
    char label[LABEL_SIZE];
    int64_t begin_ns = thread->first_ns ? thread->first_ns : process->start_ns;
    int64_t end_ns = thread->last_ns ? thread->last_ns : process->end_ns;
    json_doc_object(doc, NULL);
    trace_thread_label(page->trace, ordinal, label, sizeof(label));
    page_put_text(page, doc, "name", label);
    json_doc_int(doc, "tid", thread->tid);
    json_doc_uint(doc, "process", page->process_index[thread->process]);
    page_role_name(page->trace, ordinal, label, sizeof(label));
    page_put_text(page, doc, "role", label);
    json_doc_int(doc, "begin", page_since_begin(page, begin_ns));
    json_doc_int(doc, "end",
                 end_ns ? page_since_begin(page, end_ns) : (int64_t)page->span.length_ns);
    json_doc_uint(doc, "cpu_ns", share->cpu_ns);
    json_doc_uint(doc, "runnable_ns", share->runnable_ns + share->short_runnable_ns);
    json_doc_uint(doc, "blocked_ns", share->blocked_ns + share->short_blocked_ns);
    json_doc_uint(doc, "samples", share->sample_count);
    json_doc_bool(doc, "busy", facts->own && own_time_is_busy(facts->own, ordinal));
    json_doc_bool(doc, "helper", facts->own && own_time_is_helper(facts->own, ordinal));
    json_doc_close(doc);
}

struct place {
    uint32_t process, thread;
};

static int by_process(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->thread < b->thread ? -1 : 1;
}

static int put_threads(struct page *page, struct json_doc *doc)
{
    uint32_t count = trace_thread_count(page->trace), shown = 0;
    struct place *places = calloc((size_t)count + 1, sizeof(*places));
    if (!places)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        if (page->thread_index[i] != PAGE_NONE)
            places[shown++] =
                (struct place){page->process_index[trace_thread_get(page->trace, i)->process], i};
    qsort(places, shown, sizeof(*places), by_process);
    json_doc_array(doc, "threads");
    for (uint32_t i = 0; i < shown; i++) {
        page->thread_index[places[i].thread] = i;
        put_thread(page, doc, places[i].thread);
    }
    json_doc_close(doc);
    free(places);
    return 0;
}

int page_put_owners(struct page *page, struct json_doc *doc)
{
    int error = page->thread_index ? 0 : choose_threads(page);
    if (error)
        return error;
    choose_processes(page);
    error = put_processes(page, doc);
    return error ? error : put_threads(page, doc);
}
