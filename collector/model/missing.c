/* SPDX-License-Identifier: MIT */
/* The list of missing.h. */
#include "missing.h"

#include "text.h"

const char *misuse_name(enum misuse misuse)
{
    static const char *const names[MISUSE_COUNT] = {
        [MISUSE_POP_EMPTY] = "pops without a push (ignored)",
        [MISUSE_END_FOREIGN] = "ends of ranges that are not open here (ignored)",
        [MISUSE_NAME_CUT] = "names cut to 1 KiB",
        [MISUSE_NAME_INLINE] = "names written in full each time (the name table is full)",
        [MISUSE_PAYLOAD_CUT] =
            "events with more key-values than a record holds (the rest was left out)",
        [MISUSE_SCHEMA] = "structs that are not what their schema says (shown as bytes)",
        [MISUSE_NAME_LEFT] = "names left out (the name table is full)",
    };
    return (unsigned)misuse < MISUSE_COUNT ? names[misuse] : "unknown calls";
}

uint64_t misuse_sums(const struct trace *trace, uint64_t ret_counts[MISUSE_COUNT])
{
    for (unsigned kind = 0; kind < MISUSE_COUNT; kind++) {
        ret_counts[kind] = 0;
        for (uint32_t i = 0; i < trace_process_count(trace); i++)
            ret_counts[kind] += trace_process_get(trace, i)->misuse[kind];
    }
    return ret_counts[MISUSE_NAME_CUT] + ret_counts[MISUSE_PAYLOAD_CUT] +
           ret_counts[MISUSE_NAME_LEFT];
}

void queued_sums(const struct trace *trace, uint64_t ret_counts[QUEUED_COUNT])
{
    for (unsigned kind = 0; kind < QUEUED_COUNT; kind++)
        ret_counts[kind] = 0;
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const uint64_t *queued = trace_process_get(trace, i)->queued;
        uint64_t launched = queued[QUEUED_LAUNCHED], reported = queued[QUEUED_REPORTED];
        for (unsigned kind = 0; kind < QUEUED_COUNT; kind++)
            ret_counts[kind] += kind == QUEUED_REPORTED ? 0 : queued[kind];
        ret_counts[QUEUED_REPORTED] += launched > reported ? launched - reported : 0;
    }
}

bool queued_any(const struct trace *trace)
{
    uint64_t counts[QUEUED_COUNT], sum = 0;
    queued_sums(trace, counts);
    for (unsigned kind = QUEUED_LAUNCHED + 1; kind < QUEUED_COUNT; kind++)
        sum |= counts[kind];
    return sum != 0;
}

struct visit {
    missing_visitor *function;
    void *context;
};

static void visit_count(const struct visit *visit, enum missing_kind kind, const char *what,
                        uint64_t count)
{
    if (count)
        visit->function(visit->context, &(struct missing){kind, what, count});
}

static void emit_records(const struct trace *trace, const uint64_t *lost, const struct visit *visit)
{
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++) {
        uint64_t count = lost ? lost[cause] : 0;
        for (uint32_t i = 0; !lost && i < trace_process_count(trace); i++)
            count += trace_process_get(trace, i)->lost[cause];
        visit_count(visit, MISSING_RECORDS, loss_name((enum loss)cause), count);
    }
}

static void emit_sampled(const struct trace *trace, const struct visit *visit)
{
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        if (fact->kind == FACT_LOSS)
            visit_count(visit, MISSING_SAMPLED, trace_string(trace, fact->name)->bytes,
                        fact->value);
    }
}

static void emit_queued(const struct trace *trace, const struct visit *visit)
{
    static const char *const names[QUEUED_COUNT] = {
        [QUEUED_REPORTED] = "activities of queues: launched, but never reported",
        [QUEUED_DROPPED] = "activities of queues: dropped by the driver",
        [QUEUED_UNTIMED] = "activities of queues: reported without times (left out)",
        [QUEUED_MISTIMED] = "activities of queues: reported with impossible times (left out)",
        [QUEUED_ACAUSAL] = "activities of queues: began before their launch (shown as reported)",
    };
    uint64_t counts[QUEUED_COUNT];
    queued_sums(trace, counts);
    for (unsigned kind = 0; kind < QUEUED_COUNT; kind++)
        if (names[kind])
            visit_count(visit, MISSING_QUEUED, names[kind], counts[kind]);
}

void missing_each(const struct trace *trace, const uint64_t *lost, missing_visitor *function,
                  void *context)
{
    const struct visit visit = {function, context};
    uint64_t calls[MISUSE_COUNT];
    emit_records(trace, lost, &visit);
    emit_sampled(trace, &visit);
    emit_queued(trace, &visit);
    visit_count(&visit, MISSING_PROCESSES, "processes that could not take part",
                trace_refusal_count(trace));
    misuse_sums(trace, calls);
    for (unsigned kind = 0; kind < MISUSE_COUNT; kind++)
        visit_count(&visit, MISSING_CALLS, misuse_name((enum misuse)kind), calls[kind]);
}

size_t missing_label(const struct missing *missing, char label[MISSING_LABEL_SIZE])
{
    static const char *const before[MISSING_KINDS] = {
        [MISSING_RECORDS] = "lost: ", [MISSING_CALLS] = "remarkable calls: "};
    const char *begin = before[missing->kind] ? before[missing->kind] : "";
    struct text text = text_init(label, MISSING_LABEL_SIZE);
    text_format(&text, "%s%s", begin, missing->what);
    return text.length;
}

const char *sampling_rung_text(unsigned rung)
{
    switch (rung) {
    case SAMPLING_OFF:
        return "off";
    case SAMPLING_REMOTE:
        return "remote reads";
    case SAMPLING_BPF:
        return "eBPF";
    case SAMPLING_NONE:
    default:
        return "not possible";
    }
}
