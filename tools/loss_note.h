/* SPDX-License-Identifier: MIT */
/* What is missing from a recording, on standard error: for commands whose output has no place for
 * it, and at the end of a recording. Main thread only. */
#ifndef ANNOT_LOSS_NOTE_H
#define ANNOT_LOSS_NOTE_H

#include "sample_loss.h"

/* A line each, where there is anything: "annot: LOST records: 1,234 (buffer full)";
 * "annot: missing: 13 of 7,731 samples (...)"; "annot: remarkable calls: 3 names left out (...)".
 */
void loss_note_records(const struct trace *trace);
void loss_note_samples(const struct trace *trace, const struct sample_wholes *wholes);
void loss_note_calls(const struct trace *trace);

/* All of it, and how many processes could not take part. */
void loss_note(const struct trace *trace, const struct sample_wholes *wholes);

#endif
