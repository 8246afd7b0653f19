/* SPDX-License-Identifier: MIT */
/* The wall bar: parts of the wall time, which add up to it. */
#include "page_parts.h"

#include "headline.h"
#include "text.h"
#include "wait_kind.h"

#include <stdio.h>

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

/* On all processors, on one by a thread that had no other beside it, or in between: of two
 * processors one ran, and others were ready for the one that it did not get. */
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
             two ? "one thread running, others ready" : "several threads running or ready",
             rest_ns - one_ns);
    put_part(doc, "running", -1, "one thread running", one_ns);
}

/* "asleep in call_api": the longest ones, then by cause what is left. */
static void put_waits(const struct page *page, struct json_doc *doc)
{
    const struct wall_wait *waits;
    uint32_t count = wall_waits(report_facts(page->report)->wall, &waits);
    uint64_t rest[WAIT_REASON_COUNT] = {0};
    char sentence[2 * NAME_SIZE], name[NAME_SIZE];
    for (uint32_t i = 0; i < count; i++) {
        const struct wall_wait *wait = &waits[i];
        struct text text = text_init(sentence, sizeof(sentence));
        if (i >= WAITS_MAX) {
            rest[wait->reason] += wait->time_ns;
            continue;
        }
        if (wait->label)
            code_name(page->trace, wait->label, name, sizeof(name));
        else
            code_rest_name(page->trace, wait->purpose, 0, name, sizeof(name));
        text_format(&text, "%s in %s", wait_phrase(wait->kind), name);
        put_part(doc, "waiting", wait->reason, sentence, wait->time_ns);
    }
    for (unsigned reason = 0; reason < WAIT_REASON_COUNT; reason++) {
        snprintf(sentence, sizeof(sentence), "%s elsewhere", wait_phrase(reason));
        put_part(doc, "waiting", (int)reason, sentence, rest[reason]);
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
        put_part(doc, "ready", PAGE_READY, wait_phrase(WAIT_PREEMPTED), totals->ready_ns);
        put_waits(page, doc);
        put_part(doc, "short", -1, headline_brief(page->trace, brief), totals->short_ns);
        put_part(doc, "other", -1, "before the program's start or after its end",
                 totals->absent_ns);
    }
    json_doc_close(doc);
    json_doc_bool(doc, "by_wall", facts->by_wall);
    json_doc_bool(doc, "with_waits", facts->with_waits);
    json_doc_array(doc, "causes");
    for (unsigned reason = 0; reason < WAIT_REASON_COUNT; reason++)
        json_doc_text(doc, NULL, wait_reason_name((enum wait_reason)reason));
    json_doc_text(doc, NULL, "ready");
    json_doc_close(doc);
    json_doc_array(doc, "phrases");
    for (unsigned reason = 0; reason < WAIT_REASON_COUNT; reason++)
        json_doc_text(doc, NULL, wait_phrase(reason));
    json_doc_text(doc, NULL, wait_phrase(WAIT_PREEMPTED));
    json_doc_close(doc);
    return 0;
}
