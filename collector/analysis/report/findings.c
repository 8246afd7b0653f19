/* SPDX-License-Identifier: MIT */
/* See findings.h. */
#include "findings.h"

#include "text.h"

#include <stdlib.h>

bool findings_reach(uint64_t cost, uint64_t whole, unsigned hundredths)
{
    return cost > 0 && (double)cost * 100 >= (double)whole * hundredths;
}

struct finding *findings_add(struct findings *findings, const char *kind, uint64_t cost_ns,
                             uint64_t whole_ns)
{
    struct finding fresh = {.kind = kind, .cost_ns = cost_ns, .whole_ns = whole_ns};
    if (vec_push(&findings->items, fresh) == 0)
        return &findings->items.items[findings->items.count - 1];
    findings->failed = true;
    return NULL;
}

const char *findings_place(const struct findings *findings, uint32_t label, int32_t line,
                           char *buffer)
{
    struct text text = text_init(buffer, FINDING_NAME_SIZE);
    char place[FINDING_NAME_SIZE];
    text.length = code_name(findings->trace, label, buffer, FINDING_NAME_SIZE);
    if (code_location(findings->trace, label, line, place, sizeof(place)) > 0)
        text_format(&text, " (%s)", place);
    return buffer;
}

uint64_t findings_wall_ns(const struct findings *findings)
{
    return wall_totals(findings->report->samples.wall)->wall_ns;
}

const struct own_totals *findings_own(const struct findings *findings)
{
    return own_time_totals(findings->report->samples.own);
}

bool findings_has_others(const struct findings *findings)
{
    const struct report_facts *facts = &findings->report->facts;
    uint64_t others_ns = (facts->others_ms + facts->stolen_ms) * 1000000;
    return findings_reach(others_ns, findings_wall_ns(findings), OTHERS_PART);
}

uint64_t findings_quiet_ns(const struct findings *findings)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    return findings_has_others(findings) ? wall->wall_ns - wall->contended_ns : wall->wall_ns;
}
