/* SPDX-License-Identifier: MIT */
/* Rules about waits: of own functions, for pages, and of event loops and their tasks.
 * Thread-safety: one thread per report. */
#ifndef ANNOT_FINDINGS_WAITS_H
#define ANNOT_FINDINGS_WAITS_H

#include "findings.h"

/* A single own function waits; pages are read from disk. */
void find_waits(struct findings *findings);
void find_faults(struct findings *findings);

/* An event loop was blocked; its tasks await one operation after the other. */
void find_loop(struct findings *findings);
void find_awaits(struct findings *findings);

#endif
