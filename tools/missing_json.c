/* SPDX-License-Identifier: MIT */
/* Members of missing_json.h. */
#include "missing_json.h"

#include "missing.h"

void missing_json_lost(struct json_doc *doc, const char *key, const uint64_t *lost)
{
    json_doc_object(doc, key);
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++)
        if (lost[cause])
            json_doc_uint(doc, loss_name((enum loss)cause), lost[cause]);
    json_doc_close(doc);
}

void missing_json_facts(struct json_doc *doc, const struct trace *trace, enum fact_kind kind,
                        const char *key)
{
    json_doc_object(doc, key);
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        const struct trace_string *name = trace_string(trace, fact->name);
        if (fact->kind != kind || !fact->value)
            continue;
        json_doc_key(doc, name->bytes, name->length, "");
        json_doc_uint(doc, NULL, fact->value);
    }
    json_doc_close(doc);
}

void missing_json_calls(struct json_doc *doc, const struct trace *trace)
{
    static const char *const keys[MISUSE_COUNT] = {
        [MISUSE_POP_EMPTY] = "pop_without_push", [MISUSE_END_FOREIGN] = "end_of_unknown_range",
        [MISUSE_NAME_CUT] = "name_cut",          [MISUSE_NAME_INLINE] = "name_in_full",
        [MISUSE_PAYLOAD_CUT] = "key_values_cut", [MISUSE_SCHEMA] = "struct_not_as_its_schema",
        [MISUSE_NAME_LEFT] = "name_left_out",
    };
    uint64_t counts[MISUSE_COUNT];
    misuse_sums(trace, counts);
    json_doc_object(doc, "remarkable_calls");
    for (unsigned kind = 0; kind < MISUSE_COUNT; kind++)
        if (counts[kind])
            json_doc_uint(doc, keys[kind], counts[kind]);
    json_doc_close(doc);
}

void missing_json_refused(struct json_doc *doc, const struct trace *trace)
{
    json_doc_array(doc, "refused");
    for (uint32_t i = 0; i < trace_refusal_count(trace); i++) {
        const struct trace_refusal *refusal = trace_refusal_get(trace, i);
        json_doc_object(doc, NULL);
        json_doc_int(doc, "pid", refusal->pid);
        json_doc_text(doc, "name", trace_string(trace, refusal->comm)->bytes);
        json_doc_text(doc, "reason", trace_string(trace, refusal->reason)->bytes);
        json_doc_close(doc);
    }
    json_doc_close(doc);
}
