/* SPDX-License-Identifier: MIT */
/* What one needs to know to trust the numbers: how it was recorded, and what is missing. */
#include "page_parts.h"

#include "missing.h"
#include "number.h"
#include "text.h"
#include "trace.h"

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

static void put_sampling(const struct page *page, struct json_doc *doc)
{
    const struct trace_sampling *sampling = trace_sampling_get(page->trace);
    const struct report_facts *facts = report_facts(page->report);
    char buffer[TEXT_SIZE], number[NUMBER_TEXT_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    const char *reason = trace_string(page->trace, sampling->reason)->bytes;
    text_format(&text, "%s samples", number_count(facts->samples->all.sample_count, number));
    if (sampling->frequency_hz)
        text_format(&text, " at %u Hz", sampling->frequency_hz);
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
        put_sampling(page, doc);
    put_stacks(page, doc);
    put_ranges(page, doc);
    missing_each(page->trace, report_facts(page->report)->lost, put_missing, doc);
    json_doc_close(doc);
    return 0;
}
