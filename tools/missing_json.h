/* SPDX-License-Identifier: MIT */
/* What is missing from a recording, as members of a JSON object: for `annot info --json` and
 * `annot report --json`. Main thread only. */
#ifndef ANNOT_MISSING_JSON_H
#define ANNOT_MISSING_JSON_H

#include "json_writer.h"
#include "trace.h"

/* {"buffer full":3}: causes that lost something. `lost` has LOSS_COUNT numbers. */
void missing_json_lost(struct json_doc *doc, const char *key, const uint64_t *lost);

/* {"the fact's name":3}: facts of one kind that are not 0. */
void missing_json_facts(struct json_doc *doc, const struct trace *trace, enum fact_kind kind,
                        const char *key);

/* "remarkable_calls":{"name_left_out":3} */
void missing_json_calls(struct json_doc *doc, const struct trace *trace);

/* "refused":[{"pid":1,"name":"sudo","reason":"..."}] */
void missing_json_refused(struct json_doc *doc, const struct trace *trace);

#endif
