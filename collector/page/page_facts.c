/* SPDX-License-Identifier: MIT */
/* What a recording is, in words: title, facts, headline, and what the page leaves out. */
#include "page_parts.h"

#include "gpu_stacks.h"
#include "headline.h"
#include "missing.h"
#include "text.h"
#include "trace.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LABEL_SIZE = 512 };

static const char *string_of(const struct page *page, uint32_t ordinal)
{
    return trace_string(page->trace, ordinal)->bytes;
}

/* The next word of a command as it was typed, up to `size` bytes of it. */
static const char *take_word(const char *command, char *word, size_t size)
{
    command += strspn(command, " ");
    size_t length = strcspn(command, " ");
    snprintf(word, size, "%.*s", (int)(length < size ? length : size - 1), command);
    return command + length;
}

/* "python3 -u jobs/pipeline.py --all" is known by its script, "python3 -m pytest" by its module,
 * all else by the program. */
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
    char buffer[LABEL_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    if (page->options.gpu)
        text_format(&text, "GPU time by launch");
    else if (!page->has_samples)
        text_format(&text, "no samples");
    else if (sampling->frequency_hz)
        text_format(&text, "%u Hz, %s%s", sampling->frequency_hz,
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

/* What GPUs did beside all else. */
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
    bool gpu_first = !facts->wall && !facts->own; /* nothing is known of processors */
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
    json_doc_uint(doc, "span_ns", page->span.length_ns);
    json_doc_uint(doc, "processors", session->processors);
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

/* ---- What is left out ------------------------------------------------------------------------ */

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
                      page->ranges.cells.none
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
