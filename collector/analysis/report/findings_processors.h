/* SPDX-License-Identifier: MIT */
/* Rules about processors: other programs, too many threads, the GIL, serial work. Thread-safety:
 * one thread per report. */
#ifndef ANNOT_FINDINGS_PROCESSORS_H
#define ANNOT_FINDINGS_PROCESSORS_H

#include "findings.h"

/* Users of the processors, and work for them. */
void find_host(struct findings *findings);
void find_crowd(struct findings *findings);
void find_gil(struct findings *findings);
void find_serial(struct findings *findings);

#endif
