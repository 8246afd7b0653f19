/* SPDX-License-Identifier: MIT */
/* The losses of a recording: as sums, on one line, in full, and as JSON. Main thread only. */
#ifndef ANNOT_LOSSES_H
#define ANNOT_LOSSES_H

#include "json_writer.h"
#include "report.h"
#include "trace.h"

#include <stdio.h>

/* ---- Samples, stacks, waits ------------------------------------------------------------------ */

/* Recorded totals, to which losses are related. */
struct sample_wholes {
    uint64_t samples;   /* on a CPU */
    uint64_t stretches; /* off the CPU */
};

/* any: there is a loss. counts: it is significant: at least a hundredth of its kind, or of an
 * unknown total. */
bool sample_loss_any(const struct trace *trace);
bool sample_loss_counts(const struct trace *trace, const struct sample_wholes *wholes);

/* Prints one line per loss: "  13 of 7,731 stretches off the CPU: the kernel did not tell their
 * end", and its consequence below. */
void sample_loss_print(const struct trace *trace, const struct sample_wholes *wholes, FILE *stream);

/* Prints all on one line, without consequences: "13 of 7,731 stretches off the CPU (the kernel
 * ...), ...". */
void sample_loss_print_short(const struct trace *trace, const struct sample_wholes *wholes,
                             FILE *stream);

/* Prints one line per loss: "  1,000 activities of queues: launched, but never reported". */
void queue_loss_print(const struct trace *trace, FILE *stream);

/* ---- Records --------------------------------------------------------------------------------- */

/* Prints "1,234 buffer full, 1 too many threads or tracks" and a newline. */
void loss_print(const uint64_t *lost);

/* ---- Standard error -------------------------------------------------------------------------- */

/* Each prints one line if there is a loss: "annot: LOST records: 1,234 (buffer full)"; "annot:
 * missing: 13 of 7,731 samples (...)"; "annot: MISSING: 11 activities of queues: launched, but
 * never reported"; "annot: remarkable calls: 3 names left out (...)". */
void loss_note_records(const struct trace *trace);
void loss_note_samples(const struct trace *trace, const struct sample_wholes *wholes);
void loss_note_queues(const struct trace *trace);
void loss_note_calls(const struct trace *trace);

/* Prints all of them, and the number of processes that could not take part. */
void loss_note(const struct trace *trace, const struct sample_wholes *wholes);

/* ---- JSON members ---------------------------------------------------------------------------- */

/* {"buffer full":3}: causes with losses. `lost` has LOSS_COUNT numbers. */
void missing_json_lost(struct json_doc *doc, const char *key, const uint64_t *lost);

/* {"the fact's name":3}: nonzero facts of one kind. */
void missing_json_facts(struct json_doc *doc, const struct trace *trace, enum fact_kind kind,
                        const char *key);

/* "remarkable_calls":{"name_left_out":3} */
void missing_json_calls(struct json_doc *doc, const struct trace *trace);

/* "refused":[{"pid":1,"name":"sudo","reason":"..."}] */
void missing_json_refused(struct json_doc *doc, const struct trace *trace);

#endif
